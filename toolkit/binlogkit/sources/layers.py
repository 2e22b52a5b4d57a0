"""Files that wrap files, and a stream with look-ahead."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit.errors import DamageError, InputError, LimitError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK = 1 << 20


def read_into(file: BinaryIO, room: Buffer) -> int:
    """Read into ``room``, without a copy where the file can do that; how many bytes came."""
    # One that only has read() inherits a readinto() that does nothing but raise.
    own = getattr(type(file), "readinto", io.RawIOBase.readinto)
    if own is not io.RawIOBase.readinto:
        return cast(io.RawIOBase, file).readinto(room) or 0
    view = memoryview(room)
    data = file.read(len(view))
    view[: len(data)] = data
    return len(data)


def read_file(path: str | Path, most: int = -1) -> bytes:
    """The bytes of a small file, ``most`` of them at most. InputError: it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except OSError as exc:
        raise InputError(str(path), f"cannot be read: {exc.strerror}") from exc


class Readable(io.RawIOBase):
    """A file that can be read."""

    def readable(self) -> bool:
        return True


class Layer(Readable):
    """A file around ``file``: it does what that one does, and closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._inner = file

    def some(self, size: int) -> bytes:
        """At most ``size`` bytes, none at the end."""
        return self._inner.read(size)

    def read(self, size: int = -1) -> bytes:
        return self.readall() if size < 0 else self.some(size)

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)
        data = self.some(len(view))
        view[: len(data)] = data
        return len(data)

    def seekable(self) -> bool:
        return bool(hasattr(self._inner, "seekable") and self._inner.seekable())

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._inner.seek(offset, whence)

    def close(self) -> None:
        self._inner.close()
        super().close()


class RoomLayer(Layer):
    """A layer by its ``readinto`` alone."""

    def some(self, size: int) -> bytes:
        room = memoryview(bytearray(min(size, _CHUNK)))  # a size may be a claim
        return bytes(room[: self.readinto(room)])


class Lookahead(Layer):
    """``file`` from its place on, whose next bytes can be looked at before they are read.

    Damage that is met while looking ahead is raised when reading comes to it. ``ahead``,
    ``failure``: what was read of it before, and what ended that.
    """

    def __init__(
        self, file: BinaryIO, ahead: bytes = b"", failure: DamageError | LimitError | None = None
    ) -> None:
        super().__init__(file)
        self._ahead = ahead
        self._failure = failure

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

    def some(self, size: int) -> bytes:
        if not self._ahead and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self._ahead:
            return self._inner.read(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def readinto(self, room: Buffer) -> int:
        ahead = self._ahead or self._failure is not None
        return super().readinto(room) if ahead else read_into(self._inner, room)

    def tell(self) -> int:
        return self._inner.tell() - len(self._ahead)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset -= len(self._ahead)
        self._ahead = b""
        return self._inner.seek(offset, whence)


class Pieces(Layer):
    """The bytes that ``pieces`` give, which end with the first error; it closes ``file``."""

    def __init__(
        self, file: BinaryIO | Generator[bytes, None, None], pieces: Iterator[bytes]
    ) -> None:
        super().__init__(cast(BinaryIO, file))
        self._pieces = pieces
        self._left = memoryview(b"")

    def peek(self, length: int) -> bytes:
        """The next ``length`` bytes, fewer at the end, without moving."""
        while len(self._left) < length and (piece := next(self._pieces, None)) is not None:
            self._left = memoryview(bytes(self._left) + piece if self._left else piece)
        return bytes(self._left[:length])

    def some(self, size: int) -> bytes:
        self.peek(1)
        data, self._left = bytes(self._left[:size]), self._left[size:]
        return data

    def seekable(self) -> bool:
        return False


class FileHash:
    """Opens a file again and again; what is read of it from end to end is hashed."""

    def __init__(self, opener: Callable[[], BinaryIO]) -> None:
        self._opener = opener
        self._done: tuple[int, str] | None = None

    def open(self) -> BinaryIO:
        """The file."""
        return cast(BinaryIO, _Hashed(self._opener(), self._finished))

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


class _Hashed(RoomLayer):
    """A file that knows its size and SHA-256 once read to the end, if nothing was left out."""

    def __init__(self, file: BinaryIO, finished: Callable[[int, str], None]) -> None:
        super().__init__(file)
        self._finished = finished
        self._digest = hashlib.sha256()
        self._hashed = self._at = 0

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)
        count = read_into(self._inner, view)
        start, self._at = self._at, self._at + count
        if start <= self._hashed < self._at:
            self._digest.update(view[self._hashed - start : count])
            self._hashed = self._at
        if len(view) and not count and self._at == self._hashed:
            self._finished(self._hashed, self._digest.hexdigest())
        return count

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = self._inner.seek(offset, whence)
        return self._at


class ByteStream:
    """What a binary file holds from its place on, seen ahead in bounded memory.

    Reads in chunks of 1 MiB; ``offset`` counts from the stream's first byte.

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
        if self._start > _CHUNK:
            del self._buffer[: self._start]
            self._start = 0

    def available(self, length: int) -> int:
        """How many of the next ``length`` bytes the stream really holds."""
        self._fill(length)
        return min(length, len(self._buffer) - self._start)

    def _fill(self, length: int) -> None:
        while not self._eof and len(self._buffer) - self._start < length:
            try:
                chunk = self._file.read(_CHUNK)
            except DamageError as error:
                self.failure = error
                chunk = b""
            if chunk:
                self._buffer += chunk
            else:
                self._eof = True
