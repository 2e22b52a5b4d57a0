"""Logs that end too early, or begin too late."""

from __future__ import annotations

from collections.abc import Callable

from binlogkit.constants import EventType as T
from binlogkit_fixtures.damaged.pieces import CRC, HEADER, Piece, nth
from binlogkit_fixtures.damaged.recipe import (
    CHECKED,
    PACKED,
    UNCHECKED,
    Error,
    Level,
    Recipes,
    Verdict,
)

__all__ = ["CUTS"]

CUTS = Recipes()
_GOOD, _OPEN, _BAD = Verdict.MUST_READ, Verdict.MAY_REFUSE, Verdict.MUST_REFUSE


@CUTS.add("cut-empty", "the file has no bytes", _BAD, Error.EMPTY, magic=b"")
def _empty(_: list[Piece]) -> list[Piece]:
    return []


@CUTS.add("cut-in-magic", "two bytes of the magic number", _BAD, Error.NOT_A_BINLOG, magic=b"\xfeb")
def _in_magic(_: list[Piece]) -> list[Piece]:
    return []


@CUTS.add("cut-after-magic", "nothing after the magic number", _OPEN, Error.NOT_A_BINLOG)
def _after_magic(_: list[Piece]) -> list[Piece]:
    return []


def _within(code: int, at: int, number: int = 0) -> Callable[[list[Piece]], list[Piece]]:
    """End the log inside an event, ``at`` bytes from its start (from its end where negative)."""

    def edit(pieces: list[Piece]) -> list[Piece]:
        index = nth(pieces, code, number)
        return [*pieces[:index], Piece(pieces[index].data[:at])]

    return edit


_SHORT = (
    ("format-description-header", T.FORMAT_DESCRIPTION_EVENT, 10, "the first event's header"),
    ("format-description-body", T.FORMAT_DESCRIPTION_EVENT, 60, "the format description"),
    ("gtid", T.GTID_LOG_EVENT, 40, "a GTID event"),
    ("query", T.QUERY_EVENT, 50, "a statement"),
    ("table-map", T.TABLE_MAP_EVENT, 30, "a table map"),
    ("rows", T.WRITE_ROWS_EVENT, 33, "row images"),
    ("xid", T.XID_EVENT, 20, "a commit"),
    ("header-first-byte", T.WRITE_ROWS_EVENT, 1, "an event's header, after its first byte"),
    ("header-before-size", T.WRITE_ROWS_EVENT, 9, "an event's header, before the size"),
    ("header-last-byte", T.WRITE_ROWS_EVENT, HEADER - 1, "an event's header, before its last byte"),
    ("after-header", T.WRITE_ROWS_EVENT, HEADER, "an event, after its header"),
    ("before-checksum", T.UPDATE_ROWS_EVENT, -CRC, "an event, before its checksum"),
    ("last-byte", T.UPDATE_ROWS_EVENT, -1, "an event's checksum, before its last byte"),
)
for _name, _code, _at, _where in _SHORT:
    CUTS.add(f"cut-{_name}", f"the file ends inside {_where}", _BAD, Error.TRUNCATED)(
        _within(_code, _at)
    )
CUTS.add(
    "cut-unchecked-rows", "the file ends inside row images, without checksums",
    _BAD, Error.TRUNCATED, source=UNCHECKED,
)(_within(T.WRITE_ROWS_EVENT, -1))  # fmt: skip
CUTS.add(
    "cut-payload", "the file ends inside a compressed transaction",
    _BAD, Error.TRUNCATED, source=PACKED,
)(_within(T.TRANSACTION_PAYLOAD_EVENT, 60))  # fmt: skip


@CUTS.add("cut-after-format", "the file ends after the format description", _GOOD)
def _after_format(pieces: list[Piece]) -> list[Piece]:
    return pieces[:1]


@CUTS.add("cut-at-commit", "the file ends after a commit, without STOP or ROTATE", _GOOD)
def _at_commit(pieces: list[Piece]) -> list[Piece]:
    return pieces[: nth(pieces, T.XID_EVENT, 3) + 1]


@CUTS.add("cut-in-transaction", "the file ends between a transaction's events", _OPEN)
def _in_transaction(pieces: list[Piece]) -> list[Piece]:
    return pieces[: nth(pieces, T.XID_EVENT, 3)]


@CUTS.add("cut-before-rows", "the file ends between a table map and its rows", _OPEN)
def _before_rows(pieces: list[Piece]) -> list[Piece]:
    return pieces[: nth(pieces, T.WRITE_ROWS_EVENT, 3)]


@CUTS.add("begun-at-transaction", "the first transactions are missing", _GOOD)
def _at_transaction(pieces: list[Piece]) -> list[Piece]:
    start = nth(pieces, T.GTID_LOG_EVENT, 30)
    return [*pieces[:2], *pieces[start:]]


@CUTS.add(
    "begun-at-rows", "the log begins with rows whose table map is missing",
    _BAD, Error.NO_TABLE_MAP, Level.ROWS,
)  # fmt: skip
def _at_rows(pieces: list[Piece]) -> list[Piece]:
    return [*pieces[:2], *pieces[nth(pieces, T.WRITE_ROWS_EVENT, 5) :]]


@CUTS.add("begun-without-format", "the format description is missing", _OPEN, Error.NO_FORMAT)
def _without_format(pieces: list[Piece]) -> list[Piece]:
    return pieces[1:]


@CUTS.add(
    "begun-without-magic", "the magic number is missing", _OPEN, Error.NOT_A_BINLOG, magic=b""
)
def _without_magic(pieces: list[Piece]) -> list[Piece]:
    """Whoever reads it may count positions from 0 or from 4, so that none is demanded."""
    return [Piece(piece.data) for piece in pieces]


@CUTS.add(
    "begun-inside-event", "the log begins inside an event", _BAD, Error.NOT_A_BINLOG,
    source=CHECKED, magic=b"",
)  # fmt: skip
def _inside_event(pieces: list[Piece]) -> list[Piece]:
    index = nth(pieces, T.QUERY_EVENT, 5)
    return [Piece(pieces[index].data[30:]), *pieces[index + 1 :]]


@CUTS.add(
    "begun-inside-event-with-magic", "the magic number, then the rest of an event",
    _BAD, Error.LENGTH,
)  # fmt: skip
def _inside_event_with_magic(pieces: list[Piece]) -> list[Piece]:
    index = nth(pieces, T.QUERY_EVENT, 5)
    return [Piece(pieces[index].data[30:]), *pieces[index + 1 :]]
