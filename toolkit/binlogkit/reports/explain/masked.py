"""Explained events without the values of masked columns.

Only what is known to hold none of them is shown: events without values, and of rows events the
cells of other columns. All other bytes are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from binlogkit.constants import EventType
from binlogkit.events.explain.parts import FieldPart
from binlogkit.events.explain.walk import EventWalk
from binlogkit.events.rows import RowsEvent

#: Whether a column (of a table, as its rows' explanation names it) may be shown; None for all.
Shows = Callable[[str, str | None], bool]


class Hidden(str):
    """What stands for a value that is not shown."""

    __slots__ = ()


_WITHOUT_VALUES = frozenset(
    {
        EventType.START_EVENT_V3, EventType.STOP_EVENT, EventType.ROTATE_EVENT,
        EventType.SLAVE_EVENT, EventType.FORMAT_DESCRIPTION_EVENT, EventType.XID_EVENT,
        EventType.TABLE_MAP_EVENT, EventType.HEARTBEAT_LOG_EVENT, EventType.GTID_LOG_EVENT,
        EventType.ANONYMOUS_GTID_LOG_EVENT, EventType.PREVIOUS_GTIDS_LOG_EVENT,
        EventType.XA_PREPARE_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2,
        EventType.GTID_TAGGED_LOG_EVENT,
    }
)  # fmt: skip
_ROW = re.compile(r"row \d+")
_TOLD = "the error is left out, since columns are masked"


def masked(walk: EventWalk, shows: Shows) -> EventWalk:
    """The event with the rest of its bytes hidden."""
    if walk.raw.header.type_code in _WITHOUT_VALUES:
        return walk
    rows = walk.root.find("rows") if isinstance(walk.body, RowsEvent) else None
    name = rows.meaning.removeprefix("of ") if rows and rows.meaning.startswith("of ") else None
    if name is not None and shows(name, None):
        return walk
    root = replace(walk.root, parts=[_top(part, name, shows) for part in walk.root.parts])
    return replace(walk, root=root, body=None, problems=[_TOLD] * bool(walk.problems), notes=[])


def _top(part: FieldPart, name: str | None, shows: Shows) -> FieldPart:
    """The header stays; the post-header of rows events, too; the checksum could confirm a guess."""
    if part.field == "header" or (name is not None and part.field == "post-header"):
        return part
    if name is None or part.field != "body":
        return _hidden(part)
    return replace(part, parts=[
        _rows(p, name, shows) if p.field == "rows" else p if p.field.startswith("column") else
        _hidden(p) for p in part.parts
    ])  # fmt: skip


def _rows(part: FieldPart, name: str, shows: Shows, depth: int = 0) -> FieldPart:
    """Rows, their images, and the cells that may be shown."""
    inside = (lambda field: _ROW.fullmatch(field), lambda field: field in ("before", "after"))
    if depth < len(inside):
        parts = [
            _rows(p, name, shows, depth + 1) if inside[depth](p.field) else _hidden(p)
            for p in part.parts
        ]
    else:
        known = (p.field != "null_bitmap" and shows(name, p.field) for p in part.parts)
        parts = [p if k else _hidden(p) for p, k in zip(part.parts, known, strict=True)]
    return replace(part, parts=parts, problem="")


def _hidden(part: FieldPart) -> FieldPart:
    return FieldPart(part.field, part.start, part.end, Hidden("masked"))
