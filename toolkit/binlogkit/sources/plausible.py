"""What a header looks like that a server may have written."""

from __future__ import annotations

from binlogkit.constants import MARIADB_EVENT_TYPES, EventFlag, EventType
from binlogkit.sources.raw import EventHeader

__all__ = [
    "KNOWN_FLAGS",
    "KNOWN_TYPES",
    "LARGEST",
    "MODULUS",
    "known_header",
    "sane_header",
    "shift_of",
]

LARGEST = (1 << 30) + (1 << 26)  # max_allowed_packet at most, and room for headers
MODULUS = 0xFFFFFFFF  # positions in headers have 32 bits
_SKIP_REPLICATION = 0x8000  # MariaDB's
KNOWN_FLAGS = sum(EventFlag) | _SKIP_REPLICATION
KNOWN_TYPES = frozenset(int(t) for t in EventType if t) | MARIADB_EVENT_TYPES.keys()


def shift_of(header: EventHeader, pos: int, version: int) -> int | None:
    """How far the event stands from its ``log_pos`` (modulo 2**32); None where it has none."""
    if version == 1 or header.log_pos == 0:
        return None
    return (pos + (0 if version == 3 else header.size) - header.log_pos) & MODULUS


def known_header(header: EventHeader) -> bool:
    """Whether type, size and flags are such as servers write."""
    return header.type_code in KNOWN_TYPES and sane_header(header)


def sane_header(header: EventHeader) -> bool:
    """The same for a type that may be newer than this program."""
    return header.length <= header.size <= LARGEST and not header.flags & ~KNOWN_FLAGS
