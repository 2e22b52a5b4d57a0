"""URLs: ``mysql://``, a server's logs, and whatever fsspec opens.

fsspec's caches and archives are URLs as well (``zip://x::https://…``).
A name never shows a URL's secrets: the password before its host, over HTTP also a user alone, and
what a query or fragment holds as a signature or token. ``location`` keeps the whole, to open it
again, with the options that open it.

A store's objects (S3, Google's, Azure's, HTTP where the server does ranges) have their sizes from
one listing, and are read in ranges (remote.py); what else fsspec opens is read as a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePath, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote_plus

from binlogkit.errors import EmptyInputError, InputError, not_installed
from binlogkit.sources.carriers.carrier import Carrier, is_log, shown
from binlogkit.sources.carriers.remote import Object, opened, reason
from binlogkit.sources.carriers.storage import NO_OPTIONS, Located, StorageOptions

GLOB = re.compile(r"[*?\[]")
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+(?:::|://)")
_PASSWORD = re.compile(r"(://[^/@:\s]*:)([^/\s]+)@")
_USER = re.compile(r"(https?://)([^/@:\s]+)@", re.IGNORECASE)
# What follows in a text may be ``: why``.
_VALUE = re.compile(r"([?&;#])([^=&;#\s]+)=([^&;#\s]*[^&;#\s:])")
_SECRET = re.compile(
    "sig|token|secret|pass|pwd|cred|key|auth|jwt|code|session|bearer|access", re.IGNORECASE
)
_HIDDEN = "…"
_EXTRAS = {"http": "http", "https": "http", "s3": "s3"}
_INDEX = ".index"
_MAX_INDEX = 64 << 20
# How a server names its logs, and who packs them: in a store these are not looked into.
_LOG_NAME = re.compile(r"\.\d{6,}(?:\.(?:gz|zst|bz2|xz))?$", re.ASCII)


def natural_key(path: PurePath) -> tuple[object, ...]:
    """The order of logs: their names', numbers as numbers: binlog.999999, binlog.1000000."""
    parts = re.split(r"(\d+)", path.name)
    return (str(path.parent), *(int(p) if i % 2 else p for i, p in enumerate(parts)))


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return bool(_URL.match(name))


def without_secrets(text: str) -> str:
    """A URL, or a text with URLs in it, without passwords, signatures and tokens."""
    for pattern in (_PASSWORD, _USER):
        text = pattern.sub(rf"\1{_HIDDEN}@", text)
    return _VALUE.sub(_hidden_value, text)


def _hidden_value(match: re.Match[str]) -> str:
    secret = _SECRET.search(unquote_plus(match[2]))
    return f"{match[1]}{match[2]}={_HIDDEN}" if secret else match[0]


def from_url(url: str, storage: StorageOptions = NO_OPTIONS) -> list[Carrier]:
    """The logs at a URL: one, or those of a folder, a glob or an index file.

    A folder gives the logs directly in it, or, if it has none, those in all folders below it, one
    folder after the other. ``storage``: what opens it, where the URL brings none of its own.
    Errors: :class:`InputError`, :class:`EmptyInputError`; of a server :class:`ServerError`.
    """
    if url.lower().startswith("mysql://"):
        from binlogkit.sources.server.remote import server_logs

        return server_logs(url)
    options = url.options if isinstance(url, Located) else storage
    hide = partial(_hidden, _all_of(url, options))
    try:
        return _Place(str(url), options).logs()
    except InputError:
        raise
    except ImportError as exc:
        scheme = url.partition("://")[0].rpartition("::")[2].lower()
        why = (
            not_installed(f"what opens {scheme}://", _EXTRAS[scheme]) if scheme in _EXTRAS else exc
        )
        raise InputError(without_secrets(url), f"cannot be opened: {why}") from None
    except Exception as exc:  # noqa: BLE001 - every file system has errors of its own
        raise InputError(without_secrets(url), f"cannot be opened: {reason(exc, hide)}") from None


def _all_of(url: str, options: StorageOptions) -> StorageOptions:
    """What opens a URL, with the passwords in it."""
    own = [password for _, password in _PASSWORD.findall(url)]
    return StorageOptions({**options.values, "": own}) if own else options


def _hidden(options: StorageOptions, text: str) -> str:
    return without_secrets(options.hidden(text))


