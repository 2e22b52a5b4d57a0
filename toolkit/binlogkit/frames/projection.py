"""Batches whose images have other columns: some of a table's, or those of all its versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.frames.schema import CellState, batch_schema

IMAGES = ("before", "after")
_Fit: TypeAlias = "Callable[[pa.Array, pa.Field], pa.Array]"


def projected(batch: pa.RecordBatch, columns: frozenset[str]) -> pa.RecordBatch:
    """A canonical batch whose images have only ``columns``, in the table's order; names that are
    not there are skipped."""
    fields = list(batch.schema.field("before").type)
    wanted = [field for field in fields if field.name in columns]
    if len(wanted) == len(fields):
        return batch
    kept = rearranged(batch, (wanted, wanted))
    schema = batch_schema(wanted, batch.schema.metadata)
    return pa.RecordBatch.from_arrays(list(kept.values()), schema=schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    return column if column.type == field.type else column.cast(field.type)


def rearranged(
    batch: pa.RecordBatch, images: Sequence[Sequence[pa.Field]], fit: _Fit = _cast
) -> dict[str, pa.Array]:
    """The columns of a canonical batch by name, ``before`` and ``after`` with these fields.

    Fields are taken by name, and ``fit`` into their type; one that the batch lacks is *not in the
    image*. States and raw cells are those of the fields, numbered as they are.
    """
    own = {field.name: i for i, field in enumerate(batch.schema.field("before").type)}
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    numbers: list[dict[int, int]] = []
    for image, fields in zip(IMAGES, images, strict=True):
        places = [own.get(field.name) for field in fields]
        numbers.append({place: i for i, place in enumerate(places) if place is not None})
        struct, state = batch.column(image), f"{image}_state"
        columns[image] = _image(struct, fields, places, fit)
        columns[state] = _states(struct, batch.column(state), places)
    columns["raw"] = _raw(batch.column("raw"), numbers)
    return columns


def _image(
    struct: pa.StructArray, fields: Sequence[pa.Field], places: Sequence[int | None], fit: _Fit
) -> pa.StructArray:
    if not fields:
        there = struct.is_valid().to_pylist()
        return pa.array([{} if one else None for one in there], pa.struct([]))
    children = [
        pa.nulls(len(struct), field.type) if i is None else fit(struct.field(i), field)
        for field, i in zip(fields, places, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=list(fields), mask=struct.is_null())


def _states(struct: pa.StructArray, states: pa.Array, places: Sequence[int | None]) -> pa.Array:
    """The states of the columns at ``places``, null where each is a value or NULL."""
    if None not in places and states.null_count == len(states):
        return states
    rows = np.flatnonzero(states.is_valid())
    known = np.asarray(states.flatten()).reshape(len(rows), struct.type.num_fields)
    moved = np.full((len(struct), len(places)), CellState.NOT_IN_IMAGE, np.uint8)
    for i, place in enumerate(places):
        if place is not None:
            moved[:, i] = np.asarray(struct.field(place).is_null())
            moved[rows, i] = known[:, place]
    special = np.asarray(struct.is_valid()) & (moved > CellState.NULL).any(axis=1)
    ends = np.append(0, np.cumsum(special * len(places))).astype(np.int32)
    values = pa.array(moved[special].ravel())
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~special))


def _raw(raw: pa.Array, numbers: Sequence[dict[int, int]]) -> pa.Array:
    """The raw cells of the columns that have a number, by image, under that."""
    if raw.null_count == len(raw):
        return raw
    rows = [
        [
            {**cell, "column": numbers[cell["image"]][cell["column"]]}
            for cell in cells or ()
            if cell["column"] in numbers[cell["image"]]
        ]
        or None
        for cells in raw.to_pylist()
    ]
    return pa.array(rows, raw.type)
