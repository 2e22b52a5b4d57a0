"""What framing needs of a format description event: version, header length, checksum algorithm.

Body (manual of the server's sources, "Format_description_event"): ``binlog_version:2
server_version:50 created:4 header_length:1 post_header_lengths:n``, from 5.6.1 (MariaDB 5.3) on
followed by ``checksum_algorithm:1 checksum:4``, which are there even when the algorithm is off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType, event_type_name
from binlogkit.errors import InputError, MalformedEventError

_FIXED = 2 + 50 + 4 + 1
VERSION = 4  # the only one that has this event
CHECKSUM_OFF, CHECKSUM_CRC32, CHECKSUM_UNDEFINED = 0, 1, 255
_MARIADB_START_ENCRYPTION = 164


@dataclass(frozen=True, slots=True)
class LogFormat:
    """How the events that follow are framed.

    ``checksum_algorithm``: 0 off, 1 CRC32, 255 a server that knows none.
    """

    version: int = 4
    header_length: int = HEADER_LENGTH
    checksum_algorithm: int = CHECKSUM_UNDEFINED
    server_version: str = ""

    def checksummed(self, type_code: int) -> bool:
        """Whether an event of this type ends in a checksum."""
        if type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            return self.checksum_algorithm != CHECKSUM_UNDEFINED
        return self.checksum_algorithm == CHECKSUM_CRC32


# From this version on the SQL layer does foreign keys' cascades, and the child's rows are logged
# (docs/traps.md, "Cascades").
CASCADES_LOGGED = (9, 6, 0)
# From this version on images have virtual columns as a SELECT reads them (docs/traps.md, "Generated
# columns").
VIRTUAL_AS_STORED = (8, 0, 0)


def version_tuple(text: str) -> tuple[int, int, int]:
    """``(5, 7, 22)`` of ``5.7.22-log``; zeros for what is not there."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        return (0, 0, 0)
    return (int(match[1]), int(match[2]), int(match[3] or 0))


def is_mariadb(server_version: str) -> bool:
    """Whether MariaDB wrote the log; its events from 160 on are its own."""
    return "mariadb" in server_version.lower()


def refuse_encrypted(name: str, server_version: str, type_code: int, end: int) -> None:
    """InputError after the event with which MariaDB says that the rest of a log is encrypted.

    ``end``: of that event. Everything after it is encrypted, the headers of events as well
    (MariaDB's ``log_event.h``, ``Start_encryption_log_event``).
    """
    if type_code == _MARIADB_START_ENCRYPTION and is_mariadb(server_version):
        what = f"encrypted by MariaDB from {end} on ({event_type_name(type_code)})"
        raise InputError(name, f"{what}, which is not supported")


def format_of(name: str, pos: int, data: bytes) -> LogFormat:
    """The format that a whole format description event ``data`` announces."""
    malformed = partial(MalformedEventError, name, pos)
    body = data[HEADER_LENGTH:]
    if len(body) < _FIXED:
        raise malformed("a format description is too short", "server_version")
    server_version = body[2:52].split(b"\0", 1)[0].decode("ascii", "backslashreplace")
    version = int.from_bytes(body[:2], "little")
    if version != VERSION:
        raise malformed(f"a format description of version {version}", "binlog_version")
    header_length = body[56]
    if header_length < HEADER_LENGTH:
        raise malformed(f"a header length of {header_length}", "event_header_length")
    algorithm = CHECKSUM_UNDEFINED
    first = (5, 3, 0) if is_mariadb(server_version) else (5, 6, 1)
    if version_tuple(server_version) >= first and len(body) >= _FIXED + 1 + CHECKSUM_LENGTH:
        algorithm = body[-1 - CHECKSUM_LENGTH]
    if algorithm not in (CHECKSUM_OFF, CHECKSUM_CRC32, CHECKSUM_UNDEFINED):
        raise malformed(f"unknown checksum algorithm {algorithm}", "checksum_algorithm")
    return LogFormat(version, header_length, algorithm, server_version)
