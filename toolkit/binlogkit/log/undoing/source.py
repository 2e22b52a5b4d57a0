"""What undo and redo are made from: the chosen changes, and what else their logs hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time import read_boundaries
from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.statements import Boundaries, Statements
from binlogkit.frames.transactions import Transactions
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, TableArgs
from binlogkit.log.states.reading import StateReading, among_events
from binlogkit.log.streams import Streams
from binlogkit.rows.filters import Filters, TableName, written_table_name
from binlogkit.rows.window import SEQ_SHIFT
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    from binlogkit.analyses._tasks import Sieve
    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.point_in_time.codes import Flags, Integers
    from binlogkit.log.states.places import Logs
    from binlogkit.rows.schema import TableDefinition
    from binlogkit.rows.soundness import Gap


class UndoSource(ABC):
    """Where the changes to be undone, or made again, are.

    ``asked``: the filters; ``by_transaction``: whether all changes of the transactions that these
    touch are chosen; ``wanted``: the filters of what is chosen: then of its ``sources`` alone.
    ``changes``: the chosen ones, in the canonical schema; ``happened``: the chosen of what happened
    to tables (BOUNDARY in frames/fields/ledger.py); ``boundaries``: all of that, also after the
    changes; ``transactions``, ``statements``: the ledgers; ``given``: the definitions that no log
    read, ``left``: the tables as the logs leave them; ``version``: of the newest server; ``gaps``:
    where changes may be missing; ``any_unchecked``: whether any were made with foreign_key_checks
    off; ``assumes``: what its answers assume besides what no log shows; ``size``: about how many
    bytes its logs take. ``log``: the logs that a server can play, None if they are not at hand.
    """

    logs: Logs
    log: Streams | None = None
    asked: Filters
    by_transaction: bool
    wanted: Filters
    changes: Sequence[pa.RecordBatch]
    happened: pa.Table
    boundaries: list[Boundary]
    transactions: pa.Table
    statements: pa.Table
    given: Sequence[TableDefinition] = ()
    left: Sequence[TableDefinition]
    version: str
    gaps: tuple[Gap, ...]
    any_unchecked: bool
    size: int
    assumes: tuple[str, ...] = ()

    @abstractmethod
    def unchecked(self, seqs: Integers) -> Flags:
        """Which changes, by ``seq``, were made with foreign_key_checks off."""

    @abstractmethod
    def of_tables(self, tables: Collection[TableId] | None) -> Iterator[pa.RecordBatch]:
        """All changes of tables, of all tables if None, in log order."""

    def sifted(self, tables: Collection[TableId] | None, sieve: Sieve) -> Iterator[pa.RecordBatch]:
        """Those of them that are wanted."""
        for batch in self.of_tables(tables):
            yield from sieve(batch)

    @abstractmethod
    def states(
        self, names: Iterable[TableId], points: Sequence[Point], before: Before | None = None
    ) -> States:
        """The states of tables at some points; ``before``: see :class:`States`."""

    def _of_one_history(self) -> set[str]:
        """The sources of the changes. UsageError: they are several servers'."""
        found = {s for c in self.changes for s in c.column("source").unique().to_pylist()}
        self.logs.one_history(found, "the changes are")
        return found

    def point(self, at: tuple[str, int] | None = None) -> Point:
        """A point of the logs, their end if None."""
        return Point(self.logs, {"at": at})


