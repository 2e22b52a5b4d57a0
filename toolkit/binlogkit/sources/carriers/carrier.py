"""One log, whatever carries it: a log file, something packed around one, or events in another form.

A log file begins with ``fe 62 69 6e``. What begins otherwise is unpacked (compression), or holds
events without a file around them: end to end, in packets, as base64 or hexdumps in a text. It is
recognised by content alone, never by a name.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, InputError, LimitError, TruncatedEventError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.framing import Framer, Framing, framing_of
from binlogkit.sources.keyring import NO_KEYS, KeyFiles
from binlogkit.sources.layers import Lookahead, RoomLayer, read_into
from binlogkit.sources.loose_events import LooseEvent, LooseEvents, Piece, ShownFile
from binlogkit.sources.unpacking import MAGIC_LENGTH, is_packed, unpack

if TYPE_CHECKING:
    from typing_extensions import Buffer

_HEAD = 1 << 20  # bytes in which a text shows what it is
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Carrier:
    """One log: its name as given, how to open its bytes, and its size where that is known.

    ``keys``: where the keys are, should it be encrypted; ``location``: what opens it again where
    that is not the name, because it has a secret in it, or bytes that are no text; ``source``: the
    name of the server that wrote it, where the user or a capture gave one; ``state``: what a
    store's listing says of its bytes, another text where they have changed.
    """

    name: str
    opener: Callable[[], BinaryIO] = field(repr=False)
    size: int | None = None
    keys: KeyFiles = NO_KEYS
    location: str | None = field(default=None, repr=False)
    source: str | None = None
    state: str | None = None

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
        with self.content() as plain:
            yield _recognised(plain, self.name, self.keys)

    @contextmanager
    def content(self) -> Iterator[Lookahead]:
        """The bytes in the file, unpacked: of what is no log, too."""
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
        with carrier.content() as plain:
            return plain.peek(len(BINLOG_MAGIC)) in (BINLOG_MAGIC, ENCRYPTED_MAGIC)
    except (DamageError, InputError, LimitError):
        return False


def shown(name: str) -> str:
    """A file's name as text: bytes in it that are no UTF-8, which Python keeps as surrogates, as
    ``\\xff``."""
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that no file's name gives
        return name.encode("utf-8", "backslashreplace").decode("utf-8")


def reason_of(exc: Exception) -> str:
    """What the system says, without the path that the message has already."""
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc) or type(exc).__name__


def unpacked(file: Lookahead, name: str) -> Lookahead:
    """``file`` without the compression around it, however many layers there are."""
    for _ in range(limit("NESTING") + 1):
        head = file.peek(MAGIC_LENGTH)
        if not is_packed(head):
            return file
        file = Lookahead(unpack(cast(BinaryIO, file), name, head))
    raise limit_error(name, "NESTING", "compressed again and again")


def _recognised(file: Lookahead, name: str, keys: KeyFiles) -> BinaryIO:
    """``file``, decrypted, or the events in it where it is no log file.

    What is nothing known is given as it is: the log's reader says what is wrong.
    """
    for _ in range(limit("NESTING") + 1):
        file = unpacked(file, name)
        magic = file.peek(len(BINLOG_MAGIC))
        if magic in (b"", BINLOG_MAGIC):
            return cast(BinaryIO, file)
        if magic == ENCRYPTED_MAGIC:
            from binlogkit.sources.encryption import decrypted

            try:
                return cast(BinaryIO, decrypted(file, name, keys))
            except DamageError as error:  # raised, or reported, as the first event is asked for
                return cast(BinaryIO, Lookahead(cast(BinaryIO, io.BytesIO()), failure=error))
        inside = _other(file, name)
        if not isinstance(inside, ShownFile):
            return inside
        if inside.peek(len(BINLOG_MAGIC)) == BINLOG_MAGIC:
            return cast(BinaryIO, inside)
        inside.strict, file = True, Lookahead(cast(BinaryIO, inside))
    raise limit_error(name, "NESTING", "packed again and again")


def _other(file: Lookahead, name: str) -> BinaryIO:
    """Events without a file around them, or what a text holds; else the file as it is."""
    plain, head = cast(BinaryIO, file), file.peek(_HEAD)
    framing = framing_of(head)
    if framing is not None:
        return cast(BinaryIO, LooseEvents(name, _framed(name, plain, framing)))
    from binlogkit.sources.text.content import events_in_text

    return events_in_text(plain, name, head)


def _framed(name: str, file: BinaryIO, framing: Framing) -> Iterator[Piece]:
    framer = Framer(framing)
    while chunk := file.read(_CHUNK):
        yield from (LooseEvent(event) for event in framer.feed(chunk))
        if framer.broken:
            break
    yield from (LooseEvent(event) for event in framer.end())
    if framer.broken:
        error = TruncatedEventError if framer.cut else DamageError
        yield error(name, framer.offset, framer.broken)


class _Reading(RoomLayer):
    """A file whose read errors are :class:`InputError`."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file)
        self._name = name

    def readinto(self, room: Buffer) -> int:
        try:
            return read_into(self._inner, room)
        except (OSError, ValueError) as exc:
            raise InputError(self._name, f"cannot be read: {reason_of(exc)}") from exc


def can_seek(carrier: Carrier) -> bool:
    """Whether a log can be read from any offset on."""
    with carrier.open() as file:
        return not isinstance(file, (LooseEvents, ShownFile)) and file.seekable()


def up_to(carrier: Carrier, stop: int) -> Carrier:
    """``carrier`` with the bytes before the offset ``stop`` only: a live one has got more since.

    Events in a text come all the same. Reading it ends with an InputError where it is shorter.
    """
    facts = (carrier.name, carrier.opener, carrier.size, carrier.keys, carrier.location)
    return _UpTo(*facts, carrier.source, stop=stop)


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


class _Part(RoomLayer):
    """A file's bytes before ``stop``."""

    def __init__(self, file: BinaryIO, name: str, stop: int) -> None:
        super().__init__(file)
        self._name, self._stop = name, stop
        self._at = 0

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)[: max(self._stop - self._at, 0)]
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
