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
from binlogkit.sources.keyring import NO_KEYS, KeyFiles
from binlogkit.sources.layers import Layer, Lookahead, read_into
from binlogkit.sources.loose_events import LooseEvents, ShownFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Carrier", "can_seek", "is_log", "reason_of", "up_to"]


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


class _Reading(Layer):
    """A file whose read errors are :class:`InputError`."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file)
        self._name = name

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as exc:
            raise InputError(self._name, f"cannot be read: {reason_of(exc)}") from exc

    def some(self, size: int) -> bytes:
        with self._reported():
            return self._inner.read(size)

    def readinto(self, room: Buffer) -> int:
        with self._reported():
            return read_into(self._inner, room)


def can_seek(carrier: Carrier) -> bool:
    """Whether a log can be read from any offset on."""
    with carrier.open() as file:
        return not isinstance(file, (LooseEvents, ShownFile)) and file.seekable()


def up_to(carrier: Carrier, stop: int) -> Carrier:
    """``carrier`` with the bytes before the offset ``stop`` only: a live one has got more since.

    Events in a text come all the same. Reading it ends with an InputError where it is shorter.
    """
    return _UpTo(
        carrier.name, carrier.opener, carrier.size, carrier.keys, carrier.location, stop=stop
    )


@dataclass(frozen=True, slots=True)
class _UpTo(Carrier):
    stop: int = 0

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """See :meth:`Carrier.open`."""
        with Carrier.open(self) as file:
            if isinstance(file, (LooseEvents, ShownFile)):
                yield file
            else:
                yield cast(BinaryIO, _Part(file, self.name, self.stop))


class _Part(Layer):
    """A file's bytes before ``stop``."""

    def __init__(self, file: BinaryIO, name: str, stop: int) -> None:
        super().__init__(file)
        self._name, self._stop = name, stop
        self._at = 0

    def some(self, size: int) -> bytes:
        room = bytearray(min(size, max(self._stop - self._at, 0)))
        return bytes(room[: self.readinto(room)])

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)[: self._stop - self._at]
        count = read_into(self._inner, view)
        if not count and len(view):
            reason = f"it has {self._at} bytes, and had {self._stop} when it was looked at"
            raise InputError(self._name, reason)
        self._at += count
        return count

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            offset, whence = offset + self._stop, io.SEEK_SET
        self._at = self._inner.seek(offset, whence)
        return self._at
