"""A binary file whose next bytes can be looked at before they are read."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit.errors import DamageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Lookahead"]


class Lookahead(io.RawIOBase):
    """``file`` from its place on; closing it closes ``file``.

    Damage that is met while looking ahead is raised when reading comes to it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._inner = file
        self._ahead = b""
        self._failure: DamageError | None = None
        # One that only has read() inherits a readinto() that does nothing but raise.
        own = getattr(type(file), "readinto", io.RawIOBase.readinto)
        self._fills = own is not io.RawIOBase.readinto

    def readable(self) -> bool:
        return True

    def peek(self, length: int) -> bytes:
        """The next ``length`` bytes, fewer only at the end."""
        parts = [self._ahead]
        missing = length - len(self._ahead)
        while missing > 0 and (chunk := self._more(missing)):
            parts.append(chunk)
            missing -= len(chunk)
        self._ahead = b"".join(parts)
        return self._ahead[:length]

    def _more(self, length: int) -> bytes:
        if self._failure is not None:
            return b""
        try:
            return self._inner.read(length)
        except DamageError as error:
            self._failure = error
            return b""

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        if not self._ahead and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self._ahead:
            return self._inner.read(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def readinto(self, room: Buffer) -> int:
        """Into ``room``, without a copy where the file can do that."""
        if not self._ahead and self._failure is None and self._fills:
            return cast(io.RawIOBase, self._inner).readinto(room) or 0
        view = memoryview(room)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seekable(self) -> bool:
        return self._inner.seekable()

    def tell(self) -> int:
        return self._inner.tell() - len(self._ahead)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset -= len(self._ahead)
        self._ahead = b""
        return self._inner.seek(offset, whence)

    def close(self) -> None:
        self._inner.close()
        super().close()
