"""Finding the next sound event behind damage, by checksum and plausibility.

A candidate is a header with a type that some server writes, a size that the file still holds, and
a ``log_pos`` that equals its end (modulo 2**32). With checksums its CRC32 must match as well;
without them the header behind it must be just as plausible, or the file must end there.
"""

from __future__ import annotations

import struct
import zlib

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, MARIADB_EVENT_TYPES, EventType
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.raw import parse_header
from binlogkit.sources.stream import ByteStream

__all__ = ["next_sound_event"]

WINDOW = 1 << 20
_KNOWN = frozenset(int(t) for t in EventType if t) | MARIADB_EVENT_TYPES.keys()
_LOG_POS = struct.Struct("<I")


def next_sound_event(stream: ByteStream, log_format: LogFormat) -> bool:
    """Move ``stream`` to the next sound event after its place; False when there is none."""
    if log_format.version < 3:
        return False
    if stream.available(1):
        stream.skip(1)
    while stream.available(HEADER_LENGTH) == HEADER_LENGTH:
        window = stream.peek(WINDOW)
        for i in range(len(window) - HEADER_LENGTH + 1):
            if window[i + 4] in _KNOWN and _sound(stream, log_format, window, i):
                stream.skip(i)
                return True
        stream.skip(len(window) - HEADER_LENGTH + 1)
    return False


def _sound(stream: ByteStream, log_format: LogFormat, window: bytes, i: int) -> bool:
    header = parse_header(window[i : i + HEADER_LENGTH], HEADER_LENGTH)
    expected = (stream.offset + i) if log_format.version == 3 else (stream.offset + i + header.size)
    if header.size < HEADER_LENGTH or header.log_pos != expected & 0xFFFFFFFF:
        return False
    if stream.available(i + header.size) < i + header.size:
        return False
    data = stream.peek(i + header.size + HEADER_LENGTH)[i:]
    if log_format.checksummed(header.type_code):
        end = header.size - CHECKSUM_LENGTH
        stored = int.from_bytes(data[end : header.size], "little")
        return zlib.crc32(data[:end]) == stored
    following = data[header.size :]
    return not following or (len(following) > 4 and following[4] in _KNOWN)
