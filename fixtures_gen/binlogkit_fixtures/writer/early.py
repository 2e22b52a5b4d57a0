"""Writes the rows events of the first row-based servers (layout: ``binlogkit.events.early``)."""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.early import EarlyRows
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_TYPES = {
    "insert": EventType.PRE_GA_WRITE_ROWS_EVENT,
    "update": EventType.PRE_GA_UPDATE_ROWS_EVENT,
    "delete": EventType.PRE_GA_DELETE_ROWS_EVENT,
}


@writes(EarlyRows, *_TYPES.values(), choose=lambda body: _TYPES[body.op])
def _early_rows(packer: Packer, body: EarlyRows, target: Target) -> None:
    if _TYPES.get(body.op) != target.type_code:
        raise packer.fail("op", f"'{body.op}' is another type's")
    packer.uint(target.context.table_id_width(target.type_code), body.table_id, "table_id")
    packer.uint(2, body.flags, "flags")
    packer.end_post_header()
    packer.packed(body.column_count, "column_count")
    packer.take((body.column_count + 7) // 8, body.columns, "columns")
    packer.raw(body.data)
