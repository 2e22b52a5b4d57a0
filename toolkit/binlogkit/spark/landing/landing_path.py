"""Where a landing is: a folder, or a prefix in an object store.

A :class:`LandingPath` is the landing, a folder in it or a file of it, as a path is; all that lands
is listed, read, written and deleted through it. deltalake opens stores, so that its tables and
their files are reached by the same options. These hold no secret: credentials stand in the
environment of each process. What must be on this machine is in ``local``.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError, UsageError, WriteError, not_installed
from binlogkit.log.index.batches import write_whole
from binlogkit.sources.carriers.carrier import reason_of

#: What a path for deltalake (1.6.6) cannot have: it decodes escapes, and takes the rest for syntax.
UNTAKEN = re.compile(r"[\x00-\x1f\x7f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")


def needed() -> None:
    """UsageError where deltalake is not installed."""
    os.environ.setdefault("RUST_LOG", "off")  # deltalake prints what its errors say, at length
    try:
        import deltalake  # noqa: F401
    except ImportError as exc:
        raise UsageError(not_installed("deltalake", "land")) from exc


class LandingPath(ABC):
    """A landing, or a folder or file in it."""

    __slots__ = ()

    @abstractmethod
    def __truediv__(self, name: str) -> LandingPath:
        """A folder or file in this folder; ``name`` may have slashes."""

    def __lt__(self, other: LandingPath) -> bool:
        return str(self) < str(other)

    @property
    @abstractmethod
    def name(self) -> str:
        """The last part of its path."""

    @property
    @abstractmethod
    def uri(self) -> str:
        """Its path for deltalake."""

    @property
    @abstractmethod
    def options(self) -> dict[str, str] | None:
        """What opens it in deltalake."""

    @property
    @abstractmethod
    def local(self) -> Path:
        """The folder on this machine with the ledger and the marks of running landings.

        UsageError: of a landing in a store, none was named.
        """

    @property
    def has_local(self) -> bool:
        """Whether that folder is known."""
        return True

    @abstractmethod
    def check_local(self, *, landing: bool = False) -> None:
        """UsageError: that folder is of another landing; ``landing``: it is made if neither it nor
        the landing exists."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def make(self) -> None:
        """Make the folder, where there are folders."""

    @abstractmethod
    def folders(self) -> list[str]:
        """The names of the folders in it."""

    def below(self, pattern: str) -> Iterator[str]:
        """The names of folders, as ``tables/*/*``: each ``*`` is any that is there."""
        first, _, rest = pattern.partition("/")
        for name in self.folders() if first == "*" else [first]:
            yield from (f"{name}/{more}" for more in (self / name).below(rest)) if rest else [name]

    @abstractmethod
    def files(self) -> Iterator[LandingPath]:
        """All files in the folder and below it."""

    @abstractmethod
    def source(self) -> Any:
        """The file for pyarrow to read."""

    @abstractmethod
    def tail(self) -> Any:
        """The same to read a Parquet file's schema from."""

    @abstractmethod
    def data(self) -> bytes:
        """The file's bytes."""

    @abstractmethod
    def sink(self) -> Sink:
        """The file, to be written."""

    @abstractmethod
    def write_text(self, text: str) -> None:
        """Write the file as a whole. WriteError."""

    @abstractmethod
    def delete(self) -> None:
        """Delete the file, if it exists."""

    @abstractmethod
    def pattern(self) -> str:
        """A pattern of DuckDB's that only this file matches."""

    @property
    def duckdb(self) -> str:
        """A comment that says what DuckDB needs to read it, if anything."""
        return ""

    @abstractmethod
    def reason(self, exc: Exception) -> str:
        """What an error of deltalake's says, in a line and without secrets."""

    @contextmanager
    def asked(self, error: Callable[[str, str], Exception] = InputError) -> Iterator[None]:
        """What the library raises of it becomes an error that names it."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (OSError, DeltaError) as exc:
            raise error(str(self), self.reason(exc)) from None


class Sink(ABC):
    """A file that is written: ``target`` is what pyarrow writes to."""

    target: Any

    @property
    @abstractmethod
    def size(self) -> int:
        """The bytes that were written."""

    @abstractmethod
    def close(self) -> None:
        """All is written: the file is there."""

    @abstractmethod
    def drop(self) -> None:
        """Delete it."""


# ---- a folder ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Folder(LandingPath):
    """A path on this machine, or on a file system that all workers share."""

    path: Path

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.path / name)

    def __str__(self) -> str:
        return str(self.path)

    def absolute(self) -> Folder:
        """The same for another working directory."""
        return Folder(self.path.absolute())

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def uri(self) -> str:
        return str(self.path)

    @property
    def options(self) -> None:
        return None

    @property
    def local(self) -> Path:
        return self.path

    def check_local(self, *, landing: bool = False) -> None:
        """It is the landing's own. UsageError: an index of logs is there."""
        if landing and (self.path / "index.json").exists():
            raise UsageError(f"{self} is an index of logs: land in another folder")

    def exists(self) -> bool:
        return self.path.exists()

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def folders(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return sorted(one.name for one in self.path.iterdir() if one.is_dir())

    def files(self) -> Iterator[Folder]:
        return (Folder(one) for one in self.path.rglob("*") if one.is_file())

    def source(self) -> str:
        return str(self.path)

    def tail(self) -> str:
        return str(self.path)

    def data(self) -> bytes:
        return self.path.read_bytes()

    def sink(self) -> Sink:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return _File(self.path)

    def write_text(self, text: str) -> None:
        try:
            write_whole(self.path, text)
        except OSError as exc:
            raise WriteError(str(self.path), reason_of(exc)) from exc

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def pattern(self) -> str:
        return pattern_of(str(self.path.absolute()))

    def reason(self, exc: Exception) -> str:
        return reason_of(exc)


class _File(Sink):
    """A file of a folder."""

    def __init__(self, path: Path) -> None:
        self._path, self.target = path, str(path)

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    def close(self) -> None:
        """The writer has closed it."""

    def drop(self) -> None:
        self._path.unlink(missing_ok=True)


def pattern_of(path: str) -> str:
    """A pattern of DuckDB's that only this path matches."""
    return path.replace("*", "[*]").replace("?", "[?]")
