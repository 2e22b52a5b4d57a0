"""CRC32: of an event, and of any stretch of a stream that was read once.

zlib's CRC32 is linear: of ``AB`` it is ``shift(crc(A), len(B)) ^ crc(B)``, where ``shift``
multiplies by ``x ** (8 * len)`` modulo the polynomial (Mark Adler, ``crc32_combine`` in zlib's
``crc32.c``). Who keeps the CRC of what stands before a place can so leave that part out again, and
a thousand claims of a hundred megabytes each cost one reading, not a thousand.
"""

from __future__ import annotations

import zlib

from binlogkit.constants import CHECKSUM_LENGTH, EventFlag, EventType
from binlogkit.sources.raw import EventHeader
from binlogkit.sources.stream import ByteStream

__all__ = ["StretchCrc", "crc_of", "ends_in_crc", "shift"]

_FLAGS_OFFSET = 17

_POLYNOMIAL = 0xEDB88320
_TOP = 1 << 31
_MARK = 1 << 16
_BITS_OF_A_BYTE = 3  # log2


def crc_of(header: EventHeader, data: bytes, end: int) -> int:
    """The CRC32 of an event; the server computes a format description's without IN_USE."""
    if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and header.flags & EventFlag.IN_USE:
        patched = bytearray(data[:end])
        patched[_FLAGS_OFFSET] &= ~EventFlag.IN_USE & 0xFF
        return zlib.crc32(patched)
    return zlib.crc32(memoryview(data)[:end])


def ends_in_crc(header: EventHeader, data: bytes) -> bool:
    """Whether the last four bytes of an event are the CRC32 of the others."""
    end = len(data) - CHECKSUM_LENGTH
    if end < header.length:
        return False
    return crc_of(header, data, end) == int.from_bytes(data[end:], "little")


class StretchCrc:
    """CRCs of stretches of what a stream holds from its place on; begin anew when it moves."""

    __slots__ = ("_marks", "_stream")

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._marks = [0]  # of the first 0, 64 Ki, 128 Ki … bytes

    def of(self, start: int, end: int) -> int:
        """The CRC32 of the bytes from ``start`` to ``end`` (distances from the stream's place)."""
        if end - start <= _MARK:
            return zlib.crc32(self._stream.peek(end - start, start))
        return self._before(end) ^ shift(self._before(start), end - start)

    def _before(self, end: int) -> int:
        mark, rest = divmod(end, _MARK)
        while len(self._marks) <= mark:
            piece = self._stream.peek(_MARK, (len(self._marks) - 1) * _MARK)
            self._marks.append(zlib.crc32(piece, self._marks[-1]))
        return zlib.crc32(self._stream.peek(rest, mark * _MARK), self._marks[mark])


def shift(crc: int, length: int) -> int:
    """The part that ``crc`` has in the CRC of its bytes and ``length`` more."""
    power, k = _TOP, _BITS_OF_A_BYTE
    while length:
        if length & 1:
            power = _multiply(_POWERS[k & 31], power)
        length >>= 1
        k += 1
    return _multiply(power, crc)


def _multiply(a: int, b: int) -> int:
    """The product of two polynomials modulo CRC32's, bits reflected."""
    product = 0
    bit = _TOP
    while a:
        if a & bit:
            product ^= b
            a ^= bit
        bit >>= 1
        b = (b >> 1) ^ _POLYNOMIAL if b & 1 else b >> 1
    return product


def _powers() -> list[int]:
    """``x ** (2 ** k)`` for k = 0 … 31."""
    powers = [_TOP >> 1]
    while len(powers) < 32:
        powers.append(_multiply(powers[-1], powers[-1]))
    return powers


_POWERS = _powers()
