"""Changes that a server did not log, and what may look like one and is none."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from binlogkit.errors import UndeterminedError
from binlogkit.livestate.live import live
from tests.livestate.shop import reached
from tests.sources.server.conftest_server import settings_of, shared_series

pytestmark = pytest.mark.server

FULL: Mapping[str, str] = {}
MINIMAL = {"binlog-row-image": "MINIMAL"}

#: What happens without being logged, a logged statement after it, and what is said of that.
CHANGES = {
    "an update": (
        "UPDATE u.t SET n = 99, c = NULL WHERE id = 2", "UPDATE u.t SET d = d + 1",
        r"id=2: left as n=2\.50, c=b, it is found as n=99\.00, c=None",
    ),
    "an update before a delete": (
        "UPDATE u.t SET n = 99 WHERE id = 2", "DELETE FROM u.t",
        r"id=2: left as n=2\.50, it is found as n=99\.00",
    ),
    "an update before the key changes": (
        "UPDATE u.t SET n = 99 WHERE id = 2", "UPDATE u.t SET id = id + 10",
        r"id=2: left as n=2\.50, it is found as n=99\.00",
    ),
    "an insert": (
        "INSERT INTO u.t (id) VALUES (7)", "UPDATE u.t SET d = 5 WHERE id = 7",
        "id=7: it exists, although it was deleted, or was never inserted",
    ),
    "a delete": (
        "DELETE FROM u.t WHERE id = 3", "INSERT INTO u.t VALUES (3, 1, 'x', 0)",
        "id=3: it is inserted, although it exists",
    ),
    "without a key": (
        "UPDATE u.h SET n = 99", "DELETE FROM u.h WHERE n = 99",
        "id=1, n=99: more rows equal to it were removed than the log has",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("series", "options"), [("5.7", FULL), ("8.0", FULL), ("8.0", MINIMAL)])
def test_they_are_noticed(series: str, options: Mapping[str, str]) -> None:
    """From the base's rows on, and with MINIMAL what its images show."""
    for what, (unlogged, logged, told) in CHANGES.items():
        with shared_series(series, options) as server:
            server.query("CREATE DATABASE u")
            server.query("CREATE TABLE u.t (id INT PRIMARY KEY, n DECIMAL(9,2), c CHAR(9), d INT)")
            server.query("INSERT INTO u.t VALUES (1, 1.5, 'a', 0), (2, 2.5, 'b', 0), (3, 3, '', 0)")
            server.query("CREATE TABLE u.h (id INT, n INT)")
            server.query("INSERT INTO u.h VALUES (1, 1)")
            table = "u.h" if "u.h" in unlogged else "u.t"
            with live(settings_of(server), ["u.t", "u.h"]) as kept:
                view = kept.register(f"SELECT id, n FROM {table}")
                with server.connect(autocommit=True) as session, session.cursor() as cursor:
                    cursor.execute("SET sql_log_bin = 0")
                    cursor.execute(unlogged)
                    cursor.execute("SET sql_log_bin = 1")
                    cursor.execute(logged)
                reached(server, kept)
                if options and "update" in what:  # the key alone is in the image before
                    assert kept.soundness(table) == []
                    continue
                (said,) = [one for one in kept.soundness(table) if "not known" not in one]
                assert re.fullmatch(
                    rf"Changed outside of these logs, as binlog\.\d+ at \d+ shows: {told}\.", said
                ), what
                (found,) = kept.state(table).findings.to_pylist()
                assert found["meaning"] == said and found["pos"] and found["count"] == 1
                with pytest.raises(UndeterminedError, match="Changed outside of these logs"):
                    kept[table]
                with pytest.raises(UndeterminedError, match="Changed outside of these logs"):
                    view.rows()
                assert kept.soundness("u.t" if table == "u.h" else "u.h") == []
                kept_rows = [r["values"] for r in kept.state("u.t").records()]
                if what == "an update":  # the row takes what the log says
                    assert {"id": 2, "n": "99.00", "c": None, "d": 1} in kept_rows
                server.query(f"TRUNCATE TABLE {table}")
                reached(server, kept)
                assert kept.soundness(table) == []


