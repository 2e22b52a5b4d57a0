"""SHOW BINLOG EVENTS' line for an event, made from ours, to the letter.

As ``Log_event::get_type_str`` and ``pack_info`` of 5.6.24, 5.7.22, 8.0.31 and 9.7.4 say it; proved
line by line over the golden logs (tests/conformity/test_show_binlog_events.py).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.charsets import charset_of
from binlogkit._kernel.numbers import read_decimal
from binlogkit.constants import EventFlag
from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.rows.filters import backquoted

#: The names that servers give event types.
NAMES: Mapping[str, str] = {
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
    "DELETE_FILE_EVENT": "Delete_file",
    "INCIDENT_EVENT": "Incident",
    "TRANSACTION_PAYLOAD_EVENT": "Transaction_payload",
}
#: Collations go by number in an event, and by name in a line.
_COLLATION = re.compile(r"(?<= COLLATE )\w+\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """A line: ``pos`` is the event's, of one inside a payload the place where that ends; ``info``:
    None where nothing here knows what servers say of such an event."""

    pos: int
    type: str
    server_id: int
    end_pos: int
    info: str | None

    @classmethod
    def shown(cls, pos: int, kind: str, server_id: int, end_pos: int, info: str) -> Line:
        """A server's own."""
        info = _COLLATION.sub("", info) if kind == "User var" else info
        return cls(pos, kind, server_id, end_pos, info)


def lines_of(events: Iterable[Event], *, relay: bool = False) -> Iterator[Line]:
    """A line for each event; servers show those of a payload where the payload ends.

    ``relay``: as SHOW RELAYLOG EVENTS, where an event ends as it did in its source's log.
    """
    major = end = 0
    for event in events:
        raw, body = event.raw, event.body
        if isinstance(body, FormatDescription):
            major = int(body.server_version.split(".")[0])
        name = NAMES.get(event.type, event.type)
        say = _INFO.get(name)
        info = _rows(event, major) if isinstance(body, RowsEvent) else say and say(event)
        pos = raw.pos if raw.inner is None else raw.end_pos
        if raw.inner is None:
            end = raw.header.log_pos if relay else raw.end_pos
        yield Line(pos, name, raw.header.server_id, end, info)


def _used_db(event: Any) -> str:
    """``use`` of the default database, unless the event says that it needs none."""
    suppressed = event.raw.header.flags & EventFlag.SUPPRESS_USE
    return f"use {backquoted(event.body.schema)}; " if event.body.schema and not suppressed else ""


def _query(event: Any) -> str:
    text, xid = event.body.query, event.body.status_vars.ddl_xid
    return f"{_used_db(event)}{text}" + (f" /* xid={xid} */" if xid is not None else "")


def _rows(event: Any, major: int) -> str:
    """With the flags' names: of all of them from 9.x on, before that of STMT_END alone."""
    shown = event.body.flags & (~0 if major >= 9 else RowsFlag.STMT_END)
    names = [f"{flag.name}_F" for flag in RowsFlag if shown & flag]
    return f"table_id: {event.body.table_id}" + (f" flags: {' '.join(names)}" if names else "")


def _gtid(event: Any) -> str:
    return f"SET @@SESSION.GTID_NEXT= '{event.body.gtid or 'ANONYMOUS'}'"


def _xa_prepare(event: Any) -> str:
    body = event.body
    return f"XA COMMIT {body.xa} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xa}"


def _user_var(event: Any) -> str:
    body = event.body
    return f"@{backquoted(body.name)}={'NULL' if body.is_null else _VALUES[body.var_type](body)}"


def _string_value(body: Any) -> str:
    charset = charset_of(body.collation)
    return f"_{charset} 0x{body.value.hex().upper()} COLLATE "


_VALUES: Mapping[str, Callable[[Any], str]] = {
    "INT": lambda b: str(int.from_bytes(b.value, "little", signed=not b.unsigned)),
    "REAL": lambda b: f"{struct.unpack('<d', b.value)[0]:.14g}".replace("e+", "e"),
    # precision:1 scale:1 and the column's form of it
    "DECIMAL": lambda b: str(read_decimal(b.value[2:], b.value[0], b.value[1])),
    "STRING": _string_value,
}
_INFO: Mapping[str, Callable[[Any], str]] = {
    "Format_desc": lambda e: (
        f"Server ver: {e.body.server_version}, Binlog ver: {e.body.binlog_version}"
    ),
    "Previous_gtids": lambda e: e.body.gtid_set.replace(",", ",\n"),
    "Gtid": _gtid,
    "Anonymous_Gtid": _gtid,
    "Gtid_tagged_log_event": _gtid,
    "Query": _query,
    "Table_map": lambda e: f"table_id: {e.body.table_id} ({e.body.db}.{e.body.table})",
    "Rows_query": lambda e: f"# {e.body.query}",
    "Xid": lambda e: f"COMMIT /* xid={e.body.xid} */",
    "XA_prepare": _xa_prepare,
    "Rotate": lambda e: f"{e.body.name};pos={e.body.position}",
    "Stop": lambda _: "",
    "Intvar": lambda e: f"{e.body.intvar_type}={e.body.value}",
    "RAND": lambda e: f"rand_seed1={e.body.seed1},rand_seed2={e.body.seed2}",
    "User var": _user_var,
    "Begin_load_query": lambda e: f";file_id={e.body.file_id};block_len={len(e.body.data)}",
    "Append_block": lambda e: f";file_id={e.body.file_id};block_len={len(e.body.data)}",
    "Execute_load_query": lambda e: f"{_used_db(e)}{e.body.query} ;file_id={e.body.file_id}",
    "Delete_file": lambda e: f";file_id={e.body.file_id}",
    "Incident": lambda e: f"#{e.body.incident_type} ({e.body.incident})",
    "Transaction_payload": lambda e: (
        f"compression='{e.body.compression}', decompressed_size={e.body.uncompressed_size} bytes"
    ),
}
