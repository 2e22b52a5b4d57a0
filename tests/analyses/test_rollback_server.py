"""ROLLBACK and ROLLBACK TO over tables with and without transactions, on real servers.

5.7 writes a rolled back transaction, and what lies between a savepoint and ROLLBACK TO it, where a
temporary table was made or dropped in between; the rows of a MyISAM table always stand in
transactions of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time import replay
from binlogkit_fixtures.servers import Server
from tests.servers import each_server

pytestmark = pytest.mark.server

STORY = """
BEGIN
INSERT INTO t.inno VALUES ({n} + 1, UUID())
INSERT INTO t.my VALUES ({n} + 1, UUID())
CREATE TEMPORARY TABLE t.temporary (a INT)
DROP TEMPORARY TABLE t.temporary
INSERT INTO t.inno VALUES ({n} + 2, UUID())
ROLLBACK
BEGIN
INSERT INTO t.inno VALUES ({n} + 3, UUID())
SAVEPOINT `s p`
INSERT INTO t.inno VALUES ({n} + 4, UUID())
INSERT INTO t.my VALUES ({n} + 4, UUID())
CREATE TEMPORARY TABLE t.temporary (a INT)
DROP TEMPORARY TABLE t.temporary
ROLLBACK TO `s p`
INSERT INTO t.inno VALUES ({n} + 5, UUID())
COMMIT
"""


server = each_server(["5.7", "8.0"])


@pytest.mark.gate
def test_the_state_after_rollbacks(server: Server, tmp_path: Path) -> None:
    session = server.connect(autocommit=True)
    with session.cursor() as cursor:
        cursor.execute("CREATE DATABASE t")
        cursor.execute("CREATE TABLE t.inno (id INT PRIMARY KEY, u CHAR(36)) ENGINE=InnoDB")
        cursor.execute("CREATE TABLE t.my (id INT PRIMARY KEY, u CHAR(36)) ENGINE=MyISAM")
        for n, setting in enumerate(("ROW", "MIXED")):
            cursor.execute(f"SET SESSION binlog_format = {setting}")
            for line in STORY.strip().splitlines():
                cursor.execute(line.format(n=10 * n))
        held: dict[str, list[Any]] = {}
        for table in ("inno", "my"):
            cursor.execute(f"SELECT id, u FROM t.{table} ORDER BY id")
            held[table] = [list(row) for row in cursor.fetchall()]
        cursor.execute("FLUSH BINARY LOGS")
    log = bk.open([str(server.copy_binlog(n, tmp_path / n)) for n in server.binlog_names()])
    transactions = log.transactions(engine="pyarrow")
    for table, rows in held.items():
        found = replay(
            log.changes(f"t.{table}"),
            log.boundaries(engine="pyarrow"),
            key=["id"],
            transactions=transactions,
            statements=log.statements(engine="pyarrow"),
            transactional=table == "inno",
        )
        assert [list(r["values"].values()) for r in found.rows.to_pylist()] == rows
        assert found.determined, found.findings.to_pylist()
    touched = {t for row in rolled_back_tables(transactions) for t in row}
    assert touched <= {"t.inno"}
    if server.version.startswith("5.7"):
        assert touched == {"t.inno"}


def rolled_back_tables(transactions: Any) -> list[list[str]]:
    """The tables of rolled back transactions with row changes."""
    rows = transactions.to_pylist()
    return [r["tables"] for r in rows if r["rows"] and r["outcome"] == "rolled_back"]
