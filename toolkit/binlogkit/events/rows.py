"""Rows events: which table, which columns, and the row images as stored.

``table_id:6 flags:2``; from 5.6.2 on (V2) ``extra_length:2`` (itself included) and extra data;
``column_count:packed``, one bitmap of the columns present (two for an update), then the images
(manual of the server's sources, "Rows_event").
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, hidden, reads
from binlogkit.sources.raw import RawEvent

_DELETES = (EventType.DELETE_ROWS_EVENT, EventType.DELETE_ROWS_EVENT_V1)
_UPDATES = (
    EventType.UPDATE_ROWS_EVENT,
    EventType.UPDATE_ROWS_EVENT_V1,
    EventType.PARTIAL_UPDATE_ROWS_EVENT,
)
_V2 = (
    EventType.WRITE_ROWS_EVENT,
    EventType.UPDATE_ROWS_EVENT,
    EventType.DELETE_ROWS_EVENT,
    EventType.PARTIAL_UPDATE_ROWS_EVENT,
)
_NDB, _PARTITION = 0, 1
_NDB_HEADER = 2


class RowsFlag(IntFlag):
    """The rows event's own flags."""

    STMT_END = 0x0001  # the statement's last rows event
    NO_FOREIGN_KEY_CHECKS = 0x0002
    RELAXED_UNIQUE_CHECKS = 0x0004
    COMPLETE_ROWS = 0x0008
    USE_SQL_FOREIGN_KEY = 0x0010  # 9.6: the server's SQL layer, not InnoDB, does foreign keys


@dataclass(frozen=True, slots=True)
class ExtraRowInfo:
    """V2's extra data: NDB's own bytes, the partition (8.0.16+), or what is not known.

    ``rest``: from the first part on whose type is not known, or that is there twice; ``order``:
    the parts' types as stored.
    """

    ndb_format: int | None = None
    ndb: bytes | None = None
    partition_id: int | None = None
    source_partition_id: int | None = None
    rest: bytes | None = None
    order: tuple[int, ...] = hidden()


@dataclass(frozen=True, slots=True)
class RowsEvent:
    """Changes of rows of one table.

    ``op``: insert, update or delete; ``before_columns``, ``after_columns``: bitmap of the columns
    present in the image (lowest bit first), None where the event has no such image; ``data``: the
    row images as stored; ``partial``: JSON columns may be diffs (8.0.3+).
    """

    table_id: int
    flags: int
    op: str
    column_count: int
    before_columns: bytes | None
    after_columns: bytes | None
    extra: ExtraRowInfo | None
    data: bytes
    partial: bool = False


def _extra(cursor: Cursor, length: int, is_update: bool) -> ExtraRowInfo | None:
    if length < 2:
        raise cursor.fail("extra_length", f"{length} does not cover its own two bytes")
    if length == 2:
        return None
    part = cursor.sub(length - 2, "extra_data")
    values: dict[str, Any] = {}
    order: list[int] = []
    while part.left:
        start = part.pos
        kind = part.uint(1, "extra_type")
        if kind not in _EXTRA or kind in order:
            part.pos = start
            values["rest"] = part.rest("extra_data")
        else:
            order.append(kind)
            values |= _EXTRA[kind](part, is_update)
    return ExtraRowInfo(**values, order=tuple(order))


def _ndb(part: Cursor, is_update: bool) -> dict[str, Any]:
    length = part.uint(1, "ndb_length")
    if length < _NDB_HEADER:
        raise part.fail("ndb_length", f"{length} does not cover its own byte and the format's")
    form = part.uint(1, "ndb_format")
    return {"ndb_format": form, "ndb": part.read(length - _NDB_HEADER, "ndb")}


def _partition(part: Cursor, is_update: bool) -> dict[str, Any]:
    names = ("partition_id", "source_partition_id") if is_update else ("partition_id",)
    return {name: part.uint(2, name) for name in names}


_EXTRA = {_NDB: _ndb, _PARTITION: _partition}


@reads(
    *_V2,
    EventType.WRITE_ROWS_EVENT_V1,
    EventType.UPDATE_ROWS_EVENT_V1,
    EventType.DELETE_ROWS_EVENT_V1,
)
def _rows(cursor: Cursor, raw: RawEvent, context: ParseContext) -> RowsEvent:
    code = raw.header.type_code
    op = "update" if code in _UPDATES else "delete" if code in _DELETES else "insert"
    table_id = cursor.uint(context.table_id_width(code), "table_id")
    flags = cursor.uint(2, "flags")
    extra_length = cursor.uint(2, "extra_length") if code in _V2 else 2
    context.end_post_header(cursor, code)
    extra = _extra(cursor, extra_length, op == "update")
    count = cursor.packed("column_count")
    width = (count + 7) // 8
    first = cursor.read(width, "columns_present")
    second = cursor.read(width, "columns_present_after") if op == "update" else None
    before = first if op != "insert" else None
    after = second if op == "update" else first if op == "insert" else None
    return RowsEvent(
        table_id, flags, op, count, before, after, extra, cursor.rest("rows"),
        code == EventType.PARTIAL_UPDATE_ROWS_EVENT,
    )  # fmt: skip
