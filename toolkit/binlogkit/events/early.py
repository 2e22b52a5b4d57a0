"""The first row-based servers (up to 5.1.17): their rows events, and codes that were not final.

PRE_GA rows events: ``table_id:6 flags:2 column_count:packed columns_present``, one bitmap for an
update too, then rows that begin with the null bytes of the server's own record: a bit per nullable
column, after one or none more by the table's row format, which neither the event nor its table
map shows (server's sources 5.1, ``Old_rows_log_event``, ``unpack_row_old``). So the rows are kept
as they are.

Trees of 2006 named ``5.1.x-a_drop5p…``, ``…-a_drop6p…`` and ``5.2.x-a_drop6p…`` numbered the types
16 to 22 otherwise; such a log is read with the numbers that the types have since
(``Format_description_log_event``, ``event_type_permutation``, in the sources up to 5.7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, reads
from binlogkit.sources.raw import RawEvent

_TREES = re.compile(r"5\.(1\.[0-5]-a_drop5|1\.[0-4]-a_drop6|2\.[0-2]-a_drop6)")
_FINAL = {
    16: EventType.TABLE_MAP_EVENT,
    17: EventType.PRE_GA_WRITE_ROWS_EVENT,
    18: EventType.PRE_GA_UPDATE_ROWS_EVENT,
    19: EventType.PRE_GA_DELETE_ROWS_EVENT,
    20: EventType.XID_EVENT,
    21: EventType.BEGIN_LOAD_QUERY_EVENT,
    22: EventType.EXECUTE_LOAD_QUERY_EVENT,
}
_OPS = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: "insert",
    EventType.PRE_GA_UPDATE_ROWS_EVENT: "update",
    EventType.PRE_GA_DELETE_ROWS_EVENT: "delete",
}


@dataclass(frozen=True, slots=True)
class EarlyRows:
    """Changes of rows of one table; ``columns``: bitmap; ``data``: the rows as stored."""

    table_id: int
    flags: int
    op: str
    column_count: int
    columns: bytes
    data: bytes


def final_codes(server_version: str) -> dict[int, int]:
    """The codes that a log of this version has otherwise, with those that they have since."""
    return {old: int(new) for old, new in _FINAL.items()} if _TREES.match(server_version) else {}


@reads(*_OPS)
def _early_rows(cursor: Cursor, raw: RawEvent, context: ParseContext) -> EarlyRows:
    code = raw.header.type_code
    table_id = cursor.uint(context.table_id_width(code), "table_id")
    flags = cursor.uint(2, "flags")
    context.end_post_header(cursor, code)
    count = cursor.packed("column_count")
    columns = cursor.read((count + 7) // 8, "columns_present")
    op = _OPS[EventType(code)]
    return EarlyRows(table_id, flags, op, count, columns, cursor.rest("rows"))
