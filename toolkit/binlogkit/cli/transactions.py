"""``binlogkit transactions``: one record per transaction, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.cli.record_command import record_command

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log import Log

__all__ = ["command"]

VIEW = (
    "file",
    "pos",
    "end_pos",
    "gtid",
    "thread_id",
    "timestamp",
    "outcome",
    "rows",
    "tables",
    "size",
)


def _read(log: Log, **filters: Any) -> Iterator[dict[str, object]]:
    return log.transaction_records(**filters)


def _keys() -> Sequence[str]:
    from binlogkit.frames.ledgers import TRANSACTION_KEYS

    return TRANSACTION_KEYS


def _batches(log: Log, **filters: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    from binlogkit.frames.ledgers import TRANSACTION_KEYS, ledger_schema

    def found() -> Iterator[pa.RecordBatch]:
        yield from log.transaction_table(**filters).to_batches()
        if log.unreadable is not None:
            raise log.unreadable

    return ledger_schema(TRANSACTION_KEYS), found()


command = record_command(
    "transactions", "One record per transaction, with its outcome.", _read, _keys, VIEW, _batches
)
