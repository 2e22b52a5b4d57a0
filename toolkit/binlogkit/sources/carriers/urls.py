"""URLs: ``mysql://``, a server's logs, and whatever fsspec opens.

fsspec's caches and archives are URLs as well (``zip://x::https://…``).
A name never shows a URL's secrets: the password before its host, and what a query holds as a
signature or token. ``location`` keeps the whole, to open it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import PurePath, PurePosixPath
from typing import Any, BinaryIO, cast

from binlogkit.errors import EmptyInputError, InputError
from binlogkit.sources.carriers.carrier import Carrier, is_log, reason_of, shown
from binlogkit.sources.layers import Layer

GLOB = re.compile(r"[*?\[]")
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+(?:::|://)")
_PASSWORD = re.compile(r"(://[^/@:\s]*:)[^/@\s]+@")
_TOKEN = re.compile(
    r"([?&][^=&#\s]*(?:sig|token|secret|password|passwd|credential|key)[^=&#\s]*=)[^&#:\s]+",
    re.IGNORECASE,
)
_HIDDEN = r"\1…"
_INDEX = ".index"
_MAX_INDEX = 64 << 20


def natural_key(path: PurePath) -> tuple[object, ...]:
    """The order of logs: their names', numbers as numbers: binlog.999999, binlog.1000000."""
    parts = re.split(r"(\d+)", path.name)
    return (str(path.parent), *(int(p) if i % 2 else p for i, p in enumerate(parts)))


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return bool(_URL.match(name))


def without_secrets(text: str) -> str:
    """A URL, or a text with URLs in it, without passwords, signatures and tokens."""
    return _TOKEN.sub(_HIDDEN, _PASSWORD.sub(rf"{_HIDDEN}@", text))


def from_url(url: str) -> list[Carrier]:
    """The logs at a URL: one, or those of a folder, a glob or an index file.

    Errors: :class:`InputError`, :class:`EmptyInputError`; of a server :class:`ServerError`.
    """
    if url.lower().startswith("mysql://"):
        from binlogkit.sources.server.remote import server_logs

        return server_logs(url)
    try:
        return _Place(url).logs()
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as exc:
        raise InputError(without_secrets(url), f"cannot be opened: {_reason(exc)}") from None


def _reason(exc: Exception) -> str:
    """The reason without the secrets that a library may quote; the cause is left out as well."""
    return without_secrets(reason_of(exc))


class _Place:
    """A URL's file system and the path in it."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs

        self._url = url
        self._fs: Any
        self._fs, self._path = url_to_fs(url)
        first, *rest = url.split("::")
        if "://" not in first and rest:  # a cache in front: simplecache::https://…
            self._around, first, rest = f"{first}::", rest[0], rest[1:]
        else:
            self._around = ""
        self._behind = "".join(f"::{part}" for part in rest)
        self._first = first

    def logs(self) -> list[Carrier]:
        fs, path, name = self._fs, self._path, without_secrets(self._url)
        over_http = "http" in _protocols(fs)
        # Over HTTP a question mark begins the query, and only a name with a slash is a folder: to
        # ask means to fetch the file.
        if GLOB.search(path.partition("?")[0] if over_http else path) and not fs.exists(path):
            found = [p for p in fs.glob(path) if not fs.isdir(p)]
            return some(self._in_order(found), name, "no file matches")
        if path.endswith("/") if over_http else fs.isdir(path):
            listed = fs.ls(path, detail=True)
            found = self._in_order([f["name"] for f in listed if f["type"] == "file"])
            return some(filter(is_log, found), name, "the folder holds no binary log")
        own = self._carrier(path, self._url)
        if not path.endswith(_INDEX) or is_log(own):
            return [own]
        with _open(fs, path) as file:
            names = index_names(file.read(_MAX_INDEX).decode("utf-8", "surrogateescape"))
        beside = (f"{path.rpartition('/')[0]}/{name}" for name in names)
        return some((self._carrier(p, self._at(p)) for p in beside), name, "the index lists no log")

    def _in_order(self, paths: Sequence[str]) -> list[Carrier]:
        ordered = sorted(paths, key=lambda p: natural_key(PurePosixPath(p)))
        return [self._carrier(path, self._at(path)) for path in ordered]

    def _at(self, path: str) -> str:
        """The URL of another path of the same file system."""
        if self._first.endswith(self._path):
            first = self._first[: len(self._first) - len(self._path)] + path
        else:
            first = str(self._fs.unstrip_protocol(path))
        return f"{self._around}{first}{self._behind}"

    def _carrier(self, path: str, url: str) -> Carrier:
        opener = partial(_open, self._fs, path)
        return Carrier(shown(without_secrets(url)), opener, location=url)


def some(found: Iterable[Carrier], name: str, otherwise: str) -> list[Carrier]:
    """All that was found; :class:`EmptyInputError` of ``name`` where that is nothing."""
    carriers = list(found)
    if not carriers:
        raise EmptyInputError(name, otherwise)
    return carriers


def index_names(text: str) -> list[str]:
    """The file names in an index file, wherever its lines point."""
    return [re.split(r"[/\\]", line.strip())[-1] for line in text.split("\n") if line.strip()]


def _protocols(fs: Any) -> tuple[str, ...]:
    """The schemes of a file system, and of the one behind a cache."""
    inner = getattr(fs, "fs", None)
    own = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    return own + (_protocols(inner) if inner is not None else ())


def _open(fs: Any, path: str) -> BinaryIO:
    """Open a remote file. OSError without the secrets that the library's own may quote."""
    try:
        return cast(BinaryIO, _Remote(fs.open(path, "rb")))
    except (FileNotFoundError, KeyError):  # KeyError: an archive's, of fsspec before 2024.3
        raise FileNotFoundError(2, "no such file") from None
    except Exception as exc:  # noqa: BLE001 - every file system has errors of its own
        raise OSError(_reason(exc)) from None


class _Remote(Layer):
    """A remote file whose library's errors are OSErrors without secrets."""

    def some(self, size: int) -> bytes:
        try:
            return bytes(self._inner.read(size))
        except Exception as exc:  # noqa: BLE001 - every file system has errors of its own
            raise OSError(_reason(exc)) from None
