"""Logs that are being written, read as whole transactions.

New logs are read as they appear (sources/carriers/coming.py). Changes are held until their
transaction has ended, then handed over in steps: one transaction, or several that were written
together. A transaction whose GTID came before is left out, so a follower that resumes by GTID gets
each one once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack

import numpy as np
import pyarrow as pa

from binlogkit.constants import BINLOG_MAGIC
from binlogkit.errors import DamageError, LimitError, LostConnectionError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.generic import generic_rows
from binlogkit.frames.records import records_of
from binlogkit.frames.row_batches import Batches, RowChanges
from binlogkit.frames.row_counts import RowCounts
from binlogkit.frames.share_decoding import SHARE_MOST_SORTED, Workers
from binlogkit.frames.statements import Boundaries, Record, Statements
from binlogkit.frames.tables import generic_schema
from binlogkit.frames.transaction_facts import COMMIT, GTID, gtid_array
from binlogkit.frames.transactions import Transactions
from binlogkit.log.states.restarts import starts
from binlogkit.log.streams import Batch
from binlogkit.rows.filter_args import RowFilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.prepared import Prepared
from binlogkit.rows.reading import Reading
from binlogkit.rows.settling import OUTCOMES
from binlogkit.rows.soundness import FileFacts, Gap, Gaps, Soundness
from binlogkit.rows.transactions import Outcome
from binlogkit.rows.window import SEQ_SHIFT

if TYPE_CHECKING:
    from binlogkit.rows.ddl import TableChange
    from binlogkit.rows.window import Window
    from binlogkit.sources.carriers.coming import ComingLogs
    from binlogkit.sources.server.tail import ServerTail

#: Called with what happens to tables.
Heard: TypeAlias = "Callable[[Record, TableChange], object]"

_MICROSECONDS = 1_000_000
_TOGETHER = 64 << 20  # bytes of changes


@dataclass(slots=True)
class Step:
    """Whole transactions, after those of the previous step.

    ``numbers``: of the transactions that ended, in log order, without those that came before;
    ``outcomes``: how each ended; ``gtids``: of each, None without one; ``committed``: when the last
    one was committed, in microseconds, by the server's clock; ``decided``: XA transactions that
    were prepared, in this step or before it: the number of each, and how it was decided;
    ``unknown_xa``: decisions for XA transactions that were prepared before the start; ``batches``:
    row changes, in the order of the log within each table; ``boundaries``: what happens to tables,
    each with what it did; ``unchecked``: the rows events that were written with foreign_key_checks
    off; ``folded``: the server turned out to store names in small letters, as they are named here;
    ``restarts``: where the server began a log because it had started again, as ``seq``;
    ``statements``: those logged as text; ``gaps``: where changes may be missing up to its end;
    ``server_version``: of its log; ``file``, ``pos``: the position after it.
    """

    file: str = ""
    pos: int = 0
    numbers: list[int] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    gtids: list[str | None] = field(default_factory=list)
    committed: int | None = None
    decided: list[tuple[int, Outcome]] = field(default_factory=list)
    unknown_xa: list[str] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    boundaries: list[tuple[Record, TableChange]] = field(default_factory=list)
    unchecked: list[np.ndarray[Any, Any]] = field(default_factory=list)
    folded: bool = False
    restarts: list[int] = field(default_factory=list)
    statements: list[pa.Table] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    server_version: str = ""
    transactions: pa.Table | None = None

    def having(self, outcome: Outcome) -> set[int]:
        """The numbers of the transactions that ended so."""
        found = zip(self.numbers, self.outcomes, strict=True)
        return {number for number, one in found if one == outcome}


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of :meth:`Stepped.steps`."""

    wanted: Filters
    transactions: bool
    heard: Heard
    together: int
    most: int | None


