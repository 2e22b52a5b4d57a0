"""Files that are hashed while they are read, so that their bytes are taken once."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["FileHash", "Hashed"]

_CHUNK = 1 << 20


class FileHash:
    """Opens a file again and again; what is read of it from end to end is hashed."""

    def __init__(self, opener: Callable[[], BinaryIO]) -> None:
        self._opener = opener
        self._done: tuple[int, str] | None = None

    def open(self) -> BinaryIO:
        """The file."""
        return cast(BinaryIO, Hashed(self._opener(), self._finished))

    def _finished(self, size: int, digest: str) -> None:
        self._done = size, digest

    def result(self) -> tuple[int, str]:
        """Size and SHA-256 of the file; it is read if nobody has read all of it."""
        if self._done is None:
            with self.open() as file:
                while file.read(_CHUNK):
                    pass
        assert self._done is not None
        return self._done


class Hashed(io.RawIOBase):
    """A file that tells size and SHA-256 once its end was met, if nothing of it was left out."""

    def __init__(self, file: BinaryIO, finished: Callable[[int, str], None]) -> None:
        self._inner = file
        self._finished = finished
        self._digest = hashlib.sha256()
        self._hashed = self._at = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        data = self._inner.read(size)
        self._take(data, size)
        return data

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)
        count = cast(io.RawIOBase, self._inner).readinto(view) or 0
        self._take(view[:count], len(view))
        return count

    def _take(self, data: bytes | memoryview, asked: int) -> None:
        start, self._at = self._at, self._at + len(data)
        if start <= self._hashed < self._at:
            self._digest.update(memoryview(data)[self._hashed - start :])
            self._hashed = self._at
        if asked and not len(data) and self._at == self._hashed:
            self._finished(self._hashed, self._digest.hexdigest())

    def seekable(self) -> bool:
        return bool(hasattr(self._inner, "seekable") and self._inner.seekable())

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = self._inner.seek(offset, whence)
        return self._at

    def close(self) -> None:
        self._inner.close()
        super().close()
