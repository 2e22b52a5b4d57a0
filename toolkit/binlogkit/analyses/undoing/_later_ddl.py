"""Effects of later DDL on a changed table: the names that statements must use now.

Renamed tables and columns get their new names. What was dropped, emptied or converted since cannot
be written or compared any more; the reasons say where that happened.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.conversion import LOST, same
from binlogkit.analyses.point_in_time.defaults import added_value
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.constants import TableId
from binlogkit.frames.schema import key_columns, table_of, with_key
from binlogkit.rows.schema import ColumnDefinition, TableDefinition

_SEQ = attrgetter("seq")
_GONE = {
    "drop": "the table was dropped later",
    "drop_database": "the table's database was dropped later",
    "truncate": "the table was emptied later",
    "create": "the table was created again later",
    "unknown": "a later statement on the table could not be understood",
    "alter": "a later ALTER TABLE could not be understood",
    "statement_write": "rows of the table were moved later without row events",
}
_IMAGES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Added:
    """A column added to a table: its definition, its value in rows that existed (LOST if not
    known), and where it was added."""

    column: ColumnDefinition
    value: Any
    place: str


@dataclass(slots=True)
class Fate:
    """What happened to a table after some point of the log.

    ``name``: its last one; ``renamed``: its columns by their old names; ``gone``: why columns, by
    those names, cannot be written or compared; ``dropped``: the dropped ones; ``refused``: why
    nothing in the table can be; ``written``: where a statement logged as text wrote it; ``added``:
    the values of earlier rows in columns added since; ``generated``: those that became generated
    columns (True), or are none any more (False); ``definition``: what the last ALTER TABLE made of
    it, as far as the log says; ``unkeyed``: whether one dropped its primary key since.
    """

    name: TableId
    renamed: dict[str, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    refused: str | None = None
    written: str | None = None
    added: dict[str, Added] = field(default_factory=dict)
    generated: dict[str, bool] = field(default_factory=dict)
    definition: TableDefinition | None = None
    unkeyed: bool = False

    def take(self, boundary: Boundary) -> None:
        """Apply the table's next boundary."""
        place = f"({boundary.file} at {boundary.pos})"
        if boundary.action == "rename" and boundary.new_name is not None:
            if boundary.name == self.name:
                self.name = boundary.new_name
        elif boundary.action == "alter" and boundary.alteration is not None:
            self._alter(boundary.alteration, place)
            self.definition = boundary.definition
            self.unkeyed |= boundary.alteration.unkeyed
        elif boundary.deletes_all:
            self.refused = f"{_GONE['truncate']} {place}"
        elif boundary.action == "statement_write" and not boundary.moves_rows:
            self.written = self.written or place
        elif boundary.action in _GONE and not (boundary.conditional or boundary.may_write):
            self.refused = f"{_GONE[boundary.action]} {place}"

    def _alter(self, done: Alteration, place: str) -> None:
        first = {new: old for old, new in self.renamed.items()}
        for column in done.dropped:
            self.gone.setdefault(first.get(column, column), f"was dropped later {place}")
            self.dropped.add(first.get(column, column))
        for column, new in done.renamed.items():
            self.renamed[first.get(column, column)] = new
        first |= {new: first.get(old, old) for old, new in done.renamed.items()}
        self._alter_added(done, place)
        for column, (was, now) in done.changed.items():
            if was is not None and now is not None and bool(was.generated) != bool(now.generated):
                old = first.get(column, column)
                self.generated[old] = bool(now.generated)
                if now.generated:
                    self.gone.setdefault(old, f"became a generated column later {place}")
        for column in sorted(done.converted):
            self.gone.setdefault(first.get(column, column), f"was converted later {place}")

    def _alter_added(self, done: Alteration, place: str) -> None:
        self.added = {
            done.renamed.get(name, name): added
            for name, added in self.added.items()
            if name not in done.dropped
        }
        for name in done.changed.keys() & self.added.keys():
            added, (_, now) = self.added[name], done.changed[name]
            kept = now is not None and same(added.column, now)
            self.added[name] = Added(now or added.column, added.value if kept else LOST, place)
        for name, column in done.added.items():
            self.added[name] = Added(column, added_value(column, done.moment), place)

    def refuse_collisions(self, columns: Sequence[str]) -> None:
        """Refuse a table in which a column got the name that another one had."""
        names = [self.renamed.get(column, column) for column in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice and self.refused is None:
            self.refused = f"later another column was called {', '.join(twice)}"
        if twice:
            self.renamed = {}


class LaterDDL:
    """The boundaries of a log, by the tables that they concern."""

    def __init__(self, boundaries: Sequence[Boundary]) -> None:
        self._of: dict[TableId, list[Boundary]] = {}
        for boundary in boundaries:
            self._of.setdefault(boundary.name, []).append(boundary)

    def _next(self, name: TableId, seq: int) -> Boundary | None:
        """The first boundary of a table, or of its database, after a place."""
        found = []
        for key in (name, (name[0], "")):
            known = self._of.get(key, [])
            at = bisect_right(known, seq, key=_SEQ)
            found += [b for b in known[at:] if key == name or b.action == "drop_database"][:1]
        return min(found, key=_SEQ, default=None)

    def fate(self, name: TableId, seq: int) -> Fate:
        """What happened to the table that has this name at a place of the log."""
        fate = Fate(name)
        while fate.refused is None and (boundary := self._next(fate.name, seq)) is not None:
            fate.take(boundary)
            seq = boundary.seq
        return fate

    def parts(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, Fate]]:
        """A table's changes, split where later DDL differs, with the table's present names."""
        if not batch.num_rows:
            return
        name = table_of(batch)
        seqs = batch["seq"].to_numpy()
        cuts = [seqs[0]]
        while (boundary := self._next(name, cuts[-1])) is not None and boundary.seq < seqs[-1]:
            cuts.append(boundary.seq)
        starts = np.searchsorted(seqs, cuts).tolist()
        for start, end in zip(starts, [*starts[1:], len(seqs)], strict=True):
            if start < end:
                fate = self.fate(name, int(seqs[start]))
                fate.refuse_collisions(batch.schema.field("after").type.names)
                yield _named(batch.slice(start, end - start), fate), _under_new_names(fate)


