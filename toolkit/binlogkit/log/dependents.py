"""What depends on changes that are taken back: a second reading, of the tables concerned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from binlogkit.rows.filters import Filters, TableName
from binlogkit.rows.schema import TableDefinition

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.references import Reference
    from binlogkit.log.streams import Streams

Name = tuple[str, str]


class Dependences:
    """Reads, when it is called, what depends on changes; see :meth:`Plans.dependents`.

    ``changes``: those taken back, whole as far as that is known, with those that ``went`` below
    the log; ``definitions``: of all tables, at any time, in order; ``boundaries``: all there are;
    ``transactions``, ``statements``: the ledgers; ``struck``: foreign keys act below the log.
    """

    def __init__(
        self,
        log: Streams,
        changes: Sequence[pa.RecordBatch],
        went: Sequence[pa.RecordBatch],
        definitions: Iterable[TableDefinition],
        boundaries: Sequence[Boundary],
        transactions: pa.Table,
        statements: pa.Table,
        sources: frozenset[str],
        *,
        struck: bool,
    ) -> None:
        below = {id(batch) for batch in went}
        self._log, self._sources, self._struck = log, sources, struck
        self._went = list(went)
        self._changes = [batch for batch in changes if batch.num_rows and id(batch) not in below]
        self._definitions = list(definitions)
        self._boundaries, self._renames = boundaries, [b for b in boundaries if b.new_name]
        self._ledgers = transactions, statements

    def __call__(self) -> tuple[pa.Table, pa.Table]:
        """The dependents, and the conflicts."""
        from binlogkit.analyses.dependents.found import dependences
        from binlogkit.analyses.dependents.gathered import Gathered

        keys = self._keys()
        own = [np.asarray(batch["seq"]) for batch in self._changes]
        seqs = np.concatenate([np.zeros(0, np.int64), *own])
        rest, gaps = self._others(self._concerned(keys), seqs)
        went = [self._marked(batch) for batch in self._went if batch.num_rows]
        given = [self._counted(batch) for batch in (*self._changes, *went, *rest)]
        named = [part for batch in given if batch.num_rows for part in self._named(batch)]
        gone = [np.asarray(batch["seq"]) for batch in self._went]
        begun = {
            self._last(b.name, b.seq)
            for b in self._boundaries
            if b.action == "create" and not b.conditional
        }
        return dependences(
            Gathered(named, self._definitions), keys, np.unique(np.concatenate([seqs, *gone])),
            struck=self._struck, complete=frozenset() if gaps else frozenset(begun),
        )  # fmt: skip

    def _keys(self) -> list[Reference]:
        """The foreign keys that there were at any time."""
        from binlogkit.analyses.references import references

        last = {(d.db, d.table): d for d in self._definitions}
        found = [*references(last.values())]
        for older in self._definitions:
            name = older.db, older.table
            if older.foreign and older is not last[name]:
                found += references({**last, name: older}.values())
        return list(dict.fromkeys(found))

    def _others(self, names: set[Name], seqs: object) -> tuple[list[pa.RecordBatch], bool]:
        """The changes of tables but those taken back, and whether some may be missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from binlogkit.log.streams import Streams

        again = Streams(self._log.carriers, self._log.options)
        tables = tuple(TableName(*name) for name in sorted(names))
        wanted = Filters(tables=tables, sources=self._sources)
        known = pa.array(seqs, pa.int64())
        read = (each.batch for each in again.read_batches(again.reading(), wanted))
        rest = [batch.filter(pc.invert(pc.is_in(batch["seq"], known))) for batch in read]
        return [batch for batch in rest if batch.num_rows], bool(again.gaps)

    def _concerned(self, keys: Iterable[Reference]) -> set[Name]:
        """The tables of the changes, under all their names, and those that foreign keys join."""
        pairs = [(key.child, key.parent) for key in keys]
        pairs += [(b.name, b.new_name) for b in self._renames if b.new_name]
        found = {
            (batch["db"][0].as_py(), batch["table"][0].as_py())
            for batch in (*self._changes, *self._went)
            if batch.num_rows
        }
        while more := {n for p in pairs if not found.isdisjoint(p) for n in p} - found:
            found |= more
        return found

    def _counted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The changes that were committed, and not taken back to a savepoint."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from binlogkit.analyses._savepoints import undone_mask, undone_ranges

        transactions, statements = self._ledgers
        ended = transactions.filter(pc.not_equal(transactions["outcome"], "committed"))["tx"]
        if len(ended):
            batch = batch.filter(pc.invert(pc.is_in(batch["tx"], ended.combine_chunks())))
        undone = undone_mask(undone_ranges(statements))
        return batch if undone is None else batch.filter(pa.array(~undone(batch)))

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        from binlogkit.analyses.dependents.gathered import BELOW

        return batch.append_column(BELOW, pa.array(np.ones(batch.num_rows, bool)))

    def _named(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The changes of a table under the name that it has in the end."""
        import pyarrow as pa

        name = batch["db"][0].as_py(), batch["table"][0].as_py()
        seq = np.asarray(batch["seq"])
        cuts = sorted({b.seq for b in self._renames})
        stretch = np.searchsorted(cuts, seq, "right") if cuts else np.zeros(len(seq), np.int64)
        for number in np.unique(stretch):
            part = batch.filter(pa.array(stretch == number))
            last = self._last(name, int(part["seq"][0].as_py()))
            for column, text in zip(("db", "table"), last, strict=True):
                at = part.schema.get_field_index(column)
                told = pa.array([text] * part.num_rows, pa.string())
                part = part.set_column(at, column, told)
            yield part

    def _last(self, name: Name, seq: int) -> Name:
        for boundary in self._renames:
            if boundary.seq > seq and boundary.name == name and boundary.new_name:
                name = boundary.new_name
        return name