class Stepped(ABC):
    """Something that can be read once, in steps: as rows, batches or transactions.

    ``file``, ``pos``: the position after the last step that was handed over; ``gtids``: the
    transactions up to there, including those before the start.
    """

    file: str = ""
    pos: int = 0
    _begun = False

    @property
    @abstractmethod
    def gtids(self) -> GtidSet:
        """The GTIDs of all transactions up to the last step, including those before the start."""

    @abstractmethod
    def go_through(self, asked: Asked) -> Iterator[Step]:
        """The steps, whether or not there were any before."""

    def steps(
        self,
        wanted: Filters | None = None,
        *,
        transactions: bool = False,
        heard: Heard = lambda *_: None,
        together: int = 1,
        most: int | None = None,
    ) -> Iterator[Step]:
        """Whole transactions as they are written.

        ``wanted``: the tables whose rows are wanted; ``transactions``: whether their tables are
        needed; ``heard``: is called with what happens to tables, before the following rows are
        chosen; ``together``: how many batches, of 64 MB, make a step while more has already
        arrived; ``most``: bytes that the changes of one transaction may take. Errors: UsageError
        (already iterated), LimitError (a transaction is larger), DamageError, InputError, those of
        a server's stream.
        """
        if self._begun:
            raise UsageError("followed logs can be read only once")
        self._begun = True
        yield from self.go_through(Asked(wanted or Filters(), transactions, heard, together, most))

    @abstractmethod
    def has_more(self) -> bool:
        """Whether more has arrived than was handed over."""

    @abstractmethod
    def close(self) -> None:
        """Stop, and wake up whatever waits for more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- requests -----------------------------------------------------------------------------

    def rows(
        self, table: str | Iterable[str] | None = None, **filters: Unpack[RowFilterArgs]
    ) -> Iterator[dict[str, Any]]:
        """One dict per row change in log order, as ``rows --format jsonl``, each transaction's
        after its end. Errors: as :meth:`steps`, UsageError."""
        schema = generic_schema()
        for step in self.steps(Filters.build(table=table, **filters)):
            batches = (one.batch for one in step.batches)
            yield from records_of(generic_rows(list(batches), schema, compact=True), ROW)

    def batches(
        self, table: str | Iterable[str] | None = None, **filters: Unpack[RowFilterArgs]
    ) -> Iterator[Batch]:
        """Row changes as Arrow, each transaction's after its end, in log order per table and step.
        Errors: as :meth:`steps`, UsageError."""
        for step in self.steps(Filters.build(table=table, **filters)):
            yield from step.batches

    def transactions(self) -> Iterator[dict[str, Any]]:
        """One dict per ended transaction, as ``transactions --format jsonl``; an XA transaction is
        ``prepared`` then, and its XA COMMIT or ROLLBACK is a transaction of its own."""
        for step in self.steps(transactions=True):
            if step.transactions is not None:
                for batch in step.transactions.to_batches():
                    yield from batch.to_pylist()


class Following(Stepped):
    """What is written to logs, from a place on.

    ``prepared``: undecided XA transactions; ``number``: of the next transaction; ``tail``: the
    source of a server's rows.
    """

    tail: ServerTail | None = None

    def __init__(
        self,
        logs: ComingLogs,
        options: ReadOptions,
        start: Start,
        stop: Callable[[], object],
    ) -> None:
        self._logs, self._stop = logs, stop
        self._options = replace(options, threads=1)
        self._gaps = Gaps(Soundness(keeps=options.duplicates == "keep"))
        self.reading = Reading(
            logs, self._options, start=replace(start, last=False), gaps=self._gaps
        )
        self.prepared, self.number = Prepared(), start.number
        self._ledger = GtidLedger(start.seen)

    @property
    def gtids(self) -> GtidSet:
        """See :attr:`Stepped.gtids`."""
        return self._ledger.to_set()

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing between the start and the last step."""
        begin = self.reading.start.begin
        return [g for g in self.reading.gaps if (g.code, g.pos) != ("sequence_gap", begin or None)]

    @property
    def facts(self) -> FileFacts:
        """What is known of the log that is read now."""
        return self._gaps.soundness.files[-1]

    def has_more(self) -> bool:
        """See :meth:`Stepped.has_more`."""
        return self.reading.holds_more() or self._logs.pending()

    def close(self) -> None:
        """See :meth:`Stepped.close`."""
        self._stop()

    # ---- steps --------------------------------------------------------------------------------

    def go_through(self, asked: Asked) -> Iterator[Step]:
        """See :meth:`Stepped.go_through`."""
        return _Steps(self, asked).run()

    def note(self, step: Step) -> None:
        """Called before a step is handed over."""
        self.file, self.pos, step.gaps = step.file, step.pos, self.gaps
        self._ledger.add_set(GtidSet.of(g for g in step.gtids if g is not None))


