"""What a walk tells besides rows: transactions and their outcome, statements, table boundaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from binlogkit.errors import DamageError, InputError
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.filters import Filters
from binlogkit.rows.images import Decoders
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition
from binlogkit.rows.transactions import Outcome, Transaction
from binlogkit.rows.walk import LogWalk, Step

__all__ = [
    "Boundary",
    "Ledger",
    "Statement",
    "boundaries_of",
    "in_small_letters",
    "read_transactions",
    "statement_of",
    "wanted_transactions",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that the log holds as text; ``kind``: one of StatementKind."""

    file: str
    pos: int
    end_pos: int
    inner: int | None
    timestamp: int
    server_id: int
    gtid: str | None
    thread_id: int
    db: str
    query: str
    kind: str
    exec_time: int
    error_code: int


@dataclass(frozen=True, slots=True)
class Boundary:
    """A point where a table's history changes other than by rows; ``action``: see TableChange.

    ``columns``, ``key``: the table's from here on, None where they are not known or it is gone;
    ``sql_mode``: the session's, as a mask, None where the log does not tell it.
    """

    file: str
    pos: int
    end_pos: int
    inner: int | None
    seq: int
    tx: int | None
    timestamp: int
    commit_timestamp: int | None
    gtid: str | None
    db: str | None
    table: str | None
    action: str
    new_db: str | None
    new_table: str | None
    columns: tuple[str, ...] | None
    key: tuple[str, ...] | None
    reason: str | None
    statement: str
    sql_mode: int | None


def statement_of(step: Step) -> Statement | None:
    """The statement of a step, None for other events."""
    body, raw = step.event.body, step.event.raw
    if not isinstance(body, (Query, ExecuteLoadQuery)):
        return None
    kind = StatementKind.DML
    if isinstance(body, Query):
        kind = statement_kind(body.query, body.status_vars.sql_mode)
    return Statement(
        raw.file, raw.pos, raw.end_pos, raw.inner, raw.header.timestamp, raw.header.server_id,
        step.transaction.gtid if step.transaction else None, body.thread_id, body.schema,
        body.query, str(kind), body.exec_time, body.error_code,
    )  # fmt: skip


def boundaries_of(step: Step) -> Iterator[Boundary]:
    """What a step's statement does to tables."""
    raw, transaction, body = step.event.raw, step.transaction, step.event.body
    text, mode = "", None
    if isinstance(body, (Query, ExecuteLoadQuery)):
        text, mode = body.query, body.status_vars.sql_mode
    for i, change in enumerate(step.changes):
        yield Boundary(
            raw.file, raw.pos, raw.end_pos, raw.inner, step.seq + i,
            transaction.number if transaction else None, raw.header.timestamp,
            transaction.commit_timestamp if transaction else None,
            transaction.gtid if transaction else None, change.db, change.table, change.action,
            change.new_db, change.new_table, *_layout(change.definition), change.reason, text,
            mode,
        )  # fmt: skip


def in_small_letters(boundary: Boundary) -> Boundary:
    """``boundary`` with the names that a server with lower_case_table_names=1 stores."""
    names = ("db", "table", "new_db", "new_table")
    told = {name: getattr(boundary, name) for name in names}
    return replace(boundary, **{name: text and text.lower() for name, text in told.items()})


def _layout(
    definition: TableDefinition | None,
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    if definition is None:
        return None, None
    return tuple(c.name for c in definition.columns), key_of(definition)[0]


def read_transactions(walk: LogWalk) -> list[Transaction]:
    """All transactions of a walk, rows counted, prepared ones resolved where these logs say how.

    Damage in ``stop`` mode ends the list with the transaction that it cuts; it is in
    ``walk.damages``. A log that cannot be read is left out, and is in ``walk.unreadable``.
    """
    ledger = Ledger(walk, walk.damages)
    try:
        for step in walk:
            ledger.take(step)
            if ledger.ended:
                break
    except DamageError as error:
        walk.damages.append(error)
    except InputError:
        if walk.unreadable is None:
            raise
    return ledger.transactions()


class Ledger:
    """The transactions of a walk's steps, with their rows counted.

    ``damages``: is told of rows that cannot be read, which in ``stop`` mode end the ledger.
    """

    def __init__(self, walk: LogWalk, damages: list[DamageError]) -> None:
        self._found: dict[int, Transaction] = {}
        self._decoders = Decoders()
        self._stops = walk.options.on_damage == "stop"
        self._damages = damages
        self.ended = False

    def take(self, step: Step) -> None:
        """Take the next step."""
        transaction = step.transaction
        if transaction is None or self.ended:
            return
        self._found.setdefault(transaction.number, transaction)
        if isinstance(step.event.body, RowsEvent) and step.schema is not None:
            self._count(step, transaction)

    def transactions(self) -> list[Transaction]:
        """Those of all steps, prepared ones resolved."""
        transactions = list(self._found.values())
        _resolve(transactions)
        return transactions

    def _count(self, step: Step, transaction: Transaction) -> None:
        assert step.schema is not None and isinstance(step.event.body, RowsEvent)
        decoder = self._decoders.of(step.schema, step.server_version)
        op = step.event.body.op
        try:
            for _ in decoder.rows(step.event):
                if op == "insert":
                    transaction.inserts += 1
                elif op == "update":
                    transaction.updates += 1
                else:
                    transaction.deletes += 1
        except DamageError as error:
            self._damages.append(error)
            self.ended = self._stops


def _resolve(transactions: Iterable[Transaction]) -> None:
    """Join XA COMMIT and XA ROLLBACK with the transaction they decide."""
    prepared: dict[str, Transaction] = {}
    for transaction in transactions:
        if transaction.outcome == Outcome.PREPARED and transaction.xa is not None:
            prepared[transaction.xa] = transaction
        elif transaction.resolves is not None:
            decided = prepared.pop(transaction.resolves, None)
            if decided is not None:
                decided.outcome = transaction.outcome
                decided.resolved_file = transaction.file
                decided.resolved_pos = transaction.pos


def wanted_transactions(
    transactions: Iterable[Transaction], filters: Filters, first: str, last: str
) -> Iterator[Transaction]:
    """Those that the filters want; a position counts by the transaction's start."""
    for transaction in transactions:
        at = transaction.pos
        if filters.wants_position(
            at, transaction.file == first, transaction.file == last
        ) and filters.wants_transaction(transaction):
            yield transaction
