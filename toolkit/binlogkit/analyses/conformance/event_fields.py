"""What mysqlbinlog prints of an event's own fields, and the same of our event records.

Compared are the fields that stand in the text whatever came before; settings that are printed only
when they change (``use``, ``sql_mode`` …) are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from binlogkit.analyses.conformance.printed import PrintedEvent

Pairs = Iterator[tuple[str, Any, Any]]

# The phrase after the header -> the types that it can stand for. GTID stands for both kinds.
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

# Named groups are fields; of these ours is compared only where it has them.
_OPTIONAL = frozenset(("thread_id", "exec_time", "error_code", "xid", "seed1", "seed2", "table_id"))
_TEXTS = frozenset(("server_version", "name", "intvar_type", "compression"))  # others are numbers

_QUERY = re.compile(
    rb"thread_id=(?P<thread_id>\d{1,20})\texec_time=(?P<exec_time>\d{1,20})"
    rb"\terror_code=(?P<error_code>\d{1,20}(?!\d))"
)
_ROWS = re.compile(rb": table id (?P<table_id>\d{1,20})(?: flags: (.*))?")
_HEADS = {
    "Start": re.compile(
        rb"\A\tStart: binlog v (?P<binlog_version>\d{1,20}), "
        rb"server v (?P<server_version>.*) created ",
        re.DOTALL,
    ),
    "Query": _QUERY,
    "Execute_load_query": _QUERY,
    "Xid": re.compile(rb"\A\tXid = (?P<xid>\d{1,20}(?!\d))"),
    "Rotate": re.compile(
        rb"\A\tRotate to (?P<name>.*)  pos: (?P<position>\d{1,20}(?!\d))", re.DOTALL
    ),
    "Transaction_Payload": re.compile(
        rb"payload_size=(?P<payload_size>\d{1,20})\tcompression_type=(?P<compression>\w+)"
        rb"(?:\tuncompressed_size=(?P<uncompressed_size>\d{1,20}(?!\d)))?"
    ),
    "Table_map": re.compile(rb"mapped to number (?P<table_id>\d{1,20}(?!\d))"),
}
_BODIES = {
    "Intvar": re.compile(
        rb"SET (?P<intvar_type>LAST_INSERT_ID|INSERT_ID)=(?P<value>\d{1,20})/\*!\*/;"
    ),
    "Rand": re.compile(
        rb"SET @@RAND_SEED1=(?P<seed1>\d{1,20}), @@RAND_SEED2=(?P<seed2>\d{1,20})/\*!\*/;"
    ),
}
_TIMES = re.compile(rb"SET TIMESTAMP=(\d{1,20}(?!\d))")
_XA = re.compile(rb"\tXA PREPARE (X'[0-9a-f]*',X'[0-9a-f]*',-?\d{1,20})")
_USER_VAR = re.compile(
    rb"SET @`((?:[^`]|``)*)`:=(?:_(\w+) 0x([0-9A-F]*) COLLATE [^\n]*|([^\n]*))/\*!\*/;"
)
_CLOCK = re.compile(
    rb"last_committed=(?P<last_committed>\d{1,20})"
    rb"\tsequence_number=(?P<sequence_number>\d{1,20}(?!\d))"
)
_COMMIT = re.compile(
    rb"original_committed_timestamp=(?P<original_commit_timestamp>\d{1,20})"
    rb"\timmediate_commit_timestamp=(?P<immediate_commit_timestamp>\d{1,20}(?!\d))"
    rb"\ttransaction_length=(?P<transaction_length>\d{1,20}(?!\d))"
)
_VERSIONS = re.compile(rb"SET @@session\.((?:original|immediate)_server_version)=(\d{1,20}(?!\d))")
_NO_VERSION = (0, 999_999)  # the second is UNDEFINED_SERVER_VERSION of sql/rpl_gtid.h (8.0)
_NEXT = re.compile(rb"SET @@SESSION.GTID_NEXT= '(.*)'/\*!\*/;")
_UUID_SET = re.compile(rb"# ([0-9a-f]{8}-[0-9a-f-]{27}:[^,]*),?")
_BLOCK = re.compile(rb"#\w+: file_id: (\d{1,20})  block_len: (\d{1,20}(?!\d))")


class _Everything(dict[str, Any]):
    """A side that has every field, so that all that is printed is compared."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return [] if key == "flags" else "0x"


def fields_of(printed: PrintedEvent, ours: Mapping[str, Any] | None = None) -> Pairs:
    """(field, ours, theirs) of each field that both sides have, values comparable by ``==``.

    Without ``ours`` of every field that is printed.
    """
    fields = _Everything() if ours is None else ours.get("fields") or {}
    kind = printed.kind
    if kind in _HEADS:
        yield from _named(_HEADS[kind].search(printed.head), fields)
    elif kind in _BODIES:
        yield from _named(_first(_BODIES[kind], printed), fields)
    if kind in _READERS:
        yield from _READERS[kind](printed, fields, ours or {})


