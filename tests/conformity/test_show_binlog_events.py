"""SHOW BINLOG EVENTS of every golden log, line by line: each server's own words for its own log.

The Info column is said again from our events, as ``Log_event::pack_info`` of the servers (5.6.24,
5.7.22, 8.0.31, 9.7.4) says it, and must be equal to the letter.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit._kernel.charsets import charset_of
from binlogkit._kernel.numbers import read_decimal
from binlogkit.constants import EventFlag
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.reader import read_events
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.sources.log_reader import LogReader

# SHOW BINLOG EVENTS' names (Log_event::get_type_str).
NAMES = {
    "FORMAT_DESCRIPTION_EVENT": "Format_desc",
    "PREVIOUS_GTIDS_LOG_EVENT": "Previous_gtids",
    "GTID_LOG_EVENT": "Gtid",
    "ANONYMOUS_GTID_LOG_EVENT": "Anonymous_Gtid",
    "GTID_TAGGED_LOG_EVENT": "Gtid_tagged_log_event",
    "QUERY_EVENT": "Query",
    "TABLE_MAP_EVENT": "Table_map",
    "WRITE_ROWS_EVENT": "Write_rows",
    "UPDATE_ROWS_EVENT": "Update_rows",
    "DELETE_ROWS_EVENT": "Delete_rows",
    "WRITE_ROWS_EVENT_V1": "Write_rows_v1",
    "UPDATE_ROWS_EVENT_V1": "Update_rows_v1",
    "DELETE_ROWS_EVENT_V1": "Delete_rows_v1",
    "PARTIAL_UPDATE_ROWS_EVENT": "Update_rows_partial",
    "ROWS_QUERY_LOG_EVENT": "Rows_query",
    "XID_EVENT": "Xid",
    "XA_PREPARE_LOG_EVENT": "XA_prepare",
    "ROTATE_EVENT": "Rotate",
    "STOP_EVENT": "Stop",
    "INTVAR_EVENT": "Intvar",
    "RAND_EVENT": "RAND",
    "USER_VAR_EVENT": "User var",
    "BEGIN_LOAD_QUERY_EVENT": "Begin_load_query",
    "EXECUTE_LOAD_QUERY_EVENT": "Execute_load_query",
    "APPEND_BLOCK_EVENT": "Append_block",
    "TRANSACTION_PAYLOAD_EVENT": "Transaction_payload",
}
TYPES = {name: event_type for event_type, name in NAMES.items()}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def used_db(event: Any) -> str:
    """``use`` of the default database, unless the event says that it needs none."""
    suppressed = event.raw.header.flags & EventFlag.SUPPRESS_USE
    return f"use {quoted(event.body.schema)}; " if event.body.schema and not suppressed else ""


def query(event: Any) -> str:
    text, xid = event.body.query, event.body.status_vars.ddl_xid
    return f"{used_db(event)}{text}" + (f" /* xid={xid} */" if xid is not None else "")


def rows(event: Any, major: int) -> str:
    """With the flags' names: of all of them from 9.x on, before that of STMT_END alone."""
    shown = event.body.flags & (~0 if major >= 9 else RowsFlag.STMT_END)
    names = [f"{flag.name}_F" for flag in RowsFlag if shown & flag]
    return f"table_id: {event.body.table_id}" + (f" flags: {' '.join(names)}" if names else "")


def gtid(event: Any) -> str:
    return f"SET @@SESSION.GTID_NEXT= '{event.body.gtid or 'ANONYMOUS'}'"


def xa_prepare(event: Any) -> str:
    body = event.body
    return f"XA COMMIT {body.xa} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xa}"


def user_var(event: Any) -> str:
    body = event.body
    return f"@{quoted(body.name)}={'NULL' if body.is_null else VALUES[body.var_type](body)}"


def string_value(body: Any) -> str:
    charset = charset_of(body.collation)
    return f"_{charset} 0x{body.value.hex().upper()} COLLATE "


VALUES: dict[str, Callable[[Any], str]] = {
    "INT": lambda b: str(int.from_bytes(b.value, "little", signed=not b.unsigned)),
    "REAL": lambda b: f"{struct.unpack('<d', b.value)[0]:.14g}".replace("e+", "e"),
    "DECIMAL": lambda b: str(decimal_value(b.value)),
    "STRING": string_value,
}


def decimal_value(value: bytes) -> Decimal:
    """``precision:1 scale:1`` and the column's form of it."""
    return read_decimal(value[2:], value[0], value[1])


INFO: dict[str, Callable[[Any], str]] = {
    "Format_desc": lambda e: (
        f"Server ver: {e.body.server_version}, Binlog ver: {e.body.binlog_version}"
    ),
    "Previous_gtids": lambda e: e.body.gtid_set.replace(",", ",\n"),
    "Gtid": gtid,
    "Anonymous_Gtid": gtid,
    "Gtid_tagged_log_event": gtid,
    "Query": query,
    "Table_map": lambda e: f"table_id: {e.body.table_id} ({e.body.db}.{e.body.table})",
    "Rows_query": lambda e: f"# {e.body.query}",
    "Xid": lambda e: f"COMMIT /* xid={e.body.xid} */",
    "XA_prepare": xa_prepare,
    "Rotate": lambda e: f"{e.body.name};pos={e.body.position}",
    "Stop": lambda e: "",
    "Intvar": lambda e: f"{e.body.intvar_type}={e.body.value}",
    "RAND": lambda e: f"rand_seed1={e.body.seed1},rand_seed2={e.body.seed2}",
    "User var": user_var,
    "Begin_load_query": lambda e: f";file_id={e.body.file_id};block_len={len(e.body.data)}",
    "Append_block": lambda e: f";file_id={e.body.file_id};block_len={len(e.body.data)}",
    "Execute_load_query": lambda e: f"{used_db(e)}{e.body.query} ;file_id={e.body.file_id}",
    "Transaction_payload": lambda e: (
        f"compression='{e.body.compression}', decompressed_size={e.body.uncompressed_size} bytes"
    ),
}


def ours(path: Path) -> Iterator[tuple[str, int, str, int, int, str]]:
    """One line per event; the server shows those of a payload where the payload ends."""
    major = 0
    with path.open("rb") as file:
        for event in read_events(LogReader(path.name, file)):
            raw, body, name = event.raw, event.body, NAMES[event.type]
            if isinstance(body, FormatDescription):
                major = int(body.server_version.split(".")[0])
            info = rows(event, major) if isinstance(body, RowsEvent) else INFO[name](event)
            pos = raw.pos if raw.inner is None else raw.end_pos
            yield path.name, pos, name, raw.header.server_id, raw.end_pos, info


@pytest.mark.sampled(8)
def test_every_line_is_said_again(case: Any) -> None:
    shown = [
        (
            line.file,
            line.pos,
            line.type,
            line.server_id,
            line.end_pos,
            # Collations go by number in an event; their names are not what is checked here.
            re.sub(r"(?<= COLLATE )\w+$", "", line.info) if line.type == "User var" else line.info,
        )
        for line in case.manifest.events
    ]
    lines = [line for path in case.binlogs for line in ours(path)]
    records = [record for path in case.binlogs for record in bk.open(path).event_records()]
    assert [(r["type"], r["end_pos"], r["server_id"]) for r in records] == [
        (TYPES[name], end_pos, server_id) for _, _, name, server_id, end_pos, _ in lines
    ]
    if case.scenario == "shutdown":  # SHOW BINLOG EVENTS ran before the server stopped
        assert lines.pop()[2] == "Stop"
    assert lines == shown
