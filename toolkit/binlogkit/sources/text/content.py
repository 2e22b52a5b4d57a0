"""What a text holds of a log: BINLOG statements, base64, hexdumps of events or of a whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from binlogkit.errors import NotABinlogError
from binlogkit.sources.loose_events import LooseEvents, Piece
from binlogkit.sources.text.binlog_statements import HOLDS_EVENTS, BinlogText
from binlogkit.sources.text.hex_image import HexImage, Shown, dumped_events, shown
from binlogkit.sources.text.hexdump import EVENT_DUMP
from binlogkit.sources.text.scanner import decoder_of

__all__ = ["events_in_text"]

_ONLY_TEXT = "not a binary log: a text without BINLOG statements, base64 or hexdump of events"
_DECODED_MARK = "DELIMITER /*!*/;"
_DECODED = (
    "mysqlbinlog's text without BINLOG statements (--base64-output=decode-rows or never), which "
    "cannot be read back: give the log itself"
)
_UTF16_MARK = 2  # bytes
_CONTROL = bytes(b for b in range(32) if chr(b) not in "\t\n\r\f\x1b")


def events_in_text(file: BinaryIO, name: str, head: bytes) -> BinaryIO:
    """The events in ``file``, or the log that it shows; itself where it is no text.

    ``head``: its first bytes.
    """
    if not _is_text(head):
        return file
    text = _decoded(head)
    statements = HOLDS_EVENTS.search(text) is not None
    if not statements or EVENT_DUMP.search(text):
        dumps = shown(name, head)
        if dumps is Shown.IMAGE:
            return cast(BinaryIO, HexImage(name, file))
        if dumps is Shown.EVENTS:
            return _loose(name, dumped_events(name, file))
    pieces = BinlogText(name, file, bare=not statements)
    return _loose(name, _some(name, pieces, text))


def _some(name: str, pieces: Iterable[Piece], text: str) -> Iterator[Piece]:
    """The pieces; NotABinlogError when there are none."""
    none = True
    for piece in pieces:
        none = False
        yield piece
    if none:
        raise NotABinlogError(name, _DECODED if _DECODED_MARK in text else _ONLY_TEXT)


def _loose(name: str, pieces: Iterable[Piece]) -> BinaryIO:
    return cast(BinaryIO, LooseEvents(name, pieces))


def _is_text(head: bytes) -> bool:
    mark, _ = decoder_of(head[:4])
    return mark == _UTF16_MARK or head.translate(None, _CONTROL) == head


def _decoded(head: bytes) -> str:
    mark, decoder = decoder_of(head)
    return decoder.decode(head[mark:])
