"""From what a user names to the logs it holds: files, folders, globs, indexes, bytes, URLs."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from binlogkit.errors import EmptyInputError, InputError, together
from binlogkit.sources.carriers.carrier import Carrier, is_log, shown
from binlogkit.sources.carriers.storage import NO_OPTIONS, StorageOptions
from binlogkit.sources.carriers.urls import GLOB, from_url, index_names, is_url, natural_key, some
from binlogkit.sources.keyring import NO_KEYS, KeyFiles
from binlogkit.sources.layers import Layer, Readable, read_into

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Beside a capture's logs (sources/server/folder.py).
MANIFEST = "capture.json"
_LARGEST_MANIFEST = 64 << 20
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_COPY_CHUNK = 1 << 16
_SPOOL_IN_MEMORY = 64 << 20

Source: TypeAlias = "str | Path | bytes | bytearray | BinaryIO | Iterable[Source]"


def resolve(
    source: Source, keys: KeyFiles | None = None, storage: StorageOptions = NO_OPTIONS
) -> list[Carrier]:
    """The logs that ``source`` names, in the order they are to be read.

    A folder gives its binary logs, or, if it has none, those of all folders below it, one folder
    after the other; a ``.index`` file the logs beside it that it lists, a glob its matches, each in
    the order of their names with numbers compared as numbers; ``keys``: where the keys of encrypted
    ones are; ``storage``: what opens URLs. Errors: :class:`InputError`, :class:`EmptyInputError`
    where there is no log in it.
    """
    found = _resolve(source, storage)
    if keys is None or keys == NO_KEYS:
        return found
    return [replace(carrier, keys=keys) for carrier in found]


def _resolve(source: Source, storage: StorageOptions) -> list[Carrier]:
    if isinstance(source, (bytes, bytearray)):
        data = bytes(source)
        return [Carrier("<bytes>", lambda: io.BytesIO(data), len(data))]
    if isinstance(source, (str, Path)):
        return _from_name(source if isinstance(source, str) else str(source), storage)
    if hasattr(source, "read"):
        return [_from_file(cast(BinaryIO, source))]
    return _several(source, storage)


def _several(sources: Iterable[Source], storage: StorageOptions) -> list[Carrier]:
    """Of several, one that names no log is reported in its turn, when the others are read."""
    carriers: list[Carrier] = []
    errors: list[InputError] = []
    for item in sources:
        try:
            carriers += _resolve(item, storage)
        except InputError as error:
            errors.append(error)
            carriers.append(Carrier(error.file, partial(_refuse, error)))
    if len(errors) == len(carriers):
        raise together(errors) if errors else EmptyInputError("<list>", "no log is named")
    return carriers


def _refuse(error: InputError) -> BinaryIO:
    raise error


def is_empty(carrier: Carrier) -> bool:
    """Whether a carrier stands for what names no log, such as an empty folder."""
    made = carrier.opener
    return (
        isinstance(made, partial)
        and made.func is _refuse
        and isinstance(made.args[0], EmptyInputError)
    )


def _from_name(name: str, storage: StorageOptions) -> list[Carrier]:
    if not name:
        raise EmptyInputError("''", "no log is named")
    if name == "-":
        return [_from_file(sys.stdin.buffer)]
    if is_url(name):
        return from_url(name, storage)
    path = Path(name)
    if path.suffix != ".index" and (size := _size(path)) is not None:  # the usual one
        return [_from_path(path, name, size)]
    if path.is_dir():
        return _from_folder(path)
    if path.suffix == ".index" and path.is_file() and not is_log(_from_path(path)):
        return _from_index(path)
    if not path.exists() and GLOB.search(name):
        anchor = Path(path.anchor) if path.is_absolute() else Path()
        pattern = str(path.relative_to(path.anchor)) if path.is_absolute() else name
        found = sorted((p for p in anchor.glob(pattern) if p.is_file()), key=natural_key)
        return some(map(_from_path, found), name, "no file matches")
    if path.exists() and not path.is_file():  # a pipe, as a shell's <(…) gives it
        with path.open("rb") as stream:
            if not stream.seekable():
                return [replace(_from_file(cast(BinaryIO, stream)), name=shown(name))]
    return [_from_path(path, name)]


def _size(path: Path) -> int | None:
    """The size of a file, with one system call; None if there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return path.stat().st_size if path.is_file() else None
    return found.st_size if S_ISREG(found.st_mode) else None


