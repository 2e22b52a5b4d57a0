"""Batches -> row records in the public contract's form (``rows --format jsonl``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from heapq import merge
from math import isfinite
from typing import TYPE_CHECKING, Any

from binlogkit._kernel.value_text import (
    date_text,
    datetime_text,
    decimal_text,
    not_finite,
    time_text,
)
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RECORD_KEYS",
    "cell_values",
    "image_records",
    "row_records",
    "special_value",
    "struct_records",
    "window_records",
]

RECORD_KEYS = names(ROW)

_ABSENT = object()
Formatter = Callable[[Any], object]


def _hex(data: bytes) -> str:
    return "0x" + data.hex().upper()


def _single(value: float) -> float:
    """The double whose shortest text is the shortest text of a 32-bit float."""
    import numpy as np

    return float(str(np.float32(value)))


def _formatter(field: pa.Field) -> Formatter | None:
    """How a value of this field reads in the contract; None where it stands as it is."""
    facts = field.metadata or {}
    kind = facts.get(b"binlogkit:kind", b"text").decode()
    scale = int(facts.get(b"binlogkit:scale", b"0"))
    formatters: dict[str, Formatter] = {
        "float": _single,
        "decimal": lambda v: decimal_text(v) if isinstance(v, Decimal) else str(v),
        "date": date_text,
        "time": lambda v: time_text(v, scale),
        "datetime": lambda v: datetime_text(v, scale),
        "timestamp": lambda v: datetime_text(v, scale),
        "binary": _hex,
        "geometry": _hex,
        "vector": _hex,
    }
    return formatters.get(kind)


def cell_values(array: pa.Array, field: pa.Field) -> list[Any]:
    """The column's values in the contract's form, None for what has no value."""
    import pyarrow as pa

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


def image_records(batch: pa.RecordBatch, which: str) -> list[dict[str, object] | None]:
    """The images ``before`` or ``after`` of a batch, one dict per row, None where there is none."""
    image = 0 if which == "before" else 1
    return struct_records(
        batch.column(which), batch.column(f"{which}_state"), batch.column("raw"), image
    )


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
    return {"undecodable": _hex(cell["bytes"]), "reason": cell["text"]}


def row_records(batch: pa.RecordBatch) -> Iterator[tuple[int, dict[str, object]]]:
    """The records of one batch, each with its ``seq``."""
    plain = {
        name: batch.column(name).to_pylist()
        for name in RECORD_KEYS
        if name not in ("before", "after")
    }
    plain["before"] = image_records(batch, "before")
    plain["after"] = image_records(batch, "after")
    columns = [plain[name] for name in RECORD_KEYS]
    for seq, *values in zip(batch.column("seq").to_pylist(), *columns, strict=True):
        yield seq, dict(zip(RECORD_KEYS, values, strict=True))


def window_records(window: Sequence[pa.RecordBatch]) -> Iterator[dict[str, object]]:
    """The records of a window's batches in the log's order."""
    for _, record in merge(*(row_records(b) for b in window), key=lambda pair: pair[0]):
        yield record
