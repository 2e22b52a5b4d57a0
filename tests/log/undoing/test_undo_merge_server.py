"""Undo by the column (mode merge): what SELECT shows where others changed the same rows since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = pytest.mark.server

server = each_server()

TABLES = (
    "CREATE TABLE p (id INT PRIMARY KEY)",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, u INT UNIQUE, x INT, y INT, p INT, "
    "g INT AS (a + b) STORED, UNIQUE (x, y), FOREIGN KEY (p) REFERENCES p (id))",
    "CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id))",
    "CREATE TABLE d (id INT PRIMARY KEY, t INT, "
    "FOREIGN KEY (t) REFERENCES t (u) ON UPDATE CASCADE)",
    "INSERT INTO p VALUES (1), (2)",
    "INSERT INTO t (id, a, b, u, x, y, p) VALUES (1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2)",
    "INSERT INTO d VALUES (1, 2)",
)
ONE, TWO = (1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2)
REFUSED = "nothing to commit: 1 change was refused and not carried out"
#: What is undone, what was done since, the rows then, the verdict; of a row id, a, b, u, x, y, p.
SCENES: list[tuple[tuple[str, ...], tuple[str, ...], list[tuple[int, ...]], str]] = [
    # other columns of the row, and the same
    (("UPDATE t SET a = 9, b = 9 WHERE id = 1",), ("UPDATE t SET u = 7 WHERE id = 1",),
     [(1, 1, 1, 7, 1, 1, 1), TWO], "committed"),
    (("UPDATE t SET a = 9, b = 9 WHERE id = 1",), ("UPDATE t SET a = 8 WHERE id = 1",),
     [(1, 8, 1, 1, 1, 1, 1), TWO], "committed, 1 column kept"),
    (("UPDATE t SET a = 9, b = 9",), ("UPDATE t SET a = 8 WHERE id = 1",),
     [(1, 8, 1, 1, 1, 1, 1), TWO], "committed, 1 column kept"),
    # to another value and back is a change by somebody else
    (("UPDATE t SET a = 9, b = 9 WHERE id = 1",),
     ("UPDATE t SET a = 8 WHERE id = 1", "UPDATE t SET a = 9 WHERE id = 1"),
     [(1, 9, 1, 1, 1, 1, 1), TWO], "committed, 1 column kept"),
    (("UPDATE t SET a = 9 WHERE id = 1",), ("UPDATE t SET a = 8 WHERE id = 1",),
     [(1, 8, 1, 1, 1, 1, 1), TWO], "nothing to commit: 1 change was skipped, 1 column kept"),
    (("UPDATE t SET a = 9",), ("UPDATE t SET a = 8, b = 8 WHERE id = 1",),
     [(1, 8, 8, 1, 1, 1, 1), TWO],
     "committed 1 statement, 1 column kept; 1 change was skipped"),
    # the row has another key now
    (("UPDATE t SET a = 9, b = 9 WHERE id = 1",),
     ("UPDATE t SET id = 5 WHERE id = 1", "UPDATE t SET id = 6, b = 7 WHERE id = 5"),
     [TWO, (6, 1, 7, 1, 1, 1, 1)], "committed, 1 column kept"),
    (("UPDATE t SET id = 5, a = 9 WHERE id = 1",), ("UPDATE t SET b = 7 WHERE id = 5",),
     [(1, 1, 7, 1, 1, 1, 1), TWO], "committed"),
    (("UPDATE t SET id = 5, a = 9 WHERE id = 1",), ("UPDATE t SET id = 6 WHERE id = 5",),
     [TWO, (6, 1, 1, 1, 1, 1, 1)], "committed, 1 column kept"),
    (("UPDATE t SET id = 5, a = 9 WHERE id = 1",),
     ("INSERT INTO t (id, a) VALUES (1, 0)",),
     [(1, 0), TWO, (5, 1, 1, 1, 1, 1, 1)], "committed, 1 column kept"),
    # columns of one key
    (("UPDATE t SET x = 9, y = 9, a = 9 WHERE id = 1",), ("UPDATE t SET y = 8 WHERE id = 1",),
     [(1, 1, 1, 1, 9, 8, 1), TWO], "committed, 2 columns kept"),
    (("UPDATE t SET u = 9, a = 9 WHERE id = 1",), ("UPDATE t SET u = 1 WHERE id = 2",),
     [(1, 1, 1, 9, 1, 1, 1), (2, 2, 2, 1, 2, 2, 2)], "committed, 1 column kept"),
    (("UPDATE t SET p = 2, a = 9 WHERE id = 1",), ("DELETE FROM p WHERE id = 1",),
     [(1, 1, 1, 1, 1, 1, 2), TWO], "committed, 1 column kept"),
    (("UPDATE t SET id = 5, a = 9 WHERE id = 1",), ("INSERT INTO c VALUES (1, 5)",),
     [TWO, (5, 1, 1, 1, 1, 1, 1)], "committed, 1 column kept"),
    # the row is gone, or came later
    (("UPDATE t SET a = 9 WHERE id = 1",), ("DELETE FROM t WHERE id = 1",), [TWO], REFUSED),
    (("UPDATE t SET a = 9 WHERE id = 1",),
     ("DELETE FROM t WHERE id = 1", "INSERT INTO t (id, a) VALUES (1, 9)"),
     [(1, 9), TWO], REFUSED),
    (("INSERT INTO t (id, a) VALUES (3, 3)",), ("UPDATE t SET a = 4 WHERE id = 3",),
     [ONE, TWO, (3, 4)], REFUSED),
    (("DELETE FROM t WHERE id = 1",), ("INSERT INTO t (id, a) VALUES (1, 9)",),
     [(1, 9), TWO], REFUSED),
    # several changes of one row
    (("UPDATE t SET a = 8, b = 8 WHERE id = 1", "UPDATE t SET a = 9, u = 9 WHERE id = 1"),
     ("UPDATE t SET a = 0 WHERE id = 1",),
     [(1, 0, 1, 1, 1, 1, 1), TWO], "committed, 2 columns kept"),
    (("UPDATE t SET a = 8, b = 8 WHERE id = 1", "UPDATE t SET id = 7, b = 9 WHERE id = 1"),
     ("UPDATE t SET a = 0 WHERE id = 7",),
     [(1, 0, 1, 1, 1, 1, 1), TWO], "committed, 1 column kept"),
    (("UPDATE t SET a = 8 WHERE id = 1", "DELETE FROM t WHERE id = 1"), (),
     [ONE, TWO], "committed"),
    (("UPDATE t SET a = 8 WHERE id = 1", "DELETE FROM t WHERE id = 1"),
     ("UPDATE t SET u = 1 WHERE id = 2",), [(2, 2, 2, 1, 2, 2, 2)],
     "nothing to commit: 2 changes were refused and not carried out"),
    # a foreign key that cascades without a trace up to 9.5
    (("UPDATE t SET u = 9, a = 9 WHERE id = 2",), ("UPDATE t SET b = 7 WHERE id = 2",),
     [ONE, (2, 2, 7, 2, 2, 2, 2)], "committed"),
]  # fmt: skip


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.gate(1)
def test_scenes(server: Server, tmp_path: Path, image: str) -> None:
    story = Story(server, tmp_path, "merging")
    story.run(f"SET SESSION binlog_row_image = '{image}'")
    for undone, since, rows, verdict in SCENES:
        story.run("SET foreign_key_checks = 0", "DROP TABLE IF EXISTS p, t, c, d", "FLUSH LOGS")
        story.run("SET foreign_key_checks = 1")
        story.name, story.pos = server.binlog_names()[-1], 4
        story.run(*TABLES)
        story.mark()
        story.run(*undone)
        stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
        story.run(*since)
        told = story.undo(mode="merge", stop_position=stop)
        found = story.run("SELECT id, a, b, u, x, y, p FROM t ORDER BY id")
        full = [(*row, *([None] * (7 - len(row)))) for row in rows]
        assert (found, told[-1]) == (sorted(full, key=lambda r: r[0] or 0), verdict), (
            undone,
            since,
        )


#: A foreign key's action and the table's key; what is done to the parent; row, and verdict.
FOREIGN: list[tuple[str, str, str, list[tuple[int | None, ...]], str]] = [
    ("DELETE CASCADE", "id", "DELETE FROM p WHERE id = 1", [], REFUSED),
    ("DELETE SET NULL", "id", "DELETE FROM p WHERE id = 1", [(1, None, 1)], "committed"),
    ("UPDATE CASCADE", "id", "UPDATE p SET id = 3", [(1, 3, 1)], "committed"),
    ("UPDATE CASCADE", "up", "UPDATE p SET id = 3", [(1, 3, 1)], "committed"),
]


def test_what_a_foreign_key_did_since(server: Server, tmp_path: Path) -> None:
    """Also what no log up to 9.5 holds: a row that went, or that has another key."""
    story = Story(server, tmp_path, "acted")
    for action, key, since, rows, verdict in FOREIGN:
        story.run("DROP TABLE IF EXISTS c, p", "FLUSH LOGS")
        story.name, story.pos = server.binlog_names()[-1], 4
        story.run(
            "CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1)",
            f"CREATE TABLE c (id INT, up INT, v INT, PRIMARY KEY ({key}), "
            f"FOREIGN KEY (up) REFERENCES p (id) ON {action})", "INSERT INTO c VALUES (1, 1, 1)",
        )  # fmt: skip
        story.mark()
        story.run("UPDATE c SET v = 9")
        stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
        story.run(since)
        told = story.undo(mode="merge", stop_position=stop)[-1]
        assert (story.run("SELECT * FROM c"), told) == (rows, verdict), (action, key)


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_what_the_server_sets_by_itself_is_no_conflict(
    server: Server, tmp_path: Path, image: str
) -> None:
    story = Story(server, tmp_path, "stamped")
    story.run(
        f"SET SESSION binlog_row_image = '{image}'",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, "
        "at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))",
        "SET timestamp = 1000000000", "INSERT INTO t (id, a, b) VALUES (1, 1, 1), (2, 2, 2)",
    )  # fmt: skip
    story.mark()
    story.run("SET timestamp = 1000000001", "UPDATE t SET a = 9")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("SET timestamp = 1000000002", "UPDATE t SET b = 8 WHERE id = 1")
    before: list[Any] = story.run("SELECT at FROM t ORDER BY id")
    assert story.undo(mode="merge", stop_position=stop)[-1] == "committed"
    rows = story.run("SELECT a, b, at FROM t ORDER BY id")
    assert [row[:2] for row in rows] == [(1, 8), (2, 2)]
    assert rows[0][2:] == before[0] and rows[1][2].second == 40 and rows[1][2] < before[1][0]


def test_a_transaction_of_an_earlier_log(server: Server, tmp_path: Path) -> None:
    """It is chosen by its place, without GTIDs, and what depends on it is found in later logs."""
    story = Story(server, tmp_path, "later_log")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 1, 1)")
    story.mark()
    story.run("UPDATE t SET a = 9, b = 9", "FLUSH BINARY LOGS", "UPDATE t SET a = 8")
    names = [story.name, server.binlog_names()[-1]]
    log = bk.open([str(server.copy_binlog(name, tmp_path)) for name in names])
    rows = log.rows("later_log.t", op="update")
    for place in (f"{names[0]}:{story.pos}", f"{names[0]}:{rows['pos'].iloc[0]}"):
        (plan,) = log.undo(at=place, mode="merge")
        assert [(item["column"], item["value"]) for item in plan["later"]] == [("a", 8)]
        assert [(item["column"], item["value"]) for item in plan["set"]] == [("b", 1)]
        (refused,) = log.undo(at=place)
        assert f"{names[1]}:" in refused["refused"]
