"""What a server did without logging it leaves a landed state undetermined, as it does a log's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.spark.landing import Landing, keep_current
from tests.livestate.test_unlogged_server import CHANGES, FULL, MINIMAL
from tests.sources.server.conftest_server import shared_series
from tests.spark.landing.landings import land

pytestmark = pytest.mark.server


BEFORE = (
    "CREATE TABLE t (id INT PRIMARY KEY, n DECIMAL(9,2), c CHAR(9), d INT)",
    "INSERT INTO t VALUES (1, 1.5, 'a', 0), (2, 2.5, 'b', 0), (3, 3, '', 0)",
    "CREATE TABLE h (id INT, n INT)",
    "INSERT INTO h VALUES (1, 1)",
)


@pytest.mark.parametrize(("series", "options"), [("5.7", FULL), ("8.0", MINIMAL), ("9", FULL)])
def test_it_is_a_finding(series: str, options: Mapping[str, str], tmp_path: Path) -> None:
    """Of a state, and of current rows with which the changes are merged."""
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    logs.mkdir()
    with shared_series(series, options) as server:
        server.query("FLUSH BINARY LOGS")
        for i, _ in enumerate(CHANGES):
            server.query(f"CREATE DATABASE u{i}")
            with server.connect(database=f"u{i}", autocommit=True) as session:
                for statement in BEFORE:
                    session.query(statement)
        server.query("FLUSH BINARY LOGS")
        for i, (unlogged, logged, _) in enumerate(CHANGES.values()):
            with server.connect(database=f"u{i}", autocommit=True) as session:
                session.query("SET sql_log_bin = 0")
                session.query(unlogged.replace("u.", ""))
                session.query("SET sql_log_bin = 1")
                session.query(logged.replace("u.", ""))
        server.query("FLUSH BINARY LOGS")
        for name in server.binlog_names()[-3:-1]:
            server.copy_binlog(name, logs / name)
            land(logs, lake)
            kept = {one.table: one.determined for one in keep_current(lake)}
    landing, log = Landing(lake), bk.open(logs)
    tables = landing.tables()
    determined = {table: log.state(table).determined for table in tables}
    assert len(tables) == 2 * len(CHANGES) and not all(determined.values())
    assert kept == {table: determined[table] for table in kept}
    for table in tables:
        state = landing.state(table)
        told = [finding["meaning"] for finding in state.findings.to_pylist()]
        assert state.determined == determined[table], table
        assert any("outside of these logs" in one for one in told) != determined[table], table