class _Place:
    """A URL's file system and the path in it."""

    def __init__(self, url: str, options: StorageOptions) -> None:
        from fsspec.core import url_to_fs

        self._url, self._options = url, options
        self._hide = partial(_hidden, _all_of(url, options))
        self._fs: Any
        self._fs, self._path = url_to_fs(url, **options.values)
        # The listing is of now, not of what this process saw before.
        self._fs.invalidate_cache()
        first, *rest = url.split("::")
        self._over_http = "http" in _protocols(self._fs)
        self._store = not rest and bool(getattr(self._fs, "async_impl", False))
        if "://" not in first and rest:  # a cache in front: simplecache::https://…
            self._around, first, rest = f"{first}::", rest[0], rest[1:]
        else:
            self._around = ""
        self._behind = "".join(f"::{part}" for part in rest)
        self._first = first

    def logs(self) -> list[Carrier]:
        fs, path, name = self._fs, self._path, without_secrets(self._url)
        # Over HTTP a question mark begins the query, and only a name with a slash is a folder: to
        # ask means to fetch the file.
        asked = path.partition("?")[0] if self._over_http else path
        if GLOB.search(asked) and not fs.exists(path):
            matches = fs.glob(path, detail=True).values()
            return some(self._in_order(_files(matches)), name, "no file matches")
        otherwise = "the folder holds no binary log"
        if self._over_http and path.endswith("/"):
            listed = _files(fs.ls(path, detail=True))
            return some(filter(self._is_log, self._in_order(listed)), name, otherwise)
        info = self._info(path)
        if info is not None and info["type"] == "directory":
            return some(self._in_folder(path), name, otherwise)
        own = self._carrier(path, self._url, info)
        if not path.endswith(_INDEX) or info is None or is_log(own):
            return [own]
        with own.content() as file:
            names = index_names(file.peek(_MAX_INDEX).decode("utf-8", "surrogateescape"))
        beside = (f"{path.rpartition('/')[0]}/{name}" for name in names)
        found = (self._carrier(p, self._at(p), self._info(p)) for p in beside)
        return some(found, name, "the index lists no log")

    def _info(self, path: str) -> dict[str, Any] | None:
        """What the file system knows of a path; None where nothing is there, which is reported by
        whoever reads it."""
        try:
            return dict(self._fs.info(path))
        except (FileNotFoundError, KeyError) as exc:
            if reason(exc, self._hide) == "no such bucket":
                raise
            return None

    def _in_folder(self, path: str) -> list[Carrier]:
        folder = path.strip("/")
        listed = _files(self._fs.find(path, detail=True).values())
        direct = [i for i in listed if i["name"].strip("/").rpartition("/")[0] == folder]
        found = [*filter(self._is_log, self._in_order(direct))]
        if found or len(direct) == len(listed):
            return found
        names = {info["name"] for info in direct}
        below = [info for info in listed if info["name"] not in names]
        return [*filter(self._is_log, self._in_order(below))]

    def _is_log(self, carrier: Carrier) -> bool:
        """Whether it is one, by its content; in a store by its name, where that decides: each look
        is a request."""
        named = self._store and _LOG_NAME.search(carrier.name.partition("?")[0])
        return bool(named and carrier.size) or (carrier.size != 0 and is_log(carrier))

    def _in_order(self, infos: Sequence[Mapping[str, Any]]) -> list[Carrier]:
        ordered = sorted(infos, key=lambda i: natural_key(PurePosixPath(i["name"])))
        return [self._carrier(i["name"], self._at(i["name"]), i) for i in ordered]

    def _at(self, path: str) -> str:
        """The URL of another path of the same file system."""
        if self._first.endswith(self._path):
            first = self._first[: len(self._first) - len(self._path)] + path
        else:
            first = str(self._fs.unstrip_protocol(path))
        return f"{self._around}{first}{self._behind}"

    def _carrier(self, path: str, url: str, info: Mapping[str, Any] | None) -> Carrier:
        size = info.get("size") if info is not None else None
        name, location = shown(without_secrets(url)), Located(url, self._options)
        ranged = self._store and size is not None
        # A server that does not say that it does ranges gives the whole file at once.
        if ranged and (not self._over_http or (info or {}).get("partial") is True):
            opener: Callable[[], BinaryIO] = Object(self._fs, path, int(size or 0), self._hide).open
            return Carrier(name, opener, size, location=location, state=_state(info or {}))
        opener = partial(opened, self._fs, path, self._hide, size)
        plain = not self._behind and not self._around and not self._store
        return Carrier(name, opener, size if plain else None, location=location)


def _state(info: Mapping[str, Any]) -> str | None:
    """What a listing says of an object's bytes: its ETag, and when it was written."""
    tags = [info.get(name) for name in ("ETag", "etag", "LastModified", "last_modified", "updated")]
    known = [str(one) for one in tags if one is not None]
    return " ".join(known) or None


def _files(infos: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [info for info in infos if info["type"] == "file"]


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
    """The schemes of a file system, and of the one that a cache wraps."""
    inner = getattr(fs, "fs", None)
    own = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    return own + (_protocols(inner) if inner is not None else ())
