"""Files of fsspec's file systems: read in ranges where the store does those, and never cut short.

A store's object is read by one request for each range that the reading asks for, of at least
:data:`BLOCK` bytes, after one for its head; each byte comes once while the reading goes forward.
A request that fails, or brings too little, is repeated at the byte where it ended. Of S3 every
request names the object's ETag, so that one which was replaced meanwhile is an error.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.layers import Layer, Readable

if TYPE_CHECKING:
    from typing_extensions import Buffer

HEAD = 1 << 16  # shows what a file is, and holds a log's format description
BLOCK = 1 << 20
ATTEMPTS = 5  # requests for the same byte before that is given up
_PAUSE = 0.1  # seconds before the second; doubled before each other
_DENIED = (401, 403)
_UNREACHABLE = (
    "EndpointConnectionError", "ClientConnectorError", "ClientConnectorDNSError",
    "ConnectTimeoutError", "ConnectionRefusedError", "gaierror",
)  # fmt: skip

#: A text without secrets.
Hide = Callable[[str], str]


def reason(exc: BaseException, hide: Hide) -> str:
    """What was wrong, without the secrets that a library may quote, nor the URL once more."""
    text, kind = str(exc), type(exc).__name__
    if isinstance(exc, FileNotFoundError):
        return "no such bucket" if "bucket" in text.lower() else "no such file"
    if isinstance(exc, PermissionError) or getattr(exc, "status", None) in _DENIED:
        return "access is denied"
    if kind in _UNREACHABLE:
        return "the endpoint cannot be reached"
    if kind in ("NoCredentialsError", "PartialCredentialsError"):
        return "there are no credentials (storage_options, or the environment)"
    if _replaced(exc):
        return "it was replaced while it was read"
    return hide(reason_of(exc) if isinstance(exc, Exception) else kind)


def _replaced(exc: BaseException) -> bool:
    """s3fs 2026.9 makes a FileExpired of a 412; other stores' and versions' say it in words."""
    known = type(exc).__name__ == "FileExpired" or getattr(exc, "status", None) == 412
    return known or "PreconditionFailed" in str(exc)


def opened(fs: Any, path: str, hide: Hide, size: int | None, **how: Any) -> BinaryIO:
    """Open a file. OSError without the secrets that the library's own may quote."""
    try:
        return cast(BinaryIO, _Whole(fs.open(path, "rb", **how), hide, size))
    except (FileNotFoundError, KeyError) as exc:  # KeyError: an archive's, of fsspec before 2024.3
        raise FileNotFoundError(2, reason(exc, hide)) from None
    except Exception as exc:  # noqa: BLE001 - every file system has errors of its own
        raise OSError(reason(exc, hide)) from None


class _Whole(Layer):
    """A file whose library's errors are OSErrors without secrets; one that ends before ``size``
    is an error as well."""

    def __init__(self, file: Any, hide: Hide, size: int | None) -> None:
        super().__init__(file)
        self._hide, self._size = hide, size

    def some(self, size: int) -> bytes:
        try:
            data = bytes(self._inner.read(size))
            at = self._inner.tell() if size and not data and self._size else None
        except Exception as exc:  # noqa: BLE001 - every file system has errors of its own
            raise OSError(reason(exc, self._hide)) from None
        if at is not None and at < (self._size or 0):
            raise OSError(f"it ended at byte {at} of {self._size}")
        return data


class Object:
    """An object of a store that does ranges; opened as often as wanted, by one handle.

    ``size``: its bytes. Errors of reading it: OSError.
    """

    def __init__(self, fs: Any, path: str, size: int, hide: Hide) -> None:
        self.size, self._fs, self._path, self._hide = size, fs, path, hide
        self._lock = Lock()
        self._handle: Any = None
        self._head: bytes | None = None

    def open(self) -> BinaryIO:
        """The object from its first byte on."""
        with self._lock:
            if self._handle is None:
                self._handle = opened(self._fs, self._path, self._hide, None, cache_type="none")
                actual = getattr(cast(Any, self._handle)._inner, "size", self.size)
                if actual not in (None, self.size):
                    self._handle = None
                    raise OSError(f"it has {actual} bytes, and had {self.size} when it was listed")
        return cast(BinaryIO, _Ranges(self))

    def head(self) -> bytes:
        """The first bytes, kept until the rest is read: what a file is is asked more than once."""
        if self._head is None:
            self._head = self.range(0, min(HEAD, self.size))
        return self._head

    def forget_head(self) -> None:
        """The rest is being read."""
        self._head = None

    def range(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``, all of them."""
        parts: list[bytes] = []
        at, failed, why = start, 0, ""
        while at < stop:
            if failed:
                time.sleep(_PAUSE * (1 << (failed - 1)))
            try:
                with self._lock:
                    self._handle.seek(at)
                    data = self._handle.read(stop - at)
            except OSError as exc:
                data, why = b"", str(exc)
                if why in _FINAL:
                    raise
            if len(data) > stop - at:
                raise OSError(f"the store gave {len(data)} bytes for the {stop - at} asked for")
            parts.append(data)
            at += len(data)
            failed = 0 if data else failed + 1
            if failed == ATTEMPTS:
                why = why or "no byte came"
                raise OSError(f"interrupted at byte {at} of {self.size}: {why}")
        return b"".join(parts)


_FINAL = (
    "no such file", "no such bucket", "access is denied", "it was replaced while it was read",
)  # fmt: skip


class _Ranges(Readable):
    """An object read at a position of its own."""

    def __init__(self, stored: Object) -> None:
        self._stored = stored
        self._at = self._from = 0
        self._block = b""  # the bytes from self._from on

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_CUR: self._at, io.SEEK_END: self._stored.size}.get(whence, 0)
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, room: Buffer) -> int:
        view, size = memoryview(room).cast("B"), self._stored.size
        wanted = min(len(view), size - self._at)
        if wanted <= 0:
            return 0
        ahead = self._at - self._from
        if not 0 <= ahead < len(self._block):
            if self._at < HEAD:
                self._from, self._block = 0, self._stored.head()
            else:
                self._stored.forget_head()
                stop = min(max(self._at + wanted, self._at + BLOCK), size)
                self._from, self._block = self._at, self._stored.range(self._at, stop)
            ahead = self._at - self._from
        count = min(wanted, len(self._block) - ahead)
        view[:count] = memoryview(self._block)[ahead : ahead + count]
        self._at += count
        if ahead + count == len(self._block) and self._from:
            self._block = b""
        return count
