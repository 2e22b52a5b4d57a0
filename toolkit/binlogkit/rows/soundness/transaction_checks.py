"""The shape of transactions: their begin and end, and their length.

From 8.0.1 on a GTID event knows its transaction's length in bytes; a relay log keeps the source's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from binlogkit.constants import EventType, TableId
from binlogkit.events.control import Incident, XaPrepare, Xid
from binlogkit.rows.ddl import StatementKind
from binlogkit.rows.soundness.continuity_checks import SeriesLedger
from binlogkit.rows.soundness.events import Found, WindowEvents
from binlogkit.rows.soundness.finding import FileFacts, Finding, Grade, Place, finding
from binlogkit.rows.soundness.gtid_checks import GtidChecks
from binlogkit.rows.soundness.runs import EventRuns, Moments, runs_of
from binlogkit.rows.transactions import Outcome, Transaction
from binlogkit.rows.window import ALONE, LOOK, REPLACED
from binlogkit.sources.log_format import version_tuple

_Tables = dict[TableId, None]

_BEGIN_ALWAYS = (5, 5, 0)  # servers before it write a single statement's XID without a BEGIN
_BEGINS = (StatementKind.BEGIN, StatementKind.XA_START)
_ENDS = (Xid, XaPrepare)
_END_TYPES = (EventType.XID_EVENT, EventType.XA_PREPARE_LOG_EVENT)
_INSIDE = (
    StatementKind.SAVEPOINT,
    StatementKind.ROLLBACK_TO,
    StatementKind.RELEASE_SAVEPOINT,
    StatementKind.XA_END,
    StatementKind.COMMIT,
)
_PREPARED = Outcome.PREPARED
_INCIDENT, _REPLACED, _BEGIN, _XA, _LENGTH = 20, 30, 34, 35, 36  # in the order of their findings


class XaLedger:
    """XA transactions that were prepared, over all files read together.

    ``prepared``: those that nothing decided yet, by source and XA id, and where; ``unprepared``:
    the XA ids of decisions that none of them was for, by where they stand.
    """

    def __init__(self) -> None:
        self.prepared: dict[tuple[str | None, str], Place] = {}
        self.unprepared: dict[Place, str] = {}

    def take(self, source: str | None, own: Transaction, at: Place) -> Iterator[Finding]:
        """Take what an event of a source's logs says of the transaction that it ended."""
        if own.outcome == Outcome.PREPARED and own.xa is not None:
            self.prepared[source, own.xa] = at
        elif own.resolves is not None and not self.prepared.pop((source, own.resolves), None):
            self.unprepared[at] = own.resolves
            yield finding("xa_unprepared", at, f"XA {own.resolves}")

    def join(
        self, source: str | None, prepared: Mapping[str, Place], decided: Mapping[Place, str]
    ) -> set[Place]:
        """Take what a file of a source prepared that it did not decide, and decided that it had not
        prepared; which of its decisions were for one of these."""
        known = [at for at, xa in decided.items() if self.prepared.pop((source, xa), None)]
        self.prepared |= {(source, xa): at for xa, at in prepared.items()}
        return set(known)

    def end(self) -> Iterator[Finding]:
        """Those that nothing decided."""
        for (_, xa), at in self.prepared.items():
            yield finding("xa_unresolved", at, f"XA {xa} was prepared")


