"""QUERY_EVENT, ROWS_QUERY_LOG_EVENT (5.6.2+) and the LOAD DATA events of 5.0.3+.

Post-header: ``thread_id:4 exec_time:4 schema_length:1 error_code:2``, in v4 also
``status_vars_length:2``; then the status variables, ``schema`` and a NUL, ``query``.
EXECUTE_LOAD_QUERY_EVENT adds ``file_id:4 name_start:4 name_end:4 duplicates:1`` to the post-header.
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.charsets import charset_of, decode
from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, ended_text, hidden, reads
from binlogkit.events.status_vars import StatusVars, read_status_vars
from binlogkit.sources.raw import RawEvent

_SHORT = 11


@dataclass(frozen=True, slots=True)
class Query:
    """A statement.

    ``thread_id``: the connection that ran it (meaningless on a replica); ``exec_time``: seconds it
    took; ``query``: its text, read in the client's character set; ``query_bytes``: the bytes, where
    the text does not say them exactly.
    """

    thread_id: int
    exec_time: int
    error_code: int
    schema: str
    status_vars: StatusVars
    query: str
    query_bytes: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExecuteLoadQuery:
    """LOAD DATA as a statement; its file came in the blocks of ``file_id``.

    ``name_start``, ``name_end``: where the file's name stands in the text (bytes);
    ``duplicates``: 0 error, 1 IGNORE, 2 REPLACE.
    """

    thread_id: int
    exec_time: int
    error_code: int
    schema: str
    file_id: int
    name_start: int
    name_end: int
    duplicates: int
    status_vars: StatusVars
    query: str
    query_bytes: bytes | None = None


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """BEGIN_LOAD_QUERY_EVENT or APPEND_BLOCK_EVENT: a piece of LOAD DATA's file."""

    file_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """The original statement before its row events (``binlog_rows_query_log_events``).

    ``length``: of the text modulo 256, 0 from 9.x servers; not to be relied on.
    """

    query: str
    query_bytes: bytes | None = None
    length: int | None = hidden(None)


def _head(cursor: Cursor) -> tuple[int, int, int, int]:
    """Thread, seconds, the schema's length and the error's number."""
    thread_id, exec_time = cursor.uint(4, "thread_id"), cursor.uint(4, "exec_time")
    return thread_id, exec_time, cursor.uint(1, "schema_length"), cursor.uint(2, "error_code")


def _rest(
    cursor: Cursor, vars_length: int, schema_length: int, context: ParseContext
) -> tuple[StatusVars, str, str, bytes | None]:
    """Status variables, schema, the statement's text, and its bytes where these are to be kept."""
    status = read_status_vars(cursor.sub(vars_length, "status_vars"), context.server_version)
    schema = ended_text(cursor, schema_length, "schema")
    return status, schema, *statement_text(cursor.rest("query"), status.client_collation)


@reads(EventType.QUERY_EVENT)
def _query(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Query:
    thread_id, exec_time, schema_length, error_code = _head(cursor)
    code = raw.header.type_code
    # 5.0.0 to 5.0.3 announce the short post-header of v3.
    short = raw.version < 4 or context.post_header_lengths.get(code) == _SHORT
    vars_length = 0 if short else cursor.uint(2, "status_vars_length")
    context.end_post_header(cursor, code)
    status, schema, text, kept = _rest(cursor, vars_length, schema_length, context)
    return Query(thread_id, exec_time, error_code, schema, status, text, kept)


@reads(EventType.EXECUTE_LOAD_QUERY_EVENT)
def _execute_load(cursor: Cursor, raw: RawEvent, context: ParseContext) -> ExecuteLoadQuery:
    thread_id, exec_time, schema_length, error_code = _head(cursor)
    vars_length = cursor.uint(2, "status_vars_length")
    file_id = cursor.uint(4, "file_id")
    name_start, name_end = cursor.uint(4, "name_start"), cursor.uint(4, "name_end")
    duplicates = cursor.uint(1, "duplicates")
    context.end_post_header(cursor, raw.header.type_code)
    status, schema, text, kept = _rest(cursor, vars_length, schema_length, context)
    return ExecuteLoadQuery(
        thread_id, exec_time, error_code, schema, file_id, name_start, name_end, duplicates,
        status, text, kept,
    )  # fmt: skip


@reads(EventType.BEGIN_LOAD_QUERY_EVENT, EventType.APPEND_BLOCK_EVENT)
def _block(cursor: Cursor, raw: RawEvent, context: ParseContext) -> LoadBlock:
    file_id = cursor.uint(4, "file_id")
    context.end_post_header(cursor, raw.header.type_code)
    return LoadBlock(file_id, cursor.rest("data"))


@reads(EventType.ROWS_QUERY_LOG_EVENT)
def _rows_query(cursor: Cursor, raw: RawEvent, context: ParseContext) -> RowsQuery:
    length = cursor.uint(1, "length")
    text, kept = statement_text(cursor.rest("query"), None)
    return RowsQuery(text, kept, length)


def statement_text(data: bytes, collation: int | None) -> tuple[str, bytes | None]:
    """The text of ``data``, and ``data`` itself where the text does not say it exactly.

    ``collation``: id of character_set_client's default collation from the event's status
    variables; without one UTF-8 is tried.
    """
    charset = charset_of(collation) if collation is not None else "utf8mb4"
    if charset in ("utf8mb3", "utf8", "utf8mb4", "binary", None):
        try:
            return data.decode("utf-8"), None
        except UnicodeDecodeError:
            return data.decode("utf-8", "backslashreplace"), data
    try:
        text = decode(charset, data)
    except UnicodeDecodeError:
        return data.decode("ascii", "backslashreplace"), data
    return text, None if text.encode() == data else data
