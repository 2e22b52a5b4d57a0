"""Live tables of real servers, held against SELECT after every statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pymysql.connections import Connection

import binlogkit as bk
from binlogkit.errors import LimitError, UndeterminedError
from binlogkit.livestate.live import Live, live
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.livestate.shop import reached, to_the_end
from tests.sources.server.conftest_server import settings_of, shared_series
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

SETTINGS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "5.7 full": ("5.7", {}),
    "5.7 minimal": ("5.7", {"binlog-row-image": "MINIMAL"}),
    "8.0 minimal, partial JSON, compressed": (
        "8.0",
        {
            "binlog-row-image": "MINIMAL",
            "binlog-row-value-options": "PARTIAL_JSON",
            "binlog-transaction-compression": "ON",
        },
    ),
    "8.0 noblob": ("8.0", {"binlog-row-image": "NOBLOB", "binlog-row-metadata": "FULL"}),
    "8.0 no GTIDs": ("8.0", {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}),
    "9 full": ("9", {}),
}
TABLES = ("u.a", "u.b", "u.h", "u.c")
BEFORE: Sequence[str] = (
    "CREATE DATABASE u CHARSET utf8mb4",
    "CREATE TABLE u.a (id INT PRIMARY KEY, v VARCHAR(20), j JSON, t TEXT)",
    "CREATE TABLE u.b (x INT, y INT, d DECIMAL(9,2), PRIMARY KEY (x, y))",
    "CREATE TABLE u.h (a INT, b VARCHAR(9))",
    "CREATE TABLE u.p (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, "
    "FOREIGN KEY (p) REFERENCES u.p (id) ON DELETE CASCADE ON UPDATE SET NULL)",
    """INSERT INTO u.a VALUES (1, 'a', '{"k": [1, 2, 3], "l": "text"}', REPEAT('t', 300)),
       (2, NULL, 'null', NULL), (3, 'c', NULL, 'x')""",
    "INSERT INTO u.b VALUES (1, 1, 1.5), (1, 2, -2.25)",
    "INSERT INTO u.h VALUES (1, 'x'), (1, 'x'), (NULL, NULL)",
    "INSERT INTO u.p VALUES (1, 10), (2, 20), (3, 30)",
    "INSERT INTO u.c VALUES (1, 1), (2, 1), (3, 2), (4, 3)",
)
STORY: Sequence[str] = (
    "UPDATE u.a SET v = 'changed' WHERE id = 1",
    "UPDATE u.a SET id = 20, t = 'y' WHERE id = 2",
    "UPDATE u.a SET j = JSON_SET(j, '$.k[1]', 7) WHERE id = 1",
    "UPDATE u.b SET y = y + 10",
    "DELETE FROM u.h WHERE a = 1 LIMIT 1",
    "INSERT INTO u.h VALUES (NULL, NULL), (2, 'é')",
    "UPDATE u.h SET b = 'all'",
    "DELETE FROM u.p WHERE id = 1",
    "UPDATE u.p SET id = 9 WHERE id = 2",
    "BEGIN", "INSERT INTO u.a (id) VALUES (4)", "SAVEPOINT s", "INSERT INTO u.a (id) VALUES (5)",
    "ROLLBACK TO s", "DELETE FROM u.b WHERE x = 1 AND y = 11", "COMMIT",
    "BEGIN", "DELETE FROM u.a", "ROLLBACK",
    "XA START 'one'", "UPDATE u.b SET d = 100", "INSERT INTO u.a (id, v) VALUES (6, 'xa')",
    "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'",
    "XA START 'two'", "DELETE FROM u.a", "XA END 'two'", "XA PREPARE 'two'", "XA ROLLBACK 'two'",
    "FLUSH BINARY LOGS",
    "ALTER TABLE u.a ADD w INT NOT NULL DEFAULT 7 AFTER id, ADD z VARCHAR(5) DEFAULT 'zz'",
    "UPDATE u.a SET w = 8 WHERE id = 1",
    "ALTER TABLE u.a CHANGE w ww BIGINT, DROP COLUMN t",
    "INSERT INTO u.a (id, ww) VALUES (7, 70)",
    "ALTER TABLE u.b DROP PRIMARY KEY, ADD PRIMARY KEY (y, x)",
    "INSERT INTO u.b VALUES (5, 6, 7)",
    "UPDATE u.b SET x = 6 WHERE y = 6",
    "ALTER TABLE u.h ADD i INT",
    "INSERT INTO u.h VALUES (3, 'x', 3)",
    "TRUNCATE TABLE u.h",
    "INSERT INTO u.h VALUES (4, 'y', 4), (4, 'y', 4)",
    "CREATE TABLE u._a_new LIKE u.a",
    "INSERT INTO u._a_new SELECT * FROM u.a",
    "ALTER TABLE u._a_new ADD extra INT DEFAULT 3",
    "UPDATE u._a_new SET ww = 100 WHERE id = 7",
    "RENAME TABLE u.a TO u._a_old, u._a_new TO u.a",
    "UPDATE u.a SET extra = 4 WHERE id = 7",
    "DROP TABLE u._a_old",
    "CREATE TABLE u.other (k INT PRIMARY KEY, q INT)",
    "INSERT INTO u.other VALUES (1, 1)",
    "DROP TABLE u.other",
)  # fmt: skip


def differences(
    connection: Connection[Any], kept: Live, tables: Sequence[str], notes: Counter[str]
) -> list[str]:
    """What live tables say, and the server does not."""
    truth, found = read_tables(connection, ["u"]), []
    with kept.holding():
        for name in tables:
            state = kept.state(name)
            found += list(judge_state(state, truth[name], name, notes))
            if not state.determined:
                found.append(f"{name} is not determined: {kept.soundness(name)}")
    return found


@pytest.fixture(params=SETTINGS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each setting."""
    series, options = SETTINGS[request.param]
    with shared_series(series, options) as found:
        for statement in BEFORE:
            found.query(statement)
        yield found


