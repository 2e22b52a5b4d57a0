"""Events -> records in the public contract's form (``events --format jsonl``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from binlogkit.events.base import Event
from binlogkit.events.control import Incident
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import OptionalMetadata
from binlogkit.events.variables import UserVar
from binlogkit.rows.steps import Step
from binlogkit.sources.raw import flag_names

__all__ = ["SPARSE", "event_record", "event_records", "record_keys"]

# Of these only what the event carries is shown.
SPARSE = (StatusVars, OptionalMetadata)


def _plain(value: object) -> object:
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex().upper()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    return value


def _fields(body: object) -> dict[str, object]:
    sparse = isinstance(body, SPARSE)
    out: dict[str, object] = {}
    for item in fields(body):  # type: ignore[arg-type]
        if not item.metadata.get("record", True):
            continue
        value = getattr(body, item.name)
        if sparse and value is None:
            continue
        out[item.name] = _plain(value)
    for name, show in _SHOWN.get(type(body), {}).items():
        out[name] = _plain(show(body))
    return out


# What is shown otherwise than as stored.
_SHOWN: dict[type, dict[str, Callable[[Any], object]]] = {
    RowsEvent: {"flags": lambda body: _rows_flags(body.flags)},
    FormatDescription: {"post_header_lengths": lambda body: body.lengths_by_type},
    Incident: {"incident": lambda body: body.incident},
    TransactionContext: {"snapshot_gtids": lambda body: body.snapshot_gtids},
    UserVar: {"charset": lambda body: body.charset, "decoded": lambda body: body.decoded},
}


def _joined(event: Event) -> dict[str, object]:
    """What other events say for a statement, where they do."""
    parts = {"variables": event.variables, "file": event.file}
    return {name: _plain(part) for name, part in parts.items() if part}


def _unread(event: Event) -> dict[str, object]:
    """The bytes that no field holds, where there are any."""
    parts = {"unread": event.unread, "unread_post_header": event.unread_post_header}
    return {name: _plain(data) for name, data in parts.items() if data}


def _rows_flags(flags: int) -> list[str | int]:
    known = RowsFlag._value2member_map_
    return [
        RowsFlag(bit).name or bit if bit in known else bit
        for bit in (1 << i for i in range(16))
        if flags & bit
    ]


def record_keys(body: type) -> list[str]:
    """The keys of a body's record, in their order."""
    stored = [f.name for f in fields(body) if f.metadata.get("record", True)]
    return list(dict.fromkeys([*stored, *_SHOWN.get(body, {})]))


def event_record(event: Event, gtid: str | None) -> dict[str, object]:
    """One event's record; ``gtid``: of the transaction that it belongs to."""
    raw = event.raw
    header = raw.header
    return {
        "file": raw.file,
        "pos": raw.pos,
        "end_pos": raw.end_pos,
        "inner": raw.inner,
        "size": header.size,
        "timestamp": header.timestamp,
        "type": event.type,
        "code": header.type_code,
        "server_id": header.server_id,
        "flags": flag_names(header.flags),
        "checksum": raw.checksum,
        "gtid": gtid,
        "fields": {
            "log_pos": header.log_pos,
            **_fields(event.body),
            **_joined(event),
            **_unread(event),
        },
    }


def event_records(steps: Iterable[Step]) -> Iterator[dict[str, object]]:
    """The records of a walk's events."""
    for step in steps:
        yield event_record(step.event, step.transaction.gtid if step.transaction else None)
