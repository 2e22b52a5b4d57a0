"""The shape of transactions: their begin and end, their GTIDs and numbers, their length, XA.

A server's binary log numbers its transactions 1, 2, 3 … in every file (``sequence_number``, 5.7+),
and says for each on which it depends (``last_committed``, a smaller number); 0 is none. From 8.0.1
on a GTID event knows its transaction's length in bytes. A relay log keeps the source's numbers and
lengths, which begin anew when the source's file does.
"""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit.analyses.verify.file_facts import FileFacts
from binlogkit.analyses.verify.finding import Finding, Grade, Place, finding, place_of
from binlogkit.analyses.verify.gtid_ledger import GtidLedger
from binlogkit.events.base import Event
from binlogkit.events.control import Incident, XaPrepare, Xid
from binlogkit.events.gtid import Gtid
from binlogkit.events.query import Query
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.transactions import (
    GTID_TYPES,
    Outcome,
    Transaction,
    TransactionTracker,
    belongs,
)
from binlogkit.sources.log_format import version_tuple

__all__ = ["TransactionChecks", "XaLedger"]

_BEGIN_ALWAYS = (5, 5, 0)  # servers before it write a single statement's XID without a BEGIN
_BEGINS = (StatementKind.BEGIN, StatementKind.XA_START)
_ENDS = (Xid, XaPrepare)
_INSIDE = (
    StatementKind.SAVEPOINT,
    StatementKind.ROLLBACK_TO,
    StatementKind.RELEASE_SAVEPOINT,
    StatementKind.XA_END,
)


class XaLedger:
    """XA transactions that were prepared, over all files read together."""

    def __init__(self) -> None:
        self._prepared: dict[str, Place] = {}

    def take(self, transaction: Transaction, at: Place) -> Iterator[Finding]:
        """Take a transaction that ended at ``at``."""
        if transaction.outcome == Outcome.PREPARED and transaction.xa is not None:
            self._prepared[transaction.xa] = at
        elif transaction.resolves is not None and not self._prepared.pop(
            transaction.resolves, None
        ):
            yield finding("xa_unprepared", at, f"XA {transaction.resolves}")

    def end(self) -> Iterator[Finding]:
        """Those that nothing decided."""
        for xa, at in self._prepared.items():
            yield finding("xa_unresolved", at, f"XA {xa} was prepared")


