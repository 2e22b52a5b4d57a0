"""Writes QUERY, ROWS_QUERY and the LOAD DATA events of 5.0.3+ (``binlogkit.events.query``)."""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock, Query, RowsQuery, statement_text
from binlogkit.events.status_vars import StatusVars
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.status_vars import write_status_vars

__all__: list[str] = []

_SHORT = 11  # the post-header's length without status variables: v1, v3, 5.0.0 to 5.0.3


def _text(packer: Packer, body: Query | ExecuteLoadQuery | RowsQuery) -> bytes:
    """The statement's bytes, which must say its text in the client's character set."""
    data = body.query.encode() if body.query_bytes is None else body.query_bytes
    collation = None if isinstance(body, RowsQuery) else body.status_vars.client_collation
    if statement_text(data, collation)[0] != body.query:
        field = "query" if body.query_bytes is None else "query_bytes"
        raise packer.fail(field, "its bytes do not say the text in the client's character set")
    return data


def _fixed(packer: Packer, body: Query | ExecuteLoadQuery, schema: bytes) -> None:
    packer.uint(4, body.thread_id, "thread_id")
    packer.uint(4, body.exec_time, "exec_time")
    packer.uint(1, len(schema), "schema_length")
    packer.uint(2, body.error_code, "error_code")


def _rest(packer: Packer, body: Query | ExecuteLoadQuery, status: bytes, schema: bytes) -> None:
    packer.end_post_header()
    packer.raw(status)
    packer.raw(schema + b"\0")
    packer.raw(_text(packer, body))


@writes(Query, EventType.QUERY_EVENT)
def _query(packer: Packer, body: Query, target: Target) -> None:
    schema = packer.text(body.schema)
    status = write_status_vars(packer, body.status_vars, target.context.server_version)
    _fixed(packer, body, schema)
    lengths = target.context.post_header_lengths
    if target.version >= 4 and lengths.get(target.type_code) != _SHORT:
        packer.uint(2, len(status), "status_vars_length")
    elif body.status_vars != StatusVars():
        raise packer.fail("status_vars", "this format has none")
    _rest(packer, body, status, schema)


@writes(ExecuteLoadQuery, EventType.EXECUTE_LOAD_QUERY_EVENT)
def _execute_load(packer: Packer, body: ExecuteLoadQuery, target: Target) -> None:
    schema = packer.text(body.schema)
    status = write_status_vars(packer, body.status_vars, target.context.server_version)
    _fixed(packer, body, schema)
    packer.uint(2, len(status), "status_vars_length")
    packer.uint(4, body.file_id, "file_id")
    packer.uint(4, body.name_start, "name_start")
    packer.uint(4, body.name_end, "name_end")
    packer.uint(1, body.duplicates, "duplicates")
    _rest(packer, body, status, schema)


@writes(LoadBlock, EventType.APPEND_BLOCK_EVENT, EventType.BEGIN_LOAD_QUERY_EVENT)
def _block(packer: Packer, body: LoadBlock, target: Target) -> None:
    packer.uint(4, body.file_id, "file_id")
    packer.end_post_header()
    packer.raw(body.data)


@writes(RowsQuery, EventType.ROWS_QUERY_LOG_EVENT)
def _rows_query(packer: Packer, body: RowsQuery, target: Target) -> None:
    text = _text(packer, body)
    packer.uint(1, len(text) & 0xFF if body.length is None else body.length, "length")
    packer.raw(text)
