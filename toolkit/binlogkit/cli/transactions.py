"""``binlogkit transactions``: one record per transaction, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from binlogkit.cli.record_command import record_command
from binlogkit.frames.fields.ledger import TRANSACTION

if TYPE_CHECKING:
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


command = record_command(
    "transactions", "One record per transaction, with its outcome.", _read, TRANSACTION, VIEW
)
