"""Logs of which one byte is another: with checksums always found, without them hardly ever."""

from __future__ import annotations

from collections.abc import Callable

from binlogkit.constants import EventType as T
from binlogkit_fixtures.damaged.pieces import CRC, Piece, nth, with_bytes, with_checksum
from binlogkit_fixtures.damaged.recipe import PACKED, UNCHECKED, Error, Level, Recipes, Verdict

__all__ = ["FLIPS"]

FLIPS = Recipes()
_GOOD, _OPEN, _BAD = Verdict.MUST_READ, Verdict.MAY_REFUSE, Verdict.MUST_REFUSE
_ALGORITHM = -CRC - 1  # of a format description: its last byte before the checksum


def _flip(code: int, at: int, number: int = 2) -> Callable[[list[Piece]], list[Piece]]:
    """Turn the lowest bit of a byte, ``at`` bytes from the event's start or, negative, its end."""

    def edit(pieces: list[Piece]) -> list[Piece]:
        index = nth(pieces, code, number)
        return with_bytes(pieces, index, at, bytes([pieces[index].data[at] ^ 1]))

    return edit


_HEADER = (
    ("timestamp", 0), ("type", 4), ("server-id", 5), ("log-pos", 13), ("flags", 17),
)  # fmt: skip
for _name, _at in _HEADER:
    FLIPS.add(f"flip-{_name}", f"a bit of an event's {_name} is turned", _BAD, Error.CHECKSUM)(
        _flip(T.WRITE_ROWS_EVENT, _at)
    )
_BODIES = (
    ("gtid", T.GTID_LOG_EVENT, 25), ("query", T.QUERY_EVENT, -10),
    ("table-map", T.TABLE_MAP_EVENT, 30),
    ("write-rows", T.WRITE_ROWS_EVENT, -6), ("update-rows", T.UPDATE_ROWS_EVENT, -6),
    ("delete-rows", T.DELETE_ROWS_EVENT, -6), ("xid", T.XID_EVENT, 19),
)  # fmt: skip
for _name, _code, _at in _BODIES:
    _what = f"a bit of the body of a {_code.name} is turned"
    FLIPS.add(f"flip-{_name}", _what, _BAD, Error.CHECKSUM)(_flip(_code, _at))
for _name, _code in (("previous-gtids", T.PREVIOUS_GTIDS_LOG_EVENT), ("rotate", T.ROTATE_EVENT)):
    FLIPS.add(f"flip-{_name}", f"a bit of the {_code.name} is turned", _BAD, Error.CHECKSUM)(
        _flip(_code, 22, 0)
    )
FLIPS.add("flip-checksum", "a bit of a checksum is turned", _BAD, Error.CHECKSUM)(
    _flip(T.UPDATE_ROWS_EVENT, -1)
)
FLIPS.add(
    "flip-format-version", "a bit of the server's version in the format description is turned",
    _BAD, Error.CHECKSUM,
)(_flip(T.FORMAT_DESCRIPTION_EVENT, 21, 0))  # fmt: skip
FLIPS.add(
    "flip-payload", "a bit of a compressed transaction is turned", _BAD, Error.CHECKSUM,
    source=PACKED,
)(_flip(T.TRANSACTION_PAYLOAD_EVENT, -12))  # fmt: skip
FLIPS.add(
    "flip-unchecked-value", "a bit of a value is turned, without checksums: another value",
    _OPEN, source=UNCHECKED,
)(_flip(T.WRITE_ROWS_EVENT, -1))  # fmt: skip


@FLIPS.add("flip-in-use", "the log is still in use: the bit and its checksum are right", _GOOD)
def _in_use(pieces: list[Piece]) -> list[Piece]:
    """The bit is left out of the checksum (binlog_event.cc); nothing else is other."""
    changed = with_bytes(pieces, 0, 17, b"\1\0")
    return [Piece(changed[0].data, True), *changed[1:]]


@FLIPS.add("zero-checksum", "a checksum is zero", _BAD, Error.CHECKSUM)
def _zero(pieces: list[Piece]) -> list[Piece]:
    return with_bytes(pieces, nth(pieces, T.XID_EVENT, 2), -CRC, bytes(CRC))


@FLIPS.add("other-checksum", "a checksum is another event's", _BAD, Error.CHECKSUM)
def _other(pieces: list[Piece]) -> list[Piece]:
    other = pieces[nth(pieces, T.XID_EVENT, 3)].data[-CRC:]
    return with_bytes(pieces, nth(pieces, T.XID_EVENT, 2), -CRC, other)


@FLIPS.add(
    "unknown-checksum-algorithm", "the format description names checksum algorithm 77",
    _OPEN, Error.MALFORMED, Level.FIELDS,
)  # fmt: skip
def _algorithm(pieces: list[Piece]) -> list[Piece]:
    return with_checksum(with_bytes(pieces, 0, _ALGORITHM, b"\x4d"), 0)
