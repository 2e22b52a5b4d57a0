"""Names and statements as a log's events store them, where mysqlbinlog's text does not decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from binlogkit.analyses.conformance.event_fields import our_statement
from binlogkit.constants import EventType
from binlogkit.sources.raw import RawEvent

_TABLE_ID, _FLAGS = 6, 2
# Before the status variables of a QUERY event: thread, time, length of the database's name, error,
# length of the status variables; EXECUTE_LOAD_QUERY has the file's numbers after them.
_DB_LENGTH_AT, _STATUS_LENGTH_AT, _POST_HEADER = 8, 11, 13
_LOAD_POST_HEADER = 13


def stores_text(raw: RawEvent, fields: Mapping[str, Any]) -> bool:
    """Whether the names or the statement of our event's ``fields`` are what ``raw`` stores."""
    body, code = raw.body, raw.header.type_code
    if code == EventType.TABLE_MAP_EVENT:
        stored = b"".join(_name(fields.get(name)) for name in ("db", "table"))
        return body.startswith(stored, _TABLE_ID + _FLAGS)
    statement = our_statement(fields)
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        return body[1:] == statement
    start = _POST_HEADER + (_LOAD_POST_HEADER if code == EventType.EXECUTE_LOAD_QUERY_EVENT else 0)
    status = int.from_bytes(body[_STATUS_LENGTH_AT:_POST_HEADER], "little")
    return body[start + status + body[_DB_LENGTH_AT] + 1 :] == statement


def _name(name: object) -> bytes:
    stored = str(name).encode("utf-8", "surrogateescape")
    return bytes([len(stored)]) + stored + b"\0"
