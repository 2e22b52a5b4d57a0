"""Statements for which the server must not check foreign keys: the script compares references in
the end instead.

InnoDB refuses to delete a row that refers to itself by a key without an action. Rows that were
written with foreign_key_checks off may refer to a row that came later: undo takes that one back
first, and the server would refuse, too. So it would where such a row was there before the row to
which it refers: that one came later, and goes again. A row that was deleted may refer to one that a
foreign key's cascade deleted with it: that one comes back after it. An UPDATE of a row's primary
key writes the row's entry in each index anew: InnoDB then looks for what the row refers to, as for
a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells, image_cells
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.references import Reference, still_there
from binlogkit.analyses.undoing._later_ddl import LaterDDL
from binlogkit.analyses.undoing.cascaded_keys import NONE_FOLLOWED, Followed
from binlogkit.constants import TableId
from binlogkit.frames.arrays import one_array
from binlogkit.frames.schema import table_of
from binlogkit.frames.text_columns import Mask
from binlogkit.rows.ddl.keys import NO_ACTION

_Values = list[tuple[Any, ...] | None]
#: The values that a foreign key's rows had before an event, by its file and position, and of how
#: many rows; None where they are not known.
Values = Callable[[Reference, tuple[str, int]], Mapping[tuple[Any, ...], int] | None]


@dataclass(frozen=True, slots=True)
class Before:
    """What rows held where references may dangle: the ``parents`` in the columns that are referred
    to, the ``children`` in those that refer; ``many``: so many places that these were not asked
    for."""

    parents: Values
    children: Values
    many: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """That no reference by ``key`` dangles in the end: one to the values that a statement removes,
    or (``written``) one with those that it writes; not if that one ``dangled`` before the change
    that the statement takes back. ``orphans``: how many dangled before to the values that it
    removes, and may again."""

    key: Reference
    written: bool
    dangled: bool = False
    orphans: int = 0

    @property
    def record(self) -> dict[str, Any]:
        """As in a plan's ``unchecked``."""
        (db, table), (parent_db, parent_table) = self.key.child, self.key.parent
        columns, referenced = list(self.key.columns), list(self.key.referenced)
        found = {"db": db, "table": table, "columns": columns, "parent_db": parent_db}
        return {
            **found, "parent_table": parent_table, "referenced": referenced,
            "written": self.written, "dangled": self.dangled, "orphans": self.orphans,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of one kind on a table: the rows as they find and leave them, and in which of them
    a column is written or guards the row. ``key``: the columns by which rows are found."""

    table: TableId
    kind: str
    key: Sequence[str]
    old: Mapping[str, Cells]
    new: Mapping[str, Cells]
    set: Mapping[str, Mask]
    where: Mapping[str, Mask]
    seqs: Integers
    places: Sequence[tuple[str, int]]

    def refuses(self, key: Reference) -> bool:
        """Whether the server refuses them where rows refer to theirs by a foreign key."""
        return (key.on_delete if self.kind == "delete" else key.on_update) == NO_ACTION


@dataclass(frozen=True, slots=True)
class Unchecked:
    """``keys``: the foreign keys at the end; ``values``: by key those that changes with
    foreign_key_checks off wrote or removed in its child, or removed in its parent, each with the
    ``seq`` of the first; ``before``: what there was before the changes, where rows may dangle;
    ``went``: the tables whose rows may have gone without row events, since they were emptied,
    dropped, written by statements that are logged as text, or by foreign keys, each with the last
    ``seq``; ``texts``: those written as text; ``late``: those that got a foreign key; ``lost``: the
    foreign keys, also those that the server does not act on, to tables that are gone; ``ahead``:
    by key the values of rows that come back after one that refers to them, each with the ``seq`` of
    the change that took both."""

    keys: Sequence[Reference] = ()
    values: Mapping[Reference, Mapping[tuple[Any, ...], int]] = field(default_factory=dict)
    before: Before | None = None
    went: Mapping[TableId, int] = field(default_factory=dict)
    texts: Mapping[TableId, int] = field(default_factory=dict)
    late: Mapping[TableId, int] = field(default_factory=dict)
    lost: Sequence[Reference] = ()
    ahead: Mapping[Reference, set[tuple[int, tuple[Any, ...]]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        changes: Sequence[pa.RecordBatch],
        keys: Sequence[Reference],
        off: Callable[[Integers], Flags] | None,
        before: Before | None = None,
        boundaries: Sequence[Boundary] = (),
        struck: Mapping[TableId, int] | None = None,
        lost: Sequence[Reference] = (),
    ) -> Unchecked:
        """``off``: which changes, by ``seq``, were made with foreign_key_checks off; ``struck``:
        the tables that foreign keys may have written since, each with the last ``seq``."""
        later = LaterDDL(boundaries)
        texts, went, late = dict[TableId, int](), dict[TableId, int](), dict[TableId, int]()
        for one in boundaries:
            if one.action == "statement_write":
                texts[later.fate(one.name, one.seq).name] = one.seq
            elif one.removes_rows:
                went[later.fate(one.name, one.seq).name] = one.seq
            elif one.alteration is not None and one.alteration.foreign:
                late[later.fate(one.name, one.seq).name] = one.seq
        for name, seq in (*texts.items(), *(struck or {}).items()):
            went[name] = max(seq, went.get(name, -1))
        values: dict[Reference, dict[tuple[Any, ...], int]] = {}
        for batch in changes if keys and off is not None else ():
            name = table_of(batch)
            sides = [
                (key, image, columns)
                for key in keys
                for table, image, columns in (
                    (key.child, "after", key.columns),
                    (key.child, "before", key.columns),
                    (key.parent, "before", key.referenced),
                )
                if table == name
            ]
            assert off is not None
            those = off(np.asarray(batch["seq"])) if sides else np.zeros(0, np.bool_)
            if those.any():
                some = batch.filter(pa.array(those))
                for key, image, columns in sides:
                    earliest, first = values.setdefault(key, {}), some["seq"].to_pylist()
                    rows = zip(_values(image_cells(some, image), columns), first, strict=True)
                    for value, seq in rows:
                        if value is not None:
                            earliest[value] = min(seq, earliest.get(value, seq))
        return cls(keys, values, before, went, texts, late, lost, _ahead(changes, keys))

    def checks(
        self, made: Statements, followed: Followed
    ) -> tuple[list[tuple[Check, Mask]], list[tuple[Reference, Mask]]]:
        """What the script must check in the end, of which statements; the others the server
        checks. Of these, the foreign keys by which it may refuse some, since rows refer to theirs.
        """
        sides = [*self._removed(made, followed), *self._written(made)]
        if not any(needed.any() for *_, needed in sides):
            return [], []
        hit = np.any([needed for *_, needed in sides], axis=0)
        for check, touched, cells, stand, _ in sides:
            hit &= ~touched | nulls(cells) | stand
            if made.kind == "update" and not check.written:
                found = followed.by(check.key, made.seqs)
                stays = check.key.on_update == NO_ACTION  # none would follow, if any did
                alone = np.isin(found, (0, NONE_FOLLOWED)) & ~np.isin(made.seqs, followed.unsure)
                hit &= ~touched | alone | (stays & (found < 0))
        checked, left = list[tuple[Check, Mask]](), list[tuple[Reference, Mask]]()
        for check, touched, cells, _, needed in sides:
            rows = touched & ~nulls(cells)
            checked.append((check, rows & hit))
            if not check.written and made.refuses(check.key):
                left.append((check.key, rows & needed & ~hit))
        return [one for one in checked if one[1].any()], [one for one in left if one[1].any()]

    def without_parents(self, made: Statements) -> Iterable[tuple[Reference, Mask]]:
        """Where rows would refer to a table that is gone, and did not refer to nothing before."""
        for key in self.lost if made.kind != "delete" else ():
            if key.child == made.table:
                every, cells = np.ones(len(made.seqs), np.bool_), _cells(made.new, key.columns)
                touched = _any(made.set, key.columns, every)
                if made.kind == "update" and self.before is None:  # the server looks for it, too
                    touched |= _any(made.set, made.key, every)
                touched = touched & ~nulls(cells) if cells else touched
                yield key, touched & ~self._dangled(key, made, touched)[0]

    def _removed(
        self, made: Statements, followed: Followed
    ) -> Iterable[tuple[Check, Mask, list[Cells], Mask, Mask]]:
        """Where values are removed that rows may refer to, and which are such that the server must
        not check."""
        for key in self.keys if made.kind != "insert" else ():
            cells = _cells(made.old, key.referenced)
            if key.parent != made.table or not cells or key.unlike:
                continue
            every = np.ones(len(made.seqs), np.bool_)
            touched = every if made.kind == "delete" else _any(made.set, key.referenced, every)
            needed = touched & self._known(key, made.old, key.referenced, made.seqs)
            needed |= touched & (key.shared | followed.holding(key, made.seqs))
            own = key.child == key.parent and key.on_delete == NO_ACTION
            if own and made.kind == "delete":
                needed |= _same(cells, _cells(made.old, key.columns), every)
            stand = _all(made.where, cells, every)
            orphans, unsure = self._orphans(key, made, touched)
            if made.refuses(key):
                needed |= unsure | (touched & (made.seqs < self.texts.get(key.child, -1)))
                needed |= touched & np.isin(made.seqs, followed.unsure)
            for count in np.unique(orphans).tolist():
                rows = orphans == count
                needs = (needed | (count > 0)) & touched & rows
                yield Check(key, False, orphans=count), touched & rows, cells, stand, needs

    def _written(self, made: Statements) -> Iterable[tuple[Check, Mask, list[Cells], Mask, Mask]]:
        """Likewise where values are written that refer to rows."""
        for key in self.keys if made.kind != "delete" else ():
            cells = _cells(made.new, key.columns)
            if key.child != made.table:
                continue
            every = np.ones(len(made.seqs), np.bool_)
            touched = _any(made.set, key.columns, every)
            if made.kind == "update" and self.before is not None:  # what it refers to may be gone
                moved = _any(made.set, made.key, every) & ~touched
                yield Check(key, True, True), moved, [], every, moved
            if not cells:
                continue
            needed = touched & self._known(key, made.new, key.columns, made.seqs)
            if made.kind == "insert" and (ahead := self.ahead.get(key)):
                comes = zip(made.seqs.tolist(), _values(made.new, key.columns), strict=True)
                needed |= np.array([one in ahead for one in comes], np.bool_)
            last = max(self.went.get(key.parent, -1), self.late.get(key.child, -1))
            needed |= touched & (made.seqs < last)
            dangled, unsure = self._dangled(key, made, touched & ~nulls(cells))
            stand = _all(made.set, cells, every)
            yield Check(key, True), touched & ~dangled, cells, stand, needed | unsure
            yield Check(key, True, True), dangled, cells, every, dangled

    def _orphans(self, key: Reference, made: Statements, touched: Mask) -> tuple[Integers, Mask]:
        """How many rows referred to the values that statements remove, before these came, and where
        that is not known."""
        found, unsure = np.zeros(len(touched), np.int64), np.zeros_like(touched)
        if self.before is None or not touched.any():
            return found, unsure
        values = _values(made.old, key.referenced)
        for row in np.flatnonzero(touched).tolist():
            there, value = self.before.children(key, made.places[row]), values[row]
            unsure[row] = there is None and not self.before.many
            if there is not None and value is not None:
                found[row] = there.get(value, 0)
        return found, unsure

    def _dangled(self, key: Reference, made: Statements, touched: Mask) -> tuple[Mask, Mask]:
        """Where the values that come back referred to nothing, and where that is not known."""
        dangled, unsure = np.zeros_like(touched), np.zeros_like(touched)
        if key.unlike:
            return touched, unsure
        if self.before is None or not touched.any():
            return dangled, unsure
        values = _values(made.new, key.columns)
        for row in np.flatnonzero(touched).tolist():
            there, value = self.before.parents(key, made.places[row]), values[row]
            unsure[row] = there is None or value is None
            dangled[row] = there is not None and value is not None and value not in there
        return dangled, unsure

    def _known(
        self, key: Reference, cells: Mapping[str, Cells], columns: Sequence[str], seqs: Integers
    ) -> Mask:
        """Where a value is one of the known ones, and no change before the first of these."""
        values = self.values.get(key)
        if not values:
            return np.zeros(len(seqs), np.bool_)
        given = zip(_values(cells, columns), seqs.tolist(), strict=True)
        return np.array([v is not None and values.get(v, seq + 1) <= seq for v, seq in given])


def _ahead(
    changes: Sequence[pa.RecordBatch], keys: Sequence[Reference]
) -> dict[Reference, set[tuple[int, tuple[Any, ...]]]]:
    """See :class:`Unchecked`: of the rows that came along with a deleted one, which are in the
    order of their statements."""
    found: dict[Reference, set[tuple[int, tuple[Any, ...]]]] = {}
    if not keys:
        return found
    seqs = [np.asarray(batch["seq"]) for batch in changes]
    every, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *seqs]), return_counts=True)
    several = pa.array(every[counts > 1])
    if not len(several):
        return found
    there, refer, place = dict[Any, int](), list[tuple[Any, int]](), 0
    for batch in changes:
        gone = pc.and_(pc.is_in(batch["seq"], several), pc.is_null(batch["after"]))
        batch = batch.filter(gone)
        for key in keys if batch.num_rows else ():
            for table, columns, of_child in (
                (key.child, key.columns, True), (key.parent, key.referenced, False),
            ):  # fmt: skip
                if table == table_of(batch):
                    values = _values(image_cells(batch, "before"), columns)
                    rows = zip(batch["seq"].to_pylist(), values, strict=True)
                    for at, (seq, value) in enumerate(rows, place):
                        if of_child and value is not None:
                            refer.append(((key, seq, value), at))
                        elif value is not None:
                            there[key, seq, value] = at
        place += batch.num_rows
    for (key, seq, value), at in refer:
        if there.get((key, seq, value), -1) > at:
            found.setdefault(key, set()).add((seq, value))
    return found


def values_of(rows: pa.Table, columns: Sequence[str]) -> Mapping[tuple[Any, ...], int] | None:
    """The values that a state's rows have in some columns, and how many rows have them; None if
    they are not known."""
    values = one_array(rows["values"])
    names = {field.name.lower(): i for i, field in enumerate(values.type)}
    wanted = [names.get(column.lower()) for column in columns]
    unknown = {name.lower() for names in rows["unknown"].to_pylist() for name in names}
    if not rows.num_rows:
        return {}
    if None in wanted or not unknown.isdisjoint(map(str.lower, columns)):
        return None
    arrays = [values.field(i) for i in wanted if i is not None]
    lists = [_compared(pc.cast(a, pa.string()) if _coded(a) else a).to_pylist() for a in arrays]
    return Counter(zip(*lists, strict=True))


def lost(keys: Iterable[Reference], boundaries: Sequence[Boundary]) -> list[Reference]:
    """The foreign keys to tables that are gone in the end."""
    there = still_there(boundaries)
    return [key for key in keys if not there(key.parent)]


def came(batch: pa.RecordBatch, columns: Sequence[str]) -> Mask:
    """Which changes brought values of some columns."""
    before, after = (_values(image_cells(batch, image), columns) for image in ("before", "after"))
    return np.array([a is not None and a != b for b, a in zip(before, after, strict=True)], bool)


def _coded(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type))


def _cells(cells: Mapping[str, Cells], columns: Sequence[str]) -> list[Cells]:
    """The columns' cells; none if one of them is not known."""
    small = {name.lower(): found for name, found in cells.items()}
    found = [small.get(column.lower()) for column in columns]
    return [one for one in found if one is not None] if None not in found else []


def _values(cells: Mapping[str, Cells], columns: Sequence[str]) -> _Values:
    """The rows' values in some columns; None where one is NULL or not known."""
    found = _cells(cells, columns)
    lists = [_compared(one.array).to_pylist() for one in found]
    rows: _Values = [None if None in row else row for row in zip(*lists, strict=True)]
    for one in found:
        for row in (*np.flatnonzero(one.missing).tolist(), *one.special):
            rows[row] = None
    return rows or [None] * len(next(iter(cells.values())).array)


def _compared(array: pa.Array) -> pa.Array:
    """Values that are equal where the server may take texts for equal: then the script decides."""
    if not pa.types.is_string(array.type):
        return array
    return pc.utf8_rtrim(pc.utf8_lower(array), " ")


def _same(one: Sequence[Cells], other: Sequence[Cells], every: Mask) -> Mask:
    """Where all values of some columns are those of others, which may have another type: servers
    let a TIME refer to a DATETIME."""
    rows = every if other else ~every
    for a, b in zip(one, other, strict=True) if other else ():
        values = zip(*(_compared(x.array).to_pylist() for x in (a, b)), strict=True)
        equal = np.array([x is not None and x == y for x, y in values], np.bool_)
        rows = rows & equal & ~a.missing & ~b.missing
    return rows


def nulls(cells: Sequence[Cells]) -> Mask:
    """Where one of the values is NULL, so that nothing refers to it."""
    found = []
    for one in cells:
        null = np.array(one.array.is_null(), np.bool_) & ~one.missing
        null[list(one.special)] = False
        found.append(null)
    return np.array(np.any(found, axis=0), np.bool_)


def _any(masks: Mapping[str, Mask], columns: Sequence[str], like: Mask) -> Mask:
    wanted = {column.lower() for column in columns}
    rows = np.zeros_like(like)
    for column, those in masks.items():
        if column.lower() in wanted:
            rows |= those
    return rows


def _all(masks: Mapping[str, Mask], cells: Sequence[Cells], like: Mask) -> Mask:
    rows = np.ones_like(like)
    for one in cells:
        rows &= masks.get(one.field.name, np.zeros_like(like))
    return rows
