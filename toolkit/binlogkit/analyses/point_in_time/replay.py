"""The tables of a lineage, from change to change and boundary to boundary in log order.

Besides row changes, a table's boundaries count: CREATE, DROP, TRUNCATE, RENAME, ALTER, and what
makes its state undetermined: writes in statement format, DDL that moves rows or could not be
understood (docs/traps.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.batches import pieces
from binlogkit.analyses.point_in_time.before import Before
from binlogkit.analyses.point_in_time.boundary import Boundary, KeyNames
from binlogkit.analyses.point_in_time.cascades import Cascades, Waiting
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.erased import Logged, Lost
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.unlogged import Broken, Tally
from binlogkit.constants import TableId
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition


class Replay:
    """The tables of a lineage, replayed batch by batch.

    ``key``: the key's columns at the end, empty for a multiset; ``names``: the tables whose rows
    may have become the wanted one's by renames, the wanted one last; ``boundaries``: in log order;
    ``given``: definitions from other sources, until the log has its own; ``parents``: the tables
    from which foreign keys change rows of these, each with its key at the end.
    """

    def __init__(
        self,
        key: Sequence[str],
        names: Sequence[TableId],
        boundaries: Sequence[Boundary],
        given: Mapping[TableId, TableDefinition],
        parents: Mapping[TableId, Sequence[str]] | None = None,
    ) -> None:
        keys = {} if parents is None else parents
        self.names = {*names, *keys}
        self.wanted = names[-1]
        self.history = KeyNames.before(boundaries, self.wanted, key, keys)
        self.cascades: Cascades | None = None
        self.before: Before | None = None
        self.compares = False  # as of a Fold
        self.erased: Mapping[TableId, Logged] = {}
        self.numbers: Integers | None = None  # of the transactions that count
        self.broken: list[Broken] = []  # of all tables, also of those that are gone
        self.tallies: defaultdict[TableId, Tally] = defaultdict(Tally)
        self.tables: dict[TableId, Fold] = {}
        self._given = dict(given)
        self.absent: set[TableId] = set()
        self.boundaries: list[Boundary] = []
        self._waiting: list[Waiting] = []
        self._lost: list[tuple[int, Lost]] = []  # and where each begins or ends
        self._cuts = np.empty(0, np.int64)
        self._next = 0
        self.happen(*boundaries)

    def wants(self, boundary: Boundary) -> bool:
        """Whether it may matter to one of the tables."""
        refers = boundary.action == "rename" or boundary.renamed  # foreign keys may follow it
        return boundary.may_write or bool(refers) or self._own(boundary)

    def _own(self, boundary: Boundary) -> bool:
        return any(boundary.concerns(name) for name in self.names)

    def happen(self, *boundaries: Boundary) -> None:
        """Take further boundaries, before the changes that follow them."""
        wanted = [b for b in boundaries if self.wants(b)]
        self.boundaries += wanted
        cuts = [b.seq for b in wanted if b.action in _CUTS or b.deletes_all]
        self._cuts = np.append(self._cuts, np.array(cuts, np.int64))

    def table(self, name: TableId) -> Fold:
        """The table's state so far; one that was never seen has no beginning."""
        if name not in self.tables:
            fold = self.tables[name] = Fold(self.history.key(name))
            fold.erased = name in self.erased
            fold.compares, fold.broken = self.compares and not fold.erased, self.broken
            fold.tally = self.tallies[name]
            fold.definition = self._given.pop(name, None)
        return self.tables[name]

    def follow(self, unchecked: Callable[[Integers], Flags], *, keep: bool) -> None:
        """Apply cascades; the arguments are those of :class:`Cascades`."""
        self.cascades = Cascades(self._there, sorted(self.names), unchecked, keep=keep)

    def _there(self, name: TableId) -> Fold | None:
        """The table, if it was created, met or is known from elsewhere."""
        known = name in self.tables or name in self._given
        return self.table(name) if known else None

    def begin(self, base: pa.Table, name: TableId | None = None) -> None:
        """Begin with rows of a table, the wanted one by default."""
        self.table(self.wanted if name is None else name).begin(base)

    def feed(self, batch: pa.RecordBatch) -> None:
        """Apply changes, which follow earlier ones of the same table.

        With several tables (a rename leads to the wanted one) their batches wait for the end:
        readers hand them out in order per table only.
        """
        for name, part in by_table(batch, self.names):
            for first, piece in pieces(part, self._cuts):
                if len(self.names) == 1 and self.cascades is None:
                    self._changes(first, name, piece)
                else:
                    self._waiting.append((first, name, piece))

    def meet(self, at: int, name: TableId, empty: pa.RecordBatch) -> None:
        """Changes of a table have the columns of ``empty`` from a place on."""
        if len(self.names) == 1 and self.cascades is None:
            self._changes(at, name, empty)
        else:
            self._waiting.append((at, name, empty))

    def finish(self) -> Fold | None:
        """The wanted table after all changes and boundaries; None if dropped."""
        waiting, self._waiting = self._waiting, []
        if self.cascades is not None:
            self._lost = sorted(self._losses(waiting), key=lambda one: -one[0])
            waiting = self.cascades.apart(waiting, self.boundaries, [at for at, _ in self._lost])
        for first, name, piece in sorted(waiting, key=lambda waiting: waiting[0]):
            self._changes(first, name, piece)
        self._happen_before(None)
        return self.tables.get(self.wanted)

    def _changes(self, first: int, name: TableId, batch: pa.RecordBatch) -> None:
        self._happen_before(first)
        whole = [batch] if self.cascades is None else self.cascades.parts(name, batch)
        for part in whole:
            self._take(name, part)

    def _take(self, name: TableId, batch: pa.RecordBatch) -> None:
        table, struck = self.table(name), None
        if self.cascades is not None and (strikes := self.cascades.strikes(name, batch)).any():
            struck = batch.filter(pa.array(strikes)), table.settled().table
        if self.before is None or name != self.wanted:
            table.feed(batch)
        else:
            for part, wanted in self.before.parts(batch, table.key):
                if wanted:
                    self.before.feed(name, part, table)
                table.feed(part)
        if self.cascades is not None and struck is not None:
            self.cascades.feed(name, *struck)

    def _losses(self, waiting: Sequence[Waiting]) -> Iterator[tuple[int, Lost]]:
        """The transactions that lack changes since rows were erased, where each begins, and where
        the next one does."""
        assert self.cascades is not None
        for name, logged in self.erased.items():
            own = [batch for _, table, batch in waiting if table == name]
            for lost in logged.lost(name, own, self.numbers):
                self.cascades.lost.append(lost)
                yield from ((lost.first, lost), (lost.last + 1, lost))

    def _happen_before(self, seq: int | None) -> None:
        while self._lost and (seq is None or self._lost[-1][0] <= seq):
            at, lost = self._lost.pop()
            self._boundaries_before(at)
            assert self.cascades is not None
            self.cascades.lose(lost, ended=at > lost.last, compares=self.compares)
        self._boundaries_before(seq)

    def _boundaries_before(self, seq: int | None) -> None:
        boundaries = self.boundaries
        while self._next < len(boundaries) and (seq is None or boundaries[self._next].seq < seq):
            boundary = boundaries[self._next]
            self._next += 1
            _ACTIONS.get(boundary.action, Replay._unknown)(self, boundary)

    def _create(self, boundary: Boundary) -> None:
        name = boundary.name
        if boundary.conditional and name not in self.absent:
            # On an existing table it does nothing, and is logged all the same.
            table = self.table(name)
            if not table.complete and not len(table.settled()):
                table.definition = table.definition or boundary.definition
                _note(table, "if_not_exists", boundary)
            return
        self.absent.discard(name)
        table = self.table(name)
        table.empty()
        table.definition = boundary.definition
        if boundary.seq in self.history.created:
            table.key = self.history.keys[name] = self.history.created[boundary.seq]
        elif boundary.definition is not None and name not in self.history.keys:
            # Another table than the wanted one, which gets the name later, if it does.
            table.key = self.history.keys[name] = key_of(boundary.definition)[0]

    def _drop(self, name: TableId) -> None:
        gone = self.tables.pop(name, None)
        if gone is not None and self.compares:
            gone.settled()
        self._given.pop(name, None)
        self.absent.add(name)

    def _drop_database(self, boundary: Boundary) -> None:
        for name in self.names:
            if name[0] == boundary.name[0]:
                self._drop(name)

    def _keep(self, boundary: Boundary) -> Fold:
        """The table, whose rows are removed now; they are kept if wanted."""
        table = self.table(boundary.name)
        if self.before is not None and boundary.name == self.wanted:
            self.before.empty(boundary, table)
        return table

    def _drop_table(self, boundary: Boundary) -> None:
        self._keep(boundary)
        self._drop(boundary.name)

    def _rename(self, boundary: Boundary) -> None:
        if boundary.new_name is not None:
            self._refer_to(boundary.name, boundary.new_name, {})
        if not self._own(boundary):
            return
        moved = self.table(boundary.name)
        self._drop(boundary.name)
        if boundary.new_name is None:
            return
        self.history.renamed(boundary.name, boundary.new_name)
        if not moved.complete:
            _note(moved, "renamed_from", boundary)
        if boundary.new_name in self.erased:
            moved.settled()
            moved.erased, moved.compares = True, False
        if moved.definition is not None:
            moved.definition = moved.definition.renamed(boundary.new_name)
        self.absent.discard(boundary.new_name)
        self.tables[boundary.new_name] = moved
        moved.tally = self.tallies[boundary.new_name]

    def _refer_to(self, old: TableId, new: TableId, columns: Mapping[str, str]) -> None:
        """Let foreign keys follow their parent when it or its columns are renamed."""
        for fold in self.tables.values():
            if fold.definition is not None:
                fold.definition = fold.definition.referring(old, new, columns)
        for name, definition in self._given.items():
            self._given[name] = definition.referring(old, new, columns)

    def _alter(self, boundary: Boundary) -> None:
        if not self._own(boundary):
            self._refer_to(boundary.name, boundary.name, boundary.renamed)
            return
        table = self.table(boundary.name)
        rows, done = table.settled(), boundary.alteration
        table.definition = boundary.definition
        if done is None or any(name.startswith("@") for name in rows.fields):
            _note(table, "unknown_ddl", boundary)
            return
        if not table.keeps_rows:
            table.empty()
        rows = table.settled()
        self.history.altered(boundary.name, done)
        if boundary.renamed:
            self._refer_to(boundary.name, boundary.name, boundary.renamed)
        table.key = self.history.key(boundary.name)
        lost = rows.alter(done, table.key)
        key = self.history.default if table.definition is None else key_of(table.definition)[0]
        table.numbered |= bool(len(rows)) and not done.added.keys().isdisjoint(key)
        if boundary.replaced_key is not None:
            if not table.identify_by(() if table.numbered else key):
                _note(table, "key_converted", boundary)
            self.history.keys[boundary.name] = table.key
        if len(rows) and lost.intersection(table.key):
            _note(table, "key_converted", boundary)
        if len(rows) and lost:
            _note(table, "altered", boundary, determined=True)

    def _everywhere(self, kind: str, boundary: Boundary) -> None:
        """Note it for every table except the one that it names."""
        for name, table in self.tables.items():
            if name != boundary.name:
                _note(table, kind, boundary)

    def _unknown(self, boundary: Boundary) -> None:
        if boundary.may_write:
            # A trigger, a function or a procedure may write any table.
            self._everywhere("written_elsewhere", boundary)
        if boundary.name not in self.names:
            return
        if boundary.deletes_all:
            self._keep(boundary).empty()
            return
        kind = "statement_write" if boundary.action == "statement_write" else "unknown_ddl"
        kind = "rows_moved" if boundary.moves_rows else kind
        _note(self.table(boundary.name), kind, boundary)


