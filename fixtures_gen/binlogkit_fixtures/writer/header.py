"""The common header, the checksum, and what ``log_pos`` means in each version.

Header (manual of the server's sources, "Binlog event structure"): 13 bytes in v1, 19 in
v3 and v4, more where a v4 log's format description says so. ``log_pos``: none in v1, the event's
own start in v3 (4.0's and 4.1's ``log_event.cc``: ``my_b_tell`` before the event is written), its
end in v4, modulo 2**32. The CRC32 is over header and body; a format description's is computed
without its IN_USE flag, so that closing a log need not change it.
"""

from __future__ import annotations

import zlib

from binlogkit.constants import HEADER_LENGTH, EventFlag, EventType
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader
from binlogkit_fixtures.writer.packer import Packer

__all__ = ["log_pos_of", "write_checksum", "write_header"]


def write_header(header: EventHeader, extra: bytes = b"") -> bytes:
    """The header's bytes; ``extra``: what a header longer than 19 bytes holds after them.

    :class:`UnwritableError`: a field is out of range, v1 has no room for ``log_pos`` or ``flags``,
    or ``extra`` and ``header.length`` disagree.
    """
    packer = Packer("the common header")
    packer.uint(4, header.timestamp, "timestamp")
    packer.uint(1, header.type_code, "type_code")
    packer.uint(4, header.server_id, "server_id")
    packer.uint(4, header.size, "event_size")
    if header.length == V1_HEADER_LENGTH:
        for name in ("log_pos", "flags"):
            if getattr(header, name):
                raise packer.fail(name, "v1's header has none")
    else:
        packer.uint(4, header.log_pos, "log_pos")
        packer.uint(2, header.flags, "flags")
        packer.take(header.length - HEADER_LENGTH, extra, "extra_header")
    return bytes(packer.data)


def write_checksum(event: bytes, flags: int) -> bytes:
    """The CRC32 that ends an event of these bytes (header and body)."""
    if event[4] == EventType.FORMAT_DESCRIPTION_EVENT and flags & EventFlag.IN_USE:
        closed = bytearray(event)
        closed[17] &= ~EventFlag.IN_USE & 0xFF
        event = bytes(closed)
    return zlib.crc32(event).to_bytes(4, "little")


def log_pos_of(version: int, start: int, size: int) -> int:
    """The ``log_pos`` of an event that stands at ``start`` in its own log."""
    if version == 1:
        return 0
    return (start if version == 3 else start + size) & 0xFFFFFFFF
