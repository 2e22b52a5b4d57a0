"""What the events room gets: a header, a body, and their position.

Common header (manual of the server's sources, "Binlog event structure"): v1 has
13 bytes ``timestamp:4 type:1 server_id:4 size:4``; v3 and v4 add ``log_pos:4 flags:2``; v4's real
length stands in its format description event (19 in every server so far; more is possible).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag

from binlogkit.constants import HEADER_LENGTH, EventFlag

V1_HEADER_LENGTH = 13
_V1 = struct.Struct("<IBII")
_V4 = struct.Struct("<IBIIIH")


@dataclass(frozen=True, slots=True)
class EventHeader:
    """The common header.

    ``timestamp``: seconds; ``size``: header, body and checksum in bytes; ``log_pos``: 0 in v1; the
    event's own start in v3; the next event's start modulo 2**32 in v4; ``length``: of this header.
    """

    timestamp: int
    type_code: int
    server_id: int
    size: int
    log_pos: int
    flags: int
    length: int = HEADER_LENGTH


def parse_header(data: bytes, length: int) -> EventHeader:
    """The header at the start of ``data``, which holds at least ``length`` bytes."""
    if length < HEADER_LENGTH:
        timestamp, type_code, server_id, size = _V1.unpack_from(data)
        return EventHeader(timestamp, type_code, server_id, size, 0, 0, length)
    timestamp, type_code, server_id, size, log_pos, flags = _V4.unpack_from(data)
    return EventHeader(timestamp, type_code, server_id, size, log_pos, flags, length)


def flag_names(flags: int, kind: type[IntFlag] = EventFlag) -> list[str | int]:
    """The names of the set bits, of 16; bits without a name as numbers."""
    known, bits = kind._value2member_map_, (1 << i for i in range(16))
    return [kind(bit).name or bit if bit in known else bit for bit in bits if flags & bit]


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One event as it stands in a log.

    ``file``: the carrier's name as given; ``pos``: 64-bit logical offset of its first byte as the
    server counts (in a payload: of the payload event); ``inner``: None, or 0, 1, … inside a
    payload; ``body``: all after the header, without the checksum; ``checksum``: ``ok``, ``bad`` or
    ``none``, and ``stored_checksum`` its 4 bytes or none; ``version``: binlog version 1, 3 or 4;
    ``extra_header``: bytes of a header longer than 19.
    """

    file: str
    pos: int
    header: EventHeader
    body: bytes
    checksum: str = "none"
    inner: int | None = None
    outer_end: int | None = None
    version: int = 4
    extra_header: bytes = b""
    stored_checksum: bytes = b""

    @classmethod
    def framed(
        cls, file: str, pos: int, header: EventHeader, data: bytes, end: int, checksum: str,
        version: int, inner: int | None = None, outer_end: int | None = None,
    ) -> RawEvent:  # fmt: skip
        """The event that ``data`` is, header to checksum; ``end``: where the checksum begins."""
        return cls(
            file, pos, header, data[header.length : end], checksum, inner, outer_end, version,
            data[HEADER_LENGTH : header.length], data[end:],
        )  # fmt: skip

    @property
    def end_pos(self) -> int:
        """Offset of the byte after the event; of the payload event for an inner one."""
        return self.pos + self.header.size if self.outer_end is None else self.outer_end
