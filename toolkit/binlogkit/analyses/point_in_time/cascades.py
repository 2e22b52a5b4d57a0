"""Effects of InnoDB's foreign keys on child rows, which no log up to 9.5 contains (docs/traps.md).

The definitions say which rows are deleted or changed with a parent's; the parent's changes are
logged. So children are followed as if the log had their changes, as it does from 9.6 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.collations import FoldedTexts, is_text
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Flags, Integers, codes, decoded, runs
from binlogkit.analyses.point_in_time.erased import Lost
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.known_cells import known, parts_of
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.constants import TableId
from binlogkit.frames.records import struct_records
from binlogkit.frames.schema import CellState
from binlogkit.rows.schema import ForeignKey, TableDefinition, joined_columns

_ACTIONS = ("CASCADE", "SET NULL")
_SIDES = ("before", "after")
_INEXACT = frozenset(("enum", "set", "float", "double", "json"))  # compared differently than here
#: The first ``seq`` of a table's changes, the table, and the changes.
Waiting = tuple[int, TableId, pa.RecordBatch]
_DEEPEST = 15  # of cascades (manual, "FOREIGN KEY Constraints")


@dataclass(frozen=True, slots=True)
class Cause:
    """The change that cascades."""

    seq: int
    file: str
    pos: int


@dataclass(frozen=True, slots=True)
class Cascaded:
    """Child rows that were deleted or changed with their parents' changes, from ``at`` on.

    ``by``: the foreign key; ``seqs``: the logged change that caused each; ``before``, ``after``: as
    in Rows.table, of equal length; ``after`` is None if the rows were deleted; ``fields``: the
    columns; ``key``; ``stayed``: whether other rows may have had the new value before, or some of
    these one that only the collation takes for the old one.
    """

    at: Cause
    child: TableId
    by: ForeignKey
    action: str
    seqs: Integers
    fields: Mapping[str, pa.Field]
    key: tuple[str, ...]
    before: pa.Table
    after: pa.Table | None
    stayed: bool = False

    @property
    def alone(self) -> Cascaded:
        """The same without rows."""
        return replace(self, seqs=self.seqs[:0], before=self.before[:0], after=self.before[:0])

    def keys(self, key: Sequence[str]) -> list[dict[str, Any]]:
        """The rows' keys before and after, as in records."""
        found: list[dict[str, Any]] = []
        for rows in (self.before, self.after):
            if rows is not None:
                columns = [parts_of(rows[name])["value"].combine_chunks() for name in key]
                fields = [self.fields[name] for name in key]
                values = pa.StructArray.from_arrays(columns, fields=fields)
                none = pa.nulls(len(values))
                found += [record or {} for record in struct_records(values, none, none, 0)]
        return found


@dataclass(frozen=True, slots=True)
class Struck:
    """Values of a parent's columns that were removed or replaced (by ``new``), by column.

    ``seqs``: the logged change for each; ``unchecked``: foreign keys did not act on them.
    """

    old: Mapping[str, Any]
    new: Mapping[str, Any] | None
    at: Cause
    seqs: Integers
    unchecked: bool = False

    def action(self, key: ForeignKey) -> str:
        """The foreign key's action in this case."""
        return key.on_delete if self.new is None else key.on_update


