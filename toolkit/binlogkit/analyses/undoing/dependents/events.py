"""The changes of one table side by side: cells before and after, and their rows' lives."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._cells import Cells, image_cells
from binlogkit.analyses.point_in_time.codes import Flags, Integers, roots, runs
from binlogkit.analyses.undoing.dependents.values import ValueColumn, exact_codes, joined
from binlogkit.constants import TableId
from binlogkit.frames.schema import generated_columns
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class ChangedCells:
    """Changes with the same columns, and their cells; ``after`` includes unchanged ones."""

    batch: pa.RecordBatch
    before: dict[str, Cells]
    after: dict[str, Cells]
    changed: dict[str, Flags]
    generated: frozenset[str]

    @classmethod
    def of(cls, batch: pa.RecordBatch, names: Container[str] | None = None) -> ChangedCells:
        """The needed part of a batch; ``names``: of these columns only."""
        before, written = (image_cells(batch, side, names) for side in ("before", "after"))
        was, now = (np.asarray(batch[side].is_valid()) for side in ("before", "after"))
        update = was & now
        after, changed = {}, {}
        for name, cells in written.items():
            old = before[name]
            changed[name] = update & ~cells.missing
            if changed[name].any():
                changed[name] &= old.missing | old.differs(cells)
            full = cells.over(old)
            gone = full.missing | ~now  # deleted rows have nothing after
            after[name] = Cells(full.field, full.array, gone, full.special)
        generated = frozenset(generated_columns(batch["after"].type))
        return cls(batch, before, after, changed, generated)


@dataclass
class TableChanges:
    """All changes of a table, in log order, under its last names.

    ``definitions``: the table's, in order; ``first``: the number of the first change among those of
    all tables; ``key``: the key's columns; ``was``, ``now``: which have an image before, after.
    """

    name: TableId
    key: tuple[str, ...]
    definitions: tuple[TableDefinition, ...]
    parts: list[ChangedCells]
    first: int = 0
    seq: Integers = field(init=False)
    was: Flags = field(init=False)
    now: Flags = field(init=False)

    def __post_init__(self) -> None:
        batches = [part.batch for part in self.parts]
        self.seq = _along(batch["seq"].to_numpy() for batch in batches)
        self.was, self.now = (
            _along((np.asarray(batch[side].is_valid()) for batch in batches), bool)
            for side in ("before", "after")
        )

    @property
    def size(self) -> int:
        """How many changes."""
        return len(self.seq)

    @property
    def columns(self) -> list[str]:
        """The table's columns at the end."""
        return list(self.parts[-1].after)

    @property
    def uniques(self) -> list[tuple[tuple[str, ...], tuple[int | None, ...]]]:
        """The primary and unique keys that it has or had, and how much of each column counts:
        characters, bytes; None for all."""
        own = [(self.key, (None,) * len(self.key))] if self.key else []
        return list(dict.fromkeys([*own, *(key for d in self.definitions for key in d.uniques)]))

    @property
    def expressions(self) -> list[tuple[str, ...]]:
        """The columns of the unique keys over expressions that it has or had."""
        return list(dict.fromkeys(key for one in self.definitions for key in one.expression_keys))

    @property
    def collations(self) -> dict[str, str | None]:
        """The known collations."""
        columns = self.definitions[-1].columns if self.definitions else ()
        return {column.name: column.collation for column in columns}

    @property
    def generated(self) -> frozenset[str]:
        """The columns that are not written."""
        return self.parts[-1].generated

    def of_layout(self, names: frozenset[str]) -> Flags:
        """Which changes were made while the table had these columns."""
        found: Flags = _along(
            (np.full(p.batch.num_rows, set(p.after) == names) for p in self.parts), bool
        )
        return found

    def changed(self, name: str) -> Flags:
        """Which updates set a column."""
        found: Flags = _along(
            (p.changed.get(name, np.zeros(p.batch.num_rows, bool)) for p in self.parts), bool
        )
        return found

    def cells(self, side: str, name: str) -> ValueColumn:
        """The cells of a column as the images have them."""
        return joined([_column(part, side, name, self.parts[-1]) for part in self.parts])

    @cached_property
    def unplaced(self) -> Flags:
        """Which changes have an image without the key."""
        sides = ((self.was, "before"), (self.now, "after"))
        lacking = (there & self.cells(side, n).missing for there, side in sides for n in self.key)
        found: Flags = reduce(np.logical_or, lacking, np.zeros(self.size, bool))
        return found

    @cached_property
    def partial(self) -> Flags:
        """Which images lack a cell of a column that the table had then: first those before all
        changes, then those after them."""
        found: Flags = _along(
            (
                reduce(
                    np.logical_or,
                    (c.missing for n, c in cells.items() if n not in part.generated),
                    np.zeros(part.batch.num_rows, bool),
                )
                for side in ("before", "after")
                for part in self.parts
                for cells in [getattr(part, side)]
            ),
            bool,
        )
        there: Flags = np.concatenate([self.was, self.now])
        return there & found

    @cached_property
    def links(self) -> Integers:
        """For each change the one that left its row as this one found it; itself if none did."""
        before, after = (
            [self.cells(side, name) for name in self.key] for side in ("before", "after")
        )
        both = [joined(pair) for pair in zip(before, after, strict=True)]
        codes = exact_codes(both)
        present = ~reduce(np.logical_or, (column.missing for column in both))
        size, at = self.size, np.arange(2 * self.size)
        keep = np.concatenate([self.was, self.now]) & present
        change, gives = at % size, at >= size
        places = np.flatnonzero(keep)
        places = places[np.lexsort((2 * change[places] + gives[places], codes[places]))]
        link = np.arange(size)
        if len(places):
            fresh = runs(codes[places])
            previous = np.append(-1, places[:-1])
            takes = ~gives[places] & ~fresh & (previous >= size)
            link[change[places[takes]]] = change[previous[takes]]
        return link

    @cached_property
    def life(self) -> Integers:
        """For each change the first one of its row's life."""
        return roots(self.links)

    @cached_property
    def in_lives(self) -> Integers:
        """The changes life by life, in order."""
        return np.lexsort((np.arange(self.size), self.life))

    def full(self, name: str) -> tuple[ValueColumn, ValueColumn]:
        """The cells of a column before and after each change; missing ones are completed from
        earlier changes of the row."""
        before, after = self.cells("before", name), self.cells("after", name)
        lacking = (self.was & before.missing) | (self.now & after.missing)
        if not self.key or not lacking.any():
            return before, after
        size, order = self.size, self.in_lives
        both = joined([before, after])
        own = np.where(~after.missing, np.arange(size) + size, -1)
        own = np.where((own < 0) & self.now & ~before.missing, np.arange(size), own)
        rank = np.arange(size)
        known = own[order] >= 0
        last = np.maximum.accumulate(np.where(known, rank, -1))
        start = np.maximum.accumulate(np.where(runs(self.life[order]), rank, 0))
        carried = np.where(last >= start, own[order[np.maximum(last, 0)]], -1)
        now = np.empty(size, np.int64)
        now[order] = carried
        was = np.full(size, -1)
        follows = self.links != np.arange(size)
        was[follows] = now[self.links[follows]]
        was = np.where(before.missing & self.was, was, np.arange(size))
        was[before.missing & ~self.was] = -1
        now = np.where(self.now, now, -1)
        # A cell that an update does not touch is the same after it.
        same = self.now & self.was & (now < 0) & (was >= 0)
        now[same] = was[same]
        return both.take(was), both.take(now)


def _column(part: ChangedCells, side: str, name: str, like: ChangedCells) -> ValueColumn:
    cells = getattr(part, side).get(name)
    if cells is None:
        size = part.batch.num_rows
        none = pa.nulls(size, like.after[name].array.type)
        return ValueColumn(none, np.ones(size, bool), {})
    return ValueColumn(cells.array, cells.missing, dict(cells.special))


def _along(arrays: Iterable[Any], dtype: Any = np.int64) -> Any:
    found = list(arrays)
    return np.concatenate([np.zeros(0, dtype), *found])


def changed_unit(events: TableChanges, unit: Sequence[str]) -> Flags:
    """Which updates set any column of a unit."""
    none = np.zeros(events.size, bool)
    return reduce(np.logical_or, (events.changed(name) for name in unit), none)


def exchanged(events: TableChanges, unit: Sequence[str]) -> tuple[Flags, Flags]:
    """Which changes leave the value of a unit that their row had, and which take one."""
    moved = changed_unit(events, unit)
    return events.was & (~events.now | moved), events.now & (~events.was | moved)
