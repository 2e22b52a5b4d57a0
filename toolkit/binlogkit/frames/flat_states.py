"""A state's rows in files: the table's own columns, typed, and ``_cells``.

Written so by ``state --format parquet`` and the like, by snapshots; read again where they are a
base. What is known of them beside stands in the schema's metadata (frames/snapshots/facts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.temporal import MAX_HOUR
from binlogkit.frames.arrays import lists, one_array, plain_type
from binlogkit.frames.fields.field import arrow_type
from binlogkit.frames.flat_cells import (
    CELLS,
    CELLS_TYPE,
    flat_name,
    raw_of,
    states_of,
    with_cells,
)
from binlogkit.frames.schema import CellState
from binlogkit.frames.snapshots.values import Misread
from binlogkit.frames.tables import with_times

_AFTER = 1  # `image` in a batch's raw cells
_DAYS = -719_162, 2_932_896  # from 0001-01-01 to 9999-12-31
_DAY = 86_400_000_000
_HOUR = 3_600_000_000


def flat_schema(
    fields: Iterable[pa.Field], metadata: dict[bytes, bytes], *, cells: bool
) -> pa.Schema:
    """The schema of such rows; ``fields``: of the table's columns; ``cells``: with ``_cells``."""
    own = [*fields]
    if cells:
        own = [f.with_name(flat_name(f.name)) if f.name.lower() == CELLS else f for f in own]
        own.append(pa.field(CELLS, CELLS_TYPE))
    return pa.schema([f.with_type(plain_type(f.type)) for f in own], metadata)


def flat_states(
    rows: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Rows of a state (STATE) in ``schema``."""
    for part in rows:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        found = with_cells(table, always=_has_cells(schema))
        for batch in found.to_batches():
            yield with_times(batch, ()).cast(schema)


def _has_cells(schema: pa.Schema) -> bool:
    """Whether ``_cells`` is ours, and no column of the table."""
    return CELLS in schema.names and schema.field(CELLS).type == CELLS_TYPE


def states_of_flat(batches: Iterable[pa.RecordBatch], fields: Sequence[pa.Field]) -> pa.Table:
    """The rows of a state from such batches: ``values``, ``unknown``, ``value_state`` and ``raw``.
    :class:`Misread`."""
    found = []
    for batch in batches:
        try:
            batch.validate(full=True)
            found.append(_rows(batch, fields))
        except (pa.ArrowException, LookupError, TypeError) as exc:
            if isinstance(exc, Misread):
                raise
            raise Misread(f"its rows are not those of its table ({type(exc).__name__})") from exc
    none = flat_schema(fields, {}, cells=False).empty_table()
    return pa.Table.from_batches(found or [_rows(none, fields)])


def cast_to(column: Any, kind: pa.DataType) -> Any:
    """A column in another type, dictionaries among them."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type).dictionary_encode().cast(kind)
    return column.cast(kind)


def _rows(batch: pa.RecordBatch | pa.Table, fields: Sequence[pa.Field]) -> pa.RecordBatch:
    size, special = batch.num_rows, _has_cells(batch.schema)
    children = []
    for field in fields:
        own = flat_name(field.name) if special and field.name.lower() == CELLS else field.name
        children.append(_within(cast_to(one_array(batch.column(own)), field.type), field.name))
    values = (
        pa.StructArray.from_arrays(children, fields=[*fields])
        if fields
        else pa.nulls(size, pa.struct([]))
    )
    cells = one_array(batch.column(CELLS)) if special else pa.nulls(size, CELLS_TYPE)
    states, forms = states_of(cells, values)
    flat = np.array(states.flatten(), np.uint8)
    flat[flat == CellState.JSON_DIFF] = CellState.NOT_IN_IMAGE  # of a value that is not known
    absent = np.flatnonzero(flat == CellState.NOT_IN_IMAGE)
    odd = np.flatnonzero(np.asarray(states.is_valid()))
    names = pa.array([field.name for field in fields], pa.string())
    count = max(len(fields), 1)
    which = names.take(pa.array(absent % count))
    unknown = lists(odd[absent // count], which, np.zeros(size, np.bool_))
    states = pa.ListArray.from_arrays(states.offsets, pa.array(flat), mask=states.is_null())
    raw = raw_of(
        [forms.append_column("image", pa.repeat(_AFTER, len(forms)))], size, arrow_type("raw")
    )
    columns = {"values": values, "unknown": unknown, "value_state": states, "raw": raw}
    return pa.RecordBatch.from_pydict(columns)


def _within(column: pa.Array, name: str) -> pa.Array:
    """A column whose times a MySQL server can have. :class:`Misread`."""
    kind = column.type
    if pa.types.is_date32(kind):
        low, high = _DAYS
    elif pa.types.is_timestamp(kind):
        low, high = _DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1
    elif pa.types.is_duration(kind):
        low, high = -(MAX_HOUR + 1) * _HOUR, (MAX_HOUR + 1) * _HOUR
    else:
        return column
    plain = column.view(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    found = pc.min_max(plain).as_py()
    if found["min"] is not None and not low <= found["min"] <= found["max"] <= high:
        raise Misread(f"a value of {name} is none of its column's type")
    return column
