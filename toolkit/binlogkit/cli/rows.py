"""``binlogkit rows``: one record per row change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from binlogkit.cli.record_command import Batches, record_command
from binlogkit.frames.fields.rows import ROW

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.rows.filter_args import FilterArgs

__all__ = ["command"]

VIEW = ("pos", "inner", "timestamp", "gtid", "db", "table", "op", "before", "after")


def _read(log: Log, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, object]]:
    return log.row_records(**filters)


def _batches(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    from binlogkit.frames.tables import generic_schema

    return generic_schema(), log.generic_batches(compact=True, **filters)


command = record_command("rows", "One record per row change.", _read, ROW, VIEW, _batches)
