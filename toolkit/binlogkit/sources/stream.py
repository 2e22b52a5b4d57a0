"""A forward byte stream with look-ahead, over any binary file object, in bounded memory."""

from __future__ import annotations

from typing import BinaryIO

__all__ = ["ByteStream"]

CHUNK = 1 << 20


class ByteStream:
    """Reads ahead in chunks of 1 MiB; ``offset`` counts from the stream's first byte.

    A length that a log claims is never allocated before the bytes are there.
    """

    __slots__ = ("_buffer", "_eof", "_file", "_start", "offset")

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer = bytearray()
        self._start = 0
        self._eof = False
        self.offset = 0

    def peek(self, length: int) -> bytes:
        """The next ``length`` bytes, fewer at the end, without moving."""
        self._fill(length)
        return bytes(self._buffer[self._start : self._start + length])

    def read(self, length: int) -> bytes:
        """The next ``length`` bytes, fewer at the end."""
        data = self.peek(length)
        self.skip(len(data))
        return data

    def skip(self, length: int) -> None:
        """Move over ``length`` bytes that were peeked at."""
        self._start += length
        self.offset += length
        if self._start > CHUNK:
            del self._buffer[: self._start]
            self._start = 0

    def available(self, length: int) -> int:
        """How many of the next ``length`` bytes the stream really holds."""
        self._fill(length)
        return min(length, len(self._buffer) - self._start)

    def _fill(self, length: int) -> None:
        while not self._eof and len(self._buffer) - self._start < length:
            chunk = self._file.read(CHUNK)
            if chunk:
                self._buffer += chunk
            else:
                self._eof = True
