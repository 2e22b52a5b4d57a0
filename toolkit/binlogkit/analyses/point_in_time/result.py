"""From live rows to a state's table, and from a base to the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.analyses._declare import outputs
from binlogkit.analyses.point_in_time.images import FILE, POS, SEQ
from binlogkit.analyses.point_in_time.store import HIDDEN, Oddity, Store
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState, batch_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["STATE", "base_changes", "state_table"]

STATE = outputs(
    ("values", "as given", "the row: a struct of the table's columns, null where unknown"),
    ("unknown", "list<string>", "columns whose value the log does not determine"),
    ("value_state", "list<uint8>", "CellState per column; null where all are values or NULL"),
    ("raw", "as given", "cells without an Arrow value, as in a batch; image is 1"),
    ("seq", "int64", "the change that last touched the row; null for one from the base"),
    ("file", "string", "its file, null for one from the base"),
    ("pos", "int64", "position of its event, null for one from the base"),
)

_AFTER = 1  # `image` in a batch's raw cells


def state_table(
    store: Store, rows: list[list[int]], columns: Sequence[str] | None, key: Sequence[str]
) -> pa.Table:
    """The live rows with the columns of :data:`STATE`, sorted by ``key`` if there is one.

    ``columns``: the table's, all that were seen if None.
    """
    import pyarrow as pa

    rows = store.settled(rows)
    seen = [name for name in store.names if not name.startswith(HIDDEN)]
    names = seen if columns is None else [name for name in columns if name in seen]
    arrays = [store.gather(rows, name) for name in names]
    fields = [store.fields[n].with_type(a.type) for n, a in zip(names, arrays, strict=True)]
    odd = [store.oddity(row) for row in rows]
    for name in columns or ():
        if rows and name not in seen:
            raise UsageError(f"no image of the table has a column {name}")
    table = pa.table(
        {
            "values": pa.StructArray.from_arrays(arrays, fields=fields)
            if fields
            else pa.nulls(len(rows), pa.struct([])),
            "unknown": pa.array([_unknown(o, names) for o in odd], pa.list_(pa.string())),
            "value_state": _states(odd, names, arrays),
            "raw": pa.array([_raw(o, names) for o in odd], batch_schema([]).field("raw").type),
            **{name: _place(store, rows, column) for name, column in _PLACES.items()},
        }
    )
    if not key or not rows:
        return table
    return _sorted(table, [store.gather(rows, name) for name in key])


_PLACES = {"seq": SEQ, "file": FILE, "pos": POS}


def _place(store: Store, rows: list[list[int]], column: str) -> pa.Array:
    import pyarrow as pa

    if column in store.fields:
        return store.gather(rows, column)
    return pa.nulls(len(rows), pa.string() if column == FILE else pa.int64())


def base_changes(base: pa.Table) -> pa.Table:
    """A base as changes: every row inserted.

    ``base``: a state (:data:`STATE`), or a table with the table's own columns.
    """
    import pyarrow as pa

    count = base.num_rows
    stateful = {"values", "unknown"} <= set(base.column_names)
    if stateful:
        values = base["values"].combine_chunks()
    else:
        whole = base.combine_chunks().to_struct_array()
        values = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    columns: dict[str, Any] = {
        "op": pa.array(["insert"] * count, pa.string()),
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


def _sorted(table: pa.Table, key: list[pa.Array]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [str(i) for i in range(len(key))]
    plain = [k.cast(k.type.value_type) if pa.types.is_dictionary(k.type) else k for k in key]
    order = pc.sort_indices(
        pa.table(plain, names=names), sort_keys=[(name, "ascending") for name in names]
    )
    return table.take(order)


def _unknown(odd: Oddity | None, names: Sequence[str]) -> list[str]:
    if odd is None:
        return []
    return [name for name in names if odd.states.get(name) == CellState.NOT_IN_IMAGE]


def _states(
    odd: Sequence[Oddity | None], names: Sequence[str], arrays: Sequence[pa.Array]
) -> pa.Array:
    import pyarrow as pa

    result: list[list[int] | None] = []
    for i, oddity in enumerate(odd):
        if oddity is None or not any(name in oddity.states for name in names):
            result.append(None)
            continue
        result.append(
            [
                oddity.states.get(name, CellState.VALUE if array[i].is_valid else CellState.NULL)
                for name, array in zip(names, arrays, strict=True)
            ]
        )
    return pa.array(result, pa.list_(pa.uint8()))


def _raw(odd: Oddity | None, names: Sequence[str]) -> list[dict[str, Any]] | None:
    if odd is None or not odd.raw:
        return None
    return [
        {"image": _AFTER, "column": names.index(name), "bytes": cell.bytes, "text": cell.text}
        for name, cell in odd.raw.items()
        if name in names
    ]
