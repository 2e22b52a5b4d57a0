"""What a text holds of a log: BINLOG statements, base64, hexdumps of events or of a whole file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain
from typing import BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC, HEADER_LENGTH
from binlogkit.errors import DamageError, NotABinlogError
from binlogkit.sources.framing import Framer, framing_of
from binlogkit.sources.loose_events import LooseEvent, LooseEvents, Piece, ShownFile
from binlogkit.sources.text.binlog_statements import HOLDS_EVENTS, BinlogText
from binlogkit.sources.text.hexdump import EVENT_DUMP, Dump, NewDump
from binlogkit.sources.text.scanner import decoder_of
from binlogkit.sources.unpacking import is_packed

_ONLY_TEXT = "not a binary log: a text without BINLOG statements, base64 or hexdump of events"
_DECODED_MARK = "DELIMITER /*!*/;"
_DECODED = (
    "mysqlbinlog's text without BINLOG statements (--base64-output=decode-rows or never), which "
    "cannot be read back: give the log itself"
)
_UTF16_MARK = 2  # bytes
_CONTROL = bytes(b for b in range(32) if chr(b) not in "\t\n\r\f\x1b")
_ENOUGH = 1 << 12  # bytes show what they are


def events_in_text(file: BinaryIO, name: str, head: bytes) -> BinaryIO:
    """The events in ``file``, or the log that it shows; itself where it is no text.

    ``head``: its first bytes.
    """
    mark, decoder = decoder_of(head)
    if mark != _UTF16_MARK and head.translate(None, _CONTROL) != head:
        return file
    text = decoder.decode(head[mark:])
    statements = HOLDS_EVENTS.search(text) is not None
    if not statements or EVENT_DUMP.search(text):
        dumps = _shown(name, head)
        if dumps is _Shown.IMAGE:
            return cast(BinaryIO, _HexImage(name, file))
        if dumps is _Shown.EVENTS:
            return cast(BinaryIO, LooseEvents(name, _dumped_events(name, file)))
    pieces = BinlogText(name, file, bare=not statements)
    return cast(BinaryIO, LooseEvents(name, _some(name, pieces, text)))


def _some(name: str, pieces: Iterable[Piece], text: str) -> Iterator[Piece]:
    """The pieces; NotABinlogError when there are none."""
    none = True
    for piece in pieces:
        none = False
        yield piece
    if none:
        raise NotABinlogError(name, _DECODED if _DECODED_MARK in text else _ONLY_TEXT)


class _HexImage(ShownFile):
    """The file whose bytes a dump shows, and the damage in the dump.

    What could not be read stands as zeros, so that positions hold, and is kept in damage whose
    ``offset`` is that of the file; a ``strict`` image raises it instead.
    """

    def __init__(self, name: str, text: BinaryIO) -> None:
        super().__init__(text, self._bytes(name, text))

    def _bytes(self, name: str, text: BinaryIO) -> Iterator[bytes]:
        dump, offset = iter(Dump(name, text)), 0
        for item in dump:
            if isinstance(item, bytes):
                yield item
                offset += len(item)
            elif isinstance(item, NewDump):
                break
            else:
                error = DamageError(name, offset, item.reason)
                if self.strict:
                    raise error
                self.damages.append(error)
        for item in dump:  # another one after it, which does not belong to the file
            if isinstance(item, bytes) and len(item) >= HEADER_LENGTH // 2:
                reason = "another dump follows that does not continue this one"
                self.damages.append(DamageError(name, offset, reason))
                break


def _dumped_events(name: str, text: BinaryIO) -> Iterator[Piece]:
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


class _Shown(Enum):
    """What the dumps of a text are."""

    IMAGE = "a file's bytes"
    EVENTS = "events"


def _shown(name: str, head: bytes) -> _Shown | None:
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
    return _Shown.EVENTS if damaged else None


def _what(start: bytes) -> _Shown | None:
    if start.startswith((BINLOG_MAGIC, ENCRYPTED_MAGIC)) or is_packed(start):
        return _Shown.IMAGE
    return _Shown.EVENTS if framing_of(start) is not None else None