class TransactionChecks:
    """Takes the events of a file in order.

    ``ledger``: of all files so far; ``headless``: the transaction that another log left
    open, which this one does not continue.
    """

    def __init__(
        self, facts: FileFacts, ledger: SeriesLedger, xa: XaLedger, headless: int = -1
    ) -> None:
        self.facts = facts
        self.open = -1  # the transaction that is open after what was taken
        self.gtid: str | None = None  # of that
        self.headless = headless
        self._xa = xa
        self._gtids = GtidChecks(ledger)
        self._doubt = Moments()
        self._start: Place | None = None  # of the open transaction
        self._tables: _Tables = {}
        self._any = False

    def feed(
        self, events: WindowEvents, a: int, b: int, damages: list[int]
    ) -> tuple[EventRuns | None, list[Found]]:
        """Take the events from ``a`` to ``b``; ``damages``: moments of it (see ``Moments``)."""
        found = list(self._incidents(events, a, b))
        runs = runs_of(events, a, b, self.open)
        doubted = self._doubt.begin(damages)
        numbered = self._gtids.numbered
        if runs is None:
            if int(events.tx[b - 1]) != self.open:
                self.open, self.gtid = -1, None
        else:
            if doubted:
                self._doubt.certain(runs.firsts[_certain(events, runs)].tolist())
            found += self._replaced(events, runs)
            found += self._gtids.feed(events, runs, self.facts, self._doubt)
            found += self._beginnings(events, runs, numbered)
            found += self._endings(events, a, b, runs)
            self._keep(events, runs)
        self._gtids.end(self._doubt, b)
        self._doubt.end(b)
        return runs, found

    def damaged(self) -> None:
        """A range was lost after what was taken."""
        self._doubt.now = True

    def end(self, *, cut: bool) -> Iterator[Finding]:
        """The file ends. ``cut``: with damage, which reports the open transaction itself."""
        if self.open >= 0 and not cut and not self._doubt.now:
            yield self._unfinished("the log ends inside it", self._start, self._tables)

    def _unfinished(self, text: str, start: Place | None, tables: _Tables) -> Finding:
        assert start is not None
        names = ", ".join(f"{db}.{table}" for db, table in tables)
        found = f"{text}; it touches {names}" if names else text
        grade = Grade.NOTE if self.facts.relay else None  # its receiver asks for it again
        return finding("unfinished_transaction", start, found, grade=grade)

    @staticmethod
    def _incidents(events: WindowEvents, a: int, b: int) -> Iterator[Found]:
        for item in events.among(a, b):
            body, i = item.event.body, item.i
            if isinstance(body, Incident):
                at = events.place(i, events.gtid(events.running(i)))
                text = f"INCIDENT {body.incident_type}: {body.message}"
                yield i, _INCIDENT, finding("incident", at, text)

    # ---- beginnings ---------------------------------------------------------------------------

    def _replaced(self, events: WindowEvents, runs: EventRuns) -> Iterator[Found]:
        """Transactions that begin before the end of the one before."""
        cut = (np.flatnonzero(runs.records["notes"][:-1] & REPLACED) + 1).tolist()
        if self.open >= 0 and runs.new[0]:
            cut.insert(0, 0)
        for k in cut:
            i = int(runs.firsts[k])
            if not self._doubt.at(i):
                begun = self._begun(events, runs, k - 1) if k else (self._start, self._tables)
                yield i, _REPLACED, self._unfinished("another begins before its end", *begun)

    def _begun(self, events: WindowEvents, runs: EventRuns, k: int) -> tuple[Place | None, _Tables]:
        """Where a transaction began, and its tables so far."""
        first, last = int(runs.firsts[k]), int(runs.lasts[k])
        start, tables = self._start, dict(self._tables)
        if runs.new[k]:
            number = int(runs.numbers[k]) if runs.named[k] else events.running(first)
            start, tables = events.place(first, events.gtid(number)), {}
        return start, tables | events.tables(first, last + 1)

    def _beginnings(self, events: WindowEvents, runs: EventRuns, numbered: bool) -> Iterator[Found]:
        """Transactions that begin without a GTID event; ``numbered``: others before had one."""
        bare = np.flatnonzero(runs.new & ~runs.named)
        if not len(bare):
            return
        firsts = runs.firsts[bare]
        codes, looked = events.types[firsts], events.notes[firsts] & LOOK > 0
        commits = (codes == EventType.QUERY_EVENT) & (runs.records["explicit"][bare] == 0)
        inside = ~looked & (commits | np.isin(codes, _END_TYPES))
        kinds = {item.i: item for item in events.looked} if looked.any() else {}
        for k in np.flatnonzero(looked).tolist():
            item = kinds[int(firsts[k])]
            inside[k] = isinstance(item.event.body, _ENDS) or item.kind in _INSIDE
        for i in firsts[inside].tolist():
            known = self._any or i > runs.firsts[0]
            yield from self._without_begin(events, i, events.running(i), known)
        if not self.facts.has_gtid_events or self.facts.relay:
            return
        others = firsts[~inside]
        if not numbered:
            given = runs.firsts[runs.gtids]
            others = others[others > given[0]] if len(given) else others[:0]
        for i in others.tolist():
            if not self._doubt.at(i):
                at = events.place(i, events.gtid(events.running(i)))
                text = f"{at.type} without a GTID event before it"
                yield i, _BEGIN, finding("no_gtid", at, text)

    def _without_begin(
        self, events: WindowEvents, i: int, number: int, known: bool
    ) -> Iterator[Found]:
        """``known``: whether any event of a transaction stands before it."""
        begins = version_tuple(self.facts.server_version or "") >= _BEGIN_ALWAYS
        if begins and not self._doubt.at(i):
            at = events.place(i, events.gtid(number))
            grade = Grade.NOTE if self.facts.relay and not known else None
            text = f"{at.type} without a beginning before it"
            yield i, _BEGIN, finding("no_begin", at, text, grade=grade)

    # ---- ends ---------------------------------------------------------------------------------

    def _endings(self, events: WindowEvents, a: int, b: int, runs: EventRuns) -> Iterator[Found]:
        records, ended = runs.records, runs.ended
        self.facts.alone += int(np.count_nonzero(records["notes"][ended] & ALONE))
        bare = ended & (records["explicit"] == 0) & ~(runs.new & (runs.firsts == runs.lasts))
        for k in np.flatnonzero(bare & np.isin(records["last_type"], _END_TYPES)).tolist():
            number = int(runs.numbers[k])
            yield from self._without_begin(events, int(runs.lasts[k]), number, True)
        for item in events.among(a, b):
            effect = item.transaction
            if effect is not None and (effect.resolves is not None or effect.outcome == _PREPARED):
                at = events.place(item.i, events.gtid(item.number))
                for found in self._xa.take(self.facts.source, effect, at):
                    yield item.i, _XA, found
        if self.facts.relay:
            return
        length, size = records["length"], records["size"]
        for k in np.flatnonzero(ended & (length >= 0) & (length != size)).tolist():
            i = int(runs.lasts[k])
            if not self._doubt.at(i):
                start = self._begun(events, runs, k)[0]
                assert start is not None
                text = f"{size[k]} bytes, and its GTID event says {length[k]}"
                yield i, _LENGTH, finding("length_mismatch", start, text)

    def _keep(self, events: WindowEvents, runs: EventRuns) -> None:
        """What of the last transaction must be known after these events."""
        self._any = True
        self.open, self.gtid = -1, None
        if not runs.ended[-1]:
            self._start, self._tables = self._begun(events, runs, len(runs.numbers) - 1)
            self.open = int(runs.numbers[-1])
            self.gtid = events.gtid(self.open)


def _certain(events: WindowEvents, runs: EventRuns) -> Any:
    """Which begin with a GTID event, or a statement before which nothing can be missing."""
    plain = events.types[runs.firsts] == EventType.QUERY_EVENT
    plain &= events.notes[runs.firsts] & LOOK == 0
    certain = runs.named | (runs.new & plain & (runs.records["explicit"] > 0))
    for item in events.looked:
        if item.kind in _BEGINS:
            certain |= runs.new & (runs.firsts == item.i)
    return certain
