"""``binlogkit events``: one record per event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from binlogkit.cli.record_command import Batches, record_command
from binlogkit.frames.fields.ledger import EVENT

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.rows.filter_args import FilterArgs

__all__ = ["command"]

VIEW = ("pos", "end_pos", "inner", "timestamp", "type", "server_id", "gtid", "fields")


def _read(log: Log, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, object]]:
    return log.event_records(**filters)


def _batches(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    from binlogkit.frames.fields.field import arrow_schema

    return arrow_schema(EVENT), log.event_batches(compact=True, **filters)


command = record_command("events", "One record per event.", _read, EVENT, VIEW, _batches)
