"""The changes of tables, in log order, among which dependences are searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Integers, runs
from binlogkit.analyses.undoing.dependents.events import ChangedCells, TableChanges
from binlogkit.constants import TableId
from binlogkit.frames.arrays import plain_type
from binlogkit.frames.flat_states import cast_to
from binlogkit.frames.schema import common_types, shared_key, table_of
from binlogkit.rows.schema import TableDefinition

#: What is kept of changes besides their images.
PLACE = ("source", "file", "pos", "inner", "row", "gtid", "timestamp", "thread_id", "db", "table",
         "op", "tx", "seq")  # fmt: skip
_IMAGES = ("before", "after", "before_state", "after_state", "raw")
#: Whether a change was not logged: a foreign key's, with the change at that place.
BELOW = "below"


class Gathered:
    """Changes by table; ``places``: a table with the :data:`PLACE` of each, by its number."""

    def __init__(
        self, batches: Iterable[pa.RecordBatch], definitions: Iterable[TableDefinition]
    ) -> None:
        known: dict[TableId, list[TableDefinition]] = {}
        for definition in definitions:
            known.setdefault((definition.db, definition.table), []).append(definition)
        by_name: dict[TableId, list[pa.RecordBatch]] = {}
        for batch in batches:
            if batch.num_rows:
                name = table_of(batch)
                by_name.setdefault(name, []).append(_kept(batch))
        self.tables: dict[TableId, TableChanges] = {}
        first, places = 0, []
        for name, found in by_name.items():
            parts = _in_order(found)
            cells = [*map(ChangedCells.of, parts)]
            events = TableChanges(name, _key(parts), tuple(known.get(name, ())), cells, first)
            self.tables[name] = events
            first += events.size
            places += [part.select([*PLACE, BELOW]) for part in parts]
        types = common_types()
        schema = pa.schema(
            [*((name, plain_type(types[name])) for name in PLACE), (BELOW, pa.bool_())]
        )
        cast = [pa.Table.from_batches([part]).cast(schema) for part in places]
        self.places: pa.Table = pa.concat_tables([schema.empty_table(), *cast]).combine_chunks()
        self.seq: Integers = np.asarray(self.places["seq"], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many changes."""
        return len(self.seq)


def _key(parts: Sequence[pa.RecordBatch]) -> tuple[str, ...]:
    """The columns that identified a row all the time; none if one of them is gone."""
    found = shared_key([part.schema for part in parts])
    there = {field.name for field in parts[-1].schema.field("after").type}
    return found if there.issuperset(found) else ()


def _kept(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with the needed columns, in common types."""
    types, columns, fields = common_types(), list[Any](), list[pa.Field]()
    for name in (*PLACE, *_IMAGES, BELOW):
        if name in batch.schema.names:
            column = batch[name]
        else:
            column = pa.array(np.zeros(batch.num_rows, bool)) if name == BELOW else None
        kind = types.get(name)
        if column is None:
            column = pa.nulls(batch.num_rows, kind)
        elif kind is not None and column.type != kind:
            column = cast_to(column, kind)
        columns.append(column)
        old = batch.schema.get_field_index(name)
        fields.append(
            batch.schema.field(old) if name in _IMAGES[:2] else pa.field(name, column.type)
        )
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


def _in_order(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """A table's changes in log order, in parts with the same columns."""
    alike: list[list[pa.RecordBatch]] = []
    for batch in batches:
        same = (one for one in alike if one[0].schema.equals(batch.schema, check_metadata=True))
        group = next(same, None)
        if group is None:
            alike.append([batch])
        else:
            group.append(batch)
    made = []
    for one in alike:
        table = pa.Table.from_batches(one).unify_dictionaries().combine_chunks()
        order = np.argsort(np.asarray(table["seq"]), kind="stable")
        made.append(table.take(pa.array(order)).combine_chunks().to_batches()[0])
    if len(made) == 1:
        return made
    seqs = [np.asarray(batch["seq"]) for batch in made]
    owner = np.repeat(np.arange(len(made)), [len(seq) for seq in seqs])
    row = np.concatenate([np.arange(len(seq)) for seq in seqs])
    order = np.lexsort((owner, np.concatenate(seqs)))
    owner, row = owner[order], row[order]
    starts = np.flatnonzero(runs(owner))
    ends = np.append(starts[1:], len(owner))
    return [
        made[int(owner[start])].slice(int(row[start]), end - start)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
