"""Batches with some of their table's columns: what was asked for, in the table's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.frames.schema import CellState, batch_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["projected"]


def projected(batch: pa.RecordBatch, columns: frozenset[str]) -> pa.RecordBatch:
    """A canonical batch whose images have only ``columns``, with the states and raw cells of those;
    names that are not there are passed over."""
    import pyarrow as pa

    fields = list(batch.schema.field("before").type)
    places = [i for i, field in enumerate(fields) if field.name in columns]
    if len(places) == len(fields):
        return batch
    kept = {name: batch.column(name) for name in batch.schema.names}
    for image in ("before", "after"):
        kept[image] = _image(batch.column(image), [fields[i] for i in places], places)
        kept[f"{image}_state"] = _states(batch.column(f"{image}_state"), places)
    kept["raw"] = _raw(batch.column("raw"), {place: i for i, place in enumerate(places)})
    schema = batch_schema([fields[i] for i in places], batch.schema.metadata)
    return pa.RecordBatch.from_arrays(list(kept.values()), schema=schema)


def _image(struct: pa.StructArray, fields: list[pa.Field], places: list[int]) -> pa.StructArray:
    import pyarrow as pa

    mask = struct.is_null()
    if fields:
        return pa.StructArray.from_arrays(
            [struct.field(i) for i in places], fields=fields, mask=mask
        )
    return pa.array(
        [{} if there else None for there in struct.is_valid().to_pylist()], pa.struct([])
    )


def _states(states: pa.Array, places: list[int]) -> pa.Array:
    import pyarrow as pa

    if states.null_count == len(states):
        return states
    rows: list[list[int] | None] = []
    for known in states.to_pylist():
        own = None if known is None else [known[i] for i in places]
        rows.append(own if own and max(own) > CellState.NULL else None)
    return pa.array(rows, states.type)


def _raw(raw: pa.Array, places: dict[int, int]) -> pa.Array:
    import pyarrow as pa

    if raw.null_count == len(raw):
        return raw
    rows: list[Sequence[dict[str, Any]] | None] = []
    for cells in raw.to_pylist():
        own = [
            {**cell, "column": places[cell["column"]]}
            for cell in cells or ()
            if cell["column"] in places
        ]
        rows.append(own or None)
    return pa.array(rows, raw.type)
