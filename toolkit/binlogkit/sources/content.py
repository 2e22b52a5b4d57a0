"""What an input's first bytes are: a log, something packed around one, or events in another form.

A log file begins with ``fe 62 69 6e``. What begins otherwise is unpacked (compression), or holds
events without a file around them: end to end, in packets, as base64 or hexdumps in a text. It is
told by content alone, never by a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, NotABinlogError, TruncatedEventError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.encryption import decrypted
from binlogkit.sources.framing import Framer, Framing, framing_of
from binlogkit.sources.keyring import KeyFiles
from binlogkit.sources.lookahead import Lookahead
from binlogkit.sources.loose_events import LooseEvent, LooseEvents, Piece
from binlogkit.sources.text.binlog_statements import HOLDS_EVENTS, BinlogText
from binlogkit.sources.text.hex_image import HexImage, Shown, dumped_events, shown
from binlogkit.sources.text.hexdump import EVENT_DUMP
from binlogkit.sources.text.scanner import decoder_of
from binlogkit.sources.unpacking import MAGIC_LENGTH, is_packed, unpack

__all__ = ["recognised", "unpacked"]

_HEAD = 1 << 20  # bytes in which a text shows what it is
_CHUNK = 1 << 16
_ONLY_TEXT = "not a binary log: a text without BINLOG statements, base64 or hexdump of events"
_DECODED_MARK = "DELIMITER /*!*/;"
_DECODED = (
    "mysqlbinlog's text without BINLOG statements (--base64-output=decode-rows or never), which "
    "cannot be read back: give the log itself"
)
_UTF16_MARK = 2  # bytes
_CONTROL = bytes(b for b in range(32) if chr(b) not in "\t\n\r\f\x1b")


def unpacked(file: Lookahead, name: str) -> Lookahead:
    """``file`` without the compression around it, however many layers there are."""
    for _ in range(limit("NESTING") + 1):
        head = file.peek(MAGIC_LENGTH)
        if not is_packed(head):
            return file
        file = Lookahead(unpack(cast(BinaryIO, file), name, head))
    raise limit_error(name, "NESTING", "compressed again and again")


def recognised(file: Lookahead, name: str, keys: KeyFiles) -> BinaryIO:
    """``file``, decrypted, or the events in it where it is no log file.

    What is nothing known is given as it is: whoever reads it as a log says what is wrong.
    """
    for _ in range(limit("NESTING") + 1):
        file = unpacked(file, name)
        magic = file.peek(len(BINLOG_MAGIC))
        if magic in (b"", BINLOG_MAGIC):
            return cast(BinaryIO, file)
        if magic == ENCRYPTED_MAGIC:
            return cast(BinaryIO, decrypted(file, name, keys))
        inside = _other(file, name)
        if not isinstance(inside, HexImage):
            return inside
        if inside.peek(len(BINLOG_MAGIC)) == BINLOG_MAGIC:
            return cast(BinaryIO, inside)
        inside.strict, file = True, Lookahead(cast(BinaryIO, inside))
    raise limit_error(name, "NESTING", "packed again and again")


def _other(file: Lookahead, name: str) -> BinaryIO:
    """Events without a file around them, or what a text holds; else the file as it is."""
    plain, head = cast(BinaryIO, file), file.peek(_HEAD)
    whole = len(head) < _HEAD
    framing = framing_of(head, whole=whole)
    if framing is not None:
        return _loose(name, _framed(name, plain, framing))
    if not _is_text(head):
        return plain
    text = _decoded(head)
    statements = HOLDS_EVENTS.search(text) is not None
    if not statements or EVENT_DUMP.search(text):
        dumps = shown(name, head, whole=whole)
        if dumps is Shown.IMAGE:
            return cast(BinaryIO, HexImage(name, plain))
        if dumps is Shown.EVENTS:
            return _loose(name, dumped_events(name, plain))
    pieces = BinlogText(name, plain, bare=not statements)
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
