"""What a format cannot say is refused by name; nothing is written of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binlogkit.constants import BINLOG_MAGIC, EventFlag, EventType
from binlogkit.events.base import OpaqueEvent
from binlogkit.events.control import HeartbeatV2, Incident, Rotate, XaPrepare, Xid
from binlogkit.events.early import EarlyRows
from binlogkit.events.format_description import ChecksumAlgorithm, FormatDescription, StartV3
from binlogkit.events.group import ViewChange
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.load import Load
from binlogkit.events.payload import TransactionPayload
from binlogkit.events.query import Query, RowsQuery
from binlogkit.events.rows import ExtraRowInfo, RowsEvent
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import OptionalMetadata, TableMap
from binlogkit.events.variables import Intvar, UserVar
from binlogkit_fixtures.writer import LogWriter, UnwritableError, format_description

CRC32 = ChecksumAlgorithm.CRC32
SID = "12345678-1234-1234-1234-123456789abc"
V1, V3 = StartV3(1, "3.23.58", 0), StartV3(3, "4.1.22", 0)
QUERY = Query(1, 0, 0, "", StatusVars(), "COMMIT")
ROWS = RowsEvent(1, 0, "insert", 2, None, b"\x03", None, b"")
LOAD = Load(1, 0, 0, "db", "t", (), "f", b"\t", b"", b"\n", b"", b"\\", ())
MAP = TableMap(1, 0, "db", "t", b"\x03", b"", b"\x01", None)
PAYLOAD = TransactionPayload(3, "ZSTD", 9, b"abc")


def status(**values: Any) -> Query:
    return replace(QUERY, status_vars=StatusVars(**values))


def extra(**values: Any) -> RowsEvent:
    return replace(ROWS, extra=ExtraRowInfo(**values))


def optional(**values: Any) -> TableMap:
    return replace(MAP, optional=OptionalMetadata(**values))


CASES: list[tuple[Any, Any, int | None, str]] = [
    # v1 and v3 have less room.
    (V1, Rotate(5, "log.002"), None, "position"),
    (V1, status(flags2=0), None, "status_vars"),
    (V3, status(catalog="std"), None, "status_vars"),
    # Numbers and lengths.
    ("8.0.31", Xid(1 << 64), None, "xid"),
    ("8.0.31", replace(QUERY, thread_id=1 << 32), None, "thread_id"),
    ("8.0.31", replace(QUERY, schema="x" * 256), None, "schema_length"),
    ("8.0.31", Incident(1, "x" * 256), None, "message_length"),
    ("8.0.31", XaPrepare(False, 1 << 32, b"", b""), None, "format_id"),
    ("8.0.31", ViewChange("x" * 41, 0, ()), None, "view_id"),
    ("8.0.31", replace(ROWS, table_id=1 << 48), None, "table_id"),
    ("8.0.31", FormatDescription(4, "x" * 51, 0, 19, (), None), None, "server_version"),
    # Text, names, numbers that stand for nothing.
    ("8.0.31", Intvar("NO_SUCH", 1), None, "intvar_type"),
    ("8.0.31", UserVar("v", False, "NO_SUCH", 63, b""), None, "var_type"),
    ("8.0.31", replace(LOAD, options=("no such",)), None, "options"),
    ("8.0.31", replace(PAYLOAD, compression="LZ4"), None, "compression"),
    ("8.0.31", Gtid(0, "no uuid", 1), None, "sid"),
    ("9.7.4", Gtid(0, SID, 1, tag="Upper"), None, "tag"),
    ("9.7.4", Gtid(0, SID, 1, tag="t", immediate_commit_timestamp=1 << 55), None,
     "immediate_commit_timestamp"),
    ("8.0.31", status(client_collation=8, connection_collation=8, server_collation=8),
     None, ""),
    ("8.0.31", replace(status(client_collation=8, connection_collation=8, server_collation=8),
     query="SELECT 'é'"), None, "query"),
    # What has to go together, and what contradicts itself.
    ("8.0.31", replace(QUERY, query_bytes=b"ROLLBACK"), None, "query_bytes"),
    ("8.0.31", RowsQuery("a", b"b"), None, "query_bytes"),
    ("8.0.31", status(auto_increment_increment=1), None, "auto_increment_offset"),
    ("8.0.31", status(invoker_host="h"), None, "invoker_host"),
    ("8.0.31", status(enable_cascade_triggers=True), None, "enable_cascade_triggers"),
    ("8.0.31", status(flags2=1, order=(1,)), None, "order"),
    ("8.0.31", status(flags2=1, sql_mode=1, order=(1,)), None, "flags2"),
    ("8.0.31", status(updated_dbs=("a\0b",)), None, "updated_dbs"),
    ("8.0.31", Gtid(0, SID, 1, last_committed=0), None, "sequence_number"),
    ("8.0.31", Gtid(0, SID, 1, transaction_length=9), None, "transaction_length"),
    ("8.0.31", Gtid(0, SID, 1, 0, 1, 1 << 55, 1), None, "immediate_commit_timestamp"),
    ("8.0.31", PreviousGtids(f"{SID}:1-3", entries=((SID, "", ((1, 2),)),)), None, "gtid_set"),
    ("8.0.31", replace(PAYLOAD, payload_size=4), None, "payload_size"),
    ("8.0.31", HeartbeatV2("log", 4, order=(1, 0)), None, "order"),
    ("8.0.31", UserVar("v", True, "INT", 63, b""), None, "is_null"),
    ("8.0.31", UserVar("v", False, "INT"), None, "value"),
    ("8.0.31", UserVar("v", False, "INT", 63, b"", unsigned=True), None, "unsigned"),
    ("8.0.31", FormatDescription(4, "8.0.31", 0, 19, (), None), None, "checksum_algorithm"),
    ("8.0.31", FormatDescription(4, "5.5.62", 0, 19, (), CRC32), None, "checksum_algorithm"),
    # Rows.
    ("8.0.31", replace(ROWS, after_columns=b"\x03\x03"), None, "after_columns"),
    ("8.0.31", replace(ROWS, before_columns=b"\x03"), None, "before_columns"),
    ("8.0.31", replace(ROWS, op="update"), None, "before_columns"),
    ("8.0.31", ROWS, EventType.UPDATE_ROWS_EVENT, "op"),
    ("8.0.31", extra(rest=b"\x02"), EventType.WRITE_ROWS_EVENT_V1, "extra"),
    ("8.0.31", extra(ndb=b""), None, "ndb_format"),
    ("8.0.31", extra(ndb=bytes(254), ndb_format=0), None, "ndb_length"),
    ("8.0.31", extra(partition_id=1, source_partition_id=2), None, "source_partition_id"),
    ("8.0.31", extra(partition_id=1, order=(0,)), None, "order"),
    ("8.0.31", EarlyRows(1, 0, "insert", 9, b"\x03", b""), None, "columns"),
    ("8.0.31", EarlyRows(1, 0, "insert", 2, b"\x03", b""), 21, "op"),
    # Table maps.
    ("8.0.31", replace(MAP, nullable=b""), None, ""),
    ("8.0.31", replace(MAP, nullable=b"\0\0"), None, "nullable"),
    ("8.0.31", optional(primary_key=((0, 5),), order=(8,)), None, "primary_key"),
    ("8.0.31", optional(visible=(True,), order=()), None, ""),
    ("8.0.31", optional(geometry_types=(1,), order=(7, 7)), None, "order"),
    ("8.0.31", optional(geometry_types=(1,), order=(12,)), None, "order"),
    # LOAD DATA.
    (V3, replace(LOAD, terminated=b"<>"), EventType.LOAD_EVENT, "terminated"),
    (V3, replace(LOAD, db="x" * 256), None, "db_length"),
    # Types.
    ("8.0.31", QUERY, EventType.XID_EVENT, "type"),
    ("8.0.31", QUERY, 200, "type"),
    ("8.0.31", OpaqueEvent(b""), None, "type"),
]  # fmt: skip


def name_of(case: tuple[Any, Any, int | None, str]) -> str:
    return f"{type(case[1]).__name__}-{case[3] or 'well'}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_refused(case: tuple[Any, Any, int | None, str]) -> None:
    start, body, code, field = case
    log = LogWriter(start)
    before = bytes(log.data)
    if not field:  # its neighbour in the table is refused
        log.add(body, code)
        return
    with pytest.raises(UnwritableError) as caught:
        log.add(body, code)
    assert caught.value.field == field
    assert log.data == before
    assert len(log.events) == 1


def test_v1_headers_hold_no_flags_and_no_position() -> None:
    for options in ({"flags": EventFlag.THREAD_SPECIFIC}, {"log_pos": 4}):
        with pytest.raises(UnwritableError):
            LogWriter(V1).add(QUERY, **options)


def test_a_header_holds_what_its_length_says() -> None:
    log = LogWriter(format_description("5.1.63", event_header_length=27))
    log.add(QUERY)
    log.add(QUERY, extra_header=b"12345678")
    with pytest.raises(UnwritableError) as caught:
        log.add(QUERY, extra_header=b"1234567")
    assert caught.value.field == "extra_header"


def test_a_post_header_that_is_not_there_cannot_have_a_rest() -> None:
    log = LogWriter("8.0.31")
    log.add(QUERY, unread_post_header=b"\x01")
    with pytest.raises(UnwritableError) as caught:
        log.add(Incident(1, None), unread=b"\x01", unread_post_header=b"")
        log.add(PreviousGtids(""), unread_post_header=b"\x01")
    assert caught.value.field == "unread_post_header"


def test_a_log_may_begin_with_neither() -> None:
    log = LogWriter(None)
    assert log.data == BINLOG_MAGIC
    log.add(QUERY)
    assert log.events[0].raw.pos == 4