COLUMNS = (
    "f FLOAT", "g FLOAT(7,3)", "e DOUBLE", "c CHAR(9)", "s VARCHAR(9) COLLATE utf8mb4_general_ci",
    "l VARCHAR(9) CHARSET latin1", "b BINARY(4)", "v VARBINARY(4)", "j JSON", "d DATE",
    "m DATETIME(3)", "z TIMESTAMP(6) NULL", "t TIME(2)", "y YEAR", "x BIT(9)", "w ENUM('a','b')",
    "u SET('a','b')", "p DECIMAL(65,30)", "k TEXT", "o BLOB", "n BIGINT UNSIGNED",
    "q INT AS (n + 1)", "r VARCHAR(20) AS (CONCAT(c, s)) STORED",
)  # fmt: skip
ROWS = (
    ("0.1", "1234.567", "0.1", "'a  '", "'ß'", "'é'", "'x'", "'x'", "'{\"b\": 1.10, \"a\": [1e3]}'",
     "'2020-00-00'", "'0000-00-00'", "'2020-01-01 00:00:00.000001'", "'-838:59:59'", "2155",
     "b'101'", "'a'", "'a,b'", "-1.000000000000000000000000000001", "'  t '", "x'00ff'", "1"),
    ("3.4e38", "-0.0005", "-0.0", "''", "'A '", "''", "''", "x'00'", "'null'",
     "'0000-00-00'", "'2020-01-00'", "NULL", "'00:00:00'", "0", "0", "''", "''", "0", "''", "''",
     "18446744073709551614"),
    ("1e-38",) + ("NULL",) * 20,
)  # fmt: skip


@pytest.mark.parametrize(("series", "options"), [
    ("5.7", FULL), ("8.0", {"binlog-row-value-options": "PARTIAL_JSON"}),
    ("8.0", {"binlog-row-image": "NOBLOB"}), ("9", FULL),
])  # fmt: skip
def test_values_of_all_kinds_are_none(series: str, options: Mapping[str, str]) -> None:
    """As a base has them, as changes in one step and in others leave them, and after DDL."""
    with shared_series(series, options) as server:
        server.query("CREATE DATABASE u CHARSET utf8mb4")
        server.query(
            f"CREATE TABLE u.t (id INT PRIMARY KEY, i INT DEFAULT 0, {', '.join(COLUMNS)})"
        )
        names = ", ".join(c.split()[0] for c in COLUMNS if " AS " not in c)
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:

            def play(*statements: str) -> None:
                for statement in statements:
                    cursor.execute(statement)

            play("SET sql_mode = ''")
            for number, row in enumerate(ROWS):
                play(f"INSERT INTO u.t (id, {names}) VALUES ({number}, {', '.join(row)})")
            with live(settings_of(server), ["u.t"]) as kept:
                for statements in (
                    ["UPDATE u.t SET i = i + 1"],
                    ["BEGIN", *["UPDATE u.t SET i = i + 1"] * 3, "UPDATE u.t SET id = id + 10",
                     "UPDATE u.t SET i = 7", "COMMIT"],
                    ["UPDATE u.t SET j = JSON_SET(j, '$.c', 2.50)", "UPDATE u.t SET i = 8",
                     "UPDATE u.t SET j = JSON_REMOVE(j, '$.a'), k = 'more'"],
                    ["SET binlog_row_image = MINIMAL", "UPDATE u.t SET f = f / 3, k = 'less'",
                     "SET binlog_row_image = FULL", "UPDATE u.t SET i = 9"],
                    ["ALTER TABLE u.t ADD h INT NOT NULL DEFAULT 5, MODIFY c VARCHAR(20), "
                     "MODIFY p DECIMAL(64,20)", "UPDATE u.t SET i = 10"],
                    ["ALTER TABLE u.t CHANGE i a BIGINT, DROP COLUMN f", "UPDATE u.t SET a = 11"],
                    ["REPLACE INTO u.t (id, a) VALUES (10, 5)", "UPDATE u.t SET a = 12"],
                ):  # fmt: skip
                    play(*statements)
                    reached(server, kept)
                    known = [s for s in kept.soundness("u.t") if "Changed outside" in s]
                    assert known == [], statements
                play("SET sql_log_bin = 0", "UPDATE u.t SET a = 13", "SET sql_log_bin = 1")
                play("DELETE FROM u.t")
                reached(server, kept)
                (told,) = [s for s in kept.soundness("u.t") if "Changed outside" in s]
                assert "left as a=12 by" in told and told.endswith("found as a=13.")
