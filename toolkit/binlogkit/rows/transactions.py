"""Which events make a transaction, and how it ended.

A transaction starts with its GTID event, in logs without one with BEGIN, XA START or the first
event that changes something. It ends with XID, COMMIT, ROLLBACK, XA PREPARE, or, outside BEGIN,
with its only statement. Rows of an XA transaction stand before XA PREPARE (5.7.7+) and count only
when an XA COMMIT follows, maybe files later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from binlogkit.constants import EventType, TableId
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

GTID_TYPES = (
    EventType.GTID_LOG_EVENT,
    EventType.ANONYMOUS_GTID_LOG_EVENT,
    EventType.GTID_TAGGED_LOG_EVENT,
    MARIADB_GTID_EVENT,
)


class Outcome(StrEnum):
    """How a transaction ended, as far as the logs that were read show."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"
    PREPARED = "prepared"  # XA PREPARE without XA COMMIT or XA ROLLBACK in these logs
    CUT = "cut"  # the log ends inside it


@dataclass(slots=True)
class Transaction:
    """What events say of their transaction, each alone, or one after the other.

    ``number``: 0, 1, … over all logs read together; ``file``, ``pos``: where it begins; commit
    timestamps: µs; ``statements``: QUERY events other than BEGIN, COMMIT and their like;
    ``resolves``: the XA transaction that it decides; ``explicit``: it has a BEGIN, ``numbered``: a
    GTID event; ``alone``: its rows stand without these and an end, and count as committed.
    """

    number: int = 0
    file: str = ""
    pos: int = 0
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
    statements: int = 0
    dml_statements: int = 0
    row_events: int = 0
    first_query: str | None = None
    tables: dict[TableId, None] = field(default_factory=dict)
    explicit: bool = False
    numbered: bool = False
    alone: bool = False

    def take(self, event: Event) -> bool:
        """Add what an event of it says; whether the transaction ends with it."""
        body = event.body
        if event.raw.header.type_code in GTID_TYPES:
            self._take_gtid(event)
        elif isinstance(body, Query):
            return self._take_query(body)
        elif isinstance(body, Xid):
            self.xid = body.xid
            return self._end(committed=True)
        elif isinstance(body, XaPrepare):
            self.xa = body.xa
            self.outcome = Outcome.COMMITTED if body.one_phase else Outcome.PREPARED
            return True
        elif isinstance(body, TableMap):
            self.tables.setdefault((body.db, body.table))
        elif isinstance(body, (RowsEvent, EarlyRows)):
            self.row_events += 1
            ends = bool(body.flags & RowsFlag.STMT_END) and not self.explicit
            self.alone = self.alone or (ends and not self.numbered)
            return self.alone and self._end(committed=True)
        elif isinstance(body, RowsQuery):
            self.first_query = self.first_query or body.query
        elif isinstance(body, ExecuteLoadQuery):
            return self._take_statement(body.thread_id, body.query, StatementKind.DML)
        elif isinstance(body, (Load, CreateFile, ExecLoad, DeleteFile)):
            return self._take_load(body)
        return isinstance(body, Incident) and self._end(committed=True)

    def _end(self, *, committed: bool) -> bool:
        self.outcome = Outcome.COMMITTED if committed else Outcome.ROLLED_BACK
        return True

    def _take_gtid(self, event: Event) -> None:
        body = event.body
        self.explicit = opens_transaction(event.raw.header.type_code, body)
        if isinstance(body, Gtid):
            self.numbered = True
            self.gtid = body.gtid
            self.commit_timestamp = body.immediate_commit_timestamp
            self.original_commit_timestamp = body.original_commit_timestamp
            self.last_committed = body.last_committed
            self.sequence_number = body.sequence_number

    def _take_load(self, body: Load | CreateFile | ExecLoad | DeleteFile) -> bool:
        """LOAD DATA of servers before 5.0.3: by itself, or from CREATE_FILE to what became of
        it."""
        if isinstance(body, (Load, CreateFile)):
            load = body if isinstance(body, Load) else body.load
            self.thread_id = load.thread_id
            self.statements += 1
            self.first_query = self.first_query or load.query
            self.tables.setdefault((load.db, load.table))
        if self.explicit or isinstance(body, CreateFile):
            return False
        return self._end(committed=not isinstance(body, DeleteFile))

    def _take_statement(self, thread_id: int, query: str, kind: StatementKind) -> bool:
        self.thread_id = thread_id
        self.statements += 1
        self.dml_statements += kind == StatementKind.DML
        self.first_query = self.first_query or query
        return not self.explicit and self._end(committed=True)

    def _take_query(self, body: Query) -> bool:
        kind = statement_kind(body.query, body.status_vars.sql_mode)
        if kind in (StatementKind.BEGIN, StatementKind.XA_START):
            self.explicit = True
            self.thread_id = body.thread_id
            if kind == StatementKind.XA_START:
                self.xa = xa_id(body.query)
            return False
        if kind in (StatementKind.COMMIT, StatementKind.ROLLBACK):
            return self._end(committed=kind == StatementKind.COMMIT)
        if kind in (StatementKind.XA_COMMIT, StatementKind.XA_ROLLBACK):
            self.thread_id = body.thread_id
            self.resolves = self.xa = xa_id(body.query)
            return self._end(committed=kind == StatementKind.XA_COMMIT)
        return kind not in _INSIDE and self._take_statement(body.thread_id, body.query, kind)


_INSIDE = (
    StatementKind.SAVEPOINT,
    StatementKind.ROLLBACK_TO,
    StatementKind.RELEASE_SAVEPOINT,
    StatementKind.XA_END,
)


# As the server writes ids (XA_COMMIT, XA_ROLLBACK and XA_START in a log of 5.7.22 and 8.0.31).
_HEX_ID = re.compile(r"X'([0-9a-f]*)'\s*(?:,\s*X'([0-9a-f]*)'\s*(?:,\s*(\d+))?)?", re.IGNORECASE)


def xa_id(query: str) -> str | None:
    """``X'gtrid',X'bqual',format_id`` in lower-case hex; None when the statement has no such id."""
    match = _HEX_ID.search(query)
    if match is None:
        return None
    gtrid, bqual, format_id = match.groups()
    return f"X'{gtrid.lower()}',X'{(bqual or '').lower()}',{format_id or 1}"


def belongs(body: object) -> bool:
    """Whether an event is part of a transaction; others stand between them, or say how to read."""
    kinds = (
        Query, ExecuteLoadQuery, LoadBlock, RowsQuery, RowsEvent, TableMap, Intvar, Rand, UserVar,
        TransactionPayload, Xid, XaPrepare, EarlyRows, Load, CreateFile, ExecLoad, DeleteFile,
    )  # fmt: skip
    return isinstance(body, kinds)


def transaction_of(event: Event, opened: Transaction | None) -> tuple[Transaction | None, bool]:
    """The transaction of an event, None for none, and whether it ends with it.

    ``opened``: the one that is open before it, which takes what the event says.
    """
    raw = event.raw
    if raw.header.type_code in GTID_TYPES or (opened is None and belongs(event.body)):
        opened = Transaction(0, raw.file, raw.pos)
    return opened, opened is not None and opened.take(event)
