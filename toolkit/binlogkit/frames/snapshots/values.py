"""Values as snapshots write them -> the cells that the column has in decoded rows.

Texts are the server's (``_kernel/value_text.py``). What a text does not hold exactly is
:data:`UNKNOWN`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.temporal import MAX_HOUR, civil_days
from binlogkit._kernel.value_text import DAY_MICROS, MICROS
from binlogkit.frames.fields.field import arrow_type
from binlogkit.frames.schema import CellState

UNKNOWN = object()  # a cell whose value a snapshot does not hold
ReadText = Callable[[str], Any]

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?", re.ASCII)
_TIME = re.compile(r"(-?)(\d{2,3}):(\d\d):(\d\d)(?:\.(\d{1,6}))?", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,65}(?:\.\d{1,30})?", re.ASCII)
_FRACTION_UNIT = {0: 0, 1: 10_000, 2: 100, 3: 1}  # microseconds by bytes of fraction
_DATETIME_SIGN = 1 << 39
_AFTER = 1  # `image` in a batch's raw cells
_ROWS, _BYTES = 16_384, 32 << 20  # of a batch


class Misread(ValueError):
    """A value is none of its column's type; the text says why."""


@dataclass(frozen=True, slots=True)
class Odd:
    """A cell that no Arrow value can hold: ``state``, its stored bytes, a text."""

    state: CellState
    stored: bytes
    text: str


# ---- texts -------------------------------------------------------------------------------


def date_of(text: str) -> int | Odd:
    """Days since 1970-01-01."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise Misread("no date")
    year, month, day = map(int, found.groups())
    days = civil_days(year, month, day)
    if days is not None:
        return days
    _check_date(month, day)
    packed = year << 9 | month << 5 | day
    return Odd(CellState.NO_ARROW_VALUE, packed.to_bytes(3, "little"), text)


def datetime_of(scale: int) -> ReadText:
    """Of a DATETIME with so many digits: microseconds since 1970-01-01 00:00:00."""

    def read(text: str) -> int | Odd:
        (year, month, day), clock, micros = _moment(text, scale)
        days = civil_days(year, month, day)
        if days is not None:
            return days * DAY_MICROS + clock * MICROS + micros
        _check_date(month, day)
        hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
        packed = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
        stored = (packed | _DATETIME_SIGN).to_bytes(5, "big") + _fraction_bytes(micros, scale)
        return Odd(CellState.NO_ARROW_VALUE, stored, _declared(text, scale))

    return read


def timestamp_of(scale: int, offset: int | None = 0) -> ReadText:
    """Of a TIMESTAMP: microseconds since 1970-01-01 00:00:00 UTC.

    ``offset``: minutes that its text is ahead of UTC, None where that is not known.
    """

    def read(text: str) -> Any:
        (year, month, day), clock, micros = _moment(text, scale)
        if not year and not month and not day and not clock and not micros:
            zero = _declared("0000-00-00 00:00:00", scale)
            return Odd(CellState.NO_ARROW_VALUE, bytes(4 + (scale + 1) // 2), zero)
        days = civil_days(year, month, day)
        if days is None:
            raise Misread("no TIMESTAMP")
        if offset is None:
            return UNKNOWN
        return days * DAY_MICROS + (clock - offset * 60) * MICROS + micros

    return read


def time_of(scale: int) -> ReadText:
    """Of a TIME: signed microseconds."""

    def read(text: str) -> int:
        found = _TIME.fullmatch(text)
        if found is None:
            raise Misread("no TIME")
        sign, hour, minute, second, fraction = found.groups()
        if int(hour) > MAX_HOUR or int(minute) > 59 or int(second) > 59:
            raise Misread("no TIME")
        seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
        size = seconds * MICROS + _micros(fraction, scale)
        return -size if sign else size

    return read


def decimal_of(precision: int, scale: int) -> ReadText:
    """Of a DECIMAL."""

    def read(text: str) -> Decimal:
        if not _DECIMAL.fullmatch(text):
            raise Misread("no DECIMAL")
        whole, _, fraction = text.lstrip("-").partition(".")
        if len(fraction) > scale or len(whole.lstrip("0")) > precision - scale:
            raise Misread(f"no DECIMAL({precision},{scale})")
        return Decimal(text)

    return read


def _check_date(month: int, day: int) -> None:
    if month > 12 or day > 31:
        raise Misread("no date")


def _moment(text: str, scale: int) -> tuple[tuple[int, int, int], int, int]:
    """Year, month, day; the second of the day; microseconds."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise Misread("no date and time")
    *numbers, fraction = found.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    if hour > 23 or minute > 59 or second > 59:
        raise Misread("no date and time")
    clock = (hour * 60 + minute) * 60 + second
    return (year, month, day), clock, _micros(fraction, scale)


def _micros(fraction: str | None, scale: int) -> int:
    if fraction is None:
        return 0
    if fraction[scale:].strip("0"):
        raise Misread(f"more than {scale} digits of a second")
    return int(f"{fraction:0<6}")