class Cascades:
    """Applies parents' changes to children.

    ``table``: the rows of a table so far; ``names``: the tables that are followed; ``unchecked``:
    which changes were made with foreign_key_checks off, by their ``seq``; ``done``: the effects, in
    order, if kept; ``lost``: transactions that lack changes of erased rows.
    """

    def __init__(
        self,
        table: Callable[[TableId], Fold | None],
        names: Sequence[TableId],
        unchecked: Callable[[Integers], Flags],
        *,
        keep: bool = False,
    ) -> None:
        self._table, self._names, self._unchecked = table, names, unchecked
        self.done: list[Cascaded] | None = [] if keep else None
        self.lost: list[Lost] = []

    def apart(
        self, waiting: Sequence[Waiting], boundaries: Iterable[Boundary], at: Sequence[int]
    ) -> list[Waiting]:
        """Changes of all tables, split so that those which may cascade are separate; and ``at``
        some places."""
        ever: dict[TableId, set[str]] = {}
        boundaries = list(boundaries)
        definitions = [fold.definition for name in self._names if (fold := self._table(name))]
        for definition in definitions:
            self._note_parents(ever, definition)
        for boundary in boundaries:
            self._note_parents(ever, boundary.definition)
            columns = ever.get(boundary.name, set())
            if boundary.action == "rename" and boundary.new_name is not None:
                ever.setdefault(boundary.new_name, set()).update(columns)
            elif boundary.alteration is not None and columns:
                renamed = boundary.alteration.renamed
                columns |= {renamed[column] for column in columns & renamed.keys()}
        for parent in (*definitions, *(boundary.definition for boundary in boundaries)):
            if parent is not None and (columns := ever.get((parent.db, parent.table), set())):
                small = {column.lower() for column in columns}
                columns |= {c.name for c in parent.columns if c.name.lower() in small}
        numbers = {name: i for i, name in enumerate(self._names, 1)}
        seqs = [np.zeros(0, np.int64)]
        groups = [np.zeros(0, np.int64)]
        for _, name, batch in waiting:
            wanted = ever.get(name, set())
            seqs.append(batch["seq"].to_numpy())
            groups.append(_groups(batch, _strikes(batch, wanted), wanted, numbers[name]))
        order = np.argsort(every := np.concatenate(seqs), kind="stable")
        cuts = np.append(every[order][runs(np.concatenate(groups)[order])], np.array(at, np.int64))
        found = []
        for (_, name, batch), own in zip(waiting, seqs[1:], strict=True):
            edges = np.unique([0, *own.searchsorted(cuts).tolist(), len(own)]).tolist()
            for start, stop in pairwise(edges):
                found.append((int(own[start]), name, batch.slice(start, stop - start)))
        return found

    def _note_parents(
        self, ever: dict[TableId, set[str]], definition: TableDefinition | None
    ) -> None:
        """Add the columns of parents that a table refers to."""
        for key in () if definition is None else definition.foreign:
            if key.db is not None and key.cascades:
                parent = (key.db, key.table)
                ever.setdefault(parent, set()).update(self._referenced(parent, key))

    def strikes(self, name: TableId, batch: pa.RecordBatch) -> Flags:
        """Which changes of a table may change rows of others, as far as their images show; if
        effects are kept, also updates on which foreign keys did not act."""
        found = _strikes(batch, self._wanted(name))
        for one in self.lost:
            if one.name == name:
                found &= ~one.left_deletes(batch)
        if not found.any():
            return found
        counts = ~self._unchecked(batch["seq"].to_numpy())
        if self.done is not None:
            counts |= np.asarray(batch["after"].is_valid())
        return found & counts

    def parts(self, name: TableId, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """The changes of a table, split where one deletes a row that referred to one deleted before
        it: by ON DELETE SET NULL it no longer does then."""
        fold = self._table(name)
        keys = [k for child, k in self._children(name) if child == name]
        keys = [key for key in keys if key.on_delete == "SET NULL"]
        deleted = np.asarray(batch["before"].is_valid()) & np.asarray(batch["after"].is_null())
        if fold is None or not keys or np.count_nonzero(deleted) < 2:
            return [batch]
        rows = fold.settled().table
        which = places_of(rows, fold.key, columns_of(batch, "before", set(fold.key)))
        if which is None:
            return [batch]
        at = np.flatnonzero(deleted & (which >= 0))
        gone, cuts = rows.take(pa.array(which[at])), {0, batch.num_rows}
        for key in keys:
            sides = key.columns, self._referenced(name, key)
            if any(
                c not in rows.column_names or not known(gone[c]).all() for s in sides for c in s
            ):
                continue
            own, old = ([decoded(parts_of(gone[c])["value"]) for c in side] for side in sides)
            found = matches(own, old, [_collation(fold.definition, c) for c in key.columns])
            if found is not None:
                cuts.update(at[(found >= 0) & (found < np.arange(len(at)))].tolist())
        return [batch.slice(i, j - i) for i, j in pairwise(sorted(cuts))]

    def feed(self, name: TableId, batch: pa.RecordBatch, rows: pa.Table) -> None:
        """Cascade changes of ``name`` that were folded, all of which :meth:`strikes`.

        ``rows``: the table's rows before them.
        """
        wanted, fold = self._wanted(name), self._table(name)
        key = () if fold is None else fold.key
        unchecked = self._unchecked(batch["seq"].to_numpy())
        for first, last, update in _runs(np.asarray(batch["after"].is_valid())):
            part = batch.slice(first, last - first)
            seq, file, pos = (part[column][0].as_py() for column in ("seq", "file", "pos"))
            images = [columns_of(part, side, wanted.union(key)) for side in _SIDES]
            before, after = ({c: v for c, (v, held) in i.items() if held.all()} for i in images)
            before |= _looked_up(rows, key, images[0], wanted - before.keys())
            new, seqs = after if update else None, part["seq"].to_numpy()
            struck = Struck(before, new, Cause(seq, file, pos), seqs, bool(unchecked[first]))
            self._strike(name, struck, 0)

    def _wanted(self, name: TableId) -> set[str]:
        """The columns of a table to which children refer."""
        return {c for _, key in self._children(name) for c in self._referenced(name, key)}

    def _children(self, name: TableId) -> Iterator[tuple[TableId, ForeignKey]]:
        """The foreign keys to a table by which its changes cascade."""
        for child in self._names:
            fold = self._table(child)
            definition = None if fold is None else fold.definition
            for key in () if definition is None else definition.foreign:
                if (key.db, key.table) == name and key.cascades:
                    yield child, key

    def _referenced(self, name: TableId, key: ForeignKey) -> Sequence[str]:
        fold = self._table(name)
        if fold is not None and fold.definition is not None:
            key = key.spelled_by(fold.definition.columns)
        return key.referenced or (() if fold is None else fold.key)

    def _strike(self, name: TableId, struck: Struck, depth: int) -> None:
        for child, key in list(self._children(name)):
            action = struck.action(key)
            if action not in _ACTIONS:
                continue
            referenced = self._referenced(name, key)
            old = [struck.old.get(column) for column in referenced]
            new = None
            if struck.new is not None:
                new = [struck.new.get(c, struck.old.get(c)) for c in referenced]
                if struck.new.keys().isdisjoint(referenced) or _same(old, new):
                    continue
            doubt = depth > _DEEPEST or any(c is None or c.null_count for c in (*old, *(new or ())))
            doubt |= not self._alike(child, key.columns, name, referenced)
            sure = not doubt and self._apply(child, key, action, old, new, struck, depth)
            if not sure and not struck.unchecked:
                self._doubt(child, struck.at)

    def _alike(
        self, child: TableId, columns: Sequence[str], parent: TableId, referenced: Sequence[str]
    ) -> bool:
        """Whether a foreign key joins columns in which equal values have the same bytes, or the
        child has no rows."""
        fold, above = self._table(child), self._table(parent)
        own = None if fold is None else fold.definition
        theirs = None if above is None else above.definition
        version = 0 if own is None else own.version
        pairs = joined_columns(own, columns, theirs, referenced)
        if all(one.stored_like(other, version) for one, other in pairs):
            return True
        return fold is not None and fold.complete and not len(fold.settled())

    def lose(self, lost: Lost, *, ended: bool, compares: bool) -> None:
        """A transaction that lacks changes begins or has ended.

        Images of the children's changes in it are not compared. Rows that the lost changes reached
        refer to a row that is not there.
        """
        for child, key in list(self._children(lost.name)):
            if not (lost.deletes and key.on_delete in _ACTIONS) and not (
                lost.updates and key.on_update in _ACTIONS
            ):
                continue
            fold = self._table(child)
            assert fold is not None
            fold.settled()
            fold.compares = ended and compares and not fold.erased
            told = "erased" in fold.findings.found
            if ended and not told and not self._all_refer(child, key, lost.name):
                self._doubt(child, Cause(lost.first, lost.file, lost.pos), "erased")

    def _all_refer(self, child: TableId, key: ForeignKey, parent: TableId) -> bool:
        """Whether all rows of a child are known, and refer to rows of the parent that are there, if
        to any."""
        fold, above = self._table(child), self._table(parent)
        assert fold is not None
        rows, referenced = fold.settled(), self._referenced(parent, key)
        if not fold.complete or not len(rows):
            return fold.complete
        own = _cells_of(rows, fold.definition, key)
        if own is None:
            return False
        referring = ~np.logical_or.reduce([np.asarray(one.is_null()) for one in own])
        theirs = None if above is None else above.settled()
        if theirs is None or not len(theirs) or not {*referenced} <= theirs.fields.keys():
            return not referring.any()
        cells = [theirs.table[column] for column in referenced]
        if not all(known(one).all() for one in cells):
            return False
        values = [decoded(parts_of(one)["value"]) for one in cells]
        found = matches(own, values, [_collation(fold.definition, c) for c in key.columns])
        return found is not None and not (referring & (found < 0)).any()

    def _doubt(
        self, name: TableId, at: Cause, kind: str = "cascades",
        seen: frozenset[TableId] = frozenset(),
    ) -> None:  # fmt: skip
        """Rows of a table, and of those below it, may have changed."""
        fold = self._table(name)
        if fold is not None:
            fold.findings.add(kind, at.file, at.pos, at=at.seq)
        for child, _ in list(self._children(name)):
            if child not in seen:
                self._doubt(child, at, kind, seen | {name, child})

    def _apply(
        self,
        child: TableId,
        key: ForeignKey,
        action: str,
        old: Sequence[Any],
        new: Sequence[Any] | None,
        struck: Struck,
        depth: int,
    ) -> bool:
        """Apply the key's action to a child's rows; returns whether it is known which rows."""
        fold, at = self._table(child), struck.at
        assert fold is not None
        rows = fold.settled()
        if not fold.complete and not struck.unchecked:
            for grandchild, _ in list(self._children(child)):
                self._doubt(grandchild, at)  # unknown rows may have been deleted
        if not len(rows):
            return True
        own = _cells_of(rows, fold.definition, key)
        collations = [_collation(fold.definition, c) for c in key.columns]
        found = None if own is None else matches(own, old, collations)
        if found is None:
            if not struck.unchecked:
                return False
            found = np.full(len(rows), -1)
        which = (found >= 0) & (not struck.unchecked)
        stayed = False
        if self.done is not None and new is not None:
            there = None if own is None else matches(own, new, collations)
            stayed = there is None or bool(((there >= 0) & ~which).any())
            if own is not None and action == "CASCADE" and which.any():
                alike = matches(own, old, None)
                stayed |= alike is None or bool((which & (alike < 0)).any())
        before, seqs = rows.table.filter(pa.array(which)), struck.seqs[found[which]]

        def note(after: pa.Table | None) -> None:
            if self.done is not None:
                fields = dict(rows.fields)
                self.done.append(
                    Cascaded(at, child, key, action, seqs, fields, fold.key, before, after, stayed)
                )

        if not which.any():
            if stayed:
                note(before)
            return True
        if action == "CASCADE" and new is None:
            rows.replace(~which, [])
            note(None)
            wanted = self._wanted(child) & rows.fields.keys()
            complete = {c: before[c] for c in wanted if known(before[c]).all()}
            gone = {c: decoded(parts_of(cells)["value"]) for c, cells in complete.items()}
            self._strike(child, Struck(gone, None, at, seqs), depth + 1)
            return True
        assert own is not None
        for i, column in enumerate(key.columns):
            value: Any = pa.nulls(len(rows), own[i].type)
            if new is not None and action == "CASCADE":
                places = pa.array(np.where(which, found, 0), mask=~which)
                value = new[i].combine_chunks().take(places).cast(own[i].type)
            rows.write(column, which, pa.chunked_array([value]), fold.key)
        for one in () if fold.definition is None else fold.definition.columns:
            if one.generated and one.name in rows.fields:
                rows.forget(one.name, which)
        after = rows.table.filter(pa.array(which))
        note(after)
        changed = {c: decoded(parts_of(before[c])["value"]) for c in key.columns}
        became = {c: decoded(parts_of(after[c])["value"]) for c in key.columns}
        self._strike(child, Struck(changed, became, at, seqs), depth + 1)
        return True


def _cells_of(rows: Rows, definition: TableDefinition | None, key: ForeignKey) -> list[Any] | None:
    """The columns of a foreign key; None if not all of their values can be compared here."""
    types = {c.name: c.type for c in definition.columns} if definition else {}
    if not _INEXACT.isdisjoint(types.get(column, "") for column in key.columns) or any(
        column not in rows.fields for column in key.columns
    ):
        return None
    cells = [rows.table[column] for column in key.columns]
    parts = [parts_of(c) for c in cells]
    if any(not known(c).all() or "state" in p for c, p in zip(cells, parts, strict=True)):
        return None
    return [decoded(p["value"]) for p in parts]


def _looked_up(
    rows: pa.Table, key: Sequence[str], images: Mapping[str, tuple[Any, Flags]], missing: set[str]
) -> dict[str, Any]:
    """Columns that before images lack, from the rows that the changes are of."""
    there = set(rows.column_names)
    if not missing or not there >= {*key, *missing} or not all(known(rows[c]).all() for c in key):
        return {}
    which = places_of(rows, key, images)
    if which is None or (which < 0).any():
        return {}
    found = {column: rows[column].take(pa.array(which)) for column in missing}
    return {
        column: decoded(parts_of(cells)["value"])
        for column, cells in found.items()
        if known(cells).all() and cells.type.num_fields == 1
    }


def places_of(
    rows: pa.Table, key: Sequence[str], images: Mapping[str, tuple[Any, Flags]]
) -> Integers | None:
    """The places of the images' rows (Rows.table); -1 for a missing row.

    None if keys cannot be distinguished. ``images``: as in :func:`columns_of`.
    """
    if not key or not rows.num_rows or not images.keys() >= set(key):
        return None
    own = [rows[column] for column in key if column in rows.column_names]
    if len(own) < len(key) or any(cells.type.num_fields > 1 for cells in own):
        return None
    stored = [decoded(parts_of(cells)["value"]) for cells in own]
    which = matches([images[column][0] for column in key], stored, None)
    if which is None:
        return None
    usable = np.logical_and.reduce([images[column][1] for column in key])
    usable &= np.logical_and.reduce([known(cells) for cells in own])[which]
    return np.where(usable, which, -1)


def _strikes(batch: pa.RecordBatch, wanted: set[str]) -> Flags:
    """Which changes delete a row or change a wanted column."""
    there = np.asarray(batch["before"].is_valid())
    if not wanted or not there.any():
        return np.zeros(batch.num_rows, bool)
    updates = there & np.asarray(batch["after"].is_valid())
    changed = np.zeros(batch.num_rows, bool)
    if updates.any():
        before, after = (columns_of(batch, side, wanted) for side in _SIDES)
        for column, (value, held) in after.items():
            was, present = before[column]
            equal = np.asarray(pc.equal(was, value).fill_null(False))
            none = np.asarray(was.is_null()) & np.asarray(value.is_null())
            changed |= held & ~(present & (equal | none))
    found: Flags = there & (~updates | changed)
    return found


def _groups(batch: pa.RecordBatch, strikes: Flags, wanted: set[str], number: int) -> Integers:
    """Numbers for changes: those with different numbers do not cascade together.

    Changes whose before images lack wanted columns need the rows right before them.
    """
    found = np.where(strikes, 4 * number, 0)
    if strikes.any():
        columns = columns_of(batch, "before", wanted).values()
        lacking = strikes & ~np.logical_and.reduce([held for _, held in columns])
        updates = np.asarray(batch["after"].is_valid())
        found += np.where(lacking, 1, 0)
        each = np.flatnonzero(lacking & updates)
        found[each] = -1 - np.arange(len(each)) - (number << 40)
    return found


def columns_of(batch: pa.RecordBatch, side: str, wanted: set[str]) -> dict[str, tuple[Any, Flags]]:
    """Columns of an image, and which changes hold a value or NULL of each."""
    image, states = batch[side], None
    if f"{side}_state" in batch.schema.names and batch[f"{side}_state"].null_count < len(image):
        states = batch[f"{side}_state"]
    there = np.asarray(image.is_valid())
    found = {}
    for i, (field, column) in enumerate(zip(image.type, image.flatten(), strict=True)):
        if field.name not in wanted:
            continue
        held = there
        if states is not None:
            own = pc.fill_null(pc.list_element(states, i), int(CellState.VALUE))
            held = there & (np.asarray(own) <= CellState.NULL)
        found[field.name] = pa.chunked_array([decoded(column)]), held
    return found


def _runs(updates: Flags) -> Iterator[tuple[int, int, bool]]:
    """Changes that cascade together: consecutive deletes, and each update by itself."""
    at = 0
    while at < len(updates):
        last = at + 1
        if not updates[at]:
            more = np.flatnonzero(updates[at:])
            last = at + int(more[0]) if len(more) else len(updates)
        yield at, last, bool(updates[at])
        at = last


def _same(old: Sequence[Any], new: Sequence[Any]) -> bool:
    pairs = zip(old, new, strict=True)
    return all(a is not None and b is not None and a.equals(b) for a, b in pairs)


def matches(
    own: Sequence[Any], old: Sequence[Any], collations: Sequence[str | None] | None
) -> Integers | None:
    """For each row which of the ``old`` values it has in these columns, -1 for none.

    None if it is not known what a collation treats as equal; without ``collations`` bytes are
    compared. A row with a NULL in them has none.
    """
    size, equal, perhaps = len(own[0]), list[Any](), list[Any]()
    missing = np.zeros(size, bool)
    exact, opened = np.ones(size + len(old[0]), bool), np.zeros(size + len(old[0]), bool)
    by_bytes = collations is None
    for mine, theirs, collation in zip(own, old, collations or [None] * len(own), strict=True):
        missing |= np.asarray(mine.is_null())
        try:
            theirs = theirs.cast(mine.type)
        except pa.ArrowException:
            return None
        both = pa.chunked_array([*mine.chunks, *theirs.chunks], mine.type)
        if by_bytes or not is_text(both):
            equal.append(both)
            perhaps.append(both)
            continue
        compared = FoldedTexts(both, collation)
        equal.append(compared.equal)
        perhaps.append(compared.closest)
        exact &= compared.exact
        opened |= compared.open
    found = _found(codes(equal), size, missing)
    if not exact.all():
        close, mine = codes(perhaps), exact[:size]
        near = opened[:size] & bool(len(old[0])) | opened[size:].any()
        near |= ~mine & np.isin(close[:size], close[size:])
        near |= mine & np.isin(close[:size], close[size:][~exact[size:]])
        if (near & (found < 0) & ~missing).any():
            return None
    return found


def _found(values: Integers, size: int, missing: Flags) -> Integers:
    """For each of the first ``size`` values the place among the others, -1 for none."""
    there, places = np.unique(values[size:], return_index=True)
    at = np.minimum(np.searchsorted(there, values[:size]), max(len(there) - 1, 0))
    hit = (there[at] == values[:size]) & ~missing if len(there) else np.zeros(size, bool)
    return np.where(hit, places[at], -1)


def _collation(definition: TableDefinition | None, column: str) -> str | None:
    columns = () if definition is None else definition.columns
    return next((c.collation for c in columns if c.name == column), None)
