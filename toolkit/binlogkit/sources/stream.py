"""A forward byte stream with look-ahead, over any binary file object, in bounded memory."""

from __future__ import annotations

import os
from typing import BinaryIO

from binlogkit.errors import DamageError

__all__ = ["ByteStream"]

CHUNK = 1 << 20


class ByteStream:
    """Reads ahead in chunks of 1 MiB; ``offset`` counts from the stream's first byte.

    A length that a log claims is never allocated before the bytes are there. ``failure``: what
    ended the stream before its end (a damaged compression); the bytes before it are given.
    """

    __slots__ = ("_buffer", "_eof", "_file", "_start", "failure", "offset")

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer = bytearray()
        self._start = 0
        self._eof = False
        self.offset = 0
        self.failure: DamageError | None = None

    def peek(self, length: int, ahead: int = 0) -> bytes:
        """``length`` bytes from ``ahead`` bytes on, fewer at the end, without moving."""
        self._fill(ahead + length)
        start = self._start + ahead
        return bytes(memoryview(self._buffer)[start : start + length])

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

    def move_to(self, offset: int) -> None:
        """Go forward to ``offset``, over what is between without reading it where that can be."""
        ahead = offset - self.offset
        here = min(ahead, len(self._buffer) - self._start)
        self.skip(here)
        if ahead > here and self._file.seekable():
            self._file.seek(ahead - here, os.SEEK_CUR)
            self.offset = offset
        while self.offset < offset and (step := self.available(min(offset - self.offset, CHUNK))):
            self.skip(step)

    def available(self, length: int) -> int:
        """How many of the next ``length`` bytes the stream really holds."""
        self._fill(length)
        return min(length, len(self._buffer) - self._start)

    def _fill(self, length: int) -> None:
        while not self._eof and len(self._buffer) - self._start < length:
            try:
                chunk = self._file.read(CHUNK)
            except DamageError as error:
                self.failure = error
                chunk = b""
            if chunk:
                self._buffer += chunk
            else:
                self._eof = True
