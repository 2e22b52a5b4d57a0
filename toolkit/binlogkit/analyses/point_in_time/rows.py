"""The rows that a table has at a point of its log, as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.chunk import HIDDEN, ODD, odd_name, odd_names
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.structure import NOT_KNOWN, Alteration
from binlogkit.frames.schema import CellState

ORDER = HIDDEN + "order"  # rises in the order in which rows were first seen
WRITTEN = HIDDEN + "written"  # and in that in which they were last written, without a key
_KEY = HIDDEN + "key"  # and a number
_MANY = 256  # chunks


class Rows:
    """The rows so far.

    ``fields``: the columns, in the order in which they were first seen, each with its newest field;
    ``table``: the rows' cells, what is odd in them (chunk.py), their places, :data:`ORDER` and,
    with a key, the values that a change must name to mean the row: an ALTER TABLE that makes a cell
    unknown does not touch those. ``seen``: how many changes were taken.
    """

    def __init__(self) -> None:
        self.fields: dict[str, pa.Field] = {}
        self.table = pa.table({})
        self.seen = 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return int(self.table.nbytes)

    def hidden(self, name: str) -> Integers:
        """A column of numbers: :data:`ORDER` or :data:`WRITTEN`."""
        return np.asarray(self.table[name]) if len(self) else np.empty(0, np.int64)

    def aligned(self, parts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The parts of the rows' keys and those of changes' keys: as many, of the same types."""
        names = [name for name in self.table.column_names if name.startswith(_KEY)]
        known = [self.table[name] for name in names]
        size = len(parts[0])
        parts = [*parts, *(pa.chunked_array([pa.nulls(size, k.type)]) for k in known[len(parts) :])]
        for i, part in enumerate(parts):
            if i >= len(known):
                known.append(pa.chunked_array([pa.nulls(len(self), part.type)]))
            elif known[i].type != part.type:
                known[i] = _as_key(known[i], part.type)
            self._set(f"{_KEY}{i}", known[i])
        return known, parts

    @staticmethod
    def marked(cells: pa.Table, parts: Sequence[Any], order: Integers) -> pa.Table:
        """Rows with their keys and when they were first seen."""
        for i, part in enumerate(parts):
            cells = cells.append_column(f"{_KEY}{i}", part)
        return cells.append_column(ORDER, pa.array(order))

    def declare(self, fields: Iterable[pa.Field]) -> None:
        """Take the columns of the next changes, and their types."""
        for field in fields:
            known = self.fields.get(field.name)
            self.fields[field.name] = field
            if not len(self):
                continue
            if known is None:
                self._set_unknown(field.name)
            elif known.type != field.type:
                column, lost = as_type(self.table[field.name], field.type)
                self._set(field.name, column)
                self._mark_unknown(field.name, lost)

    def replace(self, stay: Flags, more: Iterable[pa.Table]) -> None:
        """Keep these rows and add others; a column that they lack is unknown in them."""
        tables = [kept(self.table, stay), *(self.widened(table) for table in more)]
        tables = [table for table in tables if table.num_rows]
        self.table = pa.concat_tables(tables, promote_options="default") if tables else pa.table({})
        if tables and self.table.column(0).num_chunks > _MANY:
            self.table = self.table.combine_chunks()

    def widened(self, table: pa.Table) -> pa.Table:
        """A table of rows with all columns; those that it lacks are unknown."""
        lacking = pa.array(np.full(table.num_rows, CellState.NOT_IN_IMAGE, np.uint8))
        for name in [name for name in self.fields if name not in table.column_names]:
            table = table.append_column(name, pa.nulls(table.num_rows, self.fields[name].type))
            table = table.append_column(odd_name(name, "state"), lacking)
        return table

    def alter(self, done: Alteration) -> None:
        """Give the rows the columns that the table has after an ALTER TABLE."""
        if not self.fields:
            return
        for name in done.dropped & self.fields.keys():
            del self.fields[name]
            self._drop(name, *odd_names(name))
        self._rename(done.renamed)
        for name, value in done.added.items():
            if value is not NOT_KNOWN:
                column = pa.array([value])
                self.fields[name] = pa.field(name, column.type)
                self._drop(*odd_names(name))
                self._set(name, column.take(pa.array(np.zeros(len(self), np.int64))))
        for name, value in done.added.items():
            if value is NOT_KNOWN and name not in self.fields:
                self.fields[name] = pa.field(name, pa.null())
                self._set_unknown(name)
        for name in done.lost & self.fields.keys():
            self._set_unknown(name)

    def _rename(self, names: dict[str, str]) -> None:
        self.fields = {
            names.get(n, n): f.with_name(names.get(n, n)) for n, f in self.fields.items()
        }
        odd = {odd_name(o, w): odd_name(n, w) for o, n in names.items() for w in ODD}
        columns = [(names | odd).get(name, name) for name in self.table.column_names]
        self.table = self.table.rename_columns(columns)

    def _set(self, name: str, column: Any) -> None:
        if not len(self):
            return
        if name in self.table.column_names:
            at = self.table.schema.get_field_index(name)
            self.table = self.table.set_column(at, name, column)
        else:
            self.table = self.table.append_column(name, column)

    def _drop(self, *names: str) -> None:
        self.table = self.table.drop_columns([n for n in names if n in self.table.column_names])

    def _set_unknown(self, name: str) -> None:
        self._set(name, pa.nulls(len(self), self.fields[name].type))
        self._drop(*odd_names(name))
        self._mark_unknown(name, np.ones(len(self), bool))

    def _mark_unknown(self, name: str, which: Flags) -> None:
        if which.any():
            states = np.where(which, np.uint8(CellState.NOT_IN_IMAGE), states_of(self.table, name))
            self._set(odd_name(name, "state"), pa.array(states))


