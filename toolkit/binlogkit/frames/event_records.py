"""What one event says, in the public contract's form: ``fields`` of ``events``, and the records of
``explain``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from binlogkit._kernel.value_text import hex_text
from binlogkit.events.base import Event
from binlogkit.events.control import Incident
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import OptionalMetadata
from binlogkit.events.variables import UserVar
from binlogkit.sources.raw import flag_names

if TYPE_CHECKING:
    from binlogkit.events.explain.walk import EventWalk

# Of these only what the event carries is shown.
SPARSE = (StatusVars, OptionalMetadata)


def _plain(value: object) -> object:
    if isinstance(value, (bytes, bytearray)):
        return hex_text(value)
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
    kind: Any = type(body)
    for name, show in _shown(kind):
        value = getattr(body, name) if show is None else show(body)
        if value is None:
            if not sparse:
                out[name] = None
        elif type(value) in _AS_THEY_ARE:
            out[name] = value
        else:
            out[name] = _plain(value)
    return out


@cache
def _shown(body: type) -> tuple[tuple[str, Callable[[Any], object] | None], ...]:
    """The keys of a body's record in their order, and what shows those not as stored."""
    otherwise = _SHOWN.get(body, {})
    stored = [f.name for f in fields(body) if f.metadata.get("record", True)]
    return tuple((name, otherwise.get(name)) for name in dict.fromkeys([*stored, *otherwise]))


_AS_THEY_ARE = {int, str, bool, float}
# What is shown not as stored.
_SHOWN: dict[type, dict[str, Callable[[Any], object]]] = {
    RowsEvent: {"flags": lambda body: flag_names(body.flags, RowsFlag)},
    FormatDescription: {"post_header_lengths": lambda body: body.lengths_by_type},
    Incident: {"incident": lambda body: body.incident},
    TransactionContext: {"snapshot_gtids": lambda body: body.snapshot_gtids},
    UserVar: {"charset": lambda body: body.charset, "decoded": lambda body: body.decoded},
}


def record_keys(body: type) -> list[str]:
    """The keys of a body's record, in their order."""
    return [name for name, _ in _shown(body)]


def event_fields(event: Event) -> dict[str, object]:
    """What an event says: ``fields`` of its record.

    Last, where they are there: what other events say for a statement, and bytes that no field
    holds.
    """
    more = {
        "variables": event.variables, "file": event.file, "unread": event.unread,
        "unread_post_header": event.unread_post_header,
    }  # fmt: skip
    said = {name: _plain(part) for name, part in more.items() if part}
    return {"log_pos": event.raw.header.log_pos, **_fields(event.body), **said}


def explain_records(walk: EventWalk) -> Iterator[dict[str, Any]]:
    """One dict per part of the event, groups before what is in them.

    ``raw`` is null of a group: the parts in it hold its bytes; those of the parts that hold no
    others, end to end, are the event.
    """
    raw = walk.raw
    head = {"file": raw.file, "pos": raw.pos, "inner": raw.inner, "type": walk.root.field}
    path: list[str] = []
    for depth, part in walk.root.walk():
        path = [*path[: max(depth - 1, 0)], part.field] if depth else []
        yield {
            **head,
            "depth": depth,
            "path": path,
            "field": part.field,
            "offset": part.start,
            "length": part.size,
            "raw": None if part.parts else hex_text(walk.data[part.start : part.end]),
            "value": _shown_value(part.value),
            "meaning": part.meaning,
            "details": [
                {"name": d.name, "value": _shown_value(d.value), "meaning": d.meaning}
                for d in part.details
            ],
            # With the event itself what is wrong anywhere in it.
            "problem": (part.problem if depth else "; ".join(walk.problems)) or None,
        }


def _shown_value(value: object) -> object:
    return hex_text(value) if isinstance(value, bytes) else value
