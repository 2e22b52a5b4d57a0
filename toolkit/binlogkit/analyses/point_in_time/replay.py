"""One pass over the changes and boundaries of a table: right in every case, memory for live rows.

What happens to a table, beside its row changes, comes from ``boundaries``: CREATE, DROP, TRUNCATE,
RENAME (TRAPS.md 20), and what makes its state undetermined: writes in statement format (15), DDL
that moves rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.images import Change, read_changes
from binlogkit.analyses.point_in_time.live import Keyed, Multiset
from binlogkit.analyses.point_in_time.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Boundary", "Name", "Replay", "lineage"]

Name = tuple[str, str]

_COMPACT_AT = 1 << 20  # images kept before the first compaction
_IF_NOT_EXISTS = re.compile(r"\bIF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_MOVES_ROWS = re.compile(
    r"\b(?:(?:DROP|TRUNCATE|EXCHANGE|DISCARD|IMPORT|COALESCE)\s+PARTITION"
    r"|(?:DISCARD|IMPORT)\s+TABLESPACE)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Boundary:
    """What happened to a table as a whole, in log order among the changes by ``seq``."""

    seq: int
    tx: int | None
    file: str
    pos: int
    name: Name
    action: str
    new_name: Name | None
    statement: str

    @property
    def empties(self) -> bool:
        """Whether the table certainly has no rows afterwards, and exists."""
        if self.action == "create":
            return _IF_NOT_EXISTS.search(self.statement) is None
        return self.action == "truncate"

    def concerns(self, name: Name) -> bool:
        """Whether it happens to this table."""
        if self.action == "drop_database":
            return self.name[0] == name[0]
        return name in (self.name, self.new_name)


_TABLE_KINDS = (
    "altered",
    "duplicate",
    "if_not_exists",
    "json_diff",
    "key_missing",
    "no_beginning",
    "renamed_from",
    "rows_moved",
    "statement_write",
    "unknown_ddl",
    "unseen",
)


@dataclass(slots=True)
class _Table:
    """A table during the replay; ``complete``: every row it has is known to the log or the base."""

    store: Store
    rows: Keyed | Multiset
    complete: bool
    findings: Findings

    def empty(self) -> None:
        """The table is known to have no rows: what was doubtful about them is over."""
        self.store = Store()
        self.rows = type(self.rows)(self.store)
        self.complete = True
        self.findings.clear(_TABLE_KINDS)


class Replay:
    """The tables of a lineage, replayed batch by batch.

    ``key``: the key's columns, empty for a multiset; ``names``: the tables whose changes may
    reach the wanted one by renames, the wanted one last.
    """

    def __init__(self, key: Sequence[str], names: Sequence[Name]) -> None:
        self.key = tuple(key)
        self.names = set(names)
        self.wanted = names[-1]
        self.tables: dict[Name, _Table] = {}
        self.absent: set[Name] = set()

    def table(self, name: Name) -> _Table:
        """The table's state so far; a table that was never seen is one without a beginning."""
        if name not in self.tables:
            store = Store()
            rows = Keyed(store) if self.key else Multiset(store)
            self.tables[name] = _Table(store, rows, False, Findings())
        return self.tables[name]

    def load(self, base: pa.Table) -> None:
        """Begin with a base snapshot: rows of the wanted table, as inserts."""
        table = self.table(self.wanted)
        for batch in base.to_batches():
            for change in read_changes(batch, self.key, table.store):
                if change.after is not None:
                    table.rows.insert(change.after)
        table.complete = True

    def run(self, batches: Iterable[pa.RecordBatch], boundaries: Sequence[Boundary]) -> None:
        """Apply everything in the order of ``seq``; each table's batches are in that order.

        With several tables (a rename leads to the wanted one) their batches are collected first:
        readers hand them out in order per table only.
        """
        pending = sorted(boundaries, key=lambda b: b.seq)
        pieces = (
            piece
            for batch in batches
            for name, part in _by_table(batch)
            if name in self.names
            for piece in _cut(name, part, pending)
        )
        at = 0
        for name, piece in pieces if len(self.names) == 1 else sorted(pieces, key=_first_seq):
            first = piece["seq"][0].as_py()
            while at < len(pending) and pending[at].seq < first:
                self.happen(pending[at])
                at += 1
            self._changes(name, piece)
        for boundary in pending[at:]:
            self.happen(boundary)

    def _changes(self, name: Name, batch: pa.RecordBatch) -> None:
        table = self.table(name)
        for change in read_changes(batch, self.key, table.store):
            problem = _change(table.rows, change)
            if problem == "unseen" and not table.complete:
                problem = None
            if problem is not None:
                table.findings.add(problem, change.file, change.pos)
        _compact(table)

    def happen(self, boundary: Boundary) -> None:
        """Apply one boundary."""
        if boundary.action == "drop_database":
            for name in [n for n in self.names if n[0] == boundary.name[0]]:
                self._drop(name)
            return
        if boundary.name not in self.names and boundary.new_name not in self.names:
            return
        _ACTIONS.get(boundary.action, Replay._unknown)(self, boundary)

    def _create(self, boundary: Boundary) -> None:
        name = boundary.name
        if _IF_NOT_EXISTS.search(boundary.statement) and name not in self.absent:
            # On a table that exists it does nothing, and is logged all the same.
            table = self.table(name)
            if not table.complete and not len(table.rows):
                table.findings.add("if_not_exists", boundary.file, boundary.pos)
            return
        self.absent.discard(name)
        self.table(name).empty()

    def _drop(self, name: Name) -> None:
        self.tables.pop(name, None)
        self.absent.add(name)

    def _rename(self, boundary: Boundary) -> None:
        moved = self.table(boundary.name)
        self._drop(boundary.name)
        if boundary.new_name is None:
            return
        if not moved.complete:
            moved.findings.add("renamed_from", boundary.file, boundary.pos)
        self.absent.discard(boundary.new_name)
        self.tables[boundary.new_name] = moved

    def _alter(self, boundary: Boundary) -> None:
        kind = "rows_moved" if _MOVES_ROWS.search(boundary.statement) else "altered"
        determined = kind == "altered"
        self.table(boundary.name).findings.add(
            kind, boundary.file, boundary.pos, determined=determined
        )

    def _unknown(self, boundary: Boundary) -> None:
        kind = "statement_write" if boundary.action == "statement_write" else "unknown_ddl"
        self.table(boundary.name).findings.add(kind, boundary.file, boundary.pos)


