"""The rows of a table at a point of its log, as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.chunk import HIDDEN
from binlogkit.analyses.point_in_time.codes import Flags, Integers, decoded
from binlogkit.analyses.point_in_time.conversion import (
    LOST,
    altered,
    defined_field,
    definition_of,
)
from binlogkit.analyses.point_in_time.defaults import added_value
from binlogkit.analyses.point_in_time.known_cells import cells_of, joined, known, parts_of, unknown
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.frames.arrays import plain_type
from binlogkit.rows.schema import ColumnDefinition

ORDER = HIDDEN + "order"  # rises in the order in which rows were first seen
WRITTEN = HIDDEN + "written"  # rises in the order in which they were last written, without a key
_KEY = HIDDEN + "key"  # and a number
_MANY = 256  # chunks


#: Removed rows, and tables of added ones.
Delta: TypeAlias = "tuple[pa.Table, list[pa.Table]]"


class Rows:
    """The rows so far.

    ``fields``: the columns, in the order in which they were first seen, each with its newest field;
    ``table``: the rows' cells (cells.py), their places, :data:`ORDER` and, with a key, the values
    by which a change identifies the row: an ALTER TABLE that makes a cell unknown does not touch
    those. ``seen``: how many changes were applied; ``deltas``: if it is a list, what each
    :meth:`replace` removes and adds.
    """

    def __init__(self, deltas: list[Delta] | None = None) -> None:
        self.deltas = deltas
        self.fields: dict[str, pa.Field] = {}
        self.table = pa.table({})
        self.seen = 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def nbytes(self) -> int:
        """Their size in memory."""
        return int(self.table.nbytes)

    def copied(self) -> Rows:
        """A copy of these rows that later changes do not affect."""
        found = Rows()
        found.fields, found.table, found.seen = dict(self.fields), self.table, self.seen
        return found

    def hidden(self, name: str) -> Integers:
        """A column of numbers: :data:`ORDER` or :data:`WRITTEN`."""
        return np.asarray(self.table[name]) if len(self) else np.empty(0, np.int64)

    def aligned(self, parts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The parts of the rows' keys and those of changes' keys: equally many, of the same
        types."""
        names = [name for name in self.table.column_names if name.startswith(_KEY)]
        keys = [self.table[name] for name in names]
        size = len(parts[0])
        parts = [*parts, *(pa.chunked_array([pa.nulls(size, k.type)]) for k in keys[len(parts) :])]
        for i, part in enumerate(parts):
            if i >= len(keys):
                keys.append(pa.chunked_array([pa.nulls(len(self), part.type)]))
            elif keys[i].type != part.type:
                keys[i] = _as_key(keys[i], part.type)
            self._set(f"{_KEY}{i}", keys[i])
        return keys, parts

    @staticmethod
    def marked(cells: pa.Table, parts: Sequence[Any], order: Integers) -> pa.Table:
        """Rows with their keys and when they were first seen."""
        for i, part in enumerate(parts):
            cells = cells.append_column(f"{_KEY}{i}", part)
        return cells.append_column(ORDER, pa.array(order))

    def unmark(self) -> None:
        """Forget by which values changes identify the rows."""
        if not len(self):
            return
        marks = [n for n in self.table.column_names if n.startswith(_KEY) or n == WRITTEN]
        self.table = self.table.drop_columns(marks)
        number = pa.array(np.argsort(np.argsort(self.hidden(ORDER))))
        self._set(ORDER, number)
        self._set(WRITTEN, number)

    def mark(self, parts: Sequence[Any]) -> None:
        """Identify the rows by these values."""
        self.table = self.table.drop_columns([WRITTEN])
        for i, part in enumerate(parts):
            self._set(f"{_KEY}{i}", part)

    def declare(self, fields: Iterable[pa.Field]) -> None:
        """Take the columns of the next changes, and their types."""
        for field in fields:
            old = self.fields.get(field.name)
            self.fields[field.name] = field
            if old is None:
                self._set(field.name, unknown(len(self), field.type))
            elif old.type != field.type and len(self):
                cells = self.table[field.name]
                parts = parts_of(cells)
                parts["value"], lost = as_type(parts["value"], field.type)
                self._set(field.name, cells_of(parts, known(cells) & ~lost))

    def replace(self, stay: Flags, more: Iterable[pa.Table], *, returned: bool = False) -> pa.Table:
        """Keep these rows and add others; columns that they lack are unknown in them.

        The others are returned, if that is wanted.
        """
        fresh = [*map(self.widened, more)]
        gone = pa.table({})
        if len(stay) and (returned or self.deltas is not None):
            gone = kept(self.table, ~stay)
        if self.deltas is not None:
            self.deltas.append((gone, fresh))
        self.table = joined([kept(self.table, stay), *fresh])
        if len(self) and self.table.column(0).num_chunks > _MANY:
            self.table = self.table.combine_chunks()
        return gone

    def widened(self, table: pa.Table) -> pa.Table:
        """A table of rows with all columns; missing ones are unknown."""
        there = set(table.column_names)
        for name, field in self.fields.items():
            if name not in there:
                table = table.append_column(name, unknown(table.num_rows, field.type))
        return table

    def alter(self, done: Alteration, key: Sequence[str]) -> set[str]:
        """Apply an ALTER TABLE to the rows' columns.

        ``key``: the table's afterwards. Returns the columns in which cells became unknown.
        """
        if not self.fields:
            return set()
        names = done.renamed
        # A column whose name another one got was dropped or renamed without being seen.
        stale = set(names.values()) - names.keys()
        for name in (done.dropped | stale) & self.fields.keys():
            del self.fields[name]
            if len(self):
                self.table = self.table.drop_columns([name])
        self.fields = {
            names.get(n, n): f.with_name(names.get(n, n)) for n, f in self.fields.items()
        }
        columns = [names.get(name, name) for name in self.table.column_names]
        self.table = self.table.rename_columns(columns)
        lost = {n for n, c in done.added.items() if self._add(n, c, added_value(c, done.moment))}
        for name in done.lost & self.fields.keys():
            self._set(name, unknown(len(self), self.fields[name].type))
            lost.add(name)
        changed = done.changed.keys() & self.fields.keys()
        return lost | {name for name in sorted(changed) if self._convert(name, done, key)}

    def restore(self, fields: Iterable[pa.Field]) -> None:
        """Add columns that were dropped since, with unknown cells."""
        for field in fields:
            self.fields[field.name] = field
            self._set(field.name, unknown(len(self), field.type))

    def _add(self, name: str, column: ColumnDefinition, value: Any) -> bool:
        """Add a column to all rows, with a value or unknown."""
        field = self.fields[name] = defined_field(column)
        if value is not LOST:
            values = pa.array([value], field.type).take(pa.array(np.zeros(len(self), np.int64)))
            self._set(name, cells_of({"value": values}))
        else:
            self._set(name, unknown(len(self), field.type))
        return value is LOST

    def _convert(self, name: str, done: Alteration, key: Sequence[str]) -> bool:
        """Convert a column's cells and the rows' identifying values; whether cells became
        unknown."""
        field, (old, new) = self.fields[name], done.changed[name]
        definition = definition_of(field)
        if definition is not None:  # by the log, with the session's character sets
            numbers = old is not None and old.auto_increment
            scale = old.scale if definition.scale is None and old is not None else definition.scale
            if old is not None and new is not None and old.charset is new.charset is None:
                new = replace(new, charset=definition.charset)  # its database's, which stays
            old = replace(definition, auto_increment=numbers, scale=scale)
        if new is not None:
            self.fields[name] = defined_field(new)
        if not len(self):
            return False
        cells = self.table[name]
        if old is None or new is None:
            self._set(name, unknown(len(self), self.fields[name].type))
            return bool(known(cells).any())
        found, lost = altered(cells, old, new, done.mode)
        self._set(name, found)
        part = f"{_KEY}{key.index(name)}" if name in key else ""
        if part in self.table.column_names:
            value = decoded(parts_of(found)["value"])
            before = _as_key(self.table[part], value.type)
            self._set(part, pc.if_else(pa.array(known(found)), value, before))
        return lost

    def write(self, name: str, which: Flags, values: Any, key: Sequence[str]) -> None:
        """Change some rows' cells and their identifying values; ``key``: the table's."""
        flags, parts = pa.array(which), parts_of(self.table[name])
        parts["value"] = pc.if_else(flags, values, parts["value"])
        self._set(name, cells_of(parts, known(self.table[name]) | which))
        part = f"{_KEY}{key.index(name)}" if name in key else ""
        if part in self.table.column_names:
            means = self.table[part]
            self._set(part, pc.if_else(flags, values.cast(means.type), means))

    def forget(self, name: str, which: Flags) -> None:
        """Make some rows' cells unknown."""
        cells = self.table[name]
        self._set(name, cells_of(parts_of(cells), known(cells) & ~which))

    def _set(self, name: str, column: Any) -> None:
        if not len(self):
            return
        if name in self.table.column_names:
            at = self.table.schema.get_field_index(name)
            self.table = self.table.set_column(at, name, column)
        else:
            self.table = self.table.append_column(name, column)


def kept(table: pa.Table, stay: Flags) -> pa.Table:
    """The rows that stay; unaffected batches are not copied."""
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
    """The part of the key in another type: numbers of all types can be equal."""
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
    """A column in another type, and which of its values that type may not hold: null then.

    Types change with ALTER TABLE; a conversion by the server is not in the log.
    """
    valid = np.asarray(column.is_valid())
    if not _one_family(column.type, dtype):
        return pa.chunked_array([pa.nulls(len(column), dtype)]), valid
    plain = plain_type(dtype)
    source = decoded(column)
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
    """Whether MySQL would keep values of one type unchanged in the other."""
    types = pa.types
    families = (
        types.is_null,
        types.is_integer,
        types.is_decimal,
        types.is_floating,
        lambda t: types.is_string(t) or types.is_dictionary(t),
    )
    return types.is_null(old) or any(family(old) and family(new) for family in families)
