"""From rows to a state's table, and from a base to the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.chunk import PLACES, STORED
from binlogkit.analyses.point_in_time.codes import Flags, decoded
from binlogkit.analyses.point_in_time.known_cells import STORED_PARTS, known, parts_of, unknown
from binlogkit.analyses.point_in_time.rows import ORDER, Rows
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import lists, one_array
from binlogkit.frames.fields.field import arrow_type, fields
from binlogkit.frames.schema import CellState

STATE = fields(
    ("values", "as given", "the row: a struct of the table's columns, null where unknown"),
    ("unknown", "list<string>", "columns whose value the log does not determine"),
    ("value_state", "as given", "CellState per column; null where all are values or NULL"),
    ("raw", "as given", "cells without an Arrow value, as in a batch; image is 1"),
    ("seq", "int64?", "the change that last touched the row; null for one from the base"),
    ("file", "string?", "its file, null for one from the base"),
    ("pos", "int64?", "position of its event, null for one from the base"),
)

_NONE = np.empty(0, np.int64)
_AFTER = 1  # `image` in a batch's raw cells


def state_table(rows: Rows, columns: Sequence[str] | None, key: Sequence[str]) -> pa.Table:
    """The rows with the columns of :data:`STATE`, sorted by ``key`` if there is one.

    ``columns``: the table's, all seen ones if None.
    """
    wanted = rows.fields if columns is None else columns
    names = [name for name in wanted if name in rows.fields]
    for name in columns or ():
        if len(rows) and name not in rows.fields:
            raise UsageError(f"no image of the table has a column {name}")
    table = rows.table if len(rows) else _none(rows)
    keys = [parts_of(table[name])["value"] for name in key if name in rows.fields]
    order = key_order(keys, table[ORDER]) if len(rows) else None

    def sorted_column(name: str) -> pa.ChunkedArray:  # one by one: each is copied twice
        column = table[name]
        return column if order is None else pa.chunked_array([one_array(column).take(order)])

    parts, states = dict[str, dict[str, Any]](), dict[str, NDArray[np.uint8]]()
    for name in names:
        cells = sorted_column(name)
        parts[name] = parts_of(cells)
        states[name] = _states(cells, parts[name])
    states = {name: found for name, found in states.items() if found.any()}
    fields = [rows.fields[name] for name in names]
    arrays = [one_array(parts[name]["value"]) for name in names]
    values = pa.StructArray.from_arrays(arrays, fields=fields) if fields else None
    types = (pa.int64(), pa.string(), pa.int64())
    places = [one_array(sorted_column(n).cast(t)) for n, t in zip(PLACES, types, strict=True)]
    absent = [states[name] == CellState.NOT_IN_IMAGE for name in names if name in states]
    flags = np.stack(absent, axis=1) if absent else np.zeros((len(rows), 0), bool)
    return pa.table(
        {
            "values": pa.nulls(len(rows), pa.struct([])) if values is None else values,
            "unknown": name_lists([name for name in names if name in states], flags),
            "value_state": _value_states([states.get(name) for name in names], arrays, len(rows)),
            "raw": _raw(parts, states, names, len(rows)),
            **dict(zip(("seq", "file", "pos"), places, strict=True)),
        }
    )


def _none(rows: Rows) -> pa.Table:
    """The table of no rows."""
    columns = {name: unknown(0, field.type) for name, field in rows.fields.items()}
    return pa.table(columns | {name: pa.chunked_array([], pa.int64()) for name in PLACES})


def base_changes(base: pa.Table) -> pa.Table:
    """A base as changes: every row inserted.

    ``base``: a state (:data:`STATE`), or a table with the table's own columns. A state's column
    ``origin`` has the numbers of the changes that wrote the rows.
    """
    count = base.num_rows
    stateful = {"values", "unknown"} <= set(base.column_names)
    values = one_array(base["values"]) if stateful else base.to_struct_array().combine_chunks()
    nothing = pa.nulls(count, pa.int64())
    columns: dict[str, Any] = {
        "before": pa.nulls(count, values.type),
        "after": values,
        "seq": base["origin"] if stateful and "origin" in base.column_names else nothing,
        "file": pa.nulls(count, pa.string()),
        "pos": nothing,
    }
    if stateful and "value_state" in base.column_names:
        columns["after_state"] = base["value_state"]
        columns["raw"] = base["raw"]
    return pa.table(columns)


def _states(cells: pa.ChunkedArray, parts: dict[str, Any]) -> NDArray[np.uint8]:
    """The states of a column's cells; 0 for values and NULL."""
    odd = parts["state"].fill_null(0) if "state" in parts else np.zeros(len(cells), np.uint8)
    return np.where(known(cells), odd, np.uint8(CellState.NOT_IN_IMAGE))


