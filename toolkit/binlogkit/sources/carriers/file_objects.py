"""File objects that a user hands over: read as often as needed, never closed."""

from __future__ import annotations

import io
from functools import partial
from typing import BinaryIO, cast

from binlogkit.sources.carriers.carrier import Carrier

__all__ = ["from_file"]

_COPY_CHUNK = 1 << 16
_SPOOL_IN_MEMORY = 64 << 20


def from_file(file: BinaryIO) -> Carrier:
    """A file object from its place on; copied when it cannot seek, as it will be read twice."""
    name = str(getattr(file, "name", "<stream>"))
    if not (hasattr(file, "seekable") and file.seekable()):
        return Carrier(name, partial(_reopened, cast(BinaryIO, _Copy(file)), 0))
    return Carrier(name, partial(_reopened, file, file.tell()))


def _reopened(file: BinaryIO, start: int) -> BinaryIO:
    file.seek(start)
    return cast(BinaryIO, _Borrowed(file))


class _Copy(io.RawIOBase):
    """A copy of a stream that can be read only once: in memory, a large one in a nameless file."""

    def __init__(self, stream: BinaryIO) -> None:
        import tempfile

        self._inner = tempfile.SpooledTemporaryFile(max_size=_SPOOL_IN_MEMORY)  # noqa: SIM115
        while chunk := stream.read(_COPY_CHUNK):
            self._inner.write(chunk)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        return self._inner.read(size)

    def tell(self) -> int:
        return self._inner.tell()

    def close(self) -> None:
        self._inner.close()
        super().close()


class _Borrowed(io.RawIOBase):
    """A view of somebody else's file object at a position of its own, which it never closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._inner = file
        self._pos = file.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        self._inner.seek(self._pos)
        data = self._inner.read(len(view))
        view[: len(data)] = data
        self._pos += len(data)
        return len(data)
