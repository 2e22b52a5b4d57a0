"""The value of a column that a statement does not name: its default.

Constants only: results of functions and expressions are in the row images (docs/traps.md, "Partial
images").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa

from binlogkit._kernel.charsets import decode
from binlogkit.analyses.point_in_time.conversion import (
    BYTES,
    INTEGERS,
    LOST,
    TEXTS,
    defined_field,
    implicit_default,
    label_of,
    members_of,
    span,
    to_bytes,
    to_decimal,
    to_text,
)
from binlogkit.frames.schema import CellState, state_matrix
from binlogkit.rows.schema import ColumnDefinition, StatementTime, TableDefinition

_Reader = Callable[[str | bytes, ColumnDefinition], Any]

_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{8}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
_CENTURY = 70  # smaller years have two digits
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_TIME = re.compile(r"(-?)(\d{1,3}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?")


def default_value(column: ColumnDefinition) -> Any:
    """The value of a column that a new row does not name, as an Arrow scalar accepts it.

    LOST if it is not a constant, or not certain.
    """
    if column.generated or column.auto_increment or column.computed:
        return LOST
    if column.default is None:
        if column.nullable:
            return None
        if column.type == "enum":
            return column.labels[0] if column.labels else LOST
        return implicit_default(column)
    read = _READERS.get(column.type)
    try:
        with localcontext(prec=99):
            return LOST if read is None else read(column.default, column)
    except (ValueError, InvalidOperation, OverflowError):
        return LOST


def added_value(column: ColumnDefinition, moment: StatementTime) -> Any:
    """The value that existing rows have in a column added then; else as default_value."""
    if not column.default_now or moment.second is None:
        return default_value(column)
    unit = 10 ** (6 - (column.scale or 0))
    if column.scale and moment.microseconds is None:
        return LOST
    fraction = timedelta(microseconds=(moment.microseconds or 0) // unit * unit)
    utc = datetime.fromtimestamp(moment.second, UTC) + fraction
    if column.type == "timestamp":
        return utc
    zone = _zone(moment.time_zone)
    return LOST if zone is None else utc.astimezone(zone).replace(tzinfo=None)


def _zone(name: str | None) -> tzinfo | None:
    """A session's time zone; None for the server's own, which no log contains."""
    offset = _OFFSET.fullmatch(name or "")
    if offset is not None:
        sign, hours, minutes = offset.groups()
        found = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-found if sign == "-" else found)
    try:
        return None if name in (None, "SYSTEM") else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a log may name anything
        return None


def with_defaults(batch: pa.RecordBatch, definition: TableDefinition) -> pa.RecordBatch:
    """Completes inserts with the columns that they left out (``binlog_row_image`` MINIMAL,
    NOBLOB)."""
    states = batch["after_state"]
    inserts = np.asarray(batch["before"].is_null()) & np.asarray(states.is_valid())
    if not inserts.any():
        return batch
    images, columns = batch["after"], definition.columns
    if [field.name for field in images.type] != [column.name for column in columns]:
        return batch
    matrix = state_matrix(states, len(columns))
    arrays = images.flatten()
    for i, (field, column) in enumerate(zip(images.type, columns, strict=True)):
        lacking = inserts & (matrix[:, i] == CellState.NOT_IN_IMAGE)
        if not lacking.any() or defined_field(column).type != field.type:
            continue
        value = default_value(column)
        if value is LOST:
            continue
        matrix[lacking, i] = CellState.NULL if value is None else CellState.VALUE
        if value is not None:
            at = np.arange(batch.num_rows)
            at[lacking] = batch.num_rows
            both = pa.chunked_array([arrays[i], pa.array([value], field.type)])
            arrays[i] = both.unify_dictionaries().combine_chunks().take(pa.array(at))
    after = pa.StructArray.from_arrays(arrays, fields=list(images.type), mask=images.is_null())
    found = batch.set_column(batch.schema.get_field_index("after"), "after", after)
    return with_states(found, matrix)


def with_states(batch: pa.RecordBatch, states: np.ndarray[Any, Any]) -> pa.RecordBatch:
    """The batch with other states of the images after changes, a row and a column for each cell."""
    odd = (states > CellState.NULL).any(axis=1)  # null where all are values or NULL
    offsets = pa.array(np.append(0, np.cumsum(odd * states.shape[1])), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array(states[odd].ravel()), mask=pa.array(~odd))
    at = batch.schema.get_field_index("after_state")
    return batch.set_column(at, "after_state", lists.cast(batch["after_state"].type))


# ---- by type -----------------------------------------------------------------------------


def _integer(default: str | bytes, column: ColumnDefinition) -> int:
    if isinstance(default, bytes):
        return int.from_bytes(default, "big")
    low, high = span(column)
    return min(max(int(Decimal(default).quantize(Decimal(1), ROUND_HALF_UP)), low), high)


def _bits(default: str | bytes, _: ColumnDefinition) -> Any:
    if isinstance(default, bytes):
        return int.from_bytes(default, "big")
    return int(default) if default.isdecimal() else LOST


def _text(default: str | bytes, column: ColumnDefinition) -> Any:
    if isinstance(default, bytes):
        default = decode(column.charset or "", default)
    return to_text(column)(default)


def _binary(default: str | bytes, column: ColumnDefinition) -> Any:
    if isinstance(default, str):
        default = default.encode("ascii")  # others depend on the session's character set
    return to_bytes(column)(default)


def _of_text(read: Callable[[str, ColumnDefinition], Any]) -> _Reader:
    return lambda default, column: LOST if isinstance(default, bytes) else read(default, column)


def _year(default: str, _: ColumnDefinition) -> Any:
    """A year from two digits (manual, "2-Digit Years in Dates"); not for 0, which differs as a
    number and as text."""
    if not (default.isascii() and default.isdecimal()) or len(default) > 4 or not int(default):
        return LOST
    year = int(default)
    return year + (2000 if year < _CENTURY else 1900) if year < 100 else year


def _date(default: str, _: ColumnDefinition) -> Any:
    return date.fromisoformat(default) if _DATE.fullmatch(default) else LOST


def _moment(default: str, column: ColumnDefinition) -> Any:
    if _DATE.fullmatch(default):
        default = f"{_date(default, column)} 00:00:00"
    if not _MOMENT.fullmatch(default):
        return LOST
    _, _, fraction = default.partition(".")
    if len(fraction.rstrip("0")) > (column.scale or 0):
        return LOST
    return datetime.fromisoformat(default[:19]) + timedelta(microseconds=int(f"{fraction:0<6}"))


def _time(default: str, column: ColumnDefinition) -> Any:
    found = _TIME.fullmatch(default)
    if found is None:
        return LOST
    sign, *parts, fraction = found.groups(default="0")
    if len(fraction.rstrip("0")) > (column.scale or 0):
        return LOST
    hours, minutes, seconds = map(int, parts)
    value = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    value += timedelta(microseconds=int(f"{fraction:0<6}"))
    return -value if sign == "-" else value


#: The statement succeeded, so a label in another case is the one meant.
_label, _members = (partial(made, any_case=True) for made in (label_of, members_of))


_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(INTEGERS, _integer),
    "bit": _bits,
    "decimal": _of_text(lambda default, column: to_decimal(column)(Decimal(default))),
    **dict.fromkeys(("float", "double"), _of_text(lambda default, _: float(default))),
    "year": _of_text(_year),
    "date": _of_text(_date),
    "datetime": _of_text(_moment),
    "time": _of_text(_time),
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(BYTES, _binary),
    "enum": _of_text(_label),
    "set": _of_text(_members),
}
