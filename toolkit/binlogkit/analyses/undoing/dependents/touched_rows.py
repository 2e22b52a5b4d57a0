"""Which later changes may depend on earlier ones, by the rows and the keys' values of these.

It is what links.py finds among changes that are all there, for changes that pass: a change may
depend on an earlier one of its row, and on one that left, or brought, a value that it uses. Of rows
and values only hashes are kept. Other changes may be taken, too, but never too few.

Nothing is left out where this is not known: tables without a key or with another one since, keys
whose columns have other types since, and images that lack a value which a change leaves or takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.events import ChangedCells, TableChanges, exchanged
from binlogkit.analyses.undoing.dependents.links import either
from binlogkit.analyses.undoing.dependents.values import ValueColumn, beginning, compared
from binlogkit.constants import TableId
from binlogkit.frames.arrays import one_array
from binlogkit.frames.key_hashes import Hashes, KeyColumn, hashes_of
from binlogkit.frames.schema import key_columns, table_of
from binlogkit.rows.schema import TableDefinition

_ANY_COLUMN = KeyColumn("", 0, "text", "")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def among(values: Any, known: Any) -> Flags:
    """Which values are among some sorted ones."""
    if not len(known):
        return np.zeros(len(values), bool)
    at = np.searchsorted(known, values)
    found: Flags = known[np.minimum(at, len(known) - 1)] == values
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """Values of a table's key that changes leave (``goes``), or take."""

    table: TableId
    columns: tuple[str, ...]
    goes: bool


@dataclass(frozen=True, slots=True)
class Use:
    """A change at ``target`` may depend on one with the same value at ``source``.

    ``lengths``: how much of each column counts, None for all; ``lengths`` None: nobody knows which
    values are the same.
    """

    source: Place
    target: Place
    lengths: tuple[int | None, ...] | None
    collations: tuple[str | None, ...] = ()

    @property
    def of_unique(self) -> bool:
        """Whether both have a value of one unique key."""
        return self.lengths is not None and self.source == replace(self.target, goes=True)


def uses(
    known: Mapping[TableId, Sequence[TableDefinition]], keys: Iterable[Reference]
) -> Iterator[Use]:
    """Those of some tables' unique keys, and of foreign keys between them; ``known``: their
    definitions at any time, in order."""
    collations = {
        name: {column.name: column.collation for column in several[-1].columns}
        for name, several in known.items()
    }
    for name, several in known.items():
        unique = [key for one in several for key in one.uniques]
        unknown = [(read, None) for one in several for read in one.expression_keys]
        for columns, lengths in dict.fromkeys([*unique, *unknown]):
            goes, comes = (Place(name, columns, one) for one in (True, False))
            yield Use(goes, comes, lengths, tuple(map(collations[name].get, columns)))
    for key in keys:
        above, below = ((key.parent, key.referenced), (key.child, key.columns))
        names = zip(map(collations[key.parent].get, key.referenced),
                    map(collations[key.child].get, key.columns), strict=True)  # fmt: skip
        how = (None,) * len(key.columns), tuple(either(*pair) for pair in names)
        yield Use(Place(*above, goes=False), Place(*below, goes=False), *how)
        yield Use(Place(*below, goes=True), Place(*above, goes=True), *how)


@dataclass(slots=True)
class _Values:
    """Hashes of values, sorted, and those of before; ``open``: whether one may equal any;
    ``kinds``: the types of all that were met; ``passed``: the last change (``seq``) of another
    table that was compared with them; ``late``: whether there are more of an earlier one since."""

    known: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    first: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    open: bool = False
    kinds: set[str] = field(default_factory=set)
    passed: int = -1
    late: bool = False

    def add(self, hashes: Hashes) -> None:
        self.known = np.union1d(self.known, hashes)

    def leave(self, hashes: Hashes, opened: Flags, seqs: Integers) -> None:
        """Add values of some changes, of which one that is ``opened`` may equal any."""
        new = opened & (not self.open) | ~opened & ~among(hashes, self.known)
        self.late |= bool((new & (seqs < self.passed)).any())
        self.add(hashes[~opened])
        self.open |= bool(opened.any())

    def learned(self) -> list[Any]:
        added = np.setdiff1d(self.known, self.first)
        return [added.tolist(), self.open, sorted(self.kinds)]

    def join(self, learned: Iterable[Sequence[Any]]) -> bool:
        """Add what copies learned; whether changes were passed over that may use it."""
        old, late = (len(self.known), self.open), self.late
        for added, opened, kinds in learned:
            self.add(np.array(added, np.uint64))
            self.open |= opened
            self.kinds.update(kinds)
        self.first, self.passed, self.late = self.known, -1, False
        return late or (len(self.known), self.open) != old


