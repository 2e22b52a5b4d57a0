"""``binlogkit transactions``: one record per transaction, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from binlogkit.cli.record_command import record_command
from binlogkit.frames.fields.ledger import TRANSACTION

if TYPE_CHECKING:
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


command = record_command(
    "transactions", "One record per transaction, with its outcome.", _read, TRANSACTION, VIEW
)
