"""FORMAT_DESCRIPTION_EVENT (5.0.0+) and START_EVENT_V3: what wrote the log, and how.

``binlog_version:2 server_version:50 created:4``; v4 continues with ``event_header_length:1
post_header_lengths:n`` (one byte per type, from type 1 on) and, from 5.6.1 on,
``checksum_algorithm:1`` (the checksum itself is taken off by the sources room).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType, event_type_name
from binlogkit.events.base import ParseContext, padded_text, reads
from binlogkit.events.early import final_codes
from binlogkit.sources.raw import RawEvent

_VERSION_LENGTH = 50


class ChecksumAlgorithm(IntEnum):
    """``enum_binlog_checksum_alg``; UNDEF: the server that wrote it does not know."""

    OFF = 0
    CRC32 = 1
    UNDEF = 255


@dataclass(frozen=True, slots=True)
class StartV3:
    """START_EVENT_V3: the first event of a v1 or v3 log; ``created``: seconds, 0 in most logs."""

    binlog_version: int
    server_version: str
    created: int


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """FORMAT_DESCRIPTION_EVENT.

    ``created``: seconds; not 0 only in the first log after a server start; ``post_header_lengths``:
    of type 1 and on; ``checksum_algorithm``: None from a server that knows none (before 5.6.1).
    """

    binlog_version: int
    server_version: str
    created: int
    event_header_length: int
    post_header_lengths: tuple[int, ...]
    checksum_algorithm: ChecksumAlgorithm | None

    @property
    def lengths_by_type(self) -> dict[str, int]:
        """``post_header_lengths`` by the names of the types."""
        final = final_codes(self.server_version)
        return {
            event_type_name(final.get(code, code)): length
            for code, length in enumerate(self.post_header_lengths, 1)
        }


def _version(cursor: Cursor) -> str:
    return padded_text(cursor, _VERSION_LENGTH, "server_version", "ascii")


def _algorithm(cursor: Cursor) -> ChecksumAlgorithm:
    code = cursor.uint(1, "checksum_algorithm")
    if code not in ChecksumAlgorithm._value2member_map_:
        raise cursor.fail("checksum_algorithm", f"{code} is not known")
    return ChecksumAlgorithm(code)


@reads(EventType.START_EVENT_V3)
def _start(cursor: Cursor, raw: RawEvent, context: ParseContext) -> StartV3:
    start = StartV3(cursor.uint(2, "binlog_version"), _version(cursor), cursor.uint(4, "created"))
    context.version, context.server_version = raw.version, start.server_version
    return start


@reads(EventType.FORMAT_DESCRIPTION_EVENT)
def _format(cursor: Cursor, raw: RawEvent, context: ParseContext) -> FormatDescription:
    binlog_version = cursor.uint(2, "binlog_version")
    server_version = _version(cursor)
    created = cursor.uint(4, "created")
    header_length = cursor.uint(1, "event_header_length")
    tells = bool(raw.stored_checksum and cursor.left)
    rest = cursor.read(cursor.left - tells, "post_header_lengths")
    algorithm = _algorithm(cursor) if tells else None
    context.version, context.server_version = raw.version, server_version
    context.final_codes = final_codes(server_version)
    context.post_header_lengths = {
        context.final_codes.get(i, i): length for i, length in enumerate(rest, 1)
    }
    return FormatDescription(
        binlog_version, server_version, created, header_length, tuple(rest), algorithm
    )