#: Of a table: the uses of its keys, each with the values, and the keys of its rows.
_Met: TypeAlias = tuple[dict[Use, _Values], _Values]


class _NotKnownError(Exception):
    """It is not known which changes depend on which."""


class TouchedRows:
    """The rows that some changes of tables touched, and the values that they left or took.

    ``known``: the tables' definitions at any time, in order; ``keys``: the foreign keys from and to
    them. ``gave_up``: nothing is left out any more.
    """

    def __init__(
        self, known: Mapping[TableId, Sequence[TableDefinition]], keys: Iterable[Reference]
    ) -> None:
        self._tables: dict[TableId, _Met] = {name: ({}, _Values()) for name in sorted(known)}
        self._uses = {use: _Values() for use in uses(known, keys)}
        for use, values in self._uses.items():
            for place in (use.source, use.target):
                self._tables[place.table][0][use] = values
        self._layouts: dict[TableId, pa.Schema] = {}
        self._shared = self.gave_up = False

    def follow(self, batch: pa.RecordBatch) -> None:
        """Add what all of these changes touched."""
        self._found(batch, np.ones(batch.num_rows, bool), every=True)
        self.join([])

    def those(self, batch: pa.RecordBatch, counted: Flags) -> Flags:
        """The changes that may depend on what was added, after the earlier ones; what they touch is
        added. ``counted``: which of the changes count.

        Also a change of each layout of a table, and one that does not count: that there are such
        matters.
        """
        wanted = self._found(batch, counted, every=False)
        first = [np.flatnonzero(~counted)[:1]]
        last = self._layouts.get(name := table_of(batch))
        if counted.any() and (last is None or not last.equals(batch.schema, check_metadata=True)):
            self._layouts[name] = batch.schema
            first.append(np.flatnonzero(counted)[:1])
        wanted[np.concatenate(first)] = True
        return wanted

    def learned(self) -> list[Any]:
        """What was added since, for JSON."""
        return [self.gave_up, [values.learned() for values in self._all]]

    def join(self, learned: Sequence[Any]) -> bool:
        """Add what copies learned; whether what passed may be wanted, now that this is known."""
        more = [values.join(several) for values, *several in zip(self._all, *(
            one[1] for one in learned), strict=True)]  # fmt: skip
        self.gave_up |= any(one[0] for one in learned)
        self.gave_up |= any(len(values.kinds) > 1 for values in self._all)
        before, self._shared = self._shared, self.gave_up
        return not before if self.gave_up else any(more)

    @property
    def _all(self) -> list[_Values]:
        return [*(rows for _, rows in self._tables.values()), *self._uses.values()]

    def _found(self, batch: pa.RecordBatch, counted: Flags, *, every: bool) -> Flags:
        if not self.gave_up:
            try:
                met = self._tables[table_of(batch)]
                return _followed(_Passing(batch, *met), *met, counted, every=every)
            except _NotKnownError:
                self.gave_up = True
        return np.ones(batch.num_rows, bool)


def _followed(
    passing: _Passing, met: Mapping[Use, _Values], rows: _Values, counted: Flags, *, every: bool
) -> Flags:
    """Which changes depend on what was met; what they touch is added."""
    found = np.zeros(passing.events.size, bool)
    more = counted if every else passing.wanted(met, rows) & counted
    while more.any():
        found |= more
        rows.add(np.concatenate([keys[there & more] for there, keys in passing.rows]))
        for use, values in met.items():
            passing.leave(use, values, more)
        more = passing.wanted(met, rows) & counted & ~found if not every else ~counted
    return found