def states_of(table: pa.Table, name: str) -> NDArray[np.uint8]:
    """The states of a column's cells; 0 for values and NULL."""
    column = odd_name(name, "state")
    if column not in table.column_names:
        return np.zeros(table.num_rows, np.uint8)
    return np.asarray(table[column].fill_null(0))


def kept(table: pa.Table, stay: Flags) -> pa.Table:
    """The rows that stay; batches that stay as a whole are not copied."""
    if stay.all():
        return table
    found, at = [], 0
    for batch in table.to_batches():
        part = stay[at : at + batch.num_rows]
        at += batch.num_rows
        if part.all():
            found.append(batch)
        elif part.any():
            found.append(batch.filter(pa.array(part)))
    return pa.Table.from_batches(found, table.schema)


def _as_key(column: Any, dtype: pa.DataType) -> Any:
    """The part of a key in another type: numbers of all types can be equal."""
    types = pa.types
    if all(
        (types.is_primitive(t) and not types.is_temporal(t)) or types.is_decimal(t)
        for t in (column.type, dtype)
    ):
        try:
            return column.cast(dtype)
        except pa.ArrowInvalid:
            pass
    return as_type(column, dtype)[0]


def as_type(column: Any, dtype: pa.DataType) -> tuple[Any, Flags]:
    """A column in another type, and which of its values that cannot be sure to hold: null then.

    Types change with ALTER TABLE; a conversion by the server is not in the log.
    """
    valid = np.asarray(column.is_valid())
    if not _one_family(column.type, dtype):
        return pa.chunked_array([pa.nulls(len(column), dtype)]), valid
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    source = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    lost = np.zeros(len(column), bool)
    try:
        found = source.cast(plain)
    except pa.ArrowInvalid:
        values = source.unique()
        misfits = [i for i, value in enumerate(values) if not _fits(value, plain)]
        lost = np.asarray(pc.is_in(source, values.take(pa.array(misfits))))
        found = pc.if_else(pa.array(lost), None, source).cast(plain)
    return (found.dictionary_encode().cast(dtype) if plain is not dtype else found), lost


def _fits(value: pa.Scalar, dtype: pa.DataType) -> bool:
    try:
        value.cast(dtype)
    except pa.ArrowInvalid:
        return False
    return True


def _one_family(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether MySQL would keep values of one type that the other holds as they are."""
    types = pa.types
    families = (
        types.is_null,
        types.is_integer,
        types.is_decimal,
        types.is_floating,
        lambda t: types.is_string(t) or types.is_dictionary(t),
    )
    return types.is_null(old) or any(family(old) and family(new) for family in families)
