"""The reading behind states: a log's ledger, and tables' rows folded on the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from binlogkit.analyses._savepoints import Undone, undone_ranges
from binlogkit.analyses.point_in_time.batches import needed
from binlogkit.analyses.point_in_time.boundary import Boundary, read_boundaries
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.forward import Forward
from binlogkit.analyses.point_in_time.result import base_changes
from binlogkit.constants import TableId
from binlogkit.frames.row_counts import RowCounts
from binlogkit.frames.statements import Statements
from binlogkit.frames.transactions import Transactions
from binlogkit.log.index.choosing import ChosenReading
from binlogkit.log.states.history import History
from binlogkit.log.states.images.checks import ImageChecks
from binlogkit.log.states.outcomes import Outcomes
from binlogkit.rows.ddl import StatementKind
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import small_name
from binlogkit.rows.window import SEQ_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.states.bases.bases import Bases, Since
    from binlogkit.log.streams import Streams
    from binlogkit.rows.reading import Reading
    from binlogkit.rows.schema import TableDefinition
    from binlogkit.rows.window import Window

_NOT_KNOWN = (1 << 63) - 1  # after all changes
_MOST_KEPT = 16 << 20  # bytes of changes

#: A function that also gets each table's batches.
Watch: TypeAlias = "Callable[[StateReading, TableId, pa.RecordBatch], None]"


class Source(ABC):
    """What states are computed from.

    ``transactions``, ``statements``: frames; ``boundaries``: what happens to tables; ``history``;
    ``given``: table definitions from a schema file, a server or a base.
    """

    history: History
    transactions: pa.Table
    statements: pa.Table | None = None
    boundaries: list[Boundary]
    given: dict[TableId, TableDefinition]

    def has(self, name: TableId) -> bool:  # noqa: ARG002
        """Whether it has the changes of a table."""
        return True

    def table(self, name: TableId, point: int = 0) -> Forward | None:  # noqa: ARG002
        """The rows of a table as far as they are folded; ``point``: the number of its outcomes."""
        return None

    def changes(self, names: Collection[TableId]) -> Iterable[pa.RecordBatch] | None:  # noqa: ARG002
        """Tables' changes, in log order per table; None if it does not keep them."""
        return None

    def partial(self, name: TableId) -> int:  # noqa: ARG002
        """The last change that left a row with cells missing from its image; -1: none."""
        return _NOT_KNOWN

    @property
    @abstractmethod
    def unchecked(self) -> Callable[[Integers], Flags]:
        """Which changes, by ``seq``, were made with foreign_key_checks off."""


