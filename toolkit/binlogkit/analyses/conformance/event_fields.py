"""What mysqlbinlog prints of an event's own fields, and the same of our event records.

Compared are the fields that stand in the text whatever came before; settings that are printed only
when they change (``use``, ``sql_mode`` …) are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from binlogkit.analyses.conformance.printed import PrintedEvent

__all__ = ["TYPES", "fields_of", "our_statement"]

Pairs = Iterator[tuple[str, Any, Any]]

# The phrase behind the header -> the types that it can stand for. GTID stands for both kinds.
TYPES: Mapping[str, tuple[str, ...]] = {
    "Start": ("FORMAT_DESCRIPTION_EVENT", "START_EVENT_V3"),
    "Query": ("QUERY_EVENT",),
    "Stop": ("STOP_EVENT",),
    "Rotate": ("ROTATE_EVENT",),
    "Intvar": ("INTVAR_EVENT",),
    "Rand": ("RAND_EVENT",),
    "User_var": ("USER_VAR_EVENT",),
    "Xid": ("XID_EVENT",),
    "XA": ("XA_PREPARE_LOG_EVENT",),
    "Begin_load_query": ("BEGIN_LOAD_QUERY_EVENT",),
    "Append_block": ("APPEND_BLOCK_EVENT",),
    "Execute_load_query": ("EXECUTE_LOAD_QUERY_EVENT",),
    "Delete_file": ("DELETE_FILE_EVENT",),
    "Incident": ("INCIDENT_EVENT",),
    "Ignorable": ("IGNORABLE_LOG_EVENT",),
    "Rows_query": ("ROWS_QUERY_LOG_EVENT",),
    "Table_map": ("TABLE_MAP_EVENT",),
    "Write_rows": ("WRITE_ROWS_EVENT",),
    "Update_rows": ("UPDATE_ROWS_EVENT",),
    "Delete_rows": ("DELETE_ROWS_EVENT",),
    "Update_rows_partial": ("PARTIAL_UPDATE_ROWS_EVENT",),
    "Write_rows_v1": ("WRITE_ROWS_EVENT_V1",),
    "Update_rows_v1": ("UPDATE_ROWS_EVENT_V1",),
    "Delete_rows_v1": ("DELETE_ROWS_EVENT_V1",),
    "GTID": ("GTID_LOG_EVENT", "GTID_TAGGED_LOG_EVENT"),
    "Anonymous_GTID": ("ANONYMOUS_GTID_LOG_EVENT",),
    "Previous-GTIDs": ("PREVIOUS_GTIDS_LOG_EVENT",),
    "Transaction_Payload": ("TRANSACTION_PAYLOAD_EVENT",),
    "Transaction_context": ("TRANSACTION_CONTEXT_EVENT",),
    "View_change_log_event": ("VIEW_CHANGE_EVENT",),
    "Heartbeat": ("HEARTBEAT_LOG_EVENT", "HEARTBEAT_LOG_EVENT_V2"),
}

_START = re.compile(rb"\tStart: binlog v (\d{1,20}), server v (.*) created ", re.DOTALL)
_QUERY = re.compile(rb"thread_id=(\d{1,20})\texec_time=(\d{1,20})\terror_code=(\d{1,20}(?!\d))")
_TIMES = re.compile(rb"SET TIMESTAMP=(\d{1,20}(?!\d))")
_XID = re.compile(rb"\tXid = (\d{1,20}(?!\d))")
_XA = re.compile(rb"\tXA PREPARE (X'[0-9a-f]*',X'[0-9a-f]*',-?\d{1,20})")
_ROTATE = re.compile(rb"\tRotate to (.*)  pos: (\d{1,20}(?!\d))", re.DOTALL)
_INTVAR = re.compile(rb"SET (LAST_INSERT_ID|INSERT_ID)=(\d{1,20})/\*!\*/;")
_RAND = re.compile(rb"SET @@RAND_SEED1=(\d{1,20}), @@RAND_SEED2=(\d{1,20})/\*!\*/;")
_USER_VAR = re.compile(
    rb"SET @`((?:[^`]|``)*)`:=(?:_(\w+) 0x([0-9A-F]*) COLLATE [^\n]*|([^\n]*))/\*!\*/;"
)
_CLOCK = re.compile(rb"last_committed=(\d{1,20})\tsequence_number=(\d{1,20}(?!\d))")
_COMMIT = re.compile(
    rb"original_committed_timestamp=(\d{1,20})\timmediate_commit_timestamp=(\d{1,20}(?!\d))"
    rb"\ttransaction_length=(\d{1,20}(?!\d))"
)
_NEXT = re.compile(rb"SET @@SESSION.GTID_NEXT= '(.*)'/\*!\*/;")
_UUID_SET = re.compile(rb"# ([0-9a-f]{8}-[0-9a-f-]{27}:[^,]*),?")
_PAYLOAD = re.compile(
    rb"payload_size=(\d{1,20})\tcompression_type=(\w+)(?:\tuncompressed_size=(\d{1,20}(?!\d)))?"
)
_ROWS = re.compile(rb": table id (\d{1,20})(?: flags: (.*))?")
_TABLE_ID = re.compile(rb"mapped to number (\d{1,20}(?!\d))")
_BLOCK = re.compile(rb"#\w+: file_id: (\d{1,20})  block_len: (\d{1,20}(?!\d))")


def fields_of(printed: PrintedEvent, ours: Mapping[str, Any]) -> Pairs:
    """(field, ours, theirs) of each field that both sides have, values comparable by ``==``."""
    read = _READERS.get(printed.kind)
    fields = ours.get("fields")
    if read is not None:
        yield from read(printed, {} if fields is None else fields, ours)


def our_statement(fields: Mapping[str, Any]) -> bytes | None:
    """The bytes of our event's statement, None where it has none."""
    raw = fields.get("query_bytes")
    if isinstance(raw, str):
        return bytes.fromhex(raw[2:])
    text = fields.get("query")
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else None


