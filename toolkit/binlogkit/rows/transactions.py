"""Which events make a transaction, and how it ended.

A transaction starts with its GTID event, in logs without one with BEGIN, XA START or the first
event that changes something. It ends with XID, COMMIT, ROLLBACK, XA PREPARE, or, outside BEGIN,
with its only statement. Rows of an XA transaction stand before XA PREPARE (5.7.7+) and count only
when an XA COMMIT follows, maybe files later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from binlogkit.constants import EventType
from binlogkit.events.base import Event
from binlogkit.events.control import Incident, XaPrepare, Xid
from binlogkit.events.early import EarlyRows
from binlogkit.events.gtid import MARIADB_GTID_EVENT, Gtid, opens_transaction
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.payload import TransactionPayload
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock, Query, RowsQuery
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.table_map import TableMap
from binlogkit.events.variables import Intvar, Rand, UserVar
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.xa import xa_id

__all__ = ["Outcome", "Transaction", "TransactionTracker", "belongs", "track_transactions"]

GTID_TYPES = (
    EventType.GTID_LOG_EVENT,
    EventType.ANONYMOUS_GTID_LOG_EVENT,
    EventType.GTID_TAGGED_LOG_EVENT,
    MARIADB_GTID_EVENT,
)


class Outcome(StrEnum):
    """How a transaction ended, as far as the logs that were read tell."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"
    PREPARED = "prepared"  # XA PREPARE without XA COMMIT or XA ROLLBACK in these logs
    CUT = "cut"  # the log ends inside it


@dataclass(slots=True)
class Transaction:
    """One transaction.

    ``number``: 0, 1, … over all logs read together; ``timestamp``, ``end_timestamp``: seconds of
    its first and last event; commit timestamps: µs; ``size``: bytes; ``format``: how its changes
    are logged (row, statement, mixed, none); ``statements``: QUERY events other than BEGIN, COMMIT
    and their like; ``resolved_file``, ``resolved_pos``: where a prepared one was decided;
    ``alone``: its rows stand without GTID, BEGIN and end, and count as committed.
    """

    number: int
    file: str
    pos: int
    end_file: str
    end_pos: int
    server_id: int
    timestamp: int
    end_timestamp: int
    gtid: str | None = None
    thread_id: int | None = None
    xid: int | None = None
    xa: str | None = None
    commit_timestamp: int | None = None
    original_commit_timestamp: int | None = None
    last_committed: int | None = None
    sequence_number: int | None = None
    outcome: Outcome = Outcome.CUT
    resolves: str | None = None
    resolved_file: str | None = None
    resolved_pos: int | None = None
    events: int = 0
    size: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    statements: int = 0
    dml_statements: int = 0
    row_events: int = 0
    compressed: bool = False
    first_query: str | None = None
    tables: dict[tuple[str, str], None] = field(default_factory=dict)
    explicit: bool = False
    alone: bool = False

    @property
    def format(self) -> str:
        """``row``, ``statement``, ``mixed``, or ``none`` (no change of rows: DDL alone, say)."""
        if self.row_events:
            return "mixed" if self.dml_statements else "row"
        return "statement" if self.dml_statements else "none"


class TransactionTracker:
    """Feeds on events and says which transaction each belongs to, and when one has ended."""

    def __init__(self, number: int = 0) -> None:
        self._number = number
        self.open: Transaction | None = None

    def feed(self, event: Event) -> Transaction | None:
        """Take the next event; the transaction that ends with it, else None."""
        raw, body = event.raw, event.body
        code = raw.header.type_code
        if code in GTID_TYPES:
            transaction = self._start(event)
            _count(transaction, event)
            if isinstance(body, Gtid):
                _take_gtid(transaction, body)
            transaction.explicit = opens_transaction(code, body)
            return None
        if self.open is None and not belongs(body):
            return None
        transaction = self.open or self._start(event)
        _count(transaction, event)
        if not self._take(transaction, body):
            return None
        self.open = None
        return transaction

    def _start(self, event: Event) -> Transaction:
        raw = event.raw
        header = raw.header
        self.open = Transaction(
            self._number, raw.file, raw.pos, raw.file, raw.end_pos, header.server_id,
            header.timestamp, header.timestamp,
        )  # fmt: skip
        self._number += 1
        return self.open

    def finish(self) -> Transaction | None:
        """The transaction that the end of the log cuts, if any."""
        transaction, self.open = self.open, None
        return transaction

    def _take(self, transaction: Transaction, body: object) -> bool:
        """Add what ``body`` says; whether the transaction ends with it."""
        if isinstance(body, Query):
            return _take_query(transaction, body)
        if isinstance(body, Xid):
            transaction.xid = body.xid
            transaction.outcome = Outcome.COMMITTED
            return True
        if isinstance(body, XaPrepare):
            transaction.xa = body.xa
            transaction.outcome = Outcome.COMMITTED if body.one_phase else Outcome.PREPARED
            return True
        if isinstance(body, TransactionPayload):
            transaction.compressed = True
        elif isinstance(body, TableMap):
            transaction.tables.setdefault((body.db, body.table))
        elif isinstance(body, (RowsEvent, EarlyRows)):
            transaction.row_events += 1
            ends = bool(body.flags & RowsFlag.STMT_END) and not transaction.explicit
            if ends and transaction.gtid is None:
                transaction.alone = True
                transaction.outcome = Outcome.COMMITTED
                return True
        elif isinstance(body, RowsQuery):
            transaction.first_query = transaction.first_query or body.query
        elif isinstance(body, ExecuteLoadQuery):
            return _take_statement(transaction, body.thread_id, body.query, StatementKind.DML)
        elif isinstance(body, (Load, CreateFile, ExecLoad, DeleteFile)):
            return _take_load(transaction, body)
        elif isinstance(body, Incident):
            transaction.outcome = Outcome.COMMITTED
            return True
        return False


