"""Writes rows events V1 and V2 (layout: ``binlogkit.events.rows``).

V1 (5.1.17+, ``log_bin_use_v1_row_events`` up to 8.0) has no extra data; V2 came with 5.6.2, the
partition's extra data with 8.0.16, partial updates with 8.0.3.
"""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.rows import ExtraRowInfo, RowsEvent
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_V1 = {
    EventType.WRITE_ROWS_EVENT_V1: ("insert", False),
    EventType.UPDATE_ROWS_EVENT_V1: ("update", False),
    EventType.DELETE_ROWS_EVENT_V1: ("delete", False),
}
_V2 = {
    EventType.WRITE_ROWS_EVENT: ("insert", False),
    EventType.UPDATE_ROWS_EVENT: ("update", False),
    EventType.DELETE_ROWS_EVENT: ("delete", False),
    EventType.PARTIAL_UPDATE_ROWS_EVENT: ("update", True),
}
_KINDS = _V1 | _V2
_NDB, _PARTITION = 0, 1


def _choose(body: RowsEvent) -> EventType:
    return next(kind for kind, what in _V2.items() if what == (body.op, body.partial))


@writes(RowsEvent, *_KINDS, choose=_choose)
def _rows(packer: Packer, body: RowsEvent, target: Target) -> None:
    kind = EventType(target.type_code)
    if _KINDS[kind] != (body.op, body.partial):
        raise packer.fail("op", f"'{body.op}'{' of diffs' * body.partial} is another type's")
    packer.uint(target.context.table_id_width(kind), body.table_id, "table_id")
    packer.uint(2, body.flags, "flags")
    if kind in _V2:
        extra = _extra(packer, body.extra, body.op)
        packer.uint(2, len(extra) + 2, "extra_length")
        packer.end_post_header()
        packer.raw(extra)
    elif body.extra is not None:
        raise packer.fail("extra", "V1 has no extra data")
    packer.end_post_header()
    packer.packed(body.column_count, "column_count")
    for name, wanted in _BITMAPS[body.op]:
        bitmap = getattr(body, name)
        if (bitmap is not None) is not wanted:
            raise packer.fail(name, f"{body.op} has {'one' if wanted else 'none'}")
        if bitmap is not None:
            packer.take((body.column_count + 7) // 8, bitmap, name)
    packer.raw(body.data)


_BITMAPS = {
    "insert": (("before_columns", False), ("after_columns", True)),
    "update": (("before_columns", True), ("after_columns", True)),
    "delete": (("before_columns", True), ("after_columns", False)),
}


def _extra(packer: Packer, extra: ExtraRowInfo | None, op: str) -> bytes:
    if extra is None:
        return b""
    if (extra.ndb is None) is not (extra.ndb_format is None):
        raise packer.fail("ndb_format", "NDB's data and its format go together")
    if extra.source_partition_id is not None and extra.partition_id is None:
        raise packer.fail("source_partition_id", "there is no partition_id")
    part = packer.sub()
    there = {_NDB: extra.ndb is not None, _PARTITION: extra.partition_id is not None}
    order = extra.order or tuple(kind for kind, is_there in there.items() if is_there)
    if sorted(order) != [kind for kind, is_there in there.items() if is_there]:
        raise packer.fail("order", "it names other parts than those that are there")
    for kind in order:
        part.uint(1, kind, "extra_type")
        (_ndb if kind == _NDB else _partition)(part, extra, op)
    part.raw(extra.rest or b"")
    return bytes(part.data)


def _ndb(part: Packer, extra: ExtraRowInfo, _op: str) -> None:
    # The length counts itself and the format's byte.
    ndb = extra.ndb or b""
    part.uint(1, len(ndb) + 2, "ndb_length")
    part.uint(1, extra.ndb_format or 0, "ndb_format")
    part.raw(ndb)


def _partition(part: Packer, extra: ExtraRowInfo, op: str) -> None:
    part.uint(2, extra.partition_id or 0, "partition_id")
    if (extra.source_partition_id is not None) is not (op == "update"):
        raise part.fail("source_partition_id", "an update has one, and nothing else has")
    if extra.source_partition_id is not None:
        part.uint(2, extra.source_partition_id, "source_partition_id")