class StateReading(Source):
    """A log read once for the states of ``tables``; of all if None.

    ``outcomes``: one for each point at which states are wanted; ``watch``: gets each batch with its
    table's name; ``bases``, ``since``: where tables' rows start, and which part of the log they
    include.
    """

    def __init__(
        self,
        log: Streams,
        tables: Sequence[str] | None,
        outcomes: Sequence[Outcomes],
        key: Sequence[str] | None,
        sources: frozenset[str],
        watch: Watch | None = None,
        bases: Bases | None = None,
        since: Since | None = None,
    ) -> None:
        self._bases, self._since = bases, since
        wanted = Filters(sources=sources)
        self.history: History = History(wanted)
        self._outcomes, self._key, self._watch = outcomes, key, watch
        known = log.options.catalog
        self.given = {(t.db, t.table): t for t in known.tables()} if known is not None else {}
        for one in bases.tables.values() if bases is not None else ():
            if one.definition is not None:
                self.given[one.name] = one.definition
        self._ledger, self._texts = Transactions(), Statements(wanted)
        self._counts = RowCounts(stops=False)
        self.boundaries: list[Boundary] = []
        self._folded = False
        self._tables: list[dict[TableId, Forward]] = [{} for _ in outcomes]  # by point
        self._undone: list[Undone] | None = []  # None: not computed since a ROLLBACK TO
        self._partial: dict[TableId, int] = {}
        self._kept: list[tuple[TableId, pa.RecordBatch]] | None = []  # None: too many
        self._kept_bytes = 0
        self._unchecked = [np.zeros(0, np.int64)]
        self._wanted = read = Filters.build(table=tables, source=sources)
        self.images = ImageChecks(log, read)
        reading = self._chosen(log, read)
        self._read(log, read, reading)
        if isinstance(reading, ChosenReading):
            self.history.take_files(log.file_facts)
            self.transactions = reading.transactions(wanted)
        else:
            self.transactions = self._ledger.finish(wanted)
        self.statements = self._texts.finish()

    def table(self, name: TableId, point: int = 0) -> Forward:
        """See :class:`Source`."""
        forward = self._tables[point].get(name)
        if forward is None:
            found = None if self._bases is None else self._bases.tables.get(name)
            base = None if found is None else base_changes(found.rows)
            forward = Forward(name, self._outcomes[point].of, self.given, base)
            forward.happen(self._later(self.boundaries))
        return forward

    def changes(self, names: Collection[TableId]) -> Iterable[pa.RecordBatch] | None:
        """See :class:`Source`."""
        kept = self._kept
        if kept is None or self._folded or not all(self._wanted.wants_table(*n) for n in names):
            return None
        return [batch for name, batch in kept if name in names]

    def partial(self, name: TableId) -> int:
        """See :class:`Source`."""
        return self._partial.get(name, -1)

    @property
    def unchecked(self) -> Callable[[Integers], Flags]:
        """See :class:`Source`."""
        return partial(among_events, np.concatenate(self._unchecked), SEQ_SHIFT)

    def _chosen(self, log: Streams, wanted: Filters) -> Reading:
        """A reading of what concerns the tables: only the relevant parts if some tables are wanted
        and an index is given.

        With a base, or a GTID set as the point, all logs are read.
        """
        some = wanted.tables and self._since is None and self._bases is None
        if some and all(outcomes.by_gtid is False for outcomes in self._outcomes):
            return log.reading_of(wanted, statements=True)
        return log.reading()

    def _read(self, log: Streams, wanted: Filters, reading: Reading) -> None:
        for found in log.batches_to_damage(
            reading, wanted, views=(self._take,), images=self.images
        ):
            self._change(found.table, found.batch)
        if log.unreadable is not None:
            raise log.unreadable

    def _take(self, window: Window) -> None:
        self._ledger.take(window, self._counts.of(window)[0])
        self._texts.take(window)
        self.history.take(window)
        held = None if self._since is None else self._since.take(window)
        for outcomes in self._outcomes:
            outcomes.take(window, held)
        self._unchecked.append(window.unchecked())
        if any(item.kind == StatementKind.ROLLBACK_TO for item in window.looked):
            self._undone = None
        if self.history.folded and not self._folded:
            # Earlier names change with the server's case rule.
            self._folded = True
            self.boundaries = []
            for forward in self._forwards():
                forward.give_up()
            self._tables = [{small_name(n): f for n, f in one.items()} for one in self._tables]
        if self.history.count == len(self.boundaries):
            return
        fresh = read_boundaries(self.history.table(len(self.boundaries)), self.history.changes)
        self.boundaries += fresh
        for forward in self._forwards():
            forward.happen(self._later(fresh))

    def _later(self, boundaries: list[Boundary]) -> list[Boundary]:
        """The changes without those outside any transaction that the base includes."""
        since = self._since
        if since is None:
            return boundaries
        return [b for b in boundaries if b.tx is not None or not since.holds(b)]

    def _forwards(self) -> Iterator[Forward]:
        return (forward for one in self._tables for forward in one.values())

    def _keep(self, name: TableId, batch: pa.RecordBatch) -> None:
        """Keep changes, which are read again otherwise, while there are few."""
        if self._kept is not None:
            few = needed(batch)
            self._kept_bytes += few.nbytes
            self._kept.append((name, few))
            if self._kept_bytes > _MOST_KEPT:
                self._kept = None

    def _change(self, name: TableId, batch: pa.RecordBatch) -> None:
        self._keep(name, batch)
        name = small_name(name) if self._folded else name
        if self._since is not None:
            batch = self._since.later(batch)
            if not batch.num_rows:
                return
        if self._undone is None:
            self._undone = undone_ranges(self._texts.finish())
        states = batch["after_state"]
        if states.null_count < len(states):
            odd = batch["seq"].filter(states.is_valid())
            self._partial[name] = max(self.partial(name), int(odd[-1].as_py()))
        if self._watch is not None:
            self._watch(self, name, batch)
        seq = int(batch["seq"][0].as_py())
        key = self.history.key(name, seq) if self._key is None else self._key
        for point, tables in enumerate(self._tables):
            forward = tables[name] = self.table(name, point)
            forward.take(batch, key, self._undone)


def among_events(numbers: Integers, shift: int, seqs: Integers) -> Flags:
    """Which changes, by ``seq``, are of these events; ``shift``: what a number is shifted by."""
    return np.isin(seqs >> shift, numbers)
