"""Children's rows that went with parents' changes below the log, as changes: to take them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.log.point import Point
from binlogkit.log.state import States
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.schema import ForeignKey, TableDefinition

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.cascades import Cascaded
    from binlogkit.log.streams import Streams

Name = tuple[str, str]
_PLACE = ("source", "file", "pos", "inner", "row", "gtid", "timestamp", "seq", "tx")


class Children:
    """The tables whose rows foreign keys take, or set to NULL, with chosen changes.

    ``definitions``: of all tables, at any time. ``unknown``: the parents' tables of whose changes
    it is not known which rows went with them, each with the child; ``restored``: the rows that did,
    as changes in the canonical schema that were not logged, parents before their children.
    """

    def __init__(
        self,
        log: Streams,
        changes: Sequence[pa.RecordBatch],
        definitions: Iterable[TableDefinition],
        sources: frozenset[str],
    ) -> None:
        self.unknown: dict[Name, str] = {}
        self.restored: list[pa.RecordBatch] = []
        self._keys = _foreign(definitions)
        below = self._below({_name(c) for c in changes if c.num_rows})
        if not below:
            return
        point = Point(log, {})
        tables = [written_table_name(*name) for name in below]
        states = States(log, tables, [point], {"source": sorted(sources)}, keep_cascaded=True)
        places = _places(changes)
        for name, table in zip(below, tables, strict=True):
            state = states.at(point, table)
            if not state.rows_determined:
                for parent, _ in self._keys.get(name, ()):
                    self.unknown.setdefault(parent, table)
            for done in states.cascaded.get(name, ()):
                if done.child == name and (done.after is None or done.action == "SET NULL"):
                    self.restored += _changes(done, places)

    def _below(self, names: set[Name]) -> list[Name]:
        """The tables that foreign keys lead to from these, each after its parents."""
        reached, found = set(names), set[Name]()
        while more := {
            child
            for child, keys in self._keys.items()
            if child not in found and any(of in reached for of, _ in keys)
        }:
            found |= more
            reached |= more
        placed: list[Name] = []
        while left := sorted(found.difference(placed)):
            ready = [
                child
                for child in left
                if not any(of in left and of != child for of, _ in self._keys[child])
            ]
            placed += ready or left
        return placed


def _foreign(definitions: Iterable[TableDefinition]) -> dict[Name, list[tuple[Name, ForeignKey]]]:
    """By child the foreign keys that cascade, each with its parent."""
    found: dict[Name, list[tuple[Name, ForeignKey]]] = {}
    for definition in definitions:
        for key in definition.foreign:
            if key.cascades:
                parent = (key.db or definition.db, key.table)
                found.setdefault((definition.db, definition.table), []).append((parent, key))
    return found


def _name(changes: pa.RecordBatch) -> Name:
    return changes["db"][0].as_py(), changes["table"][0].as_py()


def _places(changes: Sequence[pa.RecordBatch]) -> pa.Table:
    """The places of all changes that took something, by ``seq``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [
        pa.Table.from_batches([batch.filter(batch["before"].is_valid()).select(_PLACE)])
        for batch in changes
    ]
    places = pa.concat_tables(parts, promote_options="permissive")
    return places.take(pc.sort_indices(places["seq"]))


def _changes(done: Cascaded, places: pa.Table) -> list[pa.RecordBatch]:
    """What was done to a child's rows with changes that have places, as changes of the child."""
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.result import state_table
    from binlogkit.analyses.point_in_time.rows import Rows

    seqs = np.asarray(places["seq"])
    which = np.isin(done.seqs, seqs)
    if not which.any():
        return []
    images: list[pa.Table | None] = []
    for table in (done.before, done.after):
        if table is None:
            images.append(None)
            continue
        rows = Rows()
        rows.fields = dict(done.fields)
        rows.table = _with_seqs(table.filter(pa.array(which)), done.seqs[which])
        images.append(state_table(rows, None, done.key))
    before, after = images
    assert before is not None
    order = np.argsort(np.asarray(before["seq"]), kind="stable")
    before = before.take(pa.array(order))
    count = before.num_rows
    at = places.take(pa.array(np.searchsorted(seqs, np.asarray(before["seq"]))))
    columns: dict[str, Any] = {name: at[name].combine_chunks() for name in _PLACE}
    for part, name in zip(done.child, ("db", "table"), strict=True):
        columns[name] = pa.repeat(part, count)
    columns["op"] = pa.repeat("delete" if after is None else "update", count)
    values = before["values"].combine_chunks()
    columns |= {"before": values, "before_state": _states(before), "raw": _raw(before)}
    columns |= {
        "after": pa.nulls(count, values.type),
        "after_state": pa.nulls(count, _state_type()),
    }
    if after is not None:
        after = after.take(pa.array(order))
        columns |= {"after": after["values"].combine_chunks(), "after_state": _states(after)}
    batch = pa.RecordBatch.from_pydict(columns)
    schema = pa.schema(list(batch.schema), {"binlogkit:key": json.dumps(done.key)})
    return [batch.cast(schema)]


def _state_type() -> pa.DataType:
    import pyarrow as pa

    return pa.list_(pa.uint8())


def _states(rows: pa.Table) -> pa.Array:
    return rows["value_state"].combine_chunks().cast(_state_type())


def _raw(rows: pa.Table) -> pa.Array:
    """Cells without an Arrow value, as those of an image before."""
    import pyarrow as pa

    raw = rows["raw"].combine_chunks()
    cells = raw.flatten()
    fields = list(cells.type)
    parts = [pa.array(np.zeros(len(cells)), fields[0].type), *cells.flatten()[1:]]
    values = pa.StructArray.from_arrays(parts, fields=fields)
    lengths = np.concatenate([[0], np.cumsum(np.asarray(raw.value_lengths().fill_null(0)))])
    return pa.ListArray.from_arrays(
        pa.array(lengths, pa.int32()), values, type=raw.type, mask=raw.is_null()
    )


def _with_seqs(rows: pa.Table, seqs: Any) -> pa.Table:
    """Rows that were last changed by these changes."""
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.chunk import PLACES

    at = rows.schema.get_field_index(PLACES[0])
    return rows.set_column(at, PLACES[0], pa.array(seqs, pa.int64()))
