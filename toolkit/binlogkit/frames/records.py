"""Batches -> records in the public contract's form (``--format jsonl``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa

from binlogkit._kernel.value_text import (
    date_text,
    datetime_text,
    decimal_text,
    hex_text,
    not_finite,
    time_text,
)
from binlogkit.errors import DamageError
from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.fields.field import Fields, names
from binlogkit.frames.schema import CellState

_ABSENT = object()
Formatter = Callable[[Any], object]


def _single(value: float) -> float:
    """The double whose shortest text is the shortest text of a 32-bit float."""
    import numpy as np

    return float(str(np.float32(value)))


def _formatter(field: pa.Field) -> Formatter | None:
    """How a value of this field reads in the contract; None where it stands as it is."""
    facts = field_facts(field)
    kind, scale = facts.get("kind", "text"), int(facts.get("scale", "0"))
    formatters: dict[str, Formatter] = {
        "float": _single,
        "decimal": lambda v: decimal_text(v) if isinstance(v, Decimal) else str(v),
        "date": date_text,
        "time": lambda v: time_text(v, scale),
        "datetime": lambda v: datetime_text(v, scale),
        "timestamp": lambda v: datetime_text(v, scale),
        **dict.fromkeys(("binary", "geometry", "vector"), hex_text),
    }
    return formatters.get(kind)


def cell_values(array: pa.Array, field: pa.Field) -> list[Any]:
    """The column's values in the contract's form, None for what has no value."""
    types = pa.types
    kind = array.type
    if types.is_timestamp(kind) or types.is_duration(kind):
        array = array.view(pa.int64())
    elif types.is_date32(kind):
        array = array.view(pa.int32())
    values: list[Any] = array.to_pylist()
    formatter = _formatter(field)
    if types.is_floating(kind) and not all(v is None or isfinite(v) for v in values):
        plain = formatter or float
        return [v if v is None else plain(v) if isfinite(v) else not_finite(v) for v in values]
    if formatter is None:
        return values
    return [None if v is None else formatter(v) for v in values]


def struct_records(
    struct: pa.StructArray, state: pa.Array, raw_cells: pa.Array, image: int
) -> list[dict[str, object] | None]:
    """Structs of column values as dicts in the contract's form, None where there is none.

    ``state``, ``raw_cells``: as in a batch; ``image``: which of the raw cells belong to it.
    """
    names = [field.name for field in struct.type]
    columns = [cell_values(struct.field(i), field) for i, field in enumerate(struct.type)]
    present = struct.is_valid().to_pylist()
    states = state.to_pylist()
    raw = raw_cells.to_pylist()
    records: list[dict[str, object] | None] = []
    for row, there in enumerate(present):
        if not there:
            records.append(None)
            continue
        values = [column[row] for column in columns]
        if states[row] is not None:
            _mark(values, states[row], [c for c in raw[row] or () if c["image"] == image])
        records.append(
            {name: value for name, value in zip(names, values, strict=True) if value is not _ABSENT}
        )
    return records


def _mark(values: list[Any], states: Sequence[int], cells: list[dict[str, Any]]) -> None:
    """Put what is special into a row's ``values``."""
    for column, state in enumerate(states):
        if state == CellState.NOT_IN_IMAGE:
            values[column] = _ABSENT
    for cell in cells:
        values[cell["column"]] = special_value(states[cell["column"]], cell)


def special_value(state: int, cell: dict[str, Any]) -> Any:
    """A raw cell's value in the contract's form."""
    if state == CellState.NO_ARROW_VALUE:
        return cell["text"]
    if state == CellState.JSON_DIFF:
        return {"json_diff": json.loads(cell["text"])}
    return {"undecodable": hex_text(cell["bytes"]), "reason": cell["text"]}


def records_of(batches: Iterable[pa.RecordBatch], declared: Fields) -> Iterator[dict[str, Any]]:
    """The records of batches with the ``declared`` columns, JSON text read."""
    keys = names(declared)
    for batch in batches:
        columns = [
            [None if text is None else json.loads(text) for text in column.to_pylist()]
            if field.type in ("image", "json")
            else column.to_pylist()
            for field, column in zip(declared, batch.columns, strict=True)
        ]
        for values in zip(*columns, strict=True):
            yield dict(zip(keys, values, strict=True))


def damage_record(error: DamageError) -> dict[str, Any]:
    """The record of damage, as ``DAMAGE`` declares it (frames/fields/ledger.py)."""
    return {
        "file": error.file,
        "pos": error.offset,
        "error": type(error).__name__,
        "field": error.field,
        "reason": error.reason,
        "end_pos": error.end,
    }