def _from_path(path: Path, given: str | None = None, size: int | None = None) -> Carrier:
    """The log in a file; ``given``: the path as it was written; ``size``: if it is known."""
    size = _size(path) if size is None else size
    given = str(path) if given is None else given
    name = shown(given)
    return Carrier(
        name, lambda: path.open("rb"), size, location=None if name == given else given,
        source=captured_from(path.parent),
    )  # fmt: skip


def _from_folder(path: Path) -> list[Carrier]:
    files = sorted((p for p in path.iterdir() if p.is_file()), key=natural_key)
    found = [*filter(is_log, map(_from_path, files))] or _below(path)
    return some(found, str(path), "the folder holds no binary log")


def _below(path: Path) -> list[Carrier]:
    """The logs in the folders of a folder, those of links to folders left out."""
    folders = [Path(folder) / name for folder, names, _ in os.walk(path) for name in names]
    files = [
        file
        for folder in folders
        if not folder.is_symlink() and os.access(folder, os.R_OK | os.X_OK)
        for file in folder.iterdir()
        if file.is_file()
    ]
    return [*filter(is_log, map(_from_path, sorted(files, key=natural_key)))]


def _from_index(path: Path) -> list[Carrier]:
    """The logs of an index file; only names beside it count, wherever its lines point."""
    names = index_names(path.read_text("utf-8", "surrogateescape"))
    found = (_from_path(path.parent / name) for name in names)
    return some(found, str(path), "the index lists no log")


def captured_from(folder: Path) -> str | None:
    """The ``@@server_uuid`` of the server that a capture filled the folder from, if one did."""
    path = f"{folder}/{MANIFEST}"  # asked for each log
    try:
        found = os.stat(path)  # noqa: PTH116
        return _uuid(path, found.st_mtime_ns) if found.st_size <= _LARGEST_MANIFEST else None
    except OSError:
        return None


@lru_cache(maxsize=16)
def _uuid(path: str, _: int) -> str | None:
    try:
        uuid = json.loads(Path(path).read_text("utf-8"))["server"]["uuid"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return uuid.lower() if isinstance(uuid, str) and _UUID.fullmatch(uuid) else None


def read_schema_text(path: str) -> str:
    """A schema file's text (UTF-8, as mysqldump writes it)."""
    try:
        return Path(path).read_text("utf-8", "backslashreplace")
    except OSError as exc:
        raise InputError(path, f"cannot be read: {exc.strerror}") from exc


def _from_file(file: BinaryIO) -> Carrier:
    """A file object from its place on: never closed, and copied when it cannot seek, as it may be
    read twice."""
    name = shown(str(getattr(file, "name", "<stream>")))
    if hasattr(file, "seekable") and file.seekable():
        return Carrier(name, partial(_reopened, file, file.tell()))
    return Carrier(name, partial(_reopened, cast(BinaryIO, _Copy(file)), 0))


def _reopened(file: BinaryIO, start: int) -> BinaryIO:
    file.seek(start)
    return cast(BinaryIO, _Borrowed(file, start))


class _Copy(Layer):
    """A copy of what a stream gives, in memory, or in a nameless file where it is large."""

    def __init__(self, stream: BinaryIO) -> None:
        from tempfile import SpooledTemporaryFile

        copy = SpooledTemporaryFile(max_size=_SPOOL_IN_MEMORY)  # noqa: SIM115
        super().__init__(cast(BinaryIO, copy))
        shutil.copyfileobj(stream, copy, _COPY_CHUNK)


class _Borrowed(Readable):
    """A view of somebody else's file object at a position of its own, which it never closes."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._inner, self._pos = file, start

    def readinto(self, room: Buffer) -> int:
        self._inner.seek(self._pos)
        count = read_into(self._inner, room)
        self._pos += count
        return count
