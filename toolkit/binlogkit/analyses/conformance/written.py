"""A value as it is claimed, written back into its column's binary form.

The judge's second court: where mysqlbinlog's text lacks a value, the value that is claimed
must give the very bytes that the log stores. Writing is another path than reading: nothing of the
decoders is used. Layouts: ``Field_*::store`` and ``my_*_to_binary`` in the server's ``field.cc``,
``my_time.cc`` and ``decimal.cc`` (8.0).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from binlogkit.analyses.conformance.cell import Cell, ColumnFacts, is_integer, is_number, same
from binlogkit.analyses.conformance.json_stored import document_says
from binlogkit.analyses.conformance.rule import Kind
from binlogkit.analyses.conformance.rules import explain
from binlogkit.analyses.conformance.stored import StoredCell, StoredType
from binlogkit.analyses.conformance.stored_forms import (
    DATE,
    DATETIME,
    DECIMAL,
    TIME,
    packed_fraction,
    write_decimal,
)  # fmt: skip
from binlogkit.analyses.conformance.tokens import Printed, TokenForm
from binlogkit.constants import ColumnType

T = ColumnType
_EPOCH = datetime(1970, 1, 1)
_HEX = re.compile(r"0x((?:[0-9A-F]{2})*)")
_SINGLE_DIGITS = range(1, 18)  # nine distinguish all; others round to more


class NotKnown(Exception):
    """What is claimed cannot be written back by what is known; never leaves this package."""


def gives(ours: Any, stored: StoredCell, column: ColumnFacts, server: str = "") -> bool | None:
    """Whether ``ours``, written back, gives the stored bytes; None where that cannot be said.

    ``server``: the version that the log names (5.7 writes JSON numbers otherwise).
    """
    if ours is None or stored.content is None:
        return ours is None and stored.content is None
    write = _WRITERS.get(stored.type.type)
    if write is None or stored.diff or (isinstance(ours, dict) and write is not _text):
        return None
    if not isinstance(ours, (str, int, float, dict)):
        return False
    try:
        return write(ours, stored.content, stored.type, column, server)
    except NotKnown:
        return None
    except (ValueError, TypeError, ArithmeticError, struct.error):
        return False  # no value of the column


def _number(width: int) -> Callable[..., bool]:
    def write(ours: Any, content: bytes, _: StoredType, column: ColumnFacts, __: str) -> bool:
        if not is_integer(ours) or (ours < 0 and column.unsigned is True):
            return False
        if ours >> (8 * width - 1) > 0 and column.unsigned is False:
            return False
        return bool(ours.to_bytes(width, "little", signed=ours < 0) == content)

    return write


def _float(ours: Any, content: bytes, *_: Any) -> bool:
    """Single precision: the stored number itself, or it with as many digits as its text has."""
    if not is_number(ours) or struct.pack("<f", ours) != content:
        return False
    (single,) = struct.unpack("<f", content)
    return ours in (single, *(float(f"{single:.{digits}g}") for digits in _SINGLE_DIGITS))


def _double(ours: Any, content: bytes, *_: Any) -> bool:
    return is_number(ours) and struct.pack("<d", ours) == content


def _decimal(ours: Any, content: bytes, kind: StoredType, *_: Any) -> bool:
    found = DECIMAL.fullmatch(ours)
    if found is None or len(found[3] or "") != kind.scale:
        return False
    return write_decimal(ours, kind.precision, kind.scale) == content


def _bit(ours: Any, content: bytes, kind: StoredType, *_: Any) -> bool:
    return is_integer(ours) and ours.to_bytes(kind.size, "big") == content


def _year(ours: Any, content: bytes, *_: Any) -> bool:
    return is_integer(ours) and ours != 1900 and bytes([ours - 1900 if ours else 0]) == content


def _enum(ours: Any, content: bytes, _: StoredType, column: ColumnFacts, __: str) -> bool:
    index = int.from_bytes(content, "little")
    if is_integer(ours):
        return bool(ours == index)
    if column.labels is None:
        raise NotKnown
    return index <= len(column.labels) and ours == ("", *column.labels)[index]


def _set(ours: Any, content: bytes, kind: StoredType, column: ColumnFacts, _: str) -> bool:
    if is_integer(ours):
        number = ours
    elif column.labels is None:
        raise NotKnown
    elif not isinstance(ours, str):
        return False
    else:
        members = ours.split(",") if ours else []
        number = sum(1 << column.labels.index(label) for label in members)
        if members != sorted(members, key=column.labels.index):
            return False
    return bool(number.to_bytes(kind.size, "little") == content)


# Dates and times


def _date(ours: Any, content: bytes, *_: Any) -> bool:
    year, month, day = _parts(DATE, ours)
    return (year << 9 | month << 5 | day).to_bytes(3, "little") == content


def _parts(form: re.Pattern[str], ours: Any) -> list[int]:
    found = form.fullmatch(ours)
    if found is None:
        raise ValueError(ours)
    return [int(part) for part in found.groups()[: form.groups - 1] if part is not None]


def _digits(ours: str, kind: StoredType) -> bytes:
    """The bytes of the fraction; ValueError: not as many digits as the column has."""
    return packed_fraction(ours.partition(".")[2], kind.scale)


def _old_datetime(ours: Any, content: bytes, *_: Any) -> bool:
    _parts(DATETIME, ours)
    return int(re.sub(r"\D", "", ours)).to_bytes(8, "little") == content


def _datetime(ours: Any, content: bytes, kind: StoredType, *_: Any) -> bool:
    year, month, day, hour, minute, second = _parts(DATETIME, ours)
    packed = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
    return (packed + (1 << 39)).to_bytes(5, "big") + _digits(ours, kind) == content


def _moment(ours: Any) -> int:
    parts = _parts(DATETIME, ours)
    if not any(parts) and not ours.rpartition(".")[2].strip("0 :-"):
        return 0
    second = (datetime(*parts) - _EPOCH) // timedelta(seconds=1)  # type: ignore[arg-type]
    if not second:
        raise ValueError("0 is the zero date")
    return second


def _old_timestamp(ours: Any, content: bytes, *_: Any) -> bool:
    return "." not in ours and _moment(ours).to_bytes(4, "little") == content


def _timestamp(ours: Any, content: bytes, kind: StoredType, *_: Any) -> bool:
    _parts(DATETIME, ours)
    fraction = _digits(ours, kind)
    # The moment 0 with a fraction is one; without it is the zero date.
    whole = 0 if any(fraction) and ours.startswith("1970-01-01 00:00:00.") else _moment(ours)
    return whole.to_bytes(4, "big") + fraction == content


def _old_time(ours: Any, content: bytes, *_: Any) -> bool:
    hours, minutes, seconds = _parts(TIME, ours)
    number = hours * 10000 + minutes * 100 + seconds
    return (-number if ours[0] == "-" else number).to_bytes(3, "little", signed=True) == content


def _time(ours: Any, content: bytes, kind: StoredType, *_: Any) -> bool:
    """One number of whole and fraction, negative for a negative time, counted from the middle."""
    hours, minutes, seconds = _parts(TIME, ours)
    fraction = _digits(ours, kind)
    whole = (hours << 12 | minutes << 6 | seconds).to_bytes(3, "big")
    number = int.from_bytes(whole + fraction, "big")
    middle = 1 << (8 * kind.size - 1)
    if ours[0] == "-" and not number:
        return False
    return (middle + (-number if ours[0] == "-" else number)).to_bytes(kind.size, "big") == content


# Strings


def _text(ours: Any, content: bytes, _: StoredType, column: ColumnFacts, server: str) -> bool:
    """By the rules for what mysqlbinlog prints of a string, which are its bytes."""
    cell = Cell(ours, Printed(TokenForm.STRING, data=content), "STRING", "", column, server=server)
    if same(cell):
        return True
    rule = explain(cell)
    if rule is not None and rule.kind is Kind.UNDER_DETERMINED:
        raise NotKnown
    return rule is not None and rule.kind is Kind.REPRESENTATION


def _plain_bytes(ours: Any, content: bytes, *_: Any) -> bool:
    found = _HEX.fullmatch(ours)
    return found is not None and bytes.fromhex(found[1]) == content


def _json(ours: Any, content: bytes, _: StoredType, __: ColumnFacts, server: str) -> bool:
    return document_says(content, ours, as_5_7=server.startswith("5."))


_WRITERS: dict[ColumnType, Callable[..., bool]] = {
    T.TINY: _number(1),
    T.SHORT: _number(2),
    T.INT24: _number(3),
    T.LONG: _number(4),
    T.LONGLONG: _number(8),
    T.FLOAT: _float,
    T.DOUBLE: _double,
    T.NEWDECIMAL: _decimal,
    T.BIT: _bit,
    T.YEAR: _year,
    T.ENUM: _enum,
    T.SET: _set,
    T.DATE: _date,
    T.NEWDATE: _date,
    T.DATETIME: _old_datetime,
    T.DATETIME2: _datetime,
    T.TIMESTAMP: _old_timestamp,
    T.TIMESTAMP2: _timestamp,
    T.TIME: _old_time,
    T.TIME2: _time,
    T.JSON: _json,
    **dict.fromkeys((T.GEOMETRY, T.VECTOR), _plain_bytes),
    **dict.fromkeys(
        (T.VARCHAR, T.VAR_STRING, T.STRING, T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.BLOB), _text
    ),
}
