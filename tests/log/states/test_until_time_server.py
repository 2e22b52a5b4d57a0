"""Without commit timestamps a second is the finest that a log tells."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import ServerSpec
from tests.servers import shared_server

pytestmark = pytest.mark.server

SECOND = 1_700_000_000


@pytest.mark.gate
def test_changes_of_the_same_second_are_not_determined(tmp_path: Path) -> None:
    with shared_server(ServerSpec("5.7")) as server:
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE u")
            cursor.execute(f"SET binlog_format = ROW, timestamp = {SECOND - 10}")
            cursor.execute("CREATE TABLE u.t (id INT PRIMARY KEY)")
            cursor.execute("CREATE TABLE u.other (id INT PRIMARY KEY)")
            cursor.execute("INSERT INTO u.other VALUES (1)")
            for number in range(3):
                cursor.execute(f"SET timestamp = {SECOND + number // 2}")
                cursor.execute(f"INSERT INTO u.t VALUES ({number})")
        log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    for time, rows, determined in (
        (SECOND - 1, 0, True),
        (SECOND, 2, False),
        (SECOND + 0.5, 2, False),
        (SECOND + 0.999999, 2, True),
        (SECOND + 2, 3, True),
    ):
        state = log.state("u.t", until_time=time)
        doubts = [f["finding"] for f in state.findings.to_pylist() if not f["determined"]]
        assert (state.rows.num_rows, state.determined) == (rows, determined), time
        assert doubts == ([] if determined else ["same_second"])
        assert log.state("u.other", until_time=time).determined