class TransactionChecks:
    """Fed with every event of a file, in order.

    ``seen``: the GTIDs of the series so far; ``xa``: see :class:`XaLedger`.
    """

    def __init__(self, facts: FileFacts, seen: GtidLedger, xa: XaLedger) -> None:
        self.facts = facts
        self._seen = seen
        self._xa = xa
        self._tracker = TransactionTracker()
        self._start: Place | None = None
        self._length: int | None = None
        self._sequence = 0
        self._numbered = False
        self._any = False
        self._doubt = False  # damage since the last certain start of a transaction

    @property
    def open(self) -> Transaction | None:
        """The transaction that is open."""
        return self._tracker.open

    @property
    def gtid(self) -> str | None:
        """Its GTID."""
        return self._tracker.open.gtid if self._tracker.open else None

    def damaged(self) -> None:
        """A range was lost: what follows need not join what came before."""
        self._doubt = True

    def feed(self, event: Event, number: int) -> Iterator[Finding]:
        """Take the next event; what it shows. Whether a transaction ended tells :meth:`ended`."""
        self.ended: Transaction | None = None
        if self.facts.foreign:
            return
        body = event.body
        if isinstance(body, Incident):
            text = f"INCIDENT {body.incident_type}: {body.message}"
            yield finding("incident", place_of(event, number, self.gtid), text)
        yield from self._start_of(event, number)
        self.ended = self._tracker.feed(event)
        if self.ended is not None:
            self.facts.alone += self.ended.alone
            yield from self._end_of(self.ended, event, number)

    def end(self, *, cut: bool) -> Iterator[Finding]:
        """The file ends. ``cut``: with damage, which tells of the open transaction itself."""
        if self._tracker.open is not None and not cut and not self._doubt:
            grade = Grade.NOTE if self.facts.relay else None
            yield self._unfinished("the log ends inside it", grade)

    def _unfinished(self, text: str, grade: Grade | None = None) -> Finding:
        transaction = self._tracker.open
        assert transaction is not None and self._start is not None
        tables = ", ".join(f"{db}.{table}" for db, table in transaction.tables)
        found = f"{text}; it touches {tables}" if tables else text
        return finding("unfinished_transaction", self._start, found, grade=grade)

    def _start_of(self, event: Event, number: int) -> Iterator[Finding]:
        """What an event says that begins a transaction, or should have been preceded by one."""
        body, running = event.body, self._tracker.open
        is_gtid = event.raw.header.type_code in GTID_TYPES
        kind = _kind(body)
        if running is None and not (is_gtid or belongs(body)):
            return
        self._any, known = True, self._any
        usual = running is not None and kind not in _BEGINS and not isinstance(body, _ENDS)
        if usual and not is_gtid:
            return
        at = place_of(event, number, body.gtid if isinstance(body, Gtid) else self.gtid)
        if is_gtid or (running is not None and running.explicit and kind in _BEGINS):
            if running is not None and not self._doubt:
                grade = Grade.NOTE if self.facts.relay else None  # its receiver asked for it again
                yield self._unfinished("another begins before its end", grade)
            if not is_gtid:
                self._tracker.finish()
                running = None
        if is_gtid:
            self._start, self._length = at, None
            if isinstance(body, Gtid):
                yield from self._numbers(body, at)
            self._doubt = False
        elif running is None:
            self._start, self._length = at, None
            yield from self._beginning(event, kind, at, known)
        elif not running.explicit and isinstance(body, _ENDS):
            yield from self._without_begin(event, at, known)

    def _beginning(
        self, event: Event, kind: StatementKind | None, at: Place, known: bool
    ) -> Iterator[Finding]:
        """A transaction begins without a GTID event; ``known``: whether any was seen before."""
        if isinstance(event.body, _ENDS) or kind in (*_INSIDE, StatementKind.COMMIT):
            yield from self._without_begin(event, at, known)
        elif self.facts.has_gtid_events and self._numbered and not self._doubt:
            if self.facts.relay:
                return
            yield finding("no_gtid", at, f"{event.type} without a GTID event before it")
        if kind in _BEGINS:
            self._doubt = False

    def _without_begin(self, event: Event, at: Place, known: bool) -> Iterator[Finding]:
        begins = version_tuple(self.facts.server_version or "") >= _BEGIN_ALWAYS
        if self._doubt or not begins:
            return
        grade = Grade.NOTE if self.facts.relay and not known else None
        yield finding("no_begin", at, f"{event.type} without a beginning before it", grade=grade)

    def _numbers(self, body: Gtid, at: Place) -> Iterator[Finding]:
        self._length = body.transaction_length
        self._numbered = True
        if body.gtid is not None:
            self.facts.gtids.add(body.gtid)
            if not self._seen.add(body.gtid):
                yield finding("gtid_repeated", at, f"{body.gtid} was there before")
        number, before = body.sequence_number, self._sequence
        if not number:
            return
        self._sequence = number
        if body.last_committed is not None and body.last_committed >= number:
            text = f"last_committed {body.last_committed}, sequence_number {number}"
            yield finding("last_committed", at, text)
        if self.facts.relay or self._doubt:
            return
        if number > before + 1:
            missing = number - before - 1
            text = f"sequence_number {number} follows {before}: {missing} are missing between"
            yield finding("sequence_gap", at, text)
        elif number <= before:
            yield finding("sequence_back", at, f"sequence_number {number} follows {before}")

    def _end_of(self, ended: Transaction, event: Event, number: int) -> Iterator[Finding]:
        at = place_of(event, number, ended.gtid)
        yield from self._xa.take(ended, at)
        exact = self._length is not None and not self._doubt and not self.facts.relay
        if exact and self._length != ended.size:
            text = f"{ended.size} bytes, and its GTID event says {self._length}"
            yield finding("length_mismatch", self._start or at, text)


def _kind(body: object) -> StatementKind | None:
    if not isinstance(body, Query):
        return None
    return statement_kind(body.query, body.status_vars.sql_mode)
