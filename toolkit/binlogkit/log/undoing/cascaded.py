"""Completes reverted rows from states where images are partial, and adds rows that cascades
took."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.before import Before, Whole
from binlogkit.analyses.point_in_time.chunk import PLACES
from binlogkit.analyses.point_in_time.result import state_table
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.analyses.undoing.cascaded_keys import Followed, UnknownChild, later_names
from binlogkit.constants import TableId
from binlogkit.frames.arrays import lists, one_array
from binlogkit.frames.schema import common_types, table_of, with_key
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.schema import ForeignKey, TableDefinition

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.point_in_time.cascades import Cascaded
    from binlogkit.analyses.point_in_time.codes import Integers
    from binlogkit.analyses.references import Reference
    from binlogkit.log.undoing.source import UndoSource

_NONE: Integers = np.zeros(0, np.int64)
_PLACE = ("source", "file", "pos", "inner", "row", "gtid", "timestamp", "seq", "tx")


class Children:
    """Completes changes that are to be undone, from states of the tables (of a ``source``).

    ``definitions``: of all tables, at any time; ``cascade``: whether foreign keys cascade without
    logging; ``references``: the foreign keys at the end; ``truncated``: those of the boundaries
    that emptied tables; ``apart``: see :meth:`.Followed.of`. ``changes``: the given changes, with
    whole rows as far as states know them, and the rows in ``went``; ``went``: rows deleted or
    changed without being logged, as changes in the canonical schema, after their parents;
    ``followed``: rows that follow their parents back; ``unlogged``: all of these as changes;
    ``unknown``: parents' tables with changes whose effect on child rows is not known, each with the
    child; ``restored``: the boundaries, by ``seq``, whose rows are among the changes;
    ``boundaries``: the others that count.
    """

    def __init__(
        self,
        source: UndoSource,
        changes: Sequence[pa.RecordBatch],
        definitions: Iterable[TableDefinition],
        *,
        cascade: bool,
        references: Iterable[Reference],
        boundaries: Sequence[Boundary],
        truncated: Sequence[Mapping[str, Any]] = (),
        apart: Integers = _NONE,
    ) -> None:
        definitions = list(definitions)
        self.followed, self.boundaries = Followed(), list(boundaries)
        self.restored = set[int]()
        self.unknown: dict[TableId, UnknownChild] = {}
        self.changes = list(changes)
        self.went: list[pa.RecordBatch] = []
        self.unlogged: list[pa.RecordBatch] = []
        primary = {(d.db, d.table): d.primary_key for d in definitions}
        foreign = _foreign(definitions, [(b.name, b.new_name) for b in boundaries if b.new_name])
        self._keys = foreign if cascade else {}
        below = self._below({table_of(c) for c in changes if c.num_rows})
        partial = sorted(
            {table_of(c) for c in changes if c["before_state"].null_count < c.num_rows}
        )
        emptied = sorted({(row["db"], row["table"]) for row in truncated})
        wanted = list(dict.fromkeys([*below, *partial, *emptied]))
        if not wanted:
            return
        places = _places(changes, truncated)
        seqs = np.asarray(places["seq"])
        before = Before(lambda some: np.isin(some, seqs)) if partial or emptied else None
        point = source.point()
        states = source.states(wanted, [point], before)
        later_name = later_names(boundaries)
        sure = set[TableId]()
        went: list[pa.RecordBatch] = self.went
        followed: list[Cascaded] = []
        unsure = [_NONE]
        for name in wanted:
            table = written_table_name(*name)
            state = states.at(point, table)
            if _doubts(state) <= {"no_beginning"}:  # rows that were seen are known nevertheless
                sure.add(name)
            if name in below and not state.rows_determined:
                for parent, key in self._keys.get(name, ()):
                    child = self.unknown.get(parent, UnknownChild(table))
                    columns = key.referenced or primary.get(parent, ())
                    unset = map(str.lower, columns if key.on_update == "SET NULL" else ())
                    self.unknown[parent] = replace(child, unset=child.unset.union(unset))
            for done in states.cascaded.get(name, ()):
                if later_name(done) != name:
                    continue  # of a parent, or of a table that had the name before
                if done.after is None or done.action == "SET NULL":
                    went += _cascaded(done, places)
                    if done.stayed and name in sure:
                        followed.append(done.alone)
                elif name in sure:
                    followed.append(done)
                else:
                    unsure.append(done.seqs)
        for seq, whole in before.emptied.items() if before is not None else ():
            if states.sound_before(whole.name, seq):
                if len(whole.seqs):
                    went.append(_changes(whole.name, whole.key, _state_of(whole), None, places))
                self.restored.add(seq)
        self.boundaries = _without(boundaries, self.restored)
        self.followed = Followed.of(
            followed, references, self.boundaries, np.concatenate(unsure), apart
        )
        for done in self.followed.left:
            went += _cascaded(done, places)
        self.unlogged = list(went)
        for done in self.followed.along:
            self.unlogged += _cascaded(done, places)
        if before is not None and before.found:
            kept = [whole for whole in before.found if whole.name in sure]
            self.changes = [part for batch in changes for part in _completed(batch, kept)]
        self.changes += went

    def _below(self, names: set[TableId]) -> list[TableId]:
        """The tables that foreign keys lead to from these, each after its parents."""
        reached, found = set(names), set[TableId]()
        while more := {
            child
            for child, keys in self._keys.items()
            if child not in found and any(of in reached for of, _ in keys)
        }:
            found |= more
            reached |= more
        placed: list[TableId] = []
        while left := sorted(found.difference(placed)):
            ready = [
                child
                for child in left
                if not any(of in left and of != child for of, _ in self._keys[child])
            ]
            placed += ready or left
        return placed


def went_later(
    source: UndoSource,
    tables: Iterable[TableId],
    changes: Sequence[pa.RecordBatch],
) -> list[pa.RecordBatch]:
    """What foreign keys did to rows of these tables with some changes, without being logged, as
    changes of the tables."""
    point, places = source.point(), _places(changes, ())
    later_name = later_names(source.boundaries)
    names = sorted(tables)
    states = source.states(names, [point])
    found: list[pa.RecordBatch] = []
    for name in names:
        states.at(point, written_table_name(*name))
        for done in states.cascaded.get(name, ()):
            if later_name(done) == name:
                found += _cascaded(done, places)
    return [batch for batch in found if batch.num_rows]


def written_below(
    boundaries: Sequence[Boundary], definitions: Iterable[TableDefinition]
) -> list[Boundary]:
    """The statements that were logged as text, for each table that cascades may have changed with
    the one that they wrote: no server logs these."""
    renames = [(b.name, b.new_name) for b in boundaries if b.new_name]
    children: dict[TableId, set[TableId]] = {}
    for child, keys in _foreign(definitions, renames).items():
        for parent, _ in keys:
            children.setdefault(parent, set()).add(child)
    found: list[Boundary] = []
    for boundary in boundaries:
        if boundary.action == "statement_write" and not boundary.moves_rows:
            reached = {boundary.name}
            while more := {c for p in reached for c in children.get(p, ())} - reached:
                reached |= more
                found += [replace(boundary, name=name, deletes_all=False) for name in sorted(more)]
    return found


def _without(events: Sequence[Boundary], restored: Container[int]) -> list[Boundary]:
    """What happened to tables, except what removed rows that come back, and what recreated a
    dropped table."""
    gone = set[TableId]()
    kept: list[Boundary] = []
    for event in events:
        if event.seq in restored:
            gone |= {event.name} if event.action == "drop" else set()
        elif event.action == "create" and event.name in gone:
            gone.remove(event.name)
        else:
            kept.append(event)
    return kept


def _foreign(
    definitions: Iterable[TableDefinition], renames: Iterable[tuple[TableId, TableId]]
) -> dict[TableId, list[tuple[TableId, ForeignKey]]]:
    """The cascading foreign keys by child, each with its parent, under all names of both."""
    found: dict[TableId, list[tuple[TableId, ForeignKey]]] = {}
    for definition in definitions:
        for key in definition.foreign:
            if key.cascades:
                parent = (key.db or definition.db, key.table)
                found.setdefault((definition.db, definition.table), []).append((parent, key))
    for old, new in renames:
        for keys in found.values():
            keys += [(new, key) for parent, key in keys if parent == old]
    return found


def _places(changes: Sequence[pa.RecordBatch], truncated: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The places of all changes that removed or changed something, by ``seq``."""
    parts = [
        pa.Table.from_batches([batch.filter(batch["before"].is_valid()).select(_PLACE)])
        for batch in changes
    ]
    types = common_types()
    schema = pa.schema([(name, types[name]) for name in _PLACE])
    rows = [{**row, "row": 0} for row in truncated]
    parts = [part.cast(schema) for part in parts]
    places = pa.concat_tables([pa.Table.from_pylist(rows, schema=schema), *parts])
    return places.take(pc.sort_indices(places["seq"]))