@pytest.mark.gate(3)
def test_tables_equal_select_after_every_statement(server: Server, tmp_path: Path) -> None:
    """DDL, XA, savepoints, cascades, keyless tables, a swap by RENAME; and again from a checkpoint
    that was written on the way."""
    notes: Counter[str] = Counter()
    inside = False
    settings = settings_of(server)
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        with live(settings, TABLES) as kept:
            assert differences(connection, kept, TABLES, notes) == []
            for number, statement in enumerate(STORY):
                cursor.execute(statement)
                inside = (inside or statement.startswith(("BEGIN", "XA START"))) and not (
                    statement.startswith(("COMMIT", "ROLLBACK", "XA COMMIT", "XA ROLLBACK"))
                    and " TO " not in statement
                )
                if inside:
                    continue
                reached(server, kept)
                assert differences(connection, kept, TABLES, notes) == [], statement
                if number == len(STORY) // 2:
                    kept.checkpoint(tmp_path / "kept")
        assert notes["rows determined"] == notes["rows"] > 100
        with live(settings, TABLES, checkpoint=tmp_path / "kept") as again:
            reached(server, again)
            assert differences(connection, again, TABLES, notes) == []


@pytest.mark.parametrize("series", ["5.7", "8.0"])
def test_parents_of_foreign_keys_are_followed(series: str, tmp_path: Path) -> None:
    """Also from a base and a checkpoint; a child whose parent is not followed is not certain."""
    notes: Counter[str] = Counter()
    with shared_series(series, {"binlog-row-image": "MINIMAL"}) as server:
        for statement in (
            "CREATE DATABASE u",
            "CREATE TABLE u.g (id INT PRIMARY KEY)",
            "CREATE TABLE u.p (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES u.g (id) "
            "ON DELETE CASCADE)",
            "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES u.p (id) "
            "ON DELETE CASCADE)",
            "CREATE TABLE u.l (id INT PRIMARY KEY, g INT)",
            "INSERT INTO u.g VALUES (1), (2), (3), (4)",
            "INSERT INTO u.p VALUES (1), (2), (3), (4)",
            "INSERT INTO u.c VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
            "INSERT INTO u.l VALUES (1, 1), (2, 2), (4, 4)",
        ):
            server.query(statement)
        settings, base, kept_in = settings_of(server), tmp_path / "base", tmp_path / "kept"
        bk.snapshot(settings, base, tables=["u.c"])
        with server.connect(autocommit=True) as connection:
            server.query("DELETE FROM u.g WHERE id = 1")
            with live(settings, ["u.c"], base=base) as kept:
                reached(server, kept)
                assert differences(connection, kept, ["u.c"], notes) == []
                kept.checkpoint(kept_in)
            server.query("DELETE FROM u.g WHERE id = 2")
            with live(settings, ["u.c"], checkpoint=kept_in) as kept:
                reached(server, kept)
                assert differences(connection, kept, ["u.c"], notes) == []
                assert kept["u.c"]["id"].tolist() == [3, 4]
        with live(settings, ["u.l"]) as kept:
            server.query("DELETE FROM u.l WHERE g < 3")
            server.query(
                "ALTER TABLE u.l ADD FOREIGN KEY (g) REFERENCES u.g (id) ON DELETE CASCADE"
            )
            server.query("DELETE FROM u.g WHERE id = 4")
            reached(server, kept)
            (told,) = kept.soundness("u.l")
            assert told.endswith("u.g is not followed")
            with pytest.raises(UndeterminedError, match="is not followed"):
                kept["u.l"]


