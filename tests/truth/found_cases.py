"""Cases in which random workloads found us wrong, cut down to a few statements each.

``make_found.py`` runs each on a real server and keeps the log with the server's own SELECT beside
it; ``test_found.py`` holds the reader to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CASES", "Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """``name``: of its files; ``series``: server; ``options``: of the server; ``marks``: a mark
    is taken after the last statement and after each that is ``MARK``."""

    name: str
    series: str
    statements: tuple[str, ...]
    options: Mapping[str, str | None] = field(default_factory=dict)


FULL_METADATA = {"binlog-row-metadata": "FULL"}

CASES = (
    # YEAR has a bit among the signs of numeric columns: all behind it were shifted by one.
    Case(
        "year-has-a-sign-bit",
        "8.0",
        (
            "CREATE TABLE t (u INT UNSIGNED, y YEAR, id INT PRIMARY KEY, b BIGINT UNSIGNED)",
            "INSERT INTO t VALUES (4294967295, 2023, -27, 18446744073709551615)",
        ),
        FULL_METADATA,
    ),
    # A mark in a file in which no transaction ends: "no transaction of this log ends in …".
    Case(
        "mark-in-an-empty-file",
        "8.0",
        ("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS"),
    ),
    # A column that ALTER added and no image has yet: an error, and rows without a key unseen.
    Case(
        "added-column-without-an-image",
        "8.0",
        (
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))",
            "CREATE TABLE n (a INT, b INT)",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "INSERT INTO n VALUES (1, 1), (1, 1), (2, 2)",
            "ALTER TABLE t ADD COLUMN x TIMESTAMP(6) NOT NULL DEFAULT '2001-02-03 04:05:06' FIRST",
            "ALTER TABLE n ADD COLUMN x ENUM('я', 'b') CHARACTER SET cp1251 NOT NULL",
            "MARK",
            "UPDATE n SET b = 5 WHERE a = 1 LIMIT 1",
            "DELETE FROM n WHERE a = 2",
        ),
    ),
    # A column of one type becomes one of another: nothing of the first type is left to show.
    Case(
        "column-of-another-type",
        "8.0",
        (
            "CREATE TABLE t (id INT PRIMARY KEY, a DECIMAL(9,0))",
            "INSERT INTO t VALUES (1, 7)",
            "ALTER TABLE t MODIFY a VARBINARY(20)",
            "UPDATE t SET a = 0x00FF",
            "MARK",
            "INSERT INTO t VALUES (2, 0x01)",
        ),
    ),
    # A minimal image after an update of one part of a key has that part alone.
    Case(
        "part-of-a-key-updated",
        "8.0",
        (
            "SET binlog_row_image = MINIMAL",
            "CREATE TABLE t (a INT, d DATETIME, b INT, v INT, PRIMARY KEY (b, d, a))",
            "INSERT INTO t VALUES (1, '2023-00-15', 1, 1), (2, '2020-01-01', 2, 2)",
            "UPDATE t SET b = b + 10",
            "UPDATE t SET v = 7",
            "MARK",
            "UPDATE t SET d = '0000-00-00', a = 5 WHERE a = 1",
            "DELETE FROM t WHERE a = 2",
        ),
    ),
    # The log's statements have capitals, its table maps none: no column had its name.
    Case(
        "names-in-small-letters",
        "5.7",
        (
            "CREATE TABLE Orders (Id INT UNSIGNED PRIMARY KEY, Name VARCHAR(9) CHARACTER SET gbk)",
            "CREATE TABLE truth.Other LIKE Orders",
            "INSERT INTO Orders VALUES (4294967295, '誠'), (2, 'b')",
            "INSERT INTO TRUTH.OTHER SELECT * FROM orders",
            "MARK",
            "RENAME TABLE ORDERS TO Truth.Renamed",
            "UPDATE Renamed SET Id = 3 WHERE ID = 2",
            "TRUNCATE OTHER",
            "INSERT INTO Other VALUES (5, '中')",
            "ALTER TABLE Other ADD Extra INT FIRST",
            "UPDATE other SET EXTRA = 6",
        ),
        {"lower-case-table-names": "1"},
    ),
    # A label's characters that its character set has not are "?"; CONVERT TO keeps its bytes.
    Case(
        "labels-of-another-charset",
        "5.7",
        (
            "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x', 'я', '€') CHARACTER SET gbk)",
            "CREATE TABLE u (id INT PRIMARY KEY, s SET('é', 'x')) CHARACTER SET latin1",
            "INSERT INTO t VALUES (1, 2), (2, 3)",
            "ALTER TABLE u CONVERT TO CHARACTER SET cp1251",
            "INSERT INTO u VALUES (1, 3)",
        ),
    ),
    # Backslashes in labels and defaults are themselves in this mode, in a replay too.
    Case(
        "no-backslash-escapes",
        "8.0",
        (
            r"CREATE TABLE t (id INT PRIMARY KEY, s SET('a\\b', 'c'))",
            "INSERT INTO t VALUES (1, 3)",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
            r"ALTER TABLE t CHANGE s r SET('a\\b', 'c'), ADD d VARCHAR(9) DEFAULT 'x\ny'",
            "MARK",
            "INSERT INTO t (id, r) VALUES (2, 1)",
        ),
    ),
)
