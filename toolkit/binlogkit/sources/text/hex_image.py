"""What the dumps of a text hold: a whole file's bytes, or events."""

from __future__ import annotations

import io
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC, HEADER_LENGTH
from binlogkit.errors import DamageError
from binlogkit.sources.framing import Framer, framing_of
from binlogkit.sources.loose_events import LooseEvent, Piece, ShownFile
from binlogkit.sources.text.hexdump import Dump, Item, NewDump
from binlogkit.sources.unpacking import is_packed

__all__ = ["HexImage", "Shown", "dumped_events", "shown"]

_ENOUGH = 1 << 12  # bytes show what they are


class HexImage(ShownFile):
    """The file whose bytes a dump shows, and the damage in the dump.

    What could not be read stands as zeros, so that positions hold, and is kept in damage whose
    ``offset`` is that of the file; a ``strict`` image raises it instead.
    """

    def __init__(self, name: str, text: BinaryIO) -> None:
        self.strict = False
        self._name = name
        self._text = text
        self._dump: Iterator[Item] = iter(Dump(name, text))
        self._plain = b""
        self._offset = 0
        self._damages: list[DamageError] = []

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        while not self._plain:
            item = next(self._dump, None)
            if item is None:
                return b""
            self._take(item)
        data, self._plain = self._plain[:size], self._plain[size:]
        self._offset += len(data)
        return data

    def peek(self, length: int) -> bytes:
        """The next ``length`` bytes, fewer at the end, without moving."""
        while len(self._plain) < length and (item := next(self._dump, None)) is not None:
            self._take(item)
        return self._plain[:length]

    def damage_before(self, offset: int) -> list[DamageError]:
        """The damage at bytes before ``offset`` of the file, each told once."""
        told = [d for d in self._damages if d.offset < offset]
        self._damages = [d for d in self._damages if d.offset >= offset]
        return told

    def _take(self, item: Item) -> None:
        if isinstance(item, bytes):
            self._plain += item
        elif isinstance(item, NewDump):
            self._end()
        else:
            error = DamageError(self._name, self._offset + len(self._plain), item.reason)
            if self.strict:
                raise error
            self._damages.append(error)

    def _end(self) -> None:
        """The dump is over; another one behind it does not belong to the file."""
        for item in self._dump:
            if isinstance(item, bytes) and len(item) >= HEADER_LENGTH // 2:
                reason = "another dump follows, which does not go on from this one"
                self._damages.append(
                    DamageError(self._name, self._offset + len(self._plain), reason)
                )
                break
        self._dump = iter(())

    def close(self) -> None:
        self._text.close()
        super().close()


def dumped_events(name: str, text: BinaryIO) -> Iterator[Piece]:
    """The events of the dumps of a text, and the damage in them.

    A dump is events end to end or packets. One with offsets that is neither is damage; digits
    alone may stand in a text for anything, and are left where no event begins with them.
    """
    dump, framer, events = Dump(name, text), Framer(), 0
    for item in chain(dump, [NewDump(offsets=True)]):
        if isinstance(item, bytes):
            for event in framer.feed(item):
                events += 1
                yield LooseEvent(event)
        elif isinstance(item, DamageError):
            yield item
        else:
            for event in framer.end():
                events += 1
                yield LooseEvent(event)
            if framer.broken and (item.offsets or events or framer.began):
                yield dump.damage(framer.broken)
            framer, events = Framer(), 0


class Shown(Enum):
    """What the dumps of a text are."""

    IMAGE = "a file's bytes"
    EVENTS = "events"


def shown(name: str, head: bytes) -> Shown | None:
    """What the dumps of a text that begins with ``head`` are; None where it holds none."""
    start, decided, damaged = b"", False, False
    for item in chain(Dump(name, cast(BinaryIO, io.BytesIO(head))), [NewDump(offsets=False)]):
        if isinstance(item, bytes):
            start += item[:_ENOUGH]
        damaged = damaged or isinstance(item, DamageError)
        ended = isinstance(item, NewDump)
        if not decided and (ended or len(start) >= _ENOUGH):
            found = _what(start)
            if found is not None:
                return found
            decided = True
        if ended:
            start, decided = b"", False
    return Shown.EVENTS if damaged else None


def _what(start: bytes) -> Shown | None:
    if start.startswith((BINLOG_MAGIC, ENCRYPTED_MAGIC)) or is_packed(start):
        return Shown.IMAGE
    return Shown.EVENTS if framing_of(start) is not None else None
