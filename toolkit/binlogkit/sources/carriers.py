"""From what a user names to the logs it holds: files, folders, globs, indexes, bytes, URLs.

Each :class:`Carrier` can be opened as often as needed, so that a log can be read twice without
keeping it. Compressed carriers (gzip, zstd) are recognised by their first bytes, not their names.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, EmptyInputError, InputError

__all__ = ["Carrier", "Source", "resolve"]

Source: TypeAlias = "str | Path | bytes | bytearray | BinaryIO | Iterable[Source]"

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GLOB = re.compile(r"[*?\[]")
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+://")
_MAGIC_LENGTH = 4
_COPY_CHUNK = 1 << 16
_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_GZIP_CHUNK = 1 << 16  # expands to 66 MB at most (1,032 : 1)
_ZSTD_CHUNK = 1 << 10  # to 32 MB: a block of 4 bytes can stand for 128 KiB
_SPOOL_IN_MEMORY = 64 << 20


@dataclass(frozen=True, slots=True)
class Carrier:
    """One log: its name as given, how to open its bytes, and its size where that is known."""

    name: str
    opener: Callable[[], BinaryIO]
    size: int | None = None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The log's uncompressed bytes; what the system says becomes an :class:`InputError`."""
        try:
            file = self.opener()
        except FileNotFoundError as exc:
            raise InputError(self.name, "no such file") from exc
        except IsADirectoryError as exc:
            raise InputError(self.name, "is a folder") from exc
        except (OSError, ValueError, ImportError) as exc:
            raise InputError(self.name, f"cannot be opened: {_reason(exc)}") from exc
        with file, _uncompressed(file, self.name) as plain:
            yield plain


def _reason(exc: Exception) -> str:
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc) or type(exc).__name__


