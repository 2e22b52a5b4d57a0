"""A log's bytes in one buffer that is used again and again, for the kernel's scan."""

from __future__ import annotations

from typing import BinaryIO

from binlogkit.sources.lookahead import Lookahead

__all__ = ["Chunks"]

SIZE = 8 << 20
_FIRST = 1 << 16  # bytes of the buffer before there are more in the log


class Chunks:
    """``buffer[start:end]`` holds the bytes that were not taken yet; ``origin``: the log's offset
    of the buffer's first byte.

    The buffer grows by bytes that are there: to ``SIZE``, further only where one event fills it.
    """

    def __init__(self, file: BinaryIO, used: Chunks | None = None) -> None:
        """``used``: chunks that are done with, whose buffer serves again."""
        self._file = file
        self.buffer: bytearray = bytearray(min(_FIRST, SIZE)) if used is None else used.buffer
        self.start = self.end = self.origin = 0

    def more(self) -> bool:
        """Read on behind what was not taken; whether anything came."""
        left, size = self.end - self.start, len(self.buffer)
        full = self.end == size
        if self.start:
            self.buffer[:left] = self.buffer[self.start : self.end]
        if left == size or (full and size < SIZE):
            self.buffer += bytes(size)
        self.origin += self.start
        self.start, self.end = 0, left
        while self.end < len(self.buffer):
            count = self._read(memoryview(self.buffer)[self.end :])
            if not count:
                break
            self.end += count
        return self.end > left

    def _read(self, room: memoryview) -> int:
        if isinstance(self._file, Lookahead):
            return self._file.readinto(room)
        data = self._file.read(len(room))
        room[: len(data)] = data
        return len(data)