class LogSource(UndoSource):
    """A log. Its ledger is read once for all states; the tables' rows are read by each
    :meth:`states`."""

    def __init__(self, log: Streams, wanted: Filters, *, by_transaction: bool) -> None:
        self.logs = self._log = self.log = log
        self.asked, self.by_transaction = wanted, by_transaction
        of_sources = Filters(sources=wanted.sources)
        whole = _touched(log, wanted) if by_transaction else None
        self.wanted = wanted = of_sources if by_transaction else wanted
        transactions, statements = Transactions(), Statements(of_sources)
        boundaries, reading = Boundaries(wanted), log.reading()
        later = Boundaries(of_sources)  # also what happened after the changes
        versions, off = set[str](), [np.zeros(0, np.int64)]
        views = (
            transactions.feed,
            statements.feed,
            boundaries.feed,
            later.feed,
            lambda window: versions.add(window.server_version),
            lambda window: off.append(window.unchecked()),
        )
        read = log.read_batches(reading, wanted, views=views)
        self.changes = [_those(once(batch.batch), whole) for batch in read]
        sources = self._of_one_history()
        self.happened = _those(boundaries.finish(), whole)
        if not sources:  # rows that no event holds may come back
            sources = {s for s in self.happened["source"].unique().to_pylist() if s is not None}
        self.boundaries = read_boundaries(later.finish(), later.changes)
        self.transactions, self.statements = transactions.finish(of_sources), statements.finish()
        self.size = pc.sum(self.transactions["size"]).as_py() or 0
        self._off = np.concatenate(off)
        self.any_unchecked = bool(len(self._off))
        self.left = reading.series.definitions(sources)
        known = log.options.catalog
        self.given = known.tables() if known is not None else ()
        self.version = max(versions, key=version_tuple, default="")
        self.gaps = tuple(log.gaps)

    def unchecked(self, seqs: Integers) -> Flags:
        """See :class:`UndoSource`."""
        return among_events(self._off, SEQ_SHIFT, seqs)

    def of_tables(self, tables: Collection[TableId] | None) -> Iterator[pa.RecordBatch]:
        """See :class:`UndoSource`."""
        names = () if tables is None else tuple(TableName(*name) for name in sorted(tables))
        again = Streams(self._log.carriers, self._log.options)
        filters = Filters(sources=self.wanted.sources, tables=names)
        yield from (once(each.batch) for each in again.read_batches(again.reading(), filters))

    @cached_property
    def _reading(self) -> StateReading:
        return StateReading(self._log, None, self.wanted.sources)

    def states(
        self, names: Iterable[TableId], points: Sequence[Point], before: Before | None = None
    ) -> States:
        """See :class:`UndoSource`."""
        tables = [written_table_name(*name) for name in names]
        given: TableArgs = {"source": sorted(self.wanted.sources)}
        return States(self._log, tables, points, given, before=before, reading=self._reading)


def _touched(log: Streams, wanted: Filters) -> pa.Array:
    """The numbers of the transactions of wanted changes, also of those that no event holds."""
    boundaries = Boundaries(wanted)
    batches = log.read_batches(log.reading(), wanted, views=(boundaries.feed,))
    found = {tx for batch in batches for tx in batch.batch["tx"].unique().to_pylist()}
    happened = boundaries.finish()
    return transactions_of(found, happened, read_boundaries(happened, boundaries.changes), wanted)


def _those(changes: Any, whole: pa.Array | None) -> Any:
    """The changes, or boundaries, of some transactions; of all for None."""
    return changes if whole is None else changes.filter(pc.is_in(changes["tx"], whole))


def transactions_of(
    changed: Collection[int | None],
    happened: pa.Table,
    boundaries: Iterable[Boundary],
    wanted: Filters,
) -> pa.Array:
    """The numbers of the transactions of wanted changes (``changed``), also of those that no event
    holds. UsageError: some stand in no transaction."""
    found = {tx for tx in changed if tx is not None}
    if None in changed:
        raise UsageError("some of the changes stand in no transaction: by_transaction has none")
    seqs = pa.array(
        [row["seq"] for row in unlogged_changes(happened, wanted, boundaries)], pa.int64()
    )
    of = happened.filter(pc.is_in(happened["seq"], seqs))["tx"]
    return pa.array(sorted(found.union(of.drop_null().to_pylist())), pa.int64())


def unlogged_changes(
    happened: pa.Table, wanted: Filters, boundaries: Iterable[Boundary]
) -> Iterator[dict[str, Any]]:
    """The statements that changed rows without logging them, each with the reason for having no
    plan.

    ``happened``: those that were chosen; ``boundaries``: their effects. The tables of one statement
    share a ``seq``; their order is the statement's, also backwards.
    """
    altered = ((b.seq, b.alteration) for b in boundaries if b.action == "alter")
    lossy = {seq for seq, done in altered if done is None or done.dropped or done.converted}
    first: dict[str, Any] = {}
    for boundary in happened.select(_KEYS).to_pylist():
        if any(boundary[name] != first.get(name) for name in _EVENT):
            first = dict(boundary)
        reason = _REASONS.get(boundary.pop("action"))
        if boundary["seq"] in lossy:
            reason = _LOST
        db, table = boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            **boundary, "db": db or "", "table": table or "", "seq": first["seq"], "row": 0,
            "refused": reason,
        }  # fmt: skip


_LOST = "ALTER TABLE logs no rows: what it removed or changed in columns is in no event"
_EVENT = ("file", "pos", "inner")
_KEYS = ["source", *_EVENT, "gtid", "timestamp", "db", "table", "seq", "action"]
_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: make the table again, and say so (made_again)",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