@pytest.mark.parametrize(("series", "image"), [("5.7", "FULL"), ("8.0", "MINIMAL"), ("9", "FULL")])
def test_transactions_that_come_together(series: str, image: str, tmp_path: Path) -> None:
    """XA transactions among others over the same rows, in one step: decided at once, later, never,
    and with DDL between them."""
    with shared_series(series, {"binlog-row-image": image}) as server:
        server.query("CREATE DATABASE u")
        server.query("CREATE TABLE u.t (id INT PRIMARY KEY, n INT, m INT DEFAULT 1)")
        server.query("INSERT INTO u.t (id, n) VALUES (0, 0), (1, 0), (2, 0)")
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            for number in range(1, 40):
                change = f"UPDATE u.t SET n = {number} WHERE id = {number % 2}"
                statements = [change]
                if number % 3 == 0:
                    end = ("XA COMMIT", "XA ROLLBACK")[number % 2]
                    xa = f"'x{number}'"
                    statements = [f"XA START {xa}", change, f"XA END {xa}", f"XA PREPARE {xa}"]
                    statements += [f"{end} {xa}"]
                if number == 21:
                    statements.append("ALTER TABLE u.t ADD w INT DEFAULT 5")
                for statement in statements:
                    cursor.execute(statement)
            with server.connect(autocommit=True) as other, other.cursor() as prepared:
                for statement in ("XA START 'l'", "DELETE FROM u.t WHERE id = 2", "XA END 'l'",
                                  "XA PREPARE 'l'"):  # fmt: skip
                    prepared.execute(statement)
            bk.capture(settings_of(server), tmp_path / "logs")
            notes: Counter[str] = Counter()
            with live(tmp_path / "logs", ["u.t"], wait=False) as kept:
                to_the_end(kept)
                assert differences(connection, kept, ["u.t"], notes) == []
            assert notes["rows determined"] == 3


def test_a_transaction_that_does_not_fit() -> None:
    """It ends the following before any part of it is shown; of tables that are not followed none
    is held, and with more memory it is applied."""
    with shared_series("8.0", {}) as server:
        server.query("CREATE DATABASE u")
        for table in ("t", "other"):
            server.query(f"CREATE TABLE u.{table} (id INT PRIMARY KEY AUTO_INCREMENT, v CHAR(90))")
        server.query(f"INSERT INTO u.other (v) VALUES {', '.join(['(REPEAT(7, 90))'] * 1000)}")
        for memory in (8 << 20, 1 << 30):
            with live(settings_of(server), ["u.t"], memory=memory) as kept:
                rows = len(kept["u.t"])
                for _ in range(2):  # of 128,000 rows
                    server.query("INSERT INTO u.other (v) SELECT a.v FROM u.other a, (SELECT 1 "
                                 "FROM u.other LIMIT 128) b WHERE a.id <= 1000")  # fmt: skip
                    reached(server, kept)
                server.query("INSERT INTO u.t (v) SELECT v FROM u.other LIMIT 200000")
                if memory == 1 << 30:
                    reached(server, kept)
                    assert len(kept["u.t"]) == rows + 200_000
                    continue
                with pytest.raises(LimitError, match=r"changes of [\d,]+ bytes so far, over 8,388"):
                    reached(server, kept)
                kept.stop()
            server.query("TRUNCATE TABLE u.t")
