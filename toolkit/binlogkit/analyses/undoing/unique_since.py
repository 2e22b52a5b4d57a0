"""Statements that would break a UNIQUE key which the table got after their changes.

Up to the ALTER TABLE that made the key, or gave a column of it another collation, several rows may
have had a value. Undo is played on the
rows that the table has in the end, statement by statement. Values of a key over an expression are
not computed: rows that are the same in all that it reads have the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.collations import FoldedTexts, is_text
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.undoing.plans import Chosen, Places, PlanColumns, Plans
from binlogkit.constants import TableId
from binlogkit.errors import printable
from binlogkit.frames.arrays import one_array
from binlogkit.rows.schema import TableDefinition

#: A unique key's columns, or those that its expressions read, and how much of each counts.
Unique = tuple[tuple[str, ...], tuple[int | None, ...]]
_Row = dict[str, Any]


def unique_since(boundaries: Iterable[Boundary], first: int) -> dict[TableId, dict[Unique, str]]:
    """The unique keys that tables got after a place and still have, each with the place; so are
    those whose columns got another collation.

    By the tables' last names and with the columns'; ``first``: the place (``seq``).
    """
    found: dict[TableId, dict[Unique, str]] = {}
    for event in (one for one in boundaries if one.seq > first):
        name, known = event.name, found.pop(event.name, {})
        if event.action == "rename":
            found[event.new_name or name] = known
        elif event.before is not None and event.definition is not None:
            done = event.alteration.renamed if event.alteration is not None else {}
            old, now = (_uniques(one) for one in (event.before, event.definition))
            collated = [
                {c.name: c.collation for c in one.columns}
                for one in (event.before, event.definition)
            ]
            stood = {
                _renamed(key, done)
                for key in old
                if all(collated[0].get(c) == collated[1].get(done.get(c, c)) for c in key[0])
            }
            renamed = {_renamed(key, done): place for key, place in known.items()}
            place = f"({event.file} at {event.pos})"
            found[name] = {k: renamed.get(k, place) for k in now if k in renamed or k not in stood}
        elif event.action not in ("create", "drop"):
            found[name] = known
    return {name: keys for name, keys in found.items() if keys}


def _uniques(definition: TableDefinition) -> list[Unique]:
    """Those in which no other table's statements change values."""
    found = definition.uniques
    found += [(read, (None,) * len(read)) for read in definition.expression_keys if read]
    follow = {column for key in definition.foreign if key.cascades for column in key.columns}
    return [key for key in found if follow.isdisjoint(key[0])]


def _renamed(key: Unique, names: Mapping[str, str]) -> Unique:
    return tuple(names.get(column, column) for column in key[0]), key[1]