def _under_new_names(fate: Fate) -> Fate:
    gone = {fate.renamed.get(c, c): f"column {c} {why}" for c, why in fate.gone.items()}
    dropped = {fate.renamed.get(c, c) for c in fate.dropped}
    generated = {fate.renamed.get(c, c): now for c, now in fate.generated.items()}
    return replace(fate, gone=gone, dropped=dropped, generated=generated)


def _named(batch: pa.RecordBatch, fate: Fate) -> pa.RecordBatch:
    """Changes with the present names of their table and its columns."""
    count, schema = batch.num_rows, batch.schema
    for column, text in zip(("db", "table"), fate.name, strict=True):
        at = schema.get_field_index(column)
        texts = pa.repeat(text, count).cast(schema.field(at).type)
        batch = batch.set_column(at, schema.field(at), texts)
    return with_columns(batch, fate.renamed)


def with_columns(batch: pa.RecordBatch, names: Mapping[str, str]) -> pa.RecordBatch:
    """Changes with other ``names`` of columns, by the ones that they have; with their own if two
    columns would have the same name."""
    schema, columns = batch.schema, batch.schema.field("after").type.names
    if len({names.get(column, column) for column in columns}) < len(columns) or not names:
        return batch
    if key := key_columns(schema):
        schema = with_key(schema, [names.get(column, column) for column in key])
    for image in _IMAGES:
        at = schema.get_field_index(image)
        renamed = _image(batch.column(at), names)
        batch = batch.set_column(at, schema.field(at).with_type(renamed.type), renamed)
    return batch.replace_schema_metadata(schema.metadata)


def _image(image: Any, renamed: Mapping[str, str]) -> pa.StructArray:
    fields = [f.with_name(renamed.get(f.name, f.name)) for f in image.type]
    columns = [image.field(i) for i in range(len(fields))]
    if not fields:
        return image
    return pa.StructArray.from_arrays(columns, fields=fields, mask=image.is_null())