def key_order(keys: Sequence[Any], then: Any = None) -> pa.Array | None:
    """The order of rows by the columns of their key, text by code point, and ``then`` by another
    column. None if they stand so."""
    keys = [*map(decoded, keys)]
    if len(keys) == 1 and pa.types.is_integer(keys[0].type) and not keys[0].null_count:
        order = np.argsort(np.asarray(keys[0]), kind="stable")
    else:
        columns = [*keys, *([] if then is None else [then])]
        if not columns:
            return None
        names = [str(i) for i in range(len(columns))]
        by = pa.table(columns, names=names)
        order = np.asarray(pc.sort_indices(by, [(name, "ascending") for name in names]))
    return None if (order[1:] > order[:-1]).all() else pa.array(order)


def _value_states(
    states: Sequence[NDArray[np.uint8] | None], arrays: Sequence[pa.Array], size: int
) -> pa.Array:
    """The states of rows with a cell that is no value or NULL; null for others."""
    there = [found > CellState.NULL for found in states if found is not None]
    odd: Flags = np.any(there, axis=0) if there else np.zeros(size, bool)
    columns = []
    for array, found in zip(arrays, states, strict=True):
        nulls = np.asarray(array.is_null()).astype(np.uint8)  # VALUE or NULL
        columns.append((nulls if found is None else np.maximum(nulls, found))[odd])
    owner = np.repeat(np.flatnonzero(odd), len(arrays))
    values = np.stack(columns, axis=1).ravel() if columns else np.empty(0, np.uint8)
    return lists(owner, pa.array(values, pa.uint8()), ~odd)


def _raw(
    cells: dict[str, dict[str, Any]],
    states: dict[str, NDArray[np.uint8]],
    names: Sequence[str],
    size: int,
) -> pa.Array:
    """The stored bytes and texts of cells without an Arrow value."""
    dtype = arrow_type("raw")
    fields = list(dtype.value_type)
    parts, owners = [], [_NONE]
    for name, found in states.items():
        if name in names and "bytes" in cells[name]:
            rows = np.flatnonzero(np.isin(found, STORED))
            image, column = (np.full(len(rows), n) for n in (_AFTER, names.index(name)))
            stored = [cells[name][part].take(pa.array(rows)) for part in STORED_PARTS]
            parts.append(pa.table([image, column, *stored], names=[f.name for f in fields]))
            owners.append(rows)
    owner = np.concatenate(owners)
    if not len(owner):
        return pa.nulls(size, dtype)
    order = pa.array(np.argsort(owner, kind="stable"))
    values = pa.concat_tables(parts).take(order).cast(pa.schema(fields)).to_struct_array()
    return lists(np.sort(owner), values.combine_chunks(), ~np.isin(np.arange(size), owner))


def name_lists(names: Sequence[str], flags: Flags) -> pa.Array:
    """For each row the flagged names; ``flags``: by row and name."""
    owner, at = np.nonzero(flags)
    values = pa.array(names, pa.string()).take(pa.array(at))
    return lists(owner, values, np.zeros(len(flags), bool))