def _cascaded(done: Cascaded, places: pa.Table) -> list[pa.RecordBatch]:
    """Changes of a child's rows by cascades from changes with places, as changes of the child."""
    which = np.isin(done.seqs, np.asarray(places["seq"]))
    if not which.any():
        return []
    before, after = (
        None
        if rows is None
        # As first seen, which is the same in both: by their keys they may stand otherwise.
        else _state(done.fields, (), rows.filter(pa.array(which)), done.seqs[which])
        for rows in (done.before, done.after)
    )
    assert before is not None
    return [_changes(done.child, done.key, before, after, places)]


def _changes(
    name: TableId, key: Sequence[str], before: pa.Table, after: pa.Table | None, places: pa.Table
) -> pa.RecordBatch:
    """Rows that were deleted or changed, as changes of a table; the states' ``seq`` give the
    places."""
    order = pa.array(np.argsort(np.asarray(before["seq"]), kind="stable"))
    sides = [rows.take(order) for rows in (before, after) if rows is not None]
    before, count = sides[0], before.num_rows
    at = places.take(
        pa.array(np.searchsorted(np.asarray(places["seq"]), np.asarray(before["seq"])))
    )
    columns: dict[str, Any] = {column: one_array(at[column]) for column in _PLACE}
    for part, column in zip(name, ("db", "table"), strict=True):
        columns[column] = pa.repeat(part, count)
    columns["op"] = pa.repeat("delete" if after is None else "update", count)
    for image, rows in zip(("before", "after"), (*sides, None), strict=False):
        for column, kind in ((image, "values"), (f"{image}_state", "value_state")):
            none = pa.nulls(count, before[kind].type)
            columns[column] = none if rows is None else one_array(rows[kind])
    columns["raw"] = _raw(*sides)
    batch = pa.RecordBatch.from_pydict(columns)
    return batch.cast(with_key(batch.schema, key))


