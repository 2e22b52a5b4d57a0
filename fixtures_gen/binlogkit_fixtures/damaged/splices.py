"""Logs of whole events that do not belong together, and of what is no event between them."""

from __future__ import annotations

from collections.abc import Callable

from binlogkit.constants import EventType as T
from binlogkit_fixtures.damaged.pieces import (
    CRC,
    MAGIC,
    Piece,
    joined,
    nth,
    with_bytes,
    with_checksum,
)
from binlogkit_fixtures.damaged.recipe import UNCHECKED, Error, Level, Recipes, Verdict

__all__ = ["SPLICES"]

SPLICES = Recipes()
_GOOD, _OPEN, _BAD = Verdict.MUST_READ, Verdict.MAY_REFUSE, Verdict.MUST_REFUSE
_NOISE = bytes((i * 73 + 41) % 255 for i in range(300))  # no zero, no plausible header


def _insert(data: bytes) -> Callable[[list[Piece]], list[Piece]]:
    """Put bytes in front of a transaction in the middle."""

    def edit(pieces: list[Piece]) -> list[Piece]:
        index = nth(pieces, T.GTID_LOG_EVENT, 40)
        return [*pieces[:index], Piece(data), *pieces[index:]]

    return edit


def _append(data: bytes) -> Callable[[list[Piece]], list[Piece]]:
    def edit(pieces: list[Piece]) -> list[Piece]:
        return [*pieces[: nth(pieces, T.XID_EVENT, 30) + 1], Piece(data)]

    return edit


SPLICES.add("noise-between", "300 bytes of noise between two events", _BAD, Error.LENGTH)(
    _insert(_NOISE)
)
SPLICES.add("zeros-between", "4096 zero bytes between two events", _BAD, Error.LENGTH)(
    _insert(bytes(4096))
)
SPLICES.add("one-byte-between", "one byte too many between two events", _BAD, Error.LENGTH)(
    _insert(b"\xaa")
)
SPLICES.add("text-between", "a line of text between two events", _BAD, Error.LENGTH)(
    _insert(b"mysqld: got signal 11; this could be because you hit a bug\n" * 2)
)
SPLICES.add("zeros-at-end", "512 zero bytes at the end, as of a crashed disk", _BAD, Error.ZEROS)(
    _append(bytes(512))
)
SPLICES.add("noise-at-end", "300 bytes of noise at the end", _BAD, Error.LENGTH)(_append(_NOISE))


@SPLICES.add("two-logs", "two logs in one file, the second with its magic", _BAD, Error.CHECKSUM)
def _two_logs(pieces: list[Piece]) -> list[Piece]:
    """The magic number, read as a header, gives a size that the file has room for."""
    end = nth(pieces, T.XID_EVENT, 5) + 1
    return [*pieces[:end], Piece(MAGIC + joined(pieces[:2])), *pieces[end:]]


@SPLICES.add(
    "table-map-missing", "a table map is missing", _BAD, Error.NO_TABLE_MAP, Level.ROWS,
)  # fmt: skip
def _no_map(pieces: list[Piece]) -> list[Piece]:
    index = nth(pieces, T.TABLE_MAP_EVENT, 5)
    table = pieces[index].data[19:25]
    # Every map of that table up to there, or an earlier one would still stand for it.
    return [
        piece
        for i, piece in enumerate(pieces)
        if not (piece.code == T.TABLE_MAP_EVENT and i <= index and piece.data[19:25] == table)
    ]


@SPLICES.add("event-missing", "rows are missing between a table map and the commit", _OPEN)
def _missing(pieces: list[Piece]) -> list[Piece]:
    index = nth(pieces, T.WRITE_ROWS_EVENT, 5)
    return [*pieces[:index], *pieces[index + 1 :]]


@SPLICES.add("commit-missing", "a commit is missing", _OPEN)
def _commit(pieces: list[Piece]) -> list[Piece]:
    index = nth(pieces, T.XID_EVENT, 5)
    return [*pieces[:index], *pieces[index + 1 :]]


@SPLICES.add("transaction-missing", "a whole transaction is missing: a gap in GTIDs", _OPEN)
def _gap(pieces: list[Piece]) -> list[Piece]:
    begin, end = (nth(pieces, T.GTID_LOG_EVENT, n) for n in (20, 21))
    return [*pieces[:begin], *pieces[end:]]


@SPLICES.add("transaction-twice", "a transaction stands there twice", _OPEN)
def _twice(pieces: list[Piece]) -> list[Piece]:
    begin, end = (nth(pieces, T.GTID_LOG_EVENT, n) for n in (20, 21))
    again = [Piece(piece.data) for piece in pieces[begin:end]]  # need not be delivered twice
    return [*pieces[:end], *again, *pieces[end:]]


@SPLICES.add("transactions-swapped", "two transactions in the other order", _OPEN)
def _swapped(pieces: list[Piece]) -> list[Piece]:
    begin, middle, end = (nth(pieces, T.GTID_LOG_EVENT, n) for n in (20, 21, 22))
    return [*pieces[:begin], *pieces[middle:end], *pieces[begin:middle], *pieces[end:]]


@SPLICES.add("format-again", "the format description once more in the middle", _GOOD)
def _format_again(pieces: list[Piece]) -> list[Piece]:
    """As in relay logs and after a restart of what writes the file."""
    index = nth(pieces, T.GTID_LOG_EVENT, 40)
    return [*pieces[:index], pieces[0], *pieces[index:]]


@SPLICES.add(
    "unchecked-in-checked", "events without a checksum after a format description that has one",
    _BAD, Error.CHECKSUM, source=UNCHECKED,
)  # fmt: skip
def _unchecked(pieces: list[Piece]) -> list[Piece]:
    """The format description claims CRC32, with its own right."""
    claimed = with_checksum(with_bytes(pieces, 0, -CRC - 1, b"\1"), 0)
    return [Piece(claimed[0].data, True), *(Piece(piece.data) for piece in pieces[1:])]