class _Passing:
    """Changes of a table, which are known enough. _NotKnownError: they are not."""

    def __init__(self, batch: pa.RecordBatch, met: Mapping[Use, _Values], rows: _Values) -> None:
        name, key = table_of(batch), tuple(key_columns(batch.schema))
        types = {f.name: _kind(f.type) for f in batch.schema.field("after").type}
        places = [(p, met[use]) for use in met for p in (use.source, use.target) if p.table == name]
        kinds = [(values, [*map(types.get, place.columns)]) for place, values in places]
        for values, found in [*kinds, (rows, [*key, *map(types.get, key)])]:
            values.kinds.add(repr(found))
            if None in found or len(values.kinds) > 1:
                raise _NotKnownError
        if key not in {use.source.columns for use in met if use.of_unique}:
            raise _NotKnownError
        columns = {column for place, _ in places for column in place.columns}
        self.events = TableChanges(name, key, (), [ChangedCells.of(batch, columns)])
        if self.events.unplaced.any():
            raise _NotKnownError
        self._plain = not any(types[column] == str(pa.string()) for column in key)
        self.rows = [
            (there, _hashes([self.events.cells(side, column) for column in key]))
            for side, there in (("before", self.events.was), ("after", self.events.now))
        ]
        self._targets: dict[Use, tuple[Flags, Hashes, Flags]] = {}

    def wanted(self, met: Mapping[Use, _Values], rows: _Values) -> Flags:
        """Which changes are of these rows, or use one of these values."""
        before, after = (there & among(keys, rows.known) for there, keys in self.rows)
        found: Flags = before | after
        for use, values in met.items():
            if use.target.table != self.events.name:
                continue
            if use.source.table != use.target.table:  # a table's changes pass in order
                values.passed = max(values.passed, int(self.events.seq[-1]))
            if not (len(values.known) or values.open):
                continue
            if use not in self._targets:
                self._targets[use] = self._values(use, use.target, np.ones_like(found))
            there, hashes, opened = self._targets[use]
            found |= there & (opened | values.open | among(hashes, values.known))
        return found

    def leave(self, use: Use, met: _Values, which: Flags) -> None:
        """Add the values that some of the changes leave to others."""
        if use.source.table == self.events.name and not self._by_row(use):
            there, hashes, opened = self._values(use, use.source, which)
            met.leave(hashes[there], opened[there], self.events.seq[there])

    def _by_row(self, use: Use) -> bool:
        """Whether changes with the same value are of rows with the same key."""
        mine = use.of_unique and use.source.columns == self.events.key
        return mine and self._plain and not any(use.lengths or ())

    def _values(self, use: Use, place: Place, which: Flags) -> tuple[Flags, Hashes, Flags]:
        """Which changes have a value that is not NULL, its hash, and whether it may equal any."""
        events = self.events
        there = exchanged(events, place.columns)[not place.goes] & which
        hashes, opened = np.zeros(events.size, np.uint64), np.zeros(events.size, bool)
        at = np.flatnonzero(there)
        if use.lengths is None or not len(at):
            return there, hashes, opened
        side = "before" if place.goes else "after"
        cells = [events.cells(side, column).take(at) for column in place.columns]
        if any(column.missing.any() for column in cells):
            raise _NotKnownError
        several = zip(cells, use.lengths, use.collations, strict=True)
        cells = [compared(beginning(column, n), name, apart=True) for column, n, name in several]
        there[at] = ~reduce(np.logical_or, (column.null for column in cells))
        opened[at] = reduce(np.logical_or, (column.missing for column in cells))
        hashes[at] = _hashes(cells)
        return there, hashes, opened


def _kind(kind: pa.DataType) -> str | None:
    """What hashes of columns have in common; None: they have none."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "integer"
    of = pa.types
    known = (of.is_string, of.is_binary, of.is_decimal, of.is_temporal, of.is_floating)
    return str(kind) if any(one(kind) for one in known) else None


def _hashes(columns: Sequence[ValueColumn]) -> Hashes:
    """A hash of each row; a value that Arrow lacks has that of its text."""
    found: Hashes = np.zeros(len(columns[0].array), np.uint64)
    for column in columns:
        own = hashes_of([one_array(column.array)], [_ANY_COLUMN])
        for place, value in column.special.items():
            own[place] = crc32(repr(value).encode())
        found = found * _FACTOR + own
    return found
