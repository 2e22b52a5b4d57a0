"""Transactions, statements and table boundaries as records and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from binlogkit.rows.ledger import Boundary, Statement
from binlogkit.rows.transactions import Transaction

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BOUNDARY_KEYS",
    "STATEMENT_KEYS",
    "TRANSACTION_KEYS",
    "ledger_schema",
    "plain_record",
    "to_table",
    "transaction_record",
]

TRANSACTION_KEYS = (
    "tx", "source", "file", "pos", "end_file", "end_pos", "gtid", "server_id", "thread_id", "xid",
    "xa", "timestamp", "end_timestamp", "commit_timestamp", "original_commit_timestamp", "outcome",
    "resolved_file", "resolved_pos", "events", "size", "inserts", "updates", "deletes", "rows",
    "tables", "statements", "format", "compressed", "last_committed", "sequence_number",
    "first_query",
)  # fmt: skip
STATEMENT_KEYS = (
    "source", "file", "pos", "end_pos", "inner", "timestamp", "server_id", "gtid", "thread_id",
    "db", "query", "kind", "exec_time", "error_code",
)  # fmt: skip
BOUNDARY_KEYS = (
    "source", "file", "pos", "end_pos", "inner", "seq", "tx", "timestamp", "commit_timestamp",
    "gtid", "db", "table", "action", "new_db", "new_table", "columns", "key", "reason", "statement",
    "sql_mode",
)  # fmt: skip

_TEXT = frozenset(
    {
        "source", "file", "end_file", "gtid", "xa", "outcome", "resolved_file", "format",
        "first_query", "db", "query", "kind", "table", "action", "new_db", "new_table", "reason",
        "statement",
    }
)  # fmt: skip


def ledger_schema(keys: Iterable[str]) -> pa.Schema:
    """The Arrow schema of a frame with these columns: text, int64, uint64 for ``xid``."""
    import pyarrow as pa

    names = pa.list_(pa.string())
    special = {"xid": pa.uint64(), "compressed": pa.bool_()}
    special |= dict.fromkeys(("tables", "columns", "key"), names)
    return pa.schema(
        [pa.field(k, special.get(k, pa.string() if k in _TEXT else pa.int64())) for k in keys]
    )


def transaction_record(transaction: Transaction, source: str | None = None) -> dict[str, Any]:
    """One transaction's record; ``tables``: ``db.table`` in the order they were touched."""
    special = {
        "tx": transaction.number,
        "source": source,
        "outcome": str(transaction.outcome),
        "rows": transaction.inserts + transaction.updates + transaction.deletes,
        "tables": [f"{db}.{table}" for db, table in transaction.tables],
    }
    return {k: special[k] if k in special else getattr(transaction, k) for k in TRANSACTION_KEYS}


def plain_record(
    item: Statement | Boundary, keys: Iterable[str], source: str | None = None
) -> dict[str, Any]:
    """A statement's or a boundary's record."""
    return {k: source if k == "source" else getattr(item, k) for k in keys}


def to_table(records: Iterable[dict[str, Any]], keys: tuple[str, ...]) -> pa.Table:
    """Records as an Arrow table with the ledger's schema."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(records), schema=ledger_schema(keys))