def _note(table: Fold, kind: str, boundary: Boundary, *, determined: bool = False) -> None:
    if table.compares and not determined:
        table.settled()  # images of earlier changes are compared with what is known until here
    table.findings.add(kind, boundary.file, boundary.pos, determined=determined, at=boundary.seq)


_ACTIONS: Mapping[str, Callable[[Replay, Boundary], None]] = {
    "create": Replay._create,
    "drop": Replay._drop_table,
    "drop_database": Replay._drop_database,
    "truncate": lambda replay, boundary: replay._keep(boundary).empty(),
    "rename": Replay._rename,
    "alter": Replay._alter,
    "incident": lambda replay, boundary: replay._everywhere("incident", boundary),
}
_CUTS = _ACTIONS.keys() - {"incident"}


def by_table(
    batch: pa.RecordBatch, wanted: Iterable[TableId]
) -> Iterator[tuple[TableId, pa.RecordBatch]]:
    """The changes of the wanted tables in the batch, table by table."""
    if not batch.num_rows:
        return
    names = [batch["db"], batch["table"]]
    if all(len(name.unique()) == 1 for name in names):
        found = (names[0][0].as_py(), names[1][0].as_py())
        if found in wanted:
            yield found, batch
        return
    db, table = (name.cast(pa.string()) for name in names)
    for found in wanted:
        part = batch.filter(pc.and_(pc.equal(db, found[0]), pc.equal(table, found[1])))
        if part.num_rows:
            yield found, part
