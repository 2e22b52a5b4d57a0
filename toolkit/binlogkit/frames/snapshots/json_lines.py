"""States that were written before in JSON lines, as snapshots.

Their rows are records (``frames/fields/rows.py``, STATE): values as JSON, by the column's type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.schema import CellState
from binlogkit.frames.snapshots.values import UNKNOWN, Columns, Misread, Odd, text_readers


def records_of_lines(file: BinaryIO) -> Iterator[tuple[Any, Any]]:
    """Of JSON lines."""
    for line in file:
        if line.strip():
            record = _json(line)
            if not isinstance(record, dict) or record.keys() != {"values", "unknown"}:
                raise Misread("a line is no row of a state")
            yield record["values"], record["unknown"]


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise Misread("a value is no JSON") from exc


def state_rows_of(records: Iterable[tuple[Any, Any]], fields: Sequence[pa.Field]) -> pa.Table:
    """The rows of a state from its records, with the columns ``values``, ``unknown``,
    ``value_state`` and ``raw``. :class:`Misread`."""
    columns = Columns(fields)
    readers = {field.name: _reader(field) for field in fields}
    batches = []
    for values, unknown in records:
        if not isinstance(values, dict) or not isinstance(unknown, list):
            raise Misread("a row is no row of a state")
        given, missing = values.keys(), set(map(str, unknown))
        if given & missing or given | missing != readers.keys():
            raise Misread("a row has other columns than the table")
        size = sum(len(v) for v in values.values() if isinstance(v, str))
        row = [UNKNOWN if n in missing else read(values[n]) for n, read in readers.items()]
        columns.append(row, size)
        if columns.full:
            batches.append(columns.flush())
    if columns.waiting:
        batches.append(columns.flush())
    return columns.table(batches)


def _reader(field: pa.Field) -> Callable[[Any], Any]:
    facts = field_facts(field)
    kind, scale = facts.get("kind", "text"), int(facts.get("scale") or 0)
    precision = field.type.precision if pa.types.is_decimal(field.type) else 0
    text = text_readers(kind, precision, scale)
    read: Callable[[Any], Any]
    if text is not None:
        read = lambda value: text(_as(str, value))  # noqa: E731
    elif kind in ("binary", "geometry", "vector"):
        read = _bytes
    elif pa.types.is_floating(field.type):
        read = lambda value: float(_as((int, float), value))  # noqa: E731
    elif pa.types.is_integer(field.type):
        read = lambda value: _as(int, value)  # noqa: E731
    else:
        read = lambda value: _as(str, value)  # noqa: E731

    def cell(value: Any) -> Any:
        if value is None:
            return None
        return _special(value) if isinstance(value, dict) else read(value)

    return cell


def _as(wanted: Any, value: Any) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise Misread("a value is not of its column's type")
    return value


def _bytes(value: Any) -> bytes:
    text = _as(str, value)
    if not text.startswith("0x"):
        raise Misread("bytes are not written as 0x…")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as exc:
        raise Misread("bytes are not written as 0x…") from exc


def _special(value: dict[str, Any]) -> Any:
    """A cell that could not be decoded; JSON diffs on nothing are not known."""
    if value.keys() == {"undecodable", "reason"}:
        return Odd(CellState.UNDECODABLE, _bytes(value["undecodable"]), _as(str, value["reason"]))
    if value.keys() == {"json_diff"}:
        return UNKNOWN
    raise Misread("a value is not of its column's type")