class _Translating(io.RawIOBase):
    """A reader whose decompression failures are :class:`DamageError` with the offset reached."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._inner = file
        self._name = name
        self._offset = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        from zstandard import ZstdError

        try:
            data = self._inner.read(size)
        except (EOFError, zlib.error, ZstdError) as exc:
            raise DamageError(
                self._name, self._offset, f"its compression is damaged: {exc}"
            ) from exc
        except OSError as exc:
            raise InputError(self._name, f"cannot be read: {_reason(exc)}") from exc
        self._offset += len(data)
        return data


class _Unpacked(io.RawIOBase):
    """A compressed stream's bytes, frame after frame; unlike the libraries' own readers one that
    gives what is whole before it tells of a cut.

    ``decompressor`` makes what reads one frame; ``chunk``: compressed bytes taken at a time, which
    bounds what they can expand to.
    """

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any], chunk: int) -> None:
        self._inner = file
        self._decompressor = decompressor
        self._chunk = chunk
        self._frame = decompressor()
        self._begun = False
        self._plain = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._plain:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._begun = self._decompressor(), False
            packed = packed or self._inner.read(self._chunk)
            if not packed:
                if self._begun:
                    raise EOFError("the compressed stream ends inside a frame")
                return b""
            self._begun = True
            self._plain = self._frame.decompress(packed)
        if size < 0:
            size = len(self._plain)
        out, self._plain = self._plain[:size], self._plain[size:]
        return out


def _gzip() -> Any:
    return zlib.decompressobj(wbits=_GZIP_WINDOW)


def _zstd() -> Any:
    from zstandard import ZstdDecompressor

    return ZstdDecompressor().decompressobj()


@contextmanager
def _uncompressed(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    peeked = io.BufferedReader(cast(io.RawIOBase, file)) if not hasattr(file, "peek") else file
    try:
        head = cast(io.BufferedReader, peeked).peek(_MAGIC_LENGTH)[:_MAGIC_LENGTH]
    except OSError as exc:
        raise InputError(name, f"cannot be read: {_reason(exc)}") from exc
    plain: BinaryIO = peeked
    if head[:2] == _GZIP_MAGIC:
        plain = cast(BinaryIO, _Unpacked(plain, _gzip, _GZIP_CHUNK))
    elif head == _ZSTD_MAGIC:
        plain = cast(BinaryIO, _Unpacked(plain, _zstd, _ZSTD_CHUNK))
    yield cast(BinaryIO, _Translating(plain, name))


def resolve(source: Source) -> list[Carrier]:
    """The logs that ``source`` names, in the order they are to be read.

    A folder gives its binary logs, a ``.index`` file the logs beside it that it lists, a glob its
    matches, each in the order of their names with numbers compared as numbers. Errors:
    :class:`InputError`, :class:`EmptyInputError` where there is no log in it.
    """
    if isinstance(source, (bytes, bytearray)):
        data = bytes(source)
        return [Carrier("<bytes>", lambda: io.BytesIO(data), len(data))]
    if isinstance(source, (str, Path)):
        return _from_name(str(source))
    if hasattr(source, "read"):
        return [_from_file(cast(BinaryIO, source))]
    return _several(source)


def _several(sources: Iterable[Source]) -> list[Carrier]:
    """Of several, what names no log is told in its turn, when the others are read."""
    carriers: list[Carrier] = []
    errors: list[InputError] = []
    for item in sources:
        try:
            carriers += resolve(item)
        except InputError as error:
            errors.append(error)
            carriers.append(Carrier(error.file, partial(_refuse, error)))
    if len(errors) == len(carriers):
        raise errors[0] if errors else EmptyInputError("<list>", "no log is named")
    return carriers


def _refuse(error: InputError) -> BinaryIO:
    raise error


def _from_file(file: BinaryIO) -> Carrier:
    """A file object; copied when it cannot seek, as it will be read twice."""
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


def _from_name(name: str) -> list[Carrier]:
    if name == "-":
        return [_from_file(sys.stdin.buffer)]
    if _URL.match(name):
        return _from_url(name)
    path = Path(name)
    if path.is_dir():
        return _from_folder(path)
    if path.suffix == ".index" and path.is_file() and not _is_log(path):
        return _from_index(path)
    if not path.exists() and _GLOB.search(name):
        anchor = Path(path.anchor) if path.is_absolute() else Path()
        pattern = str(path.relative_to(path.anchor)) if path.is_absolute() else name
        found = sorted((p for p in anchor.glob(pattern) if p.is_file()), key=natural_key)
        if not found:
            raise EmptyInputError(name, "no file matches")
        return [_from_path(p) for p in found]
    if path.exists() and not path.is_file():  # a pipe, as a shell's <(…) gives it
        with path.open("rb") as stream:
            return [replace(_from_file(cast(BinaryIO, stream)), name=name)]
    return [replace(_from_path(path), name=name)]


def _from_path(path: Path) -> Carrier:
    size = path.stat().st_size if path.is_file() else None
    return Carrier(str(path), lambda: path.open("rb"), size)


def _from_folder(path: Path) -> list[Carrier]:
    found = sorted((p for p in path.iterdir() if p.is_file() and _is_log(p)), key=natural_key)
    if not found:
        raise EmptyInputError(str(path), "the folder holds no binary log")
    return [_from_path(p) for p in found]


def _from_index(path: Path) -> list[Carrier]:
    """The logs of an index file; only names beside it count, wherever its lines point."""
    lines = path.read_text("utf-8", "replace").splitlines()
    names = [re.split(r"[/\\]", line.strip())[-1] for line in lines if line.strip()]
    if not names:
        raise EmptyInputError(str(path), "the index lists no log")
    return [_from_path(path.parent / name) for name in names]


def _from_url(url: str) -> list[Carrier]:
    import fsspec

    try:
        files = fsspec.open_files(url, "rb")
    except (OSError, ValueError, ImportError) as exc:
        raise InputError(url, f"cannot be opened: {_reason(exc)}") from exc
    if not files:
        raise EmptyInputError(url, "no file matches")
    ordered = sorted(files, key=lambda f: natural_key(Path(str(f.path))))
    only = len(ordered) == 1 and not _GLOB.search(url)
    return [Carrier(url if only else str(f.full_name), partial(_open_remote, f)) for f in ordered]


def _open_remote(file: Any) -> BinaryIO:
    return cast(BinaryIO, file.open())


def natural_key(path: Path) -> tuple[object, ...]:
    """Sorts ``binlog.999999`` before ``binlog.1000000``."""
    parts = re.split(r"(\d+)", path.name)
    return (str(path.parent), *(int(p) if i % 2 else p for i, p in enumerate(parts)))


def _is_log(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(_MAGIC_LENGTH)
    if magic in (BINLOG_MAGIC, ENCRYPTED_MAGIC):
        return True
    if magic[:2] != _GZIP_MAGIC and magic != _ZSTD_MAGIC:
        return False
    try:
        with Carrier(str(path), lambda: path.open("rb")).open() as plain:
            return plain.read(_MAGIC_LENGTH) in (BINLOG_MAGIC, ENCRYPTED_MAGIC)
    except (DamageError, InputError):
        return False