def _numbers(
    names: tuple[str, ...], found: re.Match[bytes] | None, ours: Mapping[str, Any]
) -> Pairs:
    if found is None:
        return
    for name, value in zip(names, found.groups(), strict=False):
        if value is not None and name in ours:
            yield name, ours[name], int(value)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "backslashreplace")


def _shown(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def _start(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _START.match(printed.head)
    if found:
        yield "binlog_version", fields.get("binlog_version"), int(found[1])
        yield "server_version", fields.get("server_version"), _text(found[2])


def _query(printed: PrintedEvent, fields: Mapping[str, Any], ours: Mapping[str, Any]) -> Pairs:
    names = ("thread_id", "exec_time", "error_code")
    yield from _numbers(names, _QUERY.search(printed.head), fields)
    for line in printed.body:
        if found := _TIMES.match(line):
            yield "timestamp", ours.get("timestamp"), int(found[1])
    yield from _statement(printed, fields, ours)


def _statement(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    yield "query", _shown(our_statement(fields)), _shown(printed.statement)


_ROWS_QUERY = {0x08: rb"\b", 0x09: rb"\t", 0x0D: rb"\r", 0x5C: rb"\\"}


def _rows_query(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    """Compared as printed: four bytes are escaped (mysqlbinlog 9.7.4), in older ones none."""
    mine, theirs = our_statement(fields), printed.statement
    if mine is not None and mine != theirs:
        mine = b"".join(_ROWS_QUERY.get(byte, bytes([byte])) for byte in mine)
    yield "query", _shown(mine), _shown(theirs)


def _xid(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    yield from _numbers(("xid",), _XID.match(printed.head), fields)


def _xa(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _XA.match(printed.head)
    if found and "gtrid" in fields:
        gtrid, bqual = (str(fields[name])[2:].lower() for name in ("gtrid", "bqual"))
        yield "xa", f"X'{gtrid}',X'{bqual}',{fields.get('format_id')}", _text(found[1])
        # The header says PREPARE in both cases, the statement below tells.
        one_phase = any(line.startswith(b"XA COMMIT ") for line in printed.body)
        yield "one_phase", bool(fields.get("one_phase")), one_phase


def _rotate(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _ROTATE.match(printed.head)
    if found:
        yield "name", fields.get("name"), _text(found[1])
        yield "position", fields.get("position"), int(found[2])


def _intvar(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _first(_INTVAR, printed)
    if found:
        yield "intvar_type", fields.get("intvar_type"), _text(found[1])
        yield "value", fields.get("value"), int(found[2])


def _rand(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    yield from _numbers(("seed1", "seed2"), _first(_RAND, printed), fields)


def _user_var(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _USER_VAR.search(b"\n".join(printed.body))
    if found is None:
        return
    yield "name", fields.get("name"), _text(found[1].replace(b"``", b"`"))
    yield "is_null", fields.get("is_null"), found[4] == b"NULL"
    if found[3] is not None:
        yield "value", fields.get("value"), "0x" + _text(found[3])
    elif fields.get("var_type") == "INT" and isinstance(fields.get("value"), str):
        stored = bytes.fromhex(str(fields["value"])[2:])
        signed = not fields.get("unsigned")
        yield "value", int.from_bytes(stored, "little", signed=signed), int(_text(found[4]))


def _gtid(printed: PrintedEvent, fields: Mapping[str, Any], ours: Mapping[str, Any]) -> Pairs:
    found = _first(_NEXT, printed)
    if found:
        yield "gtid", ours.get("gtid") or "ANONYMOUS", _text(found[1])
    # 5.6 wrote no logical clock, and what a server did not write yet is printed as 0.
    clock = {n: fields[n] or 0 for n in ("last_committed", "sequence_number") if n in fields}
    yield from _numbers(("last_committed", "sequence_number"), _CLOCK.search(printed.head), clock)
    found = _COMMIT.search(printed.head)
    names = ("original_commit_timestamp", "immediate_commit_timestamp", "transaction_length")
    if found:
        for name, value in zip(names, found.groups(), strict=True):
            if name in fields:
                yield name, fields[name] or 0, int(value)


def _previous(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    if "gtid_set" not in fields:
        return
    theirs = sorted(_text(m[1]) for line in printed.body if (m := _UUID_SET.fullmatch(line)))
    mine = sorted(part.strip() for part in str(fields["gtid_set"]).split(",") if part.strip())
    yield "gtid_set", ",".join(mine), ",".join(theirs)


def _payload(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _PAYLOAD.search(printed.head)
    if found:
        yield "payload_size", fields.get("payload_size"), int(found[1])
        yield "compression", fields.get("compression"), _text(found[2])
        if found[3]:
            yield "uncompressed_size", fields.get("uncompressed_size"), int(found[3])


def _table_map(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    yield from _numbers(("table_id",), _TABLE_ID.search(printed.head), fields)
    if printed.table is not None:
        # Both in one: the names stand raw, and where the first ends may not be said.
        theirs = "`.`".join(_text(name) for name in printed.table)
        yield "table", f"{fields.get('db')}`.`{fields.get('table')}", theirs


def _rows(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _ROWS.search(printed.head)
    if found is None:
        return
    if "table_id" in fields:
        yield "table_id", fields["table_id"], int(found[1])
    flags = fields.get("flags")
    if isinstance(flags, list):
        yield "STMT_END", "STMT_END" in flags, b"STMT_END_F" in (found[2] or b"").split()


def _block(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _first(_BLOCK, printed)
    if found:
        yield "file_id", fields.get("file_id"), int(found[1])
        data = fields.get("data")
        if isinstance(data, str):
            yield "block_length", len(data) // 2 - 1, int(found[2])


def _first(pattern: re.Pattern[bytes], printed: PrintedEvent) -> re.Match[bytes] | None:
    return next((m for line in printed.body if (m := pattern.match(line))), None)


Reader = Callable[[PrintedEvent, Mapping[str, Any], Mapping[str, Any]], Pairs]

_READERS: dict[str, Reader] = {
    "Start": _start,
    "Query": _query,
    "Execute_load_query": _query,
    "Rows_query": _rows_query,
    "Xid": _xid,
    "XA": _xa,
    "Rotate": _rotate,
    "Intvar": _intvar,
    "Rand": _rand,
    "User_var": _user_var,
    "GTID": _gtid,
    "Anonymous_GTID": _gtid,
    "Previous-GTIDs": _previous,
    "Transaction_Payload": _payload,
    "Table_map": _table_map,
    "Begin_load_query": _block,
    "Append_block": _block,
} | {
    f"{verb}_rows{suffix}": _rows
    for verb in ("Write", "Update", "Delete")
    for suffix in ("", "_v1", "_partial")
}
