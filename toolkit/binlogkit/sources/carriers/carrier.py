"""One log, whatever carries it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, InputError, LimitError
from binlogkit.sources.content import recognised, unpacked
from binlogkit.sources.hashed import Hashed
from binlogkit.sources.keyring import NO_KEYS, KeyFiles
from binlogkit.sources.lookahead import Lookahead

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Carrier", "is_log", "reason_of"]


@dataclass(frozen=True, slots=True)
class Carrier:
    """One log: its name as given, how to open its bytes, and its size where that is known.

    ``keys``: where the keys are, should it be encrypted; ``location``: what opens it again where
    that is not the name, because it has a secret in it; ``source``: the name of the server that
    wrote it, where the user or a capture gave one.
    """

    name: str
    opener: Callable[[], BinaryIO] = field(repr=False)
    size: int | None = None
    keys: KeyFiles = NO_KEYS
    location: str | None = field(default=None, repr=False)
    source: str | None = None

    @property
    def encrypted(self) -> bool:
        """Whether the file is encrypted; without keys it is not read at all."""
        if self.keys == NO_KEYS:
            return False
        try:
            with self.opener() as stored:
                return stored.read(len(ENCRYPTED_MAGIC)) == ENCRYPTED_MAGIC
        except OSError:  # the reading itself reports it
            return False

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The log's own bytes, or its events as :class:`LooseEvents` where it is no whole log.

        What the system says becomes an :class:`InputError`.
        """
        with self._plain() as plain:
            yield recognised(plain, self.name, self.keys)

    @contextmanager
    def _plain(self) -> Iterator[Lookahead]:
        with _Reading(self._opened(), self.name) as file:
            yield unpacked(Lookahead(cast(BinaryIO, file)), self.name)

    def _opened(self) -> BinaryIO:
        try:
            return self.opener()
        except FileNotFoundError as exc:
            raise InputError(self.name, "no such file") from exc
        except IsADirectoryError as exc:
            raise InputError(self.name, "is a folder") from exc
        except (OSError, ValueError, ImportError) as exc:
            raise InputError(self.name, f"cannot be opened: {reason_of(exc)}") from exc


def is_log(carrier: Carrier) -> bool:
    """Whether a whole log stands in it, by its magic; of what a folder holds only this is read."""
    try:
        with carrier._plain() as plain:
            return plain.peek(len(BINLOG_MAGIC)) in (BINLOG_MAGIC, ENCRYPTED_MAGIC)
    except (DamageError, InputError, LimitError):
        return False


def reason_of(exc: Exception) -> str:
    """What the system says, without the path that the message has already."""
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc) or type(exc).__name__


class _Reading(io.RawIOBase):
    """A file whose read errors are :class:`InputError`."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._inner = file
        self._name = name

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        try:
            return self._inner.read(size)
        except (OSError, ValueError) as exc:
            raise InputError(self._name, f"cannot be read: {reason_of(exc)}") from exc

    def readinto(self, room: Buffer) -> int:
        """Into ``room``, without a copy where the file can do that."""
        if isinstance(self._inner, (io.BufferedReader, Hashed)):
            try:
                return self._inner.readinto(room)
            except (OSError, ValueError) as exc:
                raise InputError(self._name, f"cannot be read: {reason_of(exc)}") from exc
        view = memoryview(room)
        data = self.read(len(view))
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
