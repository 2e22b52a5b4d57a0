"""Every event of the golden logs, against the server's own SHOW BINLOG EVENTS."""

from __future__ import annotations

import re

import pytest

import binlogkit as bk
from binlogkit.events.base import OpaqueEvent
from binlogkit.events.gtid import Gtid
from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.sources.carriers import resolve
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.golden import GoldenCase, cases

CASES = cases()

# SHOW BINLOG EVENTS' names (Log_event::get_type_str in the server's sources, 5.7.22 and 8.0.31).
NAMES = {
    "Format_desc": "FORMAT_DESCRIPTION_EVENT",
    "Previous_gtids": "PREVIOUS_GTIDS_LOG_EVENT",
    "Gtid": "GTID_LOG_EVENT",
    "Anonymous_Gtid": "ANONYMOUS_GTID_LOG_EVENT",
    "Gtid_tagged_log_event": "GTID_TAGGED_LOG_EVENT",
    "Query": "QUERY_EVENT",
    "Table_map": "TABLE_MAP_EVENT",
    "Write_rows": "WRITE_ROWS_EVENT",
    "Update_rows": "UPDATE_ROWS_EVENT",
    "Delete_rows": "DELETE_ROWS_EVENT",
    "Write_rows_v1": "WRITE_ROWS_EVENT_V1",
    "Update_rows_v1": "UPDATE_ROWS_EVENT_V1",
    "Delete_rows_v1": "DELETE_ROWS_EVENT_V1",
    "Update_rows_partial": "PARTIAL_UPDATE_ROWS_EVENT",
    "Rows_query": "ROWS_QUERY_LOG_EVENT",
    "Xid": "XID_EVENT",
    "XA_prepare": "XA_PREPARE_LOG_EVENT",
    "Rotate": "ROTATE_EVENT",
    "Stop": "STOP_EVENT",
    "Intvar": "INTVAR_EVENT",
    "RAND": "RAND_EVENT",
    "User var": "USER_VAR_EVENT",
    "User_var": "USER_VAR_EVENT",
    "Begin_load_query": "BEGIN_LOAD_QUERY_EVENT",
    "Execute_load_query": "EXECUTE_LOAD_QUERY_EVENT",
    "Append_block": "APPEND_BLOCK_EVENT",
    "Transaction_payload": "TRANSACTION_PAYLOAD_EVENT",
}


def case_id(case: GoldenCase) -> str:
    return f"{case.cell}-{case.scenario}"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_structure_equals_show_binlog_events(case: GoldenCase) -> None:
    shown = [
        (line.file, line.pos, NAMES.get(line.type, line.type), line.server_id, line.end_pos)
        for line in case.manifest.events
    ]
    ours = []
    for path in case.binlogs:
        for event in bk.open(path).event_records():
            if event["inner"] is None:
                ours.append(
                    (path.name, event["pos"], event["type"], event["server_id"], event["end_pos"])
                )
    if case.scenario == "shutdown":  # SHOW BINLOG EVENTS ran before the server stopped
        assert ours.pop()[2] == "STOP_EVENT"
    # 8.0 lists the events inside a payload too; they share the payload's positions.
    inner = [s for s in shown if s not in ours]
    assert [s for s in shown if s in ours] == ours
    payloads = {(o[0], o[4]) for o in ours if o[2] == "TRANSACTION_PAYLOAD_EVENT"}
    assert all((file, end) in payloads for file, _, _, _, end in inner)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_contents_equal_what_the_server_shows(case: GoldenCase) -> None:
    infos = {(line.file, line.pos, line.type): line.info for line in case.manifest.events}
    checked = 0
    for path in case.binlogs:
        carrier = resolve(path)[0]
        with carrier.open() as file:
            for event in read_events(LogReader(path.name, file)):
                assert not isinstance(event.body, OpaqueEvent), event.type
                if event.raw.inner is not None:
                    continue
                if isinstance(event.body, Gtid) and event.body.gtid:
                    name = "Gtid_tagged_log_event" if event.body.tag else "Gtid"
                    info = infos[path.name, event.raw.pos, name]
                    assert event.body.gtid in info
                    checked += 1
                elif isinstance(event.body, Query):
                    info = infos[path.name, event.raw.pos, "Query"]
                    # The server adds the xid of a DDL as a comment, and the default database.
                    shown = re.sub(r" /\* xid=\d+ \*/$", "", info)
                    assert shown.endswith(event.body.query)
                    if shown.startswith("use `") and event.body.schema:
                        quoted = event.body.schema.replace("`", "``")
                        assert shown.startswith(f"use `{quoted}`; ")
                    checked += 1
    assert checked
