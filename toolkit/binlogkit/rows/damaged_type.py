"""Which type an event has whose bytes do not match its checksum.

Damage may have hit the type in the header: then an ALTER TABLE would pass for an event that changes
nothing. CRC32 is linear: the difference that a changed byte makes depends on how many bytes stand
behind it alone, so each other type can be tried without the event's bytes.
"""

from __future__ import annotations

import struct
import zlib
from functools import reduce
from operator import xor

from binlogkit.constants import event_type_name
from binlogkit.sources.raw import RawEvent

__all__ = ["type_of"]

_BITS = 8
_CHUNK = bytes(1 << 20)
_HEADER = struct.Struct("<IBIIIH")
_BEFORE_TYPE = 4


def type_of(raw: RawEvent) -> str:
    """The type by which the checksum is right, if there is another; else the one it claims."""
    header = raw.header
    claimed = event_type_name(header.type_code)
    if raw.checksum != "bad" or raw.version < 4:
        return claimed
    fields = header.timestamp, header.type_code, header.server_id, header.size, header.log_pos
    start = _HEADER.pack(*fields, header.flags) + raw.extra_header
    wrong = zlib.crc32(raw.body, zlib.crc32(start)) ^ int.from_bytes(raw.stored_checksum, "little")
    size = len(start) + len(raw.body)
    nothing = _crc(0, size)
    bits = [_crc(1 << k, size) ^ nothing for k in range(_BITS)]
    for mask in range(1, 1 << _BITS):
        if wrong == reduce(xor, (bits[k] for k in range(_BITS) if mask >> k & 1)):
            return event_type_name(header.type_code ^ mask)
    return claimed


def _crc(type_code: int, size: int) -> int:
    """Of an event of zeros but for its type."""
    start = bytes(_BEFORE_TYPE) + bytes([type_code])
    crc, left = zlib.crc32(start), size - len(start)
    while left:
        crc = zlib.crc32(_CHUNK[:left], crc)
        left -= min(left, len(_CHUNK))
    return crc