class _Steps:
    """A reading's windows as steps."""

    def __init__(self, owner: Following, asked: Asked) -> None:
        self._owner, self._wanted, self._heard = owner, asked.wanted, asked.heard
        self._together, self._most = asked.together, asked.most
        self._bytes = self._whole = 0  # of the step's changes, and of whole transactions
        self._reading = reading = owner.reading
        self._make: Callable[[], Transactions] | None = Transactions if asked.transactions else None
        self._ledger = self._make() if self._make else None
        self._counts = RowCounts(stops=True)
        self._workers = Workers(1)
        most = (1 << 16, 64 << 20, SHARE_MOST_SORTED)
        self._changes = RowChanges(reading, asked.wanted, None, most, self._workers, False)
        self._boundaries, self._texts = Boundaries(asked.wanted), Statements(asked.wanted)
        self._prepared = owner.prepared
        self._file = ""
        self._step = Step()

    def run(self) -> Iterator[Step]:
        """The steps; the owner is notified of each."""
        owner = self._owner
        windows = self._reading.windows()
        try:
            for window in windows:
                ended = self._take(window)
                if window.damages and self._reading.options.on_damage == "stop":
                    raise window.damages[0][1]
                if not (ended and self._changes.waits_for_nothing):
                    continue
                self._whole = self._bytes
                few = len(self._step.batches) < self._together > 1 and self._bytes < _TOGETHER
                if not (few and owner.has_more()):
                    yield self._next()  # held by nothing here while more is waited for
        except (DamageError, LostConnectionError):
            step = self._before_end()
            if step.numbers:
                owner.note(step)
                yield step
            raise
        finally:
            windows.close()
            self._workers.close()

    def _next(self) -> Step:
        step, self._step, self._bytes, self._whole = self._finished(), Step(), 0, 0
        self._owner.note(step)
        return step

    def _before_end(self) -> Step:
        """The transactions that ended before damage or a missing log."""
        step = self._step
        with suppress(DamageError):
            for group in self._changes.finish():
                self._hold(group)
        self._leave(lambda numbers: np.isin(numbers, [-1, *step.numbers]))
        return self._finished()

    def _leave(self, stays: Callable[[Any], Any]) -> None:
        """Keep only some transactions' rows in the step."""
        kept = []
        for one in self._step.batches:
            stay = stays(np.asarray(one.batch["tx"].fill_null(-1)))
            kept.append(replace(one, batch=one.batch.filter(pa.array(stay))))
        self._step.batches = [one for one in kept if one.batch.num_rows]

    def _hold(self, group: Batches) -> None:
        """Keep a window's batches until their transactions have ended."""
        found = [Batch(s.name, s.version, batch) for s, batch in group if batch.num_rows]
        self._step.batches += found
        self._bytes += sum(one.batch.nbytes for one in found)

    def _take(self, window: Window) -> bool:
        """Take a window. Returns whether there are transactions, all of them whole."""
        step = self._step
        if self._ledger is not None:
            self._ledger.feed(window, self._counts.of(window)[0])
        found = self._boundaries.feed(window)
        boundaries = [(record, self._boundaries.changes[record["seq"]]) for _, record in found]
        for boundary in boundaries:
            self._heard(*boundary)
        step.boundaries += boundaries
        for group in chain(self._changes.feed(window), self._changes.flush()):
            self._hold(group)
        self._boundaries.found.clear()
        self._boundaries.changes.clear()
        step.unchecked.append(window.unchecked())
        step.server_version = window.server_version or step.server_version
        self._take_start(window, step)
        self._take_xa(window, step)
        self._texts.feed(window)
        records, stretch = window.transactions, window.stretch
        self._note_ended(window, step)
        if len(records) and records["open"][-1]:
            self._check_size(window.carrier.name, int(records["pos"][-1]))
            return False
        if stretch is None or not len(stretch.entries) or _cut(records[-1:]).any():
            return bool(step.numbers)
        reading = self._reading
        if not reading.at and stretch.ends[-1] < reading.start.begin:  # the first log's head alone
            return False
        step.file, step.pos = window.carrier.name, int(stretch.ends[-1])
        return True

    def _check_size(self, file: str, pos: int) -> None:
        """LimitError: an open transaction has more changes than may be held."""
        held = self._bytes - self._whole + self._changes.waiting
        if self._most is not None and held > self._most:
            raise LimitError(
                f"{file}: the transaction at {pos} has changes of {held:,} bytes so far, "
                f"over {self._most:,} (the setting: memory)"
            )

    def _take_start(self, window: Window, step: Step) -> None:
        file, before = window.carrier.name, self._file
        if window.stretch is None or file == before:
            return
        self._file = file
        facts, start = self._owner.facts, self._reading.start
        # What is followed may begin inside the log, also by GTID.
        seen = start.seen.subtract(facts.previous or GtidSet()) if start.seen else None
        inside = not before and (start.begin > len(BINLOG_MAGIC) or bool(seen))
        if starts(facts) and not inside:
            step.restarts.append(window.stretch.ordinal << SEQ_SHIFT)

    def _take_xa(self, window: Window, step: Step) -> None:
        others = set(self._prepared.others)
        for prepared, _, decision in self._prepared.feed(window):
            step.decided.append((prepared, decision[0]))
        step.unknown_xa += sorted(self._prepared.others.keys() - others)

    def _note_ended(self, window: Window, step: Step) -> None:
        """Note the transactions of a window that have ended.

        A transaction that is open where its log ends or following stops does not count: the server
        does not have it, or it comes again.
        """
        records = window.transactions
        if not len(records):
            return
        self._owner.number = int(records["number"][-1]) + 1
        cut = _cut(records)
        if cut.any():
            numbers = records["number"][cut]
            self._leave(lambda given: ~np.isin(given, numbers))
        whole = np.flatnonzero((records["open"] == 0) & ~cut).tolist()
        if whole:
            step.file, step.pos = window.carrier.name, int(records["end_pos"][whole[-1]])
        texts: list[str | None] = gtid_array(records).to_pylist()
        gtids = window.facts.gtids_of(records)
        for i in whole:
            record, number = records[i], int(records["number"][i])
            gtid = texts[i] if record["has"] & GTID else None
            gtid, commit = gtids.get(i, (gtid, None))
            if window.repeats(number):
                continue
            step.numbers.append(number)
            step.outcomes.append(OUTCOMES[int(record["outcome"])])
            step.gtids.append(gtid)
            at = int(record["end_timestamp"]) * _MICROSECONDS
            if record["has"] & COMMIT:
                at = int(record["commit_timestamp"])
            step.committed = at if commit is None else commit

    def _finished(self) -> Step:
        step = self._step
        texts = self._texts.fresh()
        step.statements = [texts] if texts.num_rows else []
        step.folded = self._boundaries.folded
        if step.folded:
            from binlogkit.frames.statements import in_small_letters

            step.boundaries = [
                (in_small_letters(record), change.in_small_letters())
                for record, change in step.boundaries
            ]
        if self._ledger is not None and self._make is not None:
            step.transactions = self._ledger.finish(self._wanted, [step.file])
            self._ledger = self._make()
        return step


def _cut(records: Any) -> Any:
    """The transactions that are open where their log ends."""
    return (records["open"] == 0) & (records["outcome"] == OUTCOMES.index(Outcome.CUT))
