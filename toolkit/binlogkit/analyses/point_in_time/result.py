"""From rows to a state's table, and from a base to the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.chunk import ODD, PLACES, STORED, odd_name
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.rows import ORDER, Rows, states_of
from binlogkit.errors import UsageError
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

    ``columns``: the table's, all that were seen if None.
    """
    wanted = rows.fields if columns is None else columns
    names = [name for name in wanted if name in rows.fields]
    for name in columns or ():
        if len(rows) and name not in rows.fields:
            raise UsageError(f"no image of the table has a column {name}")
    table = _sorted(rows, key)
    fields = [rows.fields[name] for name in names]
    arrays = {field.name: _whole(table, field.name, field.type) for field in fields}
    states = {name: states_of(table, name) for name in rows.fields}
    states = {name: found for name, found in states.items() if found.any()}
    types = (pa.int64(), pa.string(), pa.int64())
    places = [_whole(table, n, t).cast(t) for n, t in zip(PLACES, types, strict=True)]
    values = (
        pa.StructArray.from_arrays(list(arrays.values()), fields=fields)
        if fields
        else pa.nulls(len(rows), pa.struct([]))
    )
    return pa.table(
        {
            "values": values,
            "unknown": _unknown(states, names, len(rows)),
            "value_state": _value_states(states, arrays, len(rows)),
            "raw": _raw(table, states, names),
            **dict(zip(("seq", "file", "pos"), places, strict=True)),
        }
    )


def base_changes(base: pa.Table) -> pa.Table:
    """A base as changes: every row inserted.

    ``base``: a state (:data:`STATE`), or a table with the table's own columns.
    """
    count = base.num_rows
    stateful = {"values", "unknown"} <= set(base.column_names)
    if stateful:
        values = base["values"].combine_chunks()
    else:
        whole = base.combine_chunks().to_struct_array()
        values = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    columns: dict[str, Any] = {
        "before": pa.nulls(count, values.type),
        "after": values,
        "seq": pa.nulls(count, pa.int64()),
        "file": pa.nulls(count, pa.string()),
        "pos": pa.nulls(count, pa.int64()),
    }
    if stateful and "value_state" in base.column_names:
        columns["after_state"] = base["value_state"]
        columns["raw"] = base["raw"]
    return pa.table(columns)


def _whole(table: pa.Table, name: str, dtype: pa.DataType) -> pa.Array:
    """A column as one array, of NULLs where the table does not have it."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, dtype)
    column = table[name].unify_dictionaries()
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, dtype)


def _sorted(rows: Rows, key: Sequence[str]) -> pa.Table:
    """By key, text by code point, else as rows were first seen."""
    table = rows.table
    if not len(rows):
        return table
    first = table[key[0]] if len(key) == 1 and key[0] in rows.fields else None
    if first is not None and pa.types.is_integer(first.type) and not first.null_count:
        order = np.argsort(np.asarray(first), kind="stable")
    else:
        columns = [table[name] for name in key if name in rows.fields]
        plain = [
            c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns
        ]
        by = pa.table([*plain, table[ORDER]], names=[str(i) for i in range(len(plain) + 1)])
        order = np.asarray(pc.sort_indices(by, [(n, "ascending") for n in by.column_names]))
    if (order[1:] > order[:-1]).all():
        return table
    return table.combine_chunks().take(pa.array(order))


def _unknown(states: dict[str, NDArray[np.uint8]], names: Sequence[str], size: int) -> pa.Array:
    """The lists of columns that are not known."""
    absent = CellState.NOT_IN_IMAGE
    owners = [np.flatnonzero(states[n] == absent) if n in states else _NONE for n in names]
    which = [np.full(len(rows), i) for i, rows in enumerate(owners)]
    owner, at = np.concatenate([*owners, _NONE]), np.concatenate([*which, _NONE])
    order = np.lexsort((at, owner))
    values = pa.array(names, pa.string()).take(pa.array(at[order]))
    return lists(owner[order], values, np.zeros(size, bool))


def _value_states(
    states: dict[str, NDArray[np.uint8]], arrays: dict[str, pa.Array], size: int
) -> pa.Array:
    """The states of the rows that have a cell which is no value or NULL."""
    odd = np.zeros(size, bool)
    for name in states.keys() & arrays.keys():
        odd |= states[name] > CellState.NULL
    columns = []
    for name, array in arrays.items():
        plain = np.asarray(array.is_null()).astype(np.uint8)  # VALUE or NULL
        found = states.get(name, plain)
        columns.append(np.where(found > CellState.NULL, found, plain)[odd])
    owner = np.repeat(np.flatnonzero(odd), len(arrays))
    values = np.stack(columns, axis=1).ravel() if columns else np.empty(0, np.uint8)
    return lists(owner, pa.array(values, pa.uint8()), ~odd)


def _raw(table: pa.Table, states: dict[str, NDArray[np.uint8]], names: Sequence[str]) -> pa.Array:
    """The stored bytes and texts of cells without an Arrow value."""
    parts, owners = [], [_NONE]
    for name, found in states.items():
        columns = [odd_name(name, what) for what in ODD[1:]]
        if name not in names or columns[0] not in table.column_names:
            continue
        rows = np.flatnonzero(np.isin(found, STORED))
        image, column = (np.full(len(rows), n) for n in (_AFTER, names.index(name)))
        stored = [_whole(table, column, pa.null()).take(pa.array(rows)) for column in columns]
        parts.append(
            pa.table([image, column, *stored], names=[f.name for f in arrow_type("raw").value_type])
        )
        owners.append(rows)
    owner = np.concatenate(owners)
    size = table.num_rows
    if not len(owner):
        return pa.nulls(size, arrow_type("raw"))
    order = pa.array(np.argsort(owner, kind="stable"))
    cells = pa.concat_tables(parts).take(order).combine_chunks()
    fields = list(arrow_type("raw").value_type)
    arrays = [_whole(cells, f.name, f.type).cast(f.type) for f in fields]
    values = pa.StructArray.from_arrays(arrays, fields=fields)
    return lists(np.sort(owner), values, ~np.isin(np.arange(size), owner))


def lists(owner: Integers, values: pa.Array, mask: Flags) -> pa.Array:
    """One list for each row, of the values that it owns, in order; null by the mask."""
    offsets = np.append(0, np.cumsum(np.bincount(owner, minlength=len(mask)))).astype(np.int32)
    found = pa.array(mask) if mask.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=found)