def _doubts(state: TableState) -> set[str]:
    return {f["finding"] for f in state.findings.to_pylist() if not f["determined"]}


def _state_of(whole: Whole, columns: Sequence[str] | None = None) -> pa.Table:
    return _state(whole.fields, whole.key, whole.rows, whole.seqs, columns)


def _state(
    fields: Mapping[str, pa.Field],
    key: Sequence[str],
    rows: pa.Table,
    seqs: Any,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Rows (Rows.table) as a state of these columns, each with the ``seq`` of a change."""
    made = Rows()
    made.fields = dict(fields)
    at = rows.schema.get_field_index(PLACES[0])
    made.table = rows.set_column(at, PLACES[0], pa.array(seqs, pa.int64()))
    return state_table(made, columns, key)


def _completed(batch: pa.RecordBatch, kept: Iterable[Whole]) -> list[pa.RecordBatch]:
    """A table's changes, with whole rows before them where those are known."""
    parts, names = [batch], [field.name for field in batch["before"].type]
    for whole in kept if batch.num_rows else ():
        if whole.name != table_of(batch) or set(names) != set(whole.fields):
            continue
        rest, parts = parts, []
        for part in rest:
            own = np.asarray(part["seq"])
            which = np.isin(own, whole.seqs)
            if not which.any():
                parts.append(part)
                continue
            state = _state_of(whole, names)  # in the images' order
            seqs = np.asarray(state["seq"])
            order = np.argsort(seqs)
            at = order[np.searchsorted(seqs, own[which], sorter=order)]
            done = _with_before(part.filter(pa.array(which)), state.take(pa.array(at)))
            parts += [done or part.filter(pa.array(which))]
            if not which.all():
                parts.append(part.filter(pa.array(~which)))
    return parts


def _with_before(part: pa.RecordBatch, rows: pa.Table) -> pa.RecordBatch | None:
    """Changes with these rows before them; None if cells have no Arrow value."""
    values = one_array(rows["values"])
    image = part["before"]
    cells = one_array(rows["value_state"])
    cells_after = part["raw"].filter(part["after"].is_valid())
    if cells_after.null_count < len(cells_after):
        return None
    try:
        columns = [values.field(i).cast(field.type) for i, field in enumerate(image.type)]
    except pa.ArrowException:
        return None
    before = pa.StructArray.from_arrays(columns, fields=list(image.type))
    states = cells.cast(part["before_state"].type)
    made = {"before": before, "before_state": states, "raw": _raw(rows).cast(part["raw"].type)}
    for name, column in made.items():
        i = part.schema.get_field_index(name)
        part = part.set_column(i, part.schema.field(i), column)
    return part


def _raw(*sides: pa.Table) -> pa.Array:
    """Cells without an Arrow value, as in before images, and in after images of the same changes if
    these are given, too."""
    owners, parts = list[Any](), list[Any]()
    for image, rows in enumerate(sides):
        raw = one_array(rows["raw"])
        cells, fields = raw.flatten(), list(raw.type.value_type)
        columns = [pa.array(np.full(len(cells), image), fields[0].type), *cells.flatten()[1:]]
        parts.append(pa.StructArray.from_arrays(columns, fields=fields))
        owners.append(np.asarray(pc.list_parent_indices(raw)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    none = ~np.isin(np.arange(len(sides[0])), owner)
    return lists(owner[order], pa.concat_arrays(parts).take(pa.array(order)), none).cast(raw.type)