def _fraction_bytes(micros: int, scale: int) -> bytes:
    width = (scale + 1) // 2
    return (micros // _FRACTION_UNIT[width]).to_bytes(width, "big") if width else b""


def _declared(text: str, scale: int) -> str:
    """The text with as many digits of a second as are declared."""
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction:0<{scale}}"[: len(whole) + 1 + scale] if scale else whole


# ---- columns -----------------------------------------------------------------------------


class Columns:
    """Rows of cells, gathered by the column, as batches like those of a state.

    ``fields``: of the columns; a cell is a value as Arrow takes it, None for NULL,
    :data:`UNKNOWN`, or :class:`Odd`.
    """

    def __init__(self, fields: Sequence[pa.Field]) -> None:
        self.fields = list(fields)
        self.cells: list[list[Any]] = [[] for _ in self.fields]
        self._size = 0
        self._schema = pa.schema(
            [
                ("values", pa.struct(self.fields)),
                ("unknown", pa.list_(pa.string())),
                ("value_state", pa.list_(pa.uint8())),
                ("raw", arrow_type("raw")),
            ]
        )

    @property
    def waiting(self) -> int:
        """How many rows were gathered since the last batch."""
        return len(self.cells[0]) if self.cells else 0

    @property
    def full(self) -> bool:
        """Whether what was gathered is enough for a batch."""
        return self.waiting >= _ROWS or self._size >= _BYTES

    def append(self, row: Sequence[Any], size: int) -> None:
        """Add a row, which had about ``size`` bytes where it comes from."""
        self._size += size
        for cells, cell in zip(self.cells, row, strict=True):
            cells.append(cell)

    def flush(self) -> pa.RecordBatch:
        """The rows since the last batch. :class:`Misread`: a value that its column cannot hold."""
        count, arrays = self.waiting, []
        odd: dict[tuple[int, int], Any] = {}
        for i, (field, cells) in enumerate(zip(self.fields, self.cells, strict=True)):
            for row, cell in enumerate(cells):
                if cell is UNKNOWN or isinstance(cell, Odd):
                    odd[row, i] = cell
                    cells[row] = None
            arrays.append(_array(field, cells))
        self.cells, self._size = [[] for _ in self.fields], 0
        values = pa.StructArray.from_arrays(arrays, fields=self.fields)
        states, raw, unknown = self._states(arrays, odd, count)
        return pa.RecordBatch.from_arrays([values, unknown, states, raw], schema=self._schema)

    def table(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        """Batches as one table."""
        return pa.Table.from_batches(batches, self._schema)

    def _states(
        self, arrays: Sequence[pa.Array], odd: dict[tuple[int, int], Any], count: int
    ) -> tuple[pa.Array, pa.Array, pa.Array]:
        """``value_state``, ``raw`` and ``unknown``."""
        rows: dict[int, list[tuple[int, Any]]] = {}
        for (row, i), cell in sorted(odd.items(), key=lambda item: item[0]):
            rows.setdefault(row, []).append((i, cell))
        nulls = {row: [int(not array[row].is_valid) for array in arrays] for row in rows}
        states: list[list[int] | None] = [None] * count
        raw: list[list[dict[str, Any]] | None] = [None] * count
        unknown: list[list[str]] = [[] for _ in range(count)]
        for row, cells in rows.items():
            found, stored = nulls[row], []
            for i, cell in cells:
                if cell is UNKNOWN:
                    found[i] = CellState.NOT_IN_IMAGE
                    unknown[row].append(self.fields[i].name)
                    continue
                found[i] = cell.state
                state = {"image": _AFTER, "column": i, "bytes": cell.stored, "text": cell.text}
                stored.append(state)
            states[row], raw[row] = found, stored or None
        schema = self._schema
        return (
            pa.array(states, schema.field("value_state").type),
            pa.array(raw, schema.field("raw").type),
            pa.array(unknown, schema.field("unknown").type),
        )


def _array(field: pa.Field, cells: list[Any]) -> pa.Array:
    kind = field.type
    try:
        if pa.types.is_dictionary(kind):
            return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
        if pa.types.is_float32(kind):
            return _singles(cells)
        return pa.array(cells, kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as exc:
        raise Misread(f"column {field.name}: a value that {kind} cannot hold") from exc


def _singles(cells: list[Any]) -> pa.Array:
    with np.errstate(over="ignore"):
        found = np.array([0 if cell is None else cell for cell in cells], np.float32)
    if not np.isfinite(found).all():
        raise ValueError("too large")
    return pa.array(found, mask=np.array([cell is None for cell in cells], bool))


def text_readers(kind: str, precision: int, scale: int) -> ReadText | None:
    """What reads the text of a value of a kind (frames.schema.KINDS); None for other kinds."""
    readers: dict[str, Callable[[], ReadText]] = {
        "date": lambda: date_of,
        "datetime": lambda: datetime_of(scale),
        "timestamp": lambda: timestamp_of(scale),
        "time": lambda: time_of(scale),
        "decimal": lambda: decimal_of(precision, scale),
    }
    make = readers.get(kind)
    return None if make is None else make()