def _count(transaction: Transaction, event: Event) -> None:
    raw = event.raw
    transaction.events += 1
    if raw.inner is None:
        transaction.size += raw.header.size
    transaction.end_file, transaction.end_pos = raw.file, raw.end_pos
    transaction.end_timestamp = raw.header.timestamp


def belongs(body: object) -> bool:
    """Whether an event is part of a transaction; others stand between them, or say how to read."""
    kinds = (
        Query, ExecuteLoadQuery, LoadBlock, RowsQuery, RowsEvent, TableMap, Intvar, Rand, UserVar,
        TransactionPayload, Xid, XaPrepare, EarlyRows, Load, CreateFile, ExecLoad, DeleteFile,
    )  # fmt: skip
    return isinstance(body, kinds)


def _take_load(transaction: Transaction, body: Load | CreateFile | ExecLoad | DeleteFile) -> bool:
    """LOAD DATA of servers before 5.0.3: by itself, or from CREATE_FILE to what became of it."""
    if isinstance(body, (Load, CreateFile)):
        load = body if isinstance(body, Load) else body.load
        transaction.thread_id = load.thread_id
        transaction.statements += 1
        transaction.first_query = transaction.first_query or load.query
        transaction.tables.setdefault((load.db, load.table))
    if transaction.explicit or isinstance(body, CreateFile):
        return False
    failed = isinstance(body, DeleteFile)
    transaction.outcome = Outcome.ROLLED_BACK if failed else Outcome.COMMITTED
    return True


def _take_gtid(transaction: Transaction, body: Gtid) -> None:
    transaction.gtid = body.gtid
    transaction.commit_timestamp = body.immediate_commit_timestamp
    transaction.original_commit_timestamp = body.original_commit_timestamp
    transaction.last_committed = body.last_committed
    transaction.sequence_number = body.sequence_number


def _take_statement(
    transaction: Transaction, thread_id: int, query: str, kind: StatementKind
) -> bool:
    transaction.thread_id = thread_id
    transaction.statements += 1
    transaction.dml_statements += kind == StatementKind.DML
    transaction.first_query = transaction.first_query or query
    if transaction.explicit:
        return False
    transaction.outcome = Outcome.COMMITTED
    return True


def _take_query(transaction: Transaction, body: Query) -> bool:
    kind = statement_kind(body.query, body.status_vars.sql_mode)
    if kind in (StatementKind.BEGIN, StatementKind.XA_START):
        transaction.explicit = True
        transaction.thread_id = body.thread_id
        if kind == StatementKind.XA_START:
            transaction.xa = xa_id(body.query)
        return False
    if kind in (StatementKind.COMMIT, StatementKind.ROLLBACK):
        committed = kind == StatementKind.COMMIT
        transaction.outcome = Outcome.COMMITTED if committed else Outcome.ROLLED_BACK
        return True
    if kind in (StatementKind.XA_COMMIT, StatementKind.XA_ROLLBACK):
        committed = kind == StatementKind.XA_COMMIT
        transaction.thread_id = body.thread_id
        transaction.outcome = Outcome.COMMITTED if committed else Outcome.ROLLED_BACK
        transaction.resolves = transaction.xa = xa_id(body.query)
        return True
    if kind in _INSIDE:
        return False
    return _take_statement(transaction, body.thread_id, body.query, kind)


_INSIDE = (
    StatementKind.SAVEPOINT,
    StatementKind.ROLLBACK_TO,
    StatementKind.RELEASE_SAVEPOINT,
    StatementKind.XA_END,
)


def track_transactions(events: Iterable[Event], number: int = 0) -> Iterator[Transaction]:
    """The transactions of one log, numbered from ``number``; a cut one last."""
    tracker = TransactionTracker(number)
    for event in events:
        if tracker.open is not None and event.raw.header.type_code in GTID_TYPES:
            yield tracker.open
        ended = tracker.feed(event)
        if ended is not None:
            yield ended
    cut = tracker.finish()
    if cut is not None:
        yield cut
