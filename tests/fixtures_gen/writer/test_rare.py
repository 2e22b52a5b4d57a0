"""The rare logs, read back: by binlogkit, and by mysqlbinlog 9.7.4 where it still can."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.errors import OracleError
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.reader import read_events
from binlogkit.sources import mysqlbinlog
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.writer import EventWriter
from binlogkit_fixtures.writer.rare import RARE, RareLog

LOGS = [pytest.param(log, id=name) for name, log in RARE.items()]


def read(data: bytes) -> list[Event]:
    return list(read_events(LogReader("rare", io.BytesIO(data))))


@pytest.mark.parametrize("log", LOGS)
def test_what_was_written_is_read(log: RareLog) -> None:
    written = log.build()
    events = list(read_events(LogReader(written.name, io.BytesIO(written.data))))
    assert [event.raw for event in events] == [event.raw for event in written.events]
    for event, meant in zip(events, written.events, strict=True):
        assert type(event.body) is type(meant.body)
        assert not isinstance(event.body, OpaqueEvent) or log.name == "10.5-mariadb"
        assert event.unread == event.unread_post_header == b""


@pytest.mark.parametrize("log", LOGS)
def test_it_is_written_again_from_what_was_read(log: RareLog) -> None:
    writer = EventWriter()
    data = b"\xfebin"
    for event in read(log.data):
        written = writer.event(event)
        data += b"" if event.raw.inner is not None else written
    assert data == log.data


def test_every_type_that_no_server_makes_is_there() -> None:
    """Issued by no server at hand: the golden logs and the corpus hold the others."""
    types = {event.type for log in RARE.values() for event in read(log.data)}
    wanted = {
        "START_EVENT_V3", "LOAD_EVENT", "SLAVE_EVENT", "CREATE_FILE_EVENT", "APPEND_BLOCK_EVENT",
        "EXEC_LOAD_EVENT", "DELETE_FILE_EVENT", "NEW_LOAD_EVENT", "PRE_GA_WRITE_ROWS_EVENT",
        "PRE_GA_UPDATE_ROWS_EVENT", "PRE_GA_DELETE_ROWS_EVENT", "WRITE_ROWS_EVENT_V1",
        "UPDATE_ROWS_EVENT_V1", "DELETE_ROWS_EVENT_V1", "INCIDENT_EVENT", "HEARTBEAT_LOG_EVENT",
        "IGNORABLE_LOG_EVENT", "TRANSACTION_CONTEXT_EVENT", "VIEW_CHANGE_EVENT",
        "HEARTBEAT_LOG_EVENT_V2", "UNKNOWN_EVENT_200", "MARIADB_GTID_EVENT",
    }  # fmt: skip
    assert wanted <= types


@pytest.mark.parametrize(
    ("name", "version", "positions"),
    [
        ("3.23-v1", 1, "none"),
        ("4.1-v3", 3, "start"),
        ("5.0-load", 4, "end"),
        ("8.0-extra-data", 4, "end"),
    ],
)
def test_positions_mean_what_they_mean_in_each_version(
    name: str, version: int, positions: str
) -> None:
    for event in read(RARE[name].data):
        raw = event.raw
        assert raw.version == version
        expected = {"none": 0, "start": raw.pos, "end": raw.end_pos}[positions]
        assert raw.header.log_pos == expected


def test_a_relay_log_keeps_the_sources_positions() -> None:
    source, relay = read(RARE["8.0-payloads"].data), read(RARE["8.0-relay"].data)
    own = len(relay) - len(source)
    assert [event.raw.header for event in relay[own:]] == [event.raw.header for event in source]
    assert [event.type for event in relay[:own]] == [
        "FORMAT_DESCRIPTION_EVENT", "PREVIOUS_GTIDS_LOG_EVENT", "ROTATE_EVENT",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("5.1-v1-rows", ["insert", "update", "delete"]),
        ("8.0-extra-data", ["insert", "update", "insert", "delete"]),
        ("8.0-group-replication", ["insert"]),
        ("8.0-payloads", ["insert"] * 4),
        ("8.0-relay", ["insert"] * 4),
        ("10.5-mariadb", ["insert"]),
    ],
)
def test_rows_are_decoded(name: str, operations: list[str]) -> None:
    rows = list(bk.open(RARE[name].data).row_records())
    assert [row["op"] for row in rows] == operations
    assert {(row["db"], row["table"]) for row in rows} == {("rare", "t")}
    notes = {"one", "two", "packed", None}
    images: list[Any] = [row["after"] or row["before"] for row in rows]
    assert all(list(image.values())[1] in notes for image in images)


# What `verify` says of each: what the log shows, and nothing else.
VERIFIED = {
    "3.23-v1": {"no_checksums"},
    "4.1-v3": {"no_checksums"},
    "5.0.2-short-query": {"no_checksums"},
    "5.0-load": {"no_checksums", "in_use", "not_closed"},
    "5.1.15-pre-ga-rows": {"no_checksums", "unread_rows"},
    "5.1.4-drop6": {"no_checksums", "unread_rows", "not_closed"},
    "5.1-v1-rows": {"no_checksums"},
    "5.1-long-header": {"no_checksums", "not_closed"},
    "5.6-incident": {"incident"},
    "8.0-extra-data": set(),
    "8.0-group-replication": {"begins_later"},
    "8.0-stream": {"no_format_description", "no_checksums", "not_closed", "relay_log"},
    "8.0-payloads": set(),
    "8.0-relay": {"relay_log"},
    "10.5-mariadb": {"foreign_log", "unknown_event", "not_closed"},
}


@pytest.mark.parametrize("name", RARE)
def test_they_are_sound(name: str) -> None:
    assert {finding.code for finding in bk.verify(RARE[name].data).findings} == VERIFIED[name]


# Where mysqlbinlog 9.7.4 gives up (the type of the first event that it does not read), and lines
# that it prints of what it does.
READ_BY_MYSQLBINLOG = [
    ("3.23-v1", EventType.START_EVENT_V3, []),
    ("4.1-v3", EventType.START_EVENT_V3, []),
    ("5.0.2-short-query", EventType.QUERY_EVENT, ["server v 5.0.2-alpha-log"]),
    ("5.0-load", None, ["in use or was not closed", "#Delete_file: file_id=2", "# file_id: 1"]),
    ("5.1.15-pre-ga-rows", EventType.PRE_GA_WRITE_ROWS_EVENT, ["`rare`.`t` mapped to number 5"]),
    # It takes the numbers of that tree for others': a TABLE_MAP for an XID, and so on up to here.
    ("5.1.4-drop6", EventType.PRE_GA_UPDATE_ROWS_EVENT, ["Xid = ", "#Begin_load_query: file_id"]),
    ("5.1-v1-rows", EventType.WRITE_ROWS_EVENT_V1, ["`rare`.`t` mapped to number 15"]),
    ("5.1-long-header", EventType.QUERY_EVENT, ["server v 5.1.63-google-log"]),
    ("5.6-incident", None, ["# Incident: LOST_EVENTS"]),
    (
        "8.0-extra-data",
        None,
        [
            "ndb info: data_format: 0, len: 12, data: 0x000102030405060708090A0B",
            "partitioning: source_partition: 0 target_partition: 1",
            "ndb info: data_format: 0, len: 1, data: 0x07",
            "partitioning: partition: 3",
            "### DELETE FROM `rare`.`t`",
        ],
    ),
    (
        "8.0-group-replication",
        None,
        [
            "View_change_log_event: view_id=17145540201234567:3",
            "Transaction_context: server_uuid=30303030-0030-11ee-8030-303030303030\tthread_id=7",
        ],
    ),
    ("8.0-stream", EventType.HEARTBEAT_LOG_EVENT, ["Rotate to binlog.000001  pos: 4"]),
    ("8.0-payloads", None, ["compression_type=ZSTD", "compression_type=NONE", "@2='packed'"]),
    ("8.0-relay", None, ["appears in a relay log", "@2='packed'"]),
    ("10.5-mariadb", 163, ["server v 10.5.15-MariaDB-log"]),
]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "refused", "lines"),
    READ_BY_MYSQLBINLOG,
    ids=[name for name, _, _ in READ_BY_MYSQLBINLOG],
)
@pytest.mark.gate(3)
def test_mysqlbinlog_reads_it(
    name: str, refused: int | None, lines: list[str], tmp_path: Path
) -> None:
    log = RARE[name]
    path = tmp_path / "rare.000001"
    path.write_bytes(log.data)
    said: list[str] = []
    error = ""
    try:
        for line in mysqlbinlog.read(path, options=["--verify-binlog-checksum"]):
            said.append(line.decode())
    except OracleError as exc:
        error = str(exc)
    first = next((e.raw.pos for e in read(log.data) if e.raw.header.type_code == refused), None)
    if first is None:
        assert (refused, error) == (None, "")
    else:
        assert f"Could not read entry at offset {first}:" in error
        assert "Found invalid event in binary log" in error
    text = "".join(said)
    assert [line for line in lines if line not in text] == []


def test_the_oracle_is_asked_about_every_log() -> None:
    assert [name for name, _, _ in READ_BY_MYSQLBINLOG] == list(RARE)
