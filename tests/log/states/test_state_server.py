"""States of tables whose engines keep rows elsewhere, against real servers' SELECT."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import ServerSpec, start
from tests.servers import shared_server

pytestmark = pytest.mark.server

STORY = """
CREATE DATABASE m
CREATE TABLE m.one (id INT PRIMARY KEY) ENGINE=MyISAM
CREATE TABLE m.two (id INT PRIMARY KEY) ENGINE=MyISAM
CREATE TABLE m.other (id INT PRIMARY KEY) ENGINE=InnoDB
CREATE TABLE m.both (id INT NOT NULL, KEY (id)) ENGINE=MERGE UNION=(m.one, m.two) INSERT_METHOD=LAST
INSERT INTO m.one VALUES (1)
INSERT INTO m.other VALUES (1)
"""


@pytest.mark.parametrize("binlog_format", ["ROW", "STATEMENT"])
@pytest.mark.parametrize("series", ["5.7", "8.0"])
@pytest.mark.gate(1)
def test_rows_written_to_a_merge_table(series: str, binlog_format: str, tmp_path: Path) -> None:
    """They are another table's: neither state is told as determined, others are."""
    with shared_server(ServerSpec(series, {"binlog-format": binlog_format})) as server:
        for line in STORY.strip().splitlines():
            server.query(line)
        name = server.binlog_names()[-1]
        pos = int(server.query("SHOW MASTER STATUS")[0][1])
        server.query("INSERT INTO m.both VALUES (2)")
        assert server.query("SELECT id FROM m.two") == [(2,)]
        log = bk.open(str(server.copy_binlog(name, tmp_path)))
    rows = binlog_format == "ROW"
    if rows:  # a statement may have fired triggers
        assert log.state("m.two", at=(name, pos)).determined
    for table in ("one", "two", "both"):
        state = log.state(f"m.{table}")
        assert not state.determined
        assert "merge" in state.findings.column("finding").to_pylist(), table
    if rows:
        (finding,) = log.state("m.two").findings.to_pylist()
        assert finding["pos"] >= pos and "m.both" in finding["meaning"]
        assert log.state("m.other").determined


FOLDED_STORY = """
CREATE DATABASE M
CREATE TABLE M.One (Id INT PRIMARY KEY) ENGINE=MyISAM
CREATE TABLE M.Two (Id INT PRIMARY KEY) ENGINE=MyISAM
CREATE TABLE M.Both (Id INT NOT NULL, KEY (Id)) ENGINE=MERGE UNION=(M.One, M.Two) INSERT_METHOD=LAST
"""


@pytest.mark.parametrize("binlog_format", ["ROW", "STATEMENT"])
def test_a_merge_table_where_names_are_stored_in_small_letters(
    binlog_format: str, tmp_path: Path
) -> None:
    """The log's statements have capitals, its table maps none, whichever comes first."""
    options = {"log-bin": "binlog", "binlog-format": binlog_format, "lower-case-table-names": "1"}
    with start(ServerSpec("5.7", options)) as server:  # its data folder is made so
        for line in FOLDED_STORY.strip().splitlines():
            server.query(line)
        name = server.binlog_names()[-1]
        pos = int(server.query("SHOW MASTER STATUS")[0][1])
        server.query("INSERT INTO M.BOTH VALUES (2)")
        end = int(server.query("SHOW MASTER STATUS")[0][1])
        # Rows tell a reader only now, where statements came before them.
        server.query("SET binlog_format = ROW")
        server.query("INSERT INTO m.one VALUES (1)")
        assert server.query("SELECT id FROM m.two") == [(2,)]
        log = bk.open(str(server.copy_binlog(name, tmp_path)))
    for table in ("one", "two", "both"):
        state = log.state(f"m.{table}")
        assert not state.determined
        assert "merge" in state.findings.column("finding").to_pylist(), table
    told = log.state("m.two").findings.to_pylist()
    (finding,) = (f for f in told if f["finding"] == "merge")
    assert pos <= finding["pos"] < end and "m.both" in finding["meaning"]
    assert "merge" not in log.state("m.two", at=(name, pos)).findings.column("finding").to_pylist()


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_table_maps_that_a_failed_statement_left(series: str, tmp_path: Path) -> None:
    """They are no statement that lacks rows."""
    options = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
    with shared_server(ServerSpec(series, options)) as server:
        server.query("DROP DATABASE IF EXISTS maps")
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            for statement in (
                "FLUSH BINARY LOGS", "CREATE DATABASE maps",
                "CREATE TABLE maps.p (id INT PRIMARY KEY)",
                "CREATE TABLE maps.m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM",
                "INSERT INTO maps.p VALUES (1), (4)", "INSERT INTO maps.m VALUES (1, 1), (4, 4)",
            ):  # fmt: skip
                cursor.execute(statement)
            with pytest.raises(pymysql.err.IntegrityError):
                cursor.execute("UPDATE maps.p JOIN maps.m ON p.id = m.id SET p.id = 9, m.v = 2")
        log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    events = log.events()["type"].tolist()
    assert events[-2:] == ["TABLE_MAP_EVENT", "QUERY_EVENT"]
    assert [state.determined for state in log.states()] == [True, True]
