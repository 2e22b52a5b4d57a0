"""What an input's first bytes are: a log, something packed around one, or events in another form.

A log file begins with ``fe 62 69 6e``. What begins otherwise is unpacked (compression), or holds
events without a file around them: end to end, in packets, as base64 or hexdumps in a text. It is
told by content alone, never by a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, TruncatedEventError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.framing import Framer, Framing, framing_of
from binlogkit.sources.keyring import KeyFiles
from binlogkit.sources.layers import Lookahead
from binlogkit.sources.loose_events import LooseEvent, LooseEvents, Piece, ShownFile
from binlogkit.sources.unpacking import MAGIC_LENGTH, is_packed, unpack

__all__ = ["recognised", "unpacked"]

_HEAD = 1 << 20  # bytes in which a text shows what it is
_CHUNK = 1 << 16


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
            from binlogkit.sources.encryption import decrypted

            return cast(BinaryIO, decrypted(file, name, keys))
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
