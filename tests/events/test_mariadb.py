"""A log of MariaDB: called what it is, its own events kept, its transactions whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import MARIADB_EVENT_TYPES, event_type_name
from binlogkit.events.base import OpaqueEvent
from binlogkit.events.query import Query
from binlogkit.events.status_vars import StatusVars
from binlogkit_fixtures.writer import LogWriter

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
GTID = 162


@pytest.fixture(scope="module")
def log() -> bk.Log:
    if not CORPUS.is_dir():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip("the shared corpus of other projects' logs is not beside this tree")
    return bk.open(next(CORPUS.rglob("mariadb-bin.000001")))


def test_its_own_events_are_named_and_kept(log: bk.Log) -> None:
    records: list[Any] = list(log.event_records())
    assert "MariaDB" in records[0]["fields"]["server_version"]
    assert records[0]["fields"]["post_header_lengths"]["MARIADB_GTID_EVENT"] == 19
    own = [r for r in records if r["code"] >= 160]
    assert {r["type"] for r in own} == {
        "MARIADB_GTID_LIST_EVENT", "MARIADB_BINLOG_CHECKPOINT_EVENT", "MARIADB_GTID_EVENT",
        "MARIADB_ANNOTATE_ROWS_EVENT",
    }  # fmt: skip
    assert all(set(r["fields"]) == {"log_pos", "body", "reason"} for r in own)
    assert {r["checksum"] for r in records} == {"ok"}


def test_a_transaction_begins_with_its_gtid(log: bk.Log) -> None:
    found = [(t["rows"], t["xid"], t["outcome"]) for t in log.transaction_records()]
    assert found == [(1, 800, "committed"), (1, 820, "committed")]


def test_a_statement_that_stands_alone_needs_no_commit() -> None:
    log = LogWriter("10.11.6-MariaDB-log")
    for flags, text in ((1, "CREATE TABLE t (a INT)"), (1, "DROP TABLE t"), (0, "COMMIT")):
        log.add(OpaqueEvent(bytes(12) + bytes([flags]) + bytes(6)), GTID)
        log.add(Query(1, 0, 0, "d", StatusVars(), text))
    found = [t["outcome"] for t in bk.open(bytes(log.data)).transaction_records()]
    assert found == ["committed"] * 3


def test_the_log_is_called_what_it_is(log: bk.Log) -> None:
    findings = [f.code for f in log.verify().findings]
    assert "foreign_log" in findings
    assert all("MariaDB" in str(r["server_version"]) for r in log.audit().records("files"))


def test_every_type_has_a_name() -> None:
    assert sorted(MARIADB_EVENT_TYPES) == list(range(160, 173))
    assert all(event_type_name(code).startswith("MARIADB_") for code in MARIADB_EVENT_TYPES)
    assert event_type_name(173) == "UNKNOWN_EVENT_173"
