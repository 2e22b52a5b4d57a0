"""``binlogkit transactions``: one record per transaction, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from binlogkit.cli.record_command import record_command
from binlogkit.frames.fields.ledger import TRANSACTION

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log import Log
    from binlogkit.rows.filter_args import FilterArgs

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


def _read(log: Log, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, object]]:
    return log.transaction_records(**filters)


def _batches(log: Log, **filters: Unpack[FilterArgs]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    from binlogkit.frames.fields.field import arrow_schema

    def found() -> Iterator[pa.RecordBatch]:
        yield from log.transaction_table(**filters).to_batches()
        if log.unreadable is not None:
            raise log.unreadable

    return arrow_schema(TRANSACTION), found()


command = record_command(
    "transactions", "One record per transaction, with its outcome.", _read, TRANSACTION, VIEW,
    _batches,
)  # fmt: skip
