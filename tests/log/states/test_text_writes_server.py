"""What a write that is logged as a statement leaves certain: tables that it cannot have written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from binlogkit_fixtures.servers import Server, ServerSpec
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server, shared_server

pytestmark = [pytest.mark.server, pytest.mark.gate]

server = each_server()

#: How Amazon RDS writes it every few minutes, as users of its logs report.
HEARTBEAT = (
    "INSERT INTO mysql.rds_heartbeat2(id, value) values (1, 1700000000000) "
    "ON DUPLICATE KEY UPDATE value = 1700000000000"
)
CHECKSUM = (
    "REPLACE INTO made (id, v) SELECT 7, COALESCE(LOWER(CONV(BIT_XOR(CAST(CRC32(CONCAT_WS('#', "
    "`id`, `v`, CONCAT(ISNULL(`v`)))) AS UNSIGNED)), 10, 10)), 0) AS crc FROM `texts`.`other` "
    "FORCE INDEX(`PRIMARY`) WHERE ((`id` >= '1')) AND ((`id` <= '9')) /*checksum chunk*/"
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
    # What is read are tables: pt-table-checksum's statement among others.
    ((), "INSERT INTO made SELECT id, v FROM other WHERE id > 100", True),
    ((), CHECKSUM, True),
    (("INSERT INTO made VALUES (1, 1)",), "DELETE made FROM made JOIN other USING (id)", True),
    # A function, a trigger, a view, a child or what a MERGE table holds may be written, too.
    ((), "INSERT INTO made VALUES (1, writes(1))", False),
    ((), "INSERT INTO made VALUES (1, `writes` (1))", False),
    ((), "INSERT INTO made SELECT id, v FROM earlier", False),
    (("CREATE VIEW calls AS SELECT writes(3) AS v",), "INSERT INTO made SELECT 5, v FROM calls",
     False),
    (("INSERT INTO made VALUES (1, 1)", "CREATE VIEW calls AS SELECT writes(3) AS v"),
     "DELETE made FROM made JOIN calls ON calls.v = 3", False),
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


#: What deletes all rows as text, what else, and whether other tables are certain afterwards.
EMPTIED: list[tuple[tuple[str, ...], str, bool]] = [
    ((), "DELETE FROM made", True),
    ((), "DELETE QUICK FROM texts.made;", True),
    (("CREATE TRIGGER fires AFTER DELETE ON made FOR EACH ROW UPDATE other SET v = v + OLD.v",),
     "DELETE FROM made", False),
    (("CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES made (id) "
      "ON DELETE CASCADE)", "INSERT INTO child VALUES (1, 2)"), "DELETE FROM made", False),
    (("SET binlog_format = STATEMENT", "INSERT INTO made VALUES (8, 8)"), "DELETE FROM made", True),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EMPTIED)))
def test_a_table_that_a_text_emptied(server: Server, number: int, tmp_path: Path) -> None:
    before, text, others = EMPTIED[number]
    story = Story(server, tmp_path, "texts")
    story.run(f"CREATE TABLE other {TABLE}", "INSERT INTO other VALUES (1, 10)")
    story.run(f"CREATE TABLE made {TABLE}", "INSERT INTO made VALUES (1, 1), (2, 2)")
    story.run("SET binlog_format = MIXED", *before, "SET binlog_format = STATEMENT", text)
    story.mark()
    story.run("SET binlog_format = ROW", "REPLACE INTO made VALUES (2, 3), (5, 5)")
    log = story.log()
    tables = {table for (table,) in story.run("SHOW TABLES")}
    for table in sorted(tables):
        state, rows = log.state(f"texts.{table}"), story.run(f"SELECT * FROM {table} ORDER BY 1")
        assert state.determined == (others or table == "made")
        if state.determined:
            found = [tuple(values.values()) for values in state.rows["values"].to_pylist()]
            assert sorted(found) == rows
    gone = log.state("texts.made", at=(log.files[0], story.pos))
    assert (gone.rows.num_rows, gone.determined) == (0, True)
    told = [*log.life("texts.made", 2).records()]
    assert len({event["life"] for event in told if event["op"] == "insert"}) == 2


@pytest.mark.parametrize(
    ("undone", "logged"),
    [
        (("BEGIN", "SAVEPOINT s", "{0}", "{1}", "ROLLBACK TO s", "COMMIT"), "ROLLBACK"),
        (
            ("BEGIN", "{2}", "SAVEPOINT s", "{0}", "{1}", "ROLLBACK TO s", "COMMIT"),
            "ROLLBACK TO `s`",
        ),
        (("BEGIN", "{0}", "{1}", "ROLLBACK"), "ROLLBACK"),
    ],
)
def test_a_delete_that_is_taken_back(undone: Sequence[str], logged: str, tmp_path: Path) -> None:
    """It is logged where something cannot be rolled back, such as a row of a MyISAM table."""
    options = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
    write = (
        "DELETE FROM made",
        "INSERT INTO stays VALUES (1)",
        "UPDATE made SET v = 5 WHERE id = 1",
    )
    with shared_server(ServerSpec("8.0", options)) as server:
        story = Story(server, tmp_path, "texts")
        story.run(f"CREATE TABLE made {TABLE}", "INSERT INTO made VALUES (1, 1), (2, 2)")
        story.run("CREATE TABLE stays (id INT) ENGINE=MyISAM", "SET binlog_format = STATEMENT")
        story.run(*(one.format(*write) for one in undone))
        story.run("SET binlog_format = ROW", "INSERT INTO made VALUES (3, 3)")
        log, rows = story.log(), story.run("SELECT id FROM made ORDER BY 1")
    assert {"DELETE FROM made", logged} <= {*log.statements()["query"]}
    state = log.state("texts.made")
    assert [(values["id"],) for values in state.rows["values"].to_pylist()] == rows
    assert not state.determined
    assert {event["life"] for event in log.life("texts.made", 2).records()} - {None} == {1}


def test_tables_of_which_only_a_drop_tells(server: Server, tmp_path: Path) -> None:
    """``DROP TABLE IF EXISTS`` names tables that never were; DROP TABLE of one that was there."""
    story = Story(server, tmp_path, "texts")
    story.run(f"CREATE TABLE gone {TABLE}", "FLUSH BINARY LOGS")
    story.name = server.binlog_names()[-1]
    story.run("DROP TABLE IF EXISTS never, nor_this", "DROP TABLE gone", f"CREATE TABLE t {TABLE}")
    log = story.log()
    assert [state.table[1] for state in log.states(at=(log.files[0], 200))] == ["gone"]
    assert [state.table[1] for state in log.states()] == ["t"]
