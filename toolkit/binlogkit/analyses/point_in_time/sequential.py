"""One pass over the changes and boundaries of a table: right in every case, memory for live rows.

What happens to a table, beside its row changes, comes from its boundaries: CREATE, DROP, TRUNCATE,
RENAME (TRAPS.md 20), ALTER, and what makes its state undetermined: writes in statement format (15),
DDL that moves rows or could not be understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from binlogkit.analyses.point_in_time.boundary import Boundary, History, Name
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.images import read_sides
from binlogkit.analyses.point_in_time.live import Keyed, Multiset
from binlogkit.analyses.point_in_time.store import Store
from binlogkit.analyses.point_in_time.structure import NOT_KNOWN, Alteration
from binlogkit.rows.schema import TableDefinition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Replay", "Table"]

_COMPACT_AT = 1 << 20  # images kept before the first compaction

# Findings about a table's rows that are over when it is emptied.
_TABLE_KINDS = (
    "altered", "duplicate", "if_not_exists", "incident", "key_converted", "key_missing",
    "renamed_from", "rows_moved", "statement_write", "unknown_ddl", "unseen", "written_elsewhere",
)  # fmt: skip


@dataclass(slots=True)
class Table:
    """A table during the replay.

    ``complete``: every row that it has is known to the log or the base; ``definition``: None where
    the log does not tell.
    """

    store: Store
    rows: Keyed | Multiset
    findings: Findings
    complete: bool = False
    definition: TableDefinition | None = None

    @property
    def keeps_rows(self) -> bool:
        """Whether its engine does: BLACKHOLE logs changes and stores nothing."""
        return self.definition is None or self.definition.engine != "BLACKHOLE"

    def empty(self) -> None:
        """The table is known to have no rows: what was doubtful about them is over."""
        self.store = Store()
        self.rows = type(self.rows)(self.store, backwards=self.rows.backwards)
        self.complete = True
        self.findings.clear(_TABLE_KINDS)


class Replay:
    """The tables of a lineage, replayed batch by batch.

    ``key``: the key's columns at the end, empty for a multiset; ``names``: the tables whose rows
    may have become the wanted one's by renames, the wanted one last; ``boundaries``: in log order.
    """

    def __init__(
        self,
        key: Sequence[str],
        names: Sequence[Name],
        boundaries: Sequence[Boundary],
        *,
        backwards: bool = False,
    ) -> None:
        self.backwards = backwards
        self.names = set(names)
        self.wanted = names[-1]
        self.boundaries = [
            b for b in boundaries if b.may_write or any(b.concerns(name) for name in names)
        ]
        self.history = History.before(self.boundaries, self.wanted, key)
        self.keyed = bool(key)
        self.tables: dict[Name, Table] = {}
        self.absent: set[Name] = set()

    def table(self, name: Name) -> Table:
        """The table's state so far; a table that was never seen is one without a beginning."""
        if name not in self.tables:
            store = Store()
            kind = Keyed if self.keyed else Multiset
            self.tables[name] = Table(store, kind(store, backwards=self.backwards), Findings())
        return self.tables[name]

    def load(self, base: pa.Table) -> None:
        """Begin with a base snapshot: rows of the wanted table, as inserts."""
        table = self.table(self.wanted)
        for batch in base.to_batches():
            _, rows = read_sides(batch, self.history.key(self.wanted), table.store)
            for i, identity in enumerate(rows.identities):
                table.rows.insert(identity, rows.start + i)
        table.complete = True

    def run(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Apply everything in the order of ``seq``; each table's batches are in that order.

        With several tables (a rename leads to the wanted one) their batches are collected first:
        readers hand them out in order per table only.
        """
        pieces = (
            piece
            for batch in batches
            for name, part in _by_table(batch)
            if name in self.names
            for piece in _cut(name, part, self.boundaries)
        )
        at = 0
        for name, piece in pieces if len(self.names) == 1 else sorted(pieces, key=_first_seq):
            first = piece["seq"][0].as_py()
            while at < len(self.boundaries) and self.boundaries[at].seq < first:
                self._happen(self.boundaries[at])
                at += 1
            self._changes(name, piece)
        for boundary in self.boundaries[at:]:
            self._happen(boundary)

    def _changes(self, name: Name, batch: pa.RecordBatch) -> None:
        table = self.table(name)
        if not table.keeps_rows:
            return
        for i, problem in _apply(table, batch, self.history.key(name)):
            if problem != "unseen" or table.complete:
                file, pos = batch["file"][i].as_py(), batch["pos"][i].as_py()
                table.findings.add(problem, file, pos)
        _compact(table)

    def _happen(self, boundary: Boundary) -> None:
        if boundary.action == "drop_database":
            for name in [n for n in self.names if n[0] == boundary.name[0]]:
                self._drop(name)
            return
        _ACTIONS.get(boundary.action, Replay._unknown)(self, boundary)

    def _create(self, boundary: Boundary) -> None:
        name = boundary.name
        if boundary.conditional and name not in self.absent:
            # On a table that exists it does nothing, and is logged all the same.
            table = self.table(name)
            if not table.complete and not len(table.rows):
                table.definition = table.definition or boundary.definition
                table.findings.add("if_not_exists", boundary.file, boundary.pos)
            return
        self.absent.discard(name)
        self.table(name).empty()
        self.table(name).definition = boundary.definition

    def _drop(self, name: Name) -> None:
        self.tables.pop(name, None)
        self.absent.add(name)

    def _rename(self, boundary: Boundary) -> None:
        moved = self.table(boundary.name)
        self._drop(boundary.name)
        if boundary.new_name is None:
            return
        self.history.renamed(boundary.name, boundary.new_name)
        if not moved.complete:
            moved.findings.add("renamed_from", boundary.file, boundary.pos)
        self.absent.discard(boundary.new_name)
        self.tables[boundary.new_name] = moved

    def _truncate(self, boundary: Boundary) -> None:
        self.table(boundary.name).empty()

    def _alter(self, boundary: Boundary) -> None:
        table = self.table(boundary.name)
        table.definition = boundary.definition
        done = boundary.alteration
        if done is None or any(name.startswith("@") for name in table.store.names):
            table.findings.add("unknown_ddl", boundary.file, boundary.pos)
            return
        if not table.keeps_rows:
            table.empty()
        _restructure(table, done)
        self.history.altered(boundary.name, done)
        if done.lost.intersection(self.history.key(boundary.name)) and len(table.rows):
            table.findings.add("key_converted", boundary.file, boundary.pos)
        if len(table.rows) and (done.lost or NOT_KNOWN in done.added.values()):
            table.findings.add("altered", boundary.file, boundary.pos, determined=True)

    def _incident(self, boundary: Boundary) -> None:
        for table in self.tables.values():
            table.findings.add("incident", boundary.file, boundary.pos)

    def _unknown(self, boundary: Boundary) -> None:
        if boundary.name not in self.names:
            # A trigger, a function or a procedure may write any table.
            for table in self.tables.values():
                table.findings.add("written_elsewhere", boundary.file, boundary.pos)
            return
        kind = "statement_write" if boundary.action == "statement_write" else "unknown_ddl"
        kind = "rows_moved" if boundary.moves_rows else kind
        self.table(boundary.name).findings.add(kind, boundary.file, boundary.pos)


_ACTIONS: Mapping[str, Callable[[Replay, Boundary], None]] = {
    "create": Replay._create,
    "drop": lambda replay, boundary: replay._drop(boundary.name),
    "truncate": Replay._truncate,
    "rename": Replay._rename,
    "alter": Replay._alter,
    "incident": Replay._incident,
}


def _apply(table: Table, batch: pa.RecordBatch, key: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Carry out a batch; the numbers of the changes that contradict what is known, and how."""
    before, after = read_sides(batch, key, table.store)
    rows, old, new = table.rows, before.start, after.start
    images = zip(before.present, after.present, before.identities, after.identities, strict=True)
    for i, (was, is_, one, other) in enumerate(images):
        if was:
            problem = rows.update(one, old + i, other, new + i) if is_ else rows.delete(one)
        else:
            problem = rows.insert(other, new + i) if is_ else "no_image"
        if problem is not None:
            yield i, problem


def _restructure(table: Table, done: Alteration) -> None:
    """Give the live rows the columns that the table has after an ALTER."""
    store = table.store
    if not store.names:
        return
    gone = {name: store.dropped_name(name) for name in done.dropped if name in store.fields}
    store.rename(gone | {old: new for old, new in done.renamed.items() if old in store.fields})
    values = {
        name: store.add_value(name, value)
        for name, value in done.added.items()
        if value is not NOT_KNOWN
    }
    for name in done.added.keys() - values.keys():
        store.declare(name)
    table.rows.rewrite(done, values)


def _compact(table: Table) -> None:
    """Let go of images that no live row points to, when they are most of what is kept."""
    if table.store.size < max(_COMPACT_AT, 4 * len(table.rows)):
        return
    rows = [table.store.handles(row) for row in table.rows.live()]
    table.rows.replace(table.store.compact(rows))


def _by_table(batch: pa.RecordBatch) -> Iterator[tuple[Name, pa.RecordBatch]]:
    """The batch in parts of one table each."""
    import pyarrow as pa

    if not batch.num_rows:
        return
    dbs, tables = batch["db"], batch["table"]
    if len(dbs.unique()) == 1 and len(tables.unique()) == 1:
        yield (dbs[0].as_py(), tables[0].as_py()), batch
        return
    names = list(zip(dbs.to_pylist(), tables.to_pylist(), strict=True))
    for name in dict.fromkeys(names):
        yield name, batch.filter(pa.array([n == name for n in names]))


def _cut(
    name: Name, batch: pa.RecordBatch, boundaries: Sequence[Boundary]
) -> Iterator[tuple[Name, pa.RecordBatch]]:
    """The batch in pieces that no boundary falls into."""
    seqs = batch["seq"].to_numpy()
    edges = sorted({0, len(seqs)} | {int(seqs.searchsorted(b.seq)) for b in boundaries})
    for start, stop in pairwise(edges):
        yield name, batch.slice(start, stop - start)


def _first_seq(piece: tuple[Name, pa.RecordBatch]) -> int:
    return int(piece[1]["seq"][0].as_py())