def lineage(boundaries: Iterable[Boundary], wanted: Name) -> list[Name]:
    """The tables whose rows may have become ``wanted``'s by renames; ``wanted`` is the last."""
    renames = [(b.name, b.new_name) for b in boundaries if b.action == "rename"]
    names = [wanted]
    for name in names:
        names.extend(old for old, new in renames if new == name and old not in names)
    return names[::-1]


def _change(rows: Keyed | Multiset, change: Change) -> str | None:
    before, after = change.before, change.after
    if before is None:
        return "no_image" if after is None else rows.insert(after)
    return rows.delete(before) if after is None else rows.update(before, after)


def _compact(table: _Table) -> None:
    """Let go of images that no live row points to, when they are most of what is kept."""
    if table.store.size < max(_COMPACT_AT, 4 * len(table.rows)):
        return
    rows = [table.store.handles(row) for row in table.rows.live()]
    table.rows.replace(table.store.compact(rows))


def _by_table(batch: pa.RecordBatch) -> Iterator[tuple[Name, pa.RecordBatch]]:
    """The batch in runs of one table each."""
    import pyarrow as pa

    dbs, tables = (batch[name] for name in ("db", "table"))
    if _same(dbs) and _same(tables):
        if batch.num_rows:
            yield (dbs[0].as_py(), tables[0].as_py()), batch
        return
    names = list(zip(dbs.to_pylist(), tables.to_pylist(), strict=True))
    for name in dict.fromkeys(names):
        yield name, batch.filter(pa.array([n == name for n in names]))


def _same(column: pa.Array) -> bool:
    return len(column) < 2 or len(column.unique()) == 1


def _cut(
    name: Name, batch: pa.RecordBatch, boundaries: Sequence[Boundary]
) -> Iterator[tuple[Name, pa.RecordBatch]]:
    """The batch in pieces that no boundary falls into."""
    seqs = batch["seq"].to_numpy()
    starts = {0, len(seqs)} | {int(seqs.searchsorted(b.seq)) for b in boundaries}
    edges = sorted(starts)
    for start, stop in pairwise(edges):
        yield name, batch.slice(start, stop - start)


def _first_seq(piece: tuple[Name, pa.RecordBatch]) -> int:
    return int(piece[1]["seq"][0].as_py())


_ACTIONS: Mapping[str, Any] = {
    "create": Replay._create,
    "drop": lambda replay, boundary: replay._drop(boundary.name),
    "truncate": lambda replay, boundary: replay.table(boundary.name).empty(),
    "rename": Replay._rename,
    "alter": Replay._alter,
}
