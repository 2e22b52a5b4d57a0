"""What the events that Python read tell besides rows: statements, and boundaries of tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.rows.ddl import StatementKind
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition
from binlogkit.rows.window import Looked

__all__ = ["LoggedBoundary", "Statement", "boundaries_of", "in_small_letters", "statement_of"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that the log holds as text; ``kind``: one of StatementKind."""

    source: str | None
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
class LoggedBoundary:
    """A point where a table's history changes other than by rows; ``action``: see TableChange.

    ``columns``, ``key``: the table's from here on, None where they are not known or it is gone;
    ``sql_mode``: the session's, as a mask, None where the log does not tell it.
    """

    source: str | None
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


def statement_of(item: Looked, source: str | None, gtid: str | None) -> Statement | None:
    """The statement of an event that Python read, None for other events."""
    body, raw = item.event.body, item.event.raw
    if not isinstance(body, (Query, ExecuteLoadQuery)):
        return None
    return Statement(
        source, raw.file, raw.pos, raw.end_pos, raw.inner, raw.header.timestamp,
        raw.header.server_id, gtid, body.thread_id, body.schema, body.query,
        str(item.kind or StatementKind.DML), body.exec_time, body.error_code,
    )  # fmt: skip


def boundaries_of(
    item: Looked, source: str | None, seq: int, gtid: str | None, commit_timestamp: int | None
) -> Iterator[LoggedBoundary]:
    """What an event of a source's logs does to tables; ``seq``: its place; the others: its
    transaction's."""
    raw, body = item.event.raw, item.event.body
    text, mode = "", None
    if isinstance(body, (Query, ExecuteLoadQuery)):
        text, mode = body.query, body.status_vars.sql_mode
    tx = None if item.number < 0 else item.number
    for i, change in enumerate(item.changes):
        yield LoggedBoundary(
            source, raw.file, raw.pos, raw.end_pos, raw.inner, seq + i, tx, raw.header.timestamp,
            commit_timestamp, gtid, change.db, change.table, change.action,
            change.new_db, change.new_table, *_layout(change.definition), change.reason, text,
            mode,
        )  # fmt: skip


def in_small_letters(boundary: LoggedBoundary) -> LoggedBoundary:
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
