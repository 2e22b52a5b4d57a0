"""Logs of which one event has a size in its header that is not its own."""

from __future__ import annotations

import struct
from collections.abc import Callable

from binlogkit.constants import EventType as T
from binlogkit_fixtures.damaged.pieces import Piece, nth, with_bytes, with_checksum
from binlogkit_fixtures.damaged.recipe import (
    CHECKED,
    PACKED,
    UNCHECKED,
    Error,
    Recipes,
    Source,
    Verdict,
)

__all__ = ["LENGTHS"]

LENGTHS = Recipes()
_BAD = Verdict.MUST_REFUSE
_SIZE_AT = 9


def _sized(code: int, size: Callable[[int], int]) -> Callable[[list[Piece]], list[Piece]]:
    """Another size in an event's header, the checksum that of the bytes that are there."""

    def edit(pieces: list[Piece]) -> list[Piece]:
        index = nth(pieces, code, 5)
        claimed = struct.pack("<I", size(len(pieces[index].data)))
        return with_checksum(with_bytes(pieces, index, _SIZE_AT, claimed), index)

    return edit


def _plain(code: int, size: Callable[[int], int]) -> Callable[[list[Piece]], list[Piece]]:
    def edit(pieces: list[Piece]) -> list[Piece]:
        index = nth(pieces, code, 5)
        claimed = struct.pack("<I", size(len(pieces[index].data)))
        return with_bytes(pieces, index, _SIZE_AT, claimed)

    return edit


_SIZES: tuple[tuple[str, str, Callable[[int], int], Error], ...] = (
    ("zero", "is 0", lambda _: 0, Error.LENGTH),
    ("one", "is 1", lambda _: 1, Error.LENGTH),
    ("header-less-one", "is less than a header", lambda _: 18, Error.LENGTH),
    ("header-only", "is a header's and no more", lambda _: 19, Error.LENGTH),
    ("one-less", "is one less than the event's", lambda n: n - 1, Error.CHECKSUM),
    ("one-more", "is one more than the event's", lambda n: n + 1, Error.CHECKSUM),
    ("past-the-end", "goes past the end of the file", lambda n: n + 100_000, Error.LENGTH),
    ("largest", "is 2^32 - 1", lambda _: 0xFFFF_FFFF, Error.LENGTH),
)
for _name, _what, _size, _error in _SIZES:
    _text = f"an event's size {_what}"
    LENGTHS.add(f"size-{_name}", _text, _BAD, _error)(_sized(T.WRITE_ROWS_EVENT, _size))
_OTHERS: tuple[tuple[str, Source, int, str, Callable[[int], int]], ...] = (
    ("query-zero", CHECKED, T.QUERY_EVENT, "a statement's size is 0", lambda _: 0),
    ("payload-largest", PACKED, T.TRANSACTION_PAYLOAD_EVENT,
     "a compressed transaction's size is 2^32 - 1", lambda _: 0xFFFF_FFFF),
)  # fmt: skip
for _name, _source, _code, _text, _size in _OTHERS:
    LENGTHS.add(f"size-{_name}", _text, _BAD, Error.LENGTH, source=_source)(_sized(_code, _size))
for _name, _what, _size, _ in (_SIZES[0], _SIZES[5], _SIZES[7]):
    _text = f"an event's size {_what}, without checksums"
    LENGTHS.add(f"size-unchecked-{_name}", _text, _BAD, Error.LENGTH, source=UNCHECKED)(
        _plain(T.WRITE_ROWS_EVENT, _size)
    )
