"""CRC32: of an event, and of any stretch of a stream that was read once.

zlib's CRC32 is linear: of ``AB`` it is ``shift(crc(A), len(B)) ^ crc(B)``, where ``shift``
multiplies by ``x ** (8 * len)`` modulo the polynomial (Mark Adler, ``crc32_combine`` in zlib's
``crc32.c``). So whoever keeps the CRC of the bytes before a place can leave that part out again,
and a thousand claims of a hundred megabytes each cost one reading, not a thousand.
"""

from __future__ import annotations

import zlib
from functools import cache

from binlogkit.constants import CHECKSUM_LENGTH, EventFlag, EventType
from binlogkit.errors import ChecksumError
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.raw import EventHeader

_FLAGS_OFFSET = 17

_POLYNOMIAL = 0xEDB88320
_TOP = 1 << 31
_BLOCK = 1 << 12
_SHORT = 1 << 13


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


def checksum_error(
    name: str, pos: int, header: EventHeader, data: bytes, says: str
) -> ChecksumError | None:
    """The error of an event whose last four bytes are not its CRC32; ``says``: who says so."""
    end = len(data) - CHECKSUM_LENGTH
    computed, stored = crc_of(header, data, end), int.from_bytes(data[end:], "little")
    if computed == stored:
        return None
    reason = f"the CRC32 of the event is {computed:#010x}, {says} says {stored:#010x}"
    return ChecksumError(name, pos, reason, "checksum")


class StretchCrc:
    """CRCs of stretches of what a stream holds from its place on; it may move on meanwhile."""

    __slots__ = ("_first", "_marks", "_stream")

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._first = 0  # the block of 4 KiB before which the first mark stands
        self._marks: list[int] = []  # the CRC from there up to each following block

    def of(self, start: int, end: int) -> int:
        """The CRC32 of the bytes from ``start`` to ``end`` (distances from the stream's place)."""
        peek, offset = self._stream.peek, self._stream.offset
        if end - start <= _SHORT:
            return zlib.crc32(peek(end - start, start))
        first, last = -(-(offset + start) // _BLOCK), (offset + end) // _BLOCK
        head = zlib.crc32(peek(first * _BLOCK - offset - start, start))
        before = self._mark(last, first) ^ shift(
            head ^ self._mark(first, first), (last - first) * _BLOCK
        )
        return zlib.crc32(peek(offset + end - last * _BLOCK, last * _BLOCK - offset), before)

    def _mark(self, block: int, first: int) -> int:
        """The CRC up to a block; ``first``: the first block that is asked for."""
        reached = self._first + len(self._marks)
        if not self._marks or first < self._first or (reached - 1) * _BLOCK < self._stream.offset:
            self._first, self._marks = first, [0]
        while len(self._marks) <= block - self._first:
            at = (self._first + len(self._marks) - 1) * _BLOCK - self._stream.offset
            self._marks.append(zlib.crc32(self._stream.peek(_BLOCK, at), self._marks[-1]))
        return self._marks[block - self._first]


def shift(crc: int, length: int) -> int:
    """The part that ``crc`` has in the CRC of its bytes and ``length`` more."""
    for place in range(4):
        if crc and (digit := length >> 8 * place & 0xFF):
            crc = _multiply(_power(digit, place), crc)
    return crc


@cache
def _power(digit: int, place: int) -> int:
    """``x ** (8 * digit * 256 ** place)``."""
    if digit > 1:
        return _multiply(_power(digit // 2, place), _power(digit - digit // 2, place))
    return _multiply(_power(128, place - 1), _power(128, place - 1)) if place else _TOP >> 8


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
