"""``binlogkit events``: one record per event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.cli.record_command import record_command

if TYPE_CHECKING:
    from binlogkit.log import Log

__all__ = ["command"]

VIEW = ("pos", "end_pos", "inner", "timestamp", "type", "server_id", "gtid", "fields")


def _read(log: Log, **filters: Any) -> Iterator[dict[str, object]]:
    return log.event_records(**filters)


def _keys() -> Sequence[str]:
    from binlogkit.frames.event_records import EVENT_KEYS

    return EVENT_KEYS


command = record_command("events", "One record per event.", _read, _keys, VIEW)