def our_statement(fields: Mapping[str, Any]) -> bytes | None:
    """The bytes of our event's statement, None where it has none."""
    raw = fields.get("query_bytes")
    if isinstance(raw, str):
        return bytes.fromhex(raw[2:])
    text = fields.get("query")
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else None


def _named(found: re.Match[bytes] | None, fields: Mapping[str, Any]) -> Pairs:
    for name, value in found.groupdict().items() if found else ():
        if value is not None and (name in fields or name not in _OPTIONAL):
            yield name, fields.get(name), _text(value) if name in _TEXTS else int(value)


def _first(pattern: re.Pattern[bytes], printed: PrintedEvent) -> re.Match[bytes] | None:
    return next((m for line in printed.body if (m := pattern.match(line))), None)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "backslashreplace")


def _shown(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def _query(printed: PrintedEvent, fields: Mapping[str, Any], ours: Mapping[str, Any]) -> Pairs:
    for line in printed.body:
        if found := _TIMES.match(line):
            yield "timestamp", ours.get("timestamp"), int(found[1])
    yield "query", _shown(our_statement(fields)), _shown(printed.statement)


_ROWS_QUERY = {0x08: rb"\b", 0x09: rb"\t", 0x0D: rb"\r", 0x5C: rb"\\"}


def _rows_query(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    """Compared as printed: four bytes are escaped (mysqlbinlog 9.7.4), in older ones none."""
    mine, theirs = our_statement(fields), printed.statement
    if mine is not None and mine != theirs:
        mine = b"".join(_ROWS_QUERY.get(byte, bytes([byte])) for byte in mine)
    yield "query", _shown(mine), _shown(theirs)


def _xa(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _XA.match(printed.head)
    if found and "gtrid" in fields:
        gtrid, bqual = (str(fields[name])[2:].lower() for name in ("gtrid", "bqual"))
        yield "xa", f"X'{gtrid}',X'{bqual}',{fields.get('format_id')}", _text(found[1])
        # The header says PREPARE in both cases, the statement below shows which.
        one_phase = any(line.startswith(b"XA COMMIT ") for line in printed.body)
        yield "one_phase", bool(fields.get("one_phase")), one_phase


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
        for name, theirs in _gtid_parts(_text(found[1])):
            if name in fields:
                yield name, fields[name], theirs
    for line in printed.body:
        for name, number in _VERSIONS.findall(line):
            if _text(name) in fields:
                theirs = int(number)
                yield _text(name), fields[_text(name)], None if theirs in _NO_VERSION else theirs
    # 5.6 wrote no logical clock, and what a server did not write yet is printed as 0.
    for pattern in (_CLOCK, _COMMIT):
        for name, mine, theirs in _named(pattern.search(printed.head), fields):
            if name in fields:
                yield name, mine or 0, theirs


def _gtid_parts(gtid: str) -> Iterator[tuple[str, Any]]:
    anonymous = gtid == "ANONYMOUS"
    yield "anonymous", anonymous
    if not anonymous:
        sid, *tag, gno = gtid.split(":")
        yield from (("sid", sid), ("tag", ":".join(tag)), ("gno", int(gno)))


def _previous(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    if "gtid_set" not in fields:
        return
    theirs = sorted(_text(m[1]) for line in printed.body if (m := _UUID_SET.fullmatch(line)))
    mine = sorted(part.strip() for part in str(fields["gtid_set"]).split(",") if part.strip())
    yield "gtid_set", ",".join(mine), ",".join(theirs)


def _table_map(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    if printed.table is not None:
        # Both in one: the names stand raw, and where the first ends may not be said.
        theirs = "`.`".join(_text(name) for name in printed.table)
        yield "table", f"{fields.get('db')}`.`{fields.get('table')}", theirs


def _rows(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found, flags = _ROWS.search(printed.head), fields.get("flags")
    yield from _named(found, fields)
    if found and isinstance(flags, list):
        yield "STMT_END", "STMT_END" in flags, b"STMT_END_F" in (found[2] or b"").split()


def _block(printed: PrintedEvent, fields: Mapping[str, Any], _: Mapping[str, Any]) -> Pairs:
    found = _first(_BLOCK, printed)
    if found:
        yield "file_id", fields.get("file_id"), int(found[1])
        data = fields.get("data")
        if isinstance(data, str):
            yield "block_length", len(data) // 2 - 1, int(found[2])


Reader = Callable[[PrintedEvent, Mapping[str, Any], Mapping[str, Any]], Pairs]

_READERS: dict[str, Reader] = {
    "Query": _query,
    "Execute_load_query": _query,
    "Rows_query": _rows_query,
    "XA": _xa,
    "User_var": _user_var,
    "GTID": _gtid,
    "Anonymous_GTID": _gtid,
    "Previous-GTIDs": _previous,
    "Table_map": _table_map,
    "Begin_load_query": _block,
    "Append_block": _block,
} | {
    f"{verb}_rows{suffix}": _rows
    for verb in ("Write", "Update", "Delete")
    for suffix in ("", "_v1", "_partial")
}
