"""What a write that is logged as a statement leaves certain: tables that it cannot have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit_fixtures.servers import Server
from tests.log.test_undo_server import Story
from tests.servers import each_server

pytestmark = [pytest.mark.server, pytest.mark.gate]

server = each_server()

#: How Amazon RDS writes it every few minutes, as users of its logs report.
HEARTBEAT = (
    "INSERT INTO mysql.rds_heartbeat2(id, value) values (1, 1700000000000) "
    "ON DUPLICATE KEY UPDATE value = 1700000000000"
)
TABLE = "(id INT PRIMARY KEY, v BIGINT)"

#: What is written as text, after what, and whether other tables are certain afterwards.
CASES: list[tuple[tuple[str, ...], str, bool]] = [
    ((), HEARTBEAT, True),
    ((), "INSERT INTO made (id, v) VALUES (1, UNIX_TIMESTAMP(NOW()))", True),
    ((), "REPLACE made SET id = 2, v = CRC32(CONCAT_WS('f(', 'x', id))", True),
    ((), "UPDATE made SET v = `v` + (1) WHERE id IN (1, 2)", True),
    ((), "DELETE FROM made", True),
    (("RENAME TABLE made TO moved",), "DELETE FROM moved", True),
    # A function, a trigger, a view, a child or what a MERGE table holds may be written, too.
    ((), "INSERT INTO made VALUES (1, writes(1))", False),
    ((), "INSERT INTO made VALUES (1, `writes` (1))", False),
    ((), "INSERT INTO made SELECT id, v FROM other WHERE id > 100", False),
    (("CREATE TRIGGER fires BEFORE INSERT ON made FOR EACH ROW INSERT INTO other VALUES (NEW.id + "
      "50, 1)",), "INSERT INTO made VALUES (1, 2)", False),
    (("CREATE TRIGGER fires BEFORE INSERT ON made FOR EACH ROW INSERT INTO other VALUES (NEW.id + "
      "50, 1)", "RENAME TABLE made TO moved"), "INSERT INTO moved VALUES (1, 2)", False),
    (("CREATE VIEW shows AS SELECT id, v FROM other",), "INSERT INTO shows VALUES (60, 2)", False),
    (("INSERT INTO made VALUES (1, 1)",
      "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES made (id) "
      "ON DELETE CASCADE)", "INSERT INTO child VALUES (1, 1)"), "DELETE FROM made", False),
    ((), "INSERT INTO earlier VALUES (70, 2)", False),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_other_tables(server: Server, number: int, tmp_path: Path) -> None:
    before, text, certain = CASES[number]
    server.query(
        "CREATE TABLE IF NOT EXISTS mysql.rds_heartbeat2 (id INT PRIMARY KEY, value BIGINT)"
    )
    server.query("SET GLOBAL log_bin_trust_function_creators = 1")
    story = Story(server, tmp_path, "texts")
    story.run(
        f"CREATE TABLE earlier {TABLE}",
        f"CREATE TABLE other {TABLE}",
        "CREATE FUNCTION writes(n INT) RETURNS INT BEGIN INSERT INTO other VALUES (n + 50, 1); "
        "RETURN n; END",
        "FLUSH BINARY LOGS",
    )
    story.name = server.binlog_names()[-1]
    story.run("DROP TABLE other", f"CREATE TABLE other {TABLE}", f"CREATE TABLE made {TABLE}")
    story.run("INSERT INTO other VALUES (1, 10), (2, 20)", "SET binlog_format = MIXED")
    story.run(*before, "SET binlog_format = STATEMENT", text, "SET binlog_format = ROW")
    story.run("UPDATE other SET v = 30 WHERE id = 2")
    table = "child" if "child" in str(before) else "other"
    server.query("DROP TABLE mysql.rds_heartbeat2")
    state, rows = story.log().state(f"texts.{table}"), story.run(f"SELECT * FROM {table}")
    assert state.determined == certain
    found = [tuple(values.values()) for values in state.rows["values"].to_pylist()]
    if certain:
        assert found == rows
