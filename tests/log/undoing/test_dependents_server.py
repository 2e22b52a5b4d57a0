"""What depends on changes that are taken back, in logs of a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server

pytestmark = pytest.mark.server

TABLES = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT, w INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
    "CREATE TABLE d (id INT PRIMARY KEY, p INT, n INT UNIQUE, "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    "CREATE TABLE e (p INT PRIMARY KEY, v INT, "
    "FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE)",
    "CREATE TABLE g (d INT PRIMARY KEY, v INT, "
    "FOREIGN KEY (d) REFERENCES d (id) ON DELETE CASCADE)",
    "CREATE TABLE q (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE, v INT)",
    "CREATE TABLE k (v INT)",
    "CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(9) CHARSET utf8mb4, b VARBINARY(9),"
    " UNIQUE (a(2), b(1)))",
    "CREATE TABLE other (id INT PRIMARY KEY)",
    "INSERT INTO p VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
    "INSERT INTO q VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3), (4, 'four', 4)",
    "INSERT INTO s VALUES (1, 'one', x'0102'), (2, 'é', x'01')",
    "INSERT INTO c VALUES (1, 1)",
    "INSERT INTO d VALUES (1, 3, 1)",
    "INSERT INTO g VALUES (1, 0)",
)
#: What is taken back, what was done since, and why that depends on it: table, op, reason.
CASES: list[tuple[str, tuple[str, ...], list[tuple[str, str, str]]]] = [
    ("UPDATE q SET v = 9 WHERE id = 1", ("UPDATE q SET v = 8 WHERE id = 1",),
     [("q", "update", "same_row")]),
    ("UPDATE q SET v = 9 WHERE id = 1", ("UPDATE q SET code = 'x' WHERE id = 1",), []),
    ("UPDATE q SET v = 9 WHERE id = 1", ("UPDATE q SET id = 7 WHERE id = 1",),
     [("q", "update", "same_row")]),
    ("UPDATE q SET id = 7 WHERE id = 1", ("DELETE FROM q WHERE id = 7",),
     [("q", "delete", "deleted")]),
    ("UPDATE q SET code = 'x' WHERE id = 1",
     ("UPDATE q SET code = 'ONE' WHERE id = 2", "DELETE FROM q WHERE id = 2"),
     [("q", "update", "unique"), ("q", "delete", "deleted")]),
    ("DELETE FROM q WHERE id = 4", ("INSERT INTO q VALUES (4, 'x', 0)",),
     [("q", "insert", "unique")]),
    ("DELETE FROM s WHERE id = 1",
     ("INSERT INTO s VALUES (3, 'on', x'02')", "INSERT INTO s VALUES (4, 'ONX', x'01ff')"),
     [("s", "insert", "unique")]),
    ("DELETE FROM s WHERE id = 2", ("INSERT INTO s VALUES (3, 'E', x'01')",),
     [("s", "insert", "unique")]),
    ("INSERT INTO p VALUES (4, 4, 4)",
     ("INSERT INTO c VALUES (2, 4)", "INSERT INTO c VALUES (3, 1)"),
     [("c", "insert", "child")]),
    ("DELETE FROM c WHERE id = 1", ("DELETE FROM p WHERE id = 2", "DELETE FROM p WHERE id = 1"),
     [("p", "delete", "parent")]),
    ("UPDATE d SET n = 5 WHERE id = 1",
     ("DELETE FROM p WHERE id = 2", "DELETE FROM p WHERE id = 3"),
     [("p", "delete", "unknown")]),
    ("DELETE FROM p WHERE id = 3",
     ("INSERT INTO d VALUES (9, 2, 1)", "INSERT INTO d VALUES (8, 2, 8)"),
     [("d", "insert", "unique")]),
    ("UPDATE g SET v = 1", ("DELETE FROM p WHERE id = 3",), [("p", "delete", "unknown")]),
    ("INSERT INTO e VALUES (2, 0)",
     ("UPDATE p SET id = 12 WHERE id = 2", "UPDATE e SET v = 5 WHERE p = 12"),
     [("p", "update", "unknown"), ("e", "update", "unknown")]),
    ("INSERT INTO k VALUES (5)", ("UPDATE k SET v = 6",), [("k", "update", "same_row")]),
    ("INSERT INTO k VALUES (5)", ("INSERT INTO k VALUES (5)", "DELETE FROM k LIMIT 1"), []),
    ("UPDATE q SET v = 9 WHERE id = 1",
     ("RENAME TABLE q TO r", "UPDATE r SET v = 8 WHERE id = 1", "RENAME TABLE r TO q"),
     [("q", "update", "same_row")]),
    ("INSERT INTO other VALUES (1)", ("BEGIN", "DELETE FROM other", "ROLLBACK"), []),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with shared_server(ServerSpec("8.0")) as lent:
        yield lent


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.sampled(19, 19)
@pytest.mark.gate(4)
def test_what_was_done_since_is_told_with_why(
    server: Server, tmp_path: Path, image: str, case: int
) -> None:
    chosen, since, expected = CASES[case]
    with server.connect(autocommit=True) as session, session.cursor() as cursor:

        def run(*statements: str) -> list[tuple[Any, ...]]:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

        run("DROP DATABASE IF EXISTS u", "FLUSH BINARY LOGS", "CREATE DATABASE u", "USE u")
        run(f"SET binlog_row_image = {image}", *TABLES)
        name = server.binlog_names()[-1]
        start = int(run(f"SHOW BINLOG EVENTS IN '{name}'")[-1][4])
        run(chosen)
        stop = int(run(f"SHOW BINLOG EVENTS IN '{name}'")[-1][4])
        run(*since)
    log = bk.open(str(server.copy_binlog(name, tmp_path)))
    plans = log.undo(start_position=start, stop_position=stop)
    found = plans.dependents()
    told = [(row["table"], row["op"], row["reason"]) for row in found.to_pylist()]
    assert told == expected
    assert all(start <= pos < stop for pos in found["other_pos"].to_pylist())
    conflicts = plans.conflicts()
    assert conflicts.num_rows == bool(expected)
    assert conflicts.schema == found.schema
    assert all(pos >= stop for pos in conflicts["other_pos"].to_pylist())
    whole = log.undo(start_position=start)
    assert not whole.dependents().num_rows and not whole.conflicts().num_rows