def broken(
    plans: Plans,
    keys: Mapping[TableId, Mapping[Unique, str]],
    ends: Mapping[TableId, tuple[TableDefinition, pa.Table]],
) -> dict[int, str]:
    """Why statements cannot be carried out, by the ``seq`` of their changes.

    ``keys``: see :func:`unique_since`; ``ends``: the definition and rows (of a state) that tables
    have in the end, where they are known.
    """
    tables = {name: _Played(end[0], keys[name]) for name, end in ends.items()}
    steps = list[_Step]()
    for chunk in plans.chunks() if tables else ():
        there = ((tables[one.table], rows, one) for rows, one in chunk if one.table in tables)
        steps += sorted((s for one in there for s in _steps(*one)), key=lambda step: step.place)
    for name, table in tables.items():
        table.begin(ends[name][1], [step for step in steps if step.table is table])
    played = ((step.seq, step.table.play(step)) for step in steps)
    return {seq: why for seq, why in played if why is not None}


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement on a table; ``where``, ``new``: values of the columns of its keys."""

    place: int
    table: _Played
    seq: int
    kind: str
    where: _Row
    new: _Row


def _steps(table: _Played, places: Places, made: PlanColumns) -> Iterator[_Step]:
    where, new = ([*table.written(part)] for part in (made.where, made.set))
    seqs = made.changes["seq"].to_pylist()
    for row in np.flatnonzero(np.asarray(made.refused.is_null())).tolist():
        found, sets = (
            {name: cells[row] for name, rows, cells in part if rows[row]} for part in (where, new)
        )
        yield _Step(int(places[row]), table, seqs[row], made.kind, found, sets)


class _Played:
    """The rows of a table in the columns of some unique keys, while statements are played."""

    def __init__(self, definition: TableDefinition, keys: Mapping[Unique, str]) -> None:
        self._definition, self._keys = definition, keys
        read = [column for names, _ in keys for column in names]
        self._columns = tuple(dict.fromkeys([*definition.primary_key, *read]))
        self._found_by = definition.primary_key or self._columns
        self._rows: dict[tuple[Any, ...], list[_Row]] = {}
        self._counts = {key: Counter[tuple[Any, ...]]() for key in keys}
        self._lost = False  # whether a statement finds its row by other columns

    def written(self, part: Iterable[Chosen]) -> Iterator[tuple[str, Any, list[Any]]]:
        """The columns in statements: in which of them, and the values; None if not plain."""
        for one in part:
            if one.name in self._columns:
                cells = self._plain(one.name, one.cells.array).to_pylist()
                for row in one.cells.special:
                    cells[row] = None
                yield one.name, one.rows, cells

    def begin(self, state: pa.Table, steps: Iterable[_Step]) -> None:
        """The rows of a state that statements concern: those that have a value which one writes or
        looks for."""
        values, unknown = one_array(state["values"]), one_array(state["unknown"])
        if not {column.name for column in values.type}.issuperset(self._columns):
            self._lost = state.num_rows > 0  # a state without rows has no columns
            return
        cells = {c: self._plain(c, values.field(c)) for c in self._columns}
        seen = {c: set[Any]() for c in self._columns}
        for step in steps:
            for column, value in (*step.where.items(), *step.new.items()):
                seen[column].add(value)
        concerned = np.zeros(len(values), np.bool_)
        for column, array in cells.items():
            some = pa.array([v for v in seen[column] if v is not None], array.type)
            concerned |= np.asarray(pc.is_in(array, some))
        rows = pa.array(np.flatnonzero(concerned))
        lists = {column: array.take(rows).to_pylist() for column, array in cells.items()}
        for row, lacks in enumerate(unknown.take(rows).to_pylist()):
            self._put({c: None if c in lacks else lists[c][row] for c in self._columns})

    def play(self, step: _Step) -> str | None:
        """Carry out a statement; why it cannot be."""
        old: _Row | None = dict.fromkeys(self._columns)
        if step.kind != "insert":
            self._lost = self._lost or not step.where.keys() >= set(self._found_by)
            old = self._taken(step.where)
        if self._lost or old is None or step.kind == "delete":
            return None
        computed = {c.name for c in self._definition.columns if c.generated}
        row = {c: step.new.get(c, None if c in computed else old[c]) for c in self._columns}
        for key, value in self._values(row):
            if self._counts[key][value]:
                if step.kind == "update":
                    self._put(old)
                names = ", ".join(map(printable, key[0]))
                return f"another row has its value of {names}, UNIQUE since {self._keys[key]}"
        self._put(row)
        return None

    def _plain(self, name: str, array: Any) -> Any:
        """A column's values, the same for texts that its collation certainly takes for equal."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if is_text(array):
            own = (c.collation for c in self._definition.columns if c.name == name)
            return one_array(FoldedTexts(array, next(own, None)).equal)
        return array

    def _put(self, row: _Row) -> None:
        self._rows.setdefault(self._place(row), []).append(row)
        for key, value in self._values(row):
            self._counts[key][value] += 1

    def _taken(self, where: _Row) -> _Row | None:
        """A row that is found by these values goes; None if there is none."""
        there = self._rows.get(self._place(where))
        if not there:
            return None
        old = there.pop()
        for key, value in self._values(old):
            self._counts[key][value] -= 1
        return old

    def _place(self, row: _Row) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in self._found_by)

    def _values(self, row: _Row) -> Iterator[tuple[Unique, tuple[Any, ...]]]:
        """A row's values of the keys; without those with NULL, or a cell that is not known."""
        for key in self._keys:
            value = tuple(
                cell if length is None or cell is None else cell[:length]
                for cell, length in zip(map(row.get, key[0]), key[1], strict=True)
            )
            if None not in value:
                yield key, value
