"""An event's header as the log stores it, in records' form; mysqlbinlog prints only part of it."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

from binlogkit.sources.raw import RawEvent, flag_names

_HEADER = struct.Struct("<IBIIIH")
_IN_USE = 1  # set while the server writes the log; no checksum counts it (log_event.cc, 8.0)


def header_of(raw: RawEvent) -> dict[str, Any]:
    """The fields of an event's record that its header and its place give."""
    header = raw.header
    return {
        "code": header.type_code,
        "timestamp": header.timestamp,
        "server_id": header.server_id,
        "size": header.size,
        "end_pos": raw.pos + header.size if raw.outer_end is None else raw.outer_end,
        "flags": flag_names(header.flags),
        "checksum": _checksum(raw),
    }


def _checksum(raw: RawEvent) -> str:
    if not raw.stored_checksum:
        return "none"
    found = crc32(header_bytes(raw, without=_IN_USE) + raw.extra_header + raw.body)
    return "ok" if found.to_bytes(4, "little") == raw.stored_checksum else "bad"


def header_bytes(raw: RawEvent, without: int = 0) -> bytes:
    """The first 19 bytes of an event, these flags cleared."""
    header = raw.header
    return _HEADER.pack(
        header.timestamp, header.type_code, header.server_id, header.size, header.log_pos,
        header.flags & ~without,
    )  # fmt: skip
