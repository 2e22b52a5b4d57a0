"""Rows that foreign keys take or change below the log, held against the server's own SELECT.

Generated histories over parents, children, grandchildren and a table that refers to itself.
``BINLOGKIT_HISTORIES`` says how many of each kind.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.servers import each_server
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

HISTORIES = int(os.environ.get("BINLOGKIT_HISTORIES", "1"))
STATEMENTS = 60
TABLES = (
    "CREATE TABLE u.p (id INT PRIMARY KEY, code CHAR(4) CHARSET ascii, n INT, UNIQUE (code, n))",
    "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, v INT, KEY (p), UNIQUE (v), "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE u.o (id INT AUTO_INCREMENT PRIMARY KEY, p INT, note VARCHAR(9), "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE u.g (c INT, n INT, v INT, PRIMARY KEY (c, n), "
    "FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE u.w (code CHAR(4) CHARSET ascii, n INT, v INT, KEY (code, n), "
    "FOREIGN KEY (code, n) REFERENCES p (code, n) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE u.s (id INT PRIMARY KEY, up INT, "
    "FOREIGN KEY (up) REFERENCES s (id) ON DELETE CASCADE)",
    "CREATE TABLE u.r (id INT PRIMARY KEY, v INT, twice INT AS (v * 2) VIRTUAL, "
    "FOREIGN KEY (v) REFERENCES c (v) ON DELETE SET NULL)",
)
NAMES = [sql.split()[2] for sql in TABLES]


server = each_server()


def begin(cursor: Any, image: str) -> None:
    """Make the tables anew, in a log of their own."""
    for statement in (
        "DROP DATABASE IF EXISTS u", "FLUSH BINARY LOGS", "CREATE DATABASE u CHARSET utf8mb4",
        "USE u", f"SET binlog_format = ROW, binlog_row_image = {image}", *TABLES,
    ):  # fmt: skip
        cursor.execute(statement)


def statement_of(chance: random.Random) -> str:
    """A change of one of the tables; the server may refuse it."""
    some = [chance.randrange(12) for _ in range(4)]
    a, b, c, d = some
    code = "'" + chance.choice(("ab", "AB", "xy", "z")) + "'"
    return chance.choice(
        (
            f"INSERT INTO u.p VALUES ({a}, {code}, {b % 3})",
            f"INSERT INTO u.p VALUES ({a}, {code}, {b % 3}), ({c}, {code}, {d})",
            f"INSERT INTO u.c VALUES ({a}, {b}, {c}), ({a + 20}, {b}, {c + 20})",
            f"INSERT INTO u.c VALUES ({a}, NULL, {c})",
            f"INSERT INTO u.o (p, note) SELECT id, 'x' FROM u.p WHERE id > {a} ORDER BY id",
            f"INSERT INTO u.g SELECT id, {a}, {b} FROM u.c WHERE id > {c}",
            f"INSERT INTO u.w SELECT code, n, {a} FROM u.p WHERE id >= {b}",
            f"INSERT INTO u.s SELECT {a}, MAX(id) FROM u.s",
            f"INSERT INTO u.s VALUES ({a}, {a}), ({b}, NULL)",
            f"INSERT INTO u.r (id, v) SELECT {a}, v FROM u.c WHERE id = {b}",
            f"REPLACE INTO u.p VALUES ({a}, {code}, {b % 3})",
            f"REPLACE INTO u.c VALUES ({a}, {b}, {c})",
            f"DELETE FROM u.p WHERE id = {a}",
            f"DELETE FROM u.p WHERE id BETWEEN {a} AND {a + 2}",
            f"DELETE FROM u.c WHERE id IN ({a}, {b})",
            f"DELETE FROM u.s WHERE id = {a}",
            f"UPDATE u.p SET id = {a} WHERE id = {b}",
            f"UPDATE u.p SET id = id + 12 WHERE id > {a} ORDER BY id DESC",
            f"UPDATE u.p SET code = {code} WHERE n = {a % 3}",
            f"UPDATE u.p SET n = n + 1 WHERE id < {a} ORDER BY n DESC",
            f"UPDATE u.c SET id = {a + 30} WHERE id = {b}",
            f"UPDATE u.c SET p = {a} WHERE id >= {b}",
            f"UPDATE u.g SET v = {a} WHERE n = {b}",
            f"UPDATE u.o SET note = 'y{a}' WHERE id > {b}",
        )
    )


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.gate(3)
def test_histories(server: Server, image: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"{image}/{seed}")
    notes: Counter[str] = Counter()
    done = 0
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        begin(cursor, image)
        for _ in range(STATEMENTS):
            if chance.random() < 0.05:
                cursor.execute("SET foreign_key_checks = 1 - @@foreign_key_checks")
            try:
                done += cursor.execute(statement_of(chance)) > 0
            except pymysql.err.MySQLError:
                notes["refused"] += 1
        tables = read_tables(connection, ["u"])
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    assert done > STATEMENTS / 6
    for name, state in zip(NAMES, log.states(NAMES), strict=True):
        assert list(judge_state(state, tables[name], name, notes)) == []
        doubts = [f for f in state.findings.to_pylist() if not f["determined"]]
        assert doubts == [], name
    some = chance.sample(NAMES, 2)
    for name, state in zip(some, log.states(some), strict=True):
        assert list(judge_state(state, tables[name], name, notes)) == []
        assert state.rows_determined, (name, some)
    for name in NAMES:  # where nothing else is read of the log
        assert list(judge_state(log.state(name), tables[name], name, notes)) == []
    # What a foreign key makes of a generated column is not computed.
    assert notes["rows determined"] == notes["rows"]
    assert notes["rows"] > 0


#: Columns that a foreign key joins, a value, and whether the state knows what it does: InnoDB
#: compares bytes.
JOINED = (
    ("INT", "INT", "5", True),
    ("DATETIME", "DATETIME", "'2024-01-01'", True),
    ("DECIMAL(5,2)", "DECIMAL(5,2)", "5", True),
    ("CHAR(4)", "CHAR(9)", "'a'", True),
    ("VARCHAR(4) COLLATE utf8mb4_bin", "CHAR(9) COLLATE utf8mb4_bin", "'a'", True),
    ("BINARY(4)", "VARBINARY(4)", "'abcd'", True),
    ("BIT(8)", "BIT(4)", "5", True),
    ("DATETIME", "TIMESTAMP", "'2024-01-01'", False),
    ("DATETIME", "DATETIME(3)", "'2024-01-01'", False),
    ("TIME(2)", "TIME", "'10:00:00'", False),
    ("DECIMAL(5,2)", "DECIMAL(7,2)", "5", False),
    ("DECIMAL(5,2)", "DECIMAL(5,1)", "5", False),
)


def test_columns_of_other_types_are_compared_by_their_bytes(server: Server, tmp_path: Path) -> None:
    """Rows of the child stayed or went otherwise than their values say, in states that were called
    determined."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        begin(cursor, "FULL")
        cursor.execute("SET foreign_key_checks = 0, sql_mode = ''")
        for i, (parent, child, value, _) in enumerate(JOINED):
            cursor.execute(f"CREATE TABLE u.p{i} (k {parent} PRIMARY KEY) CHARSET utf8mb4")
            cursor.execute(
                f"CREATE TABLE u.c{i} (k {child}, id INT PRIMARY KEY, FOREIGN KEY (k) "
                f"REFERENCES p{i} (k) ON DELETE CASCADE) CHARSET utf8mb4"
            )
            cursor.execute(f"INSERT INTO u.p{i} VALUES ({value})")
            cursor.execute(f"INSERT INTO u.c{i} VALUES ({value}, 1)")
        cursor.execute("SET foreign_key_checks = 1")
        for i in range(len(JOINED)):
            cursor.execute(f"DELETE FROM u.p{i}")
        tables = read_tables(connection, ["u"])
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    names = [f"u.c{i}" for i in range(len(JOINED))]
    states = list(log.states(names))
    for name, state in zip(names, states, strict=True):
        assert list(judge_state(state, tables[name], name, Counter())) == []
    logged = server.version.startswith("9.")
    assert [state.rows_determined for state in states] == [logged or sure for *_, sure in JOINED]
