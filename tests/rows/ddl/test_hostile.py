"""No text raises, and none takes long: docs/hostile-input.md."""

from __future__ import annotations

import random
from contextlib import suppress
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl import Catalog, statement_kind
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.rows.ddl.written import written_tables

ACTIONS = {
    "create", "drop", "truncate", "rename", "alter", "drop_database", "statement_write", "unknown",
}  # fmt: skip

_WORDS = r"""
CREATE ALTER DROP RENAME TRUNCATE TABLE TEMPORARY IF NOT EXISTS ( ) ( ) , ; . = * ` ' " `a` 'b' "c"
INT CHAR(3) VARCHAR(5) ENUM('x') ENUM( SET( TEXT KEY PRIMARY UNIQUE INDEX CONSTRAINT FOREIGN
REFERENCES CHECK ADD COLUMN MODIFY CHANGE FIRST AFTER CONVERT TO CHARACTER SET COLLATE utf8mb4
DEFAULT PARTITION BY EXCHANGE WITH SELECT LIKE AS INSERT INTO UPDATE DELETE FROM USING JOIN WHERE
/* */ /*! /*!50100 -- # \ 1 2e 0x41 x'41' b'1' @ a b d.t DATABASE SERIAL GENERATED ALWAYS NULL ON
COMMENT ENGINE UNION VISIBLE USE DELIMITER LOAD DATA INFILE
"""
FRAGMENTS = [*_WORDS.split(), "\n", "\0", ""]


def swallow(sql: str, sql_mode: int = 0) -> None:
    """Give ``sql`` to everything that takes statements; only the promised comes back."""
    catalog = Catalog("8.0.31")
    catalog.apply("CREATE DATABASE d CHARACTER SET utf8mb4", default_db=None)
    catalog.apply("CREATE TABLE a (a INT PRIMARY KEY, b VARCHAR(5), c TEXT)", default_db="d")
    for change in catalog.apply(sql, default_db="d", sql_mode=sql_mode):
        assert change.action in ACTIONS
        if change.action == "unknown":
            assert change.reason
    statement_kind(sql, sql_mode)
    written_tables(sql, None, sql_mode)
    with suppress(SchemaError):
        load_schema(f"USE d;\n{sql}")


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from([0, 4, 0x100000, 0x100004]))
def test_any_bytes(data: bytes, sql_mode: int) -> None:
    swallow(data.decode("utf-8", "surrogateescape"), sql_mode)
    swallow("CREATE TABLE " + data.decode("latin-1"), sql_mode)


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40), st.sampled_from([0, 4, 0x100000]))
def test_any_words(words: list[str], sql_mode: int) -> None:
    swallow(" ".join(words), sql_mode)
    swallow("ALTER TABLE a " + " ".join(words), sql_mode)


def test_mutated_statements(recorder: ModuleType) -> None:
    """Real statements with bytes changed, cut out, doubled and put together."""
    statements = [step.sql for step in recorder.steps(recorder.script())]
    chance = random.Random(20)
    for _ in range(800):
        sql = chance.choice(statements)
        for _ in range(chance.randint(1, 4)):
            at, end = sorted(chance.randint(0, len(sql)) for _ in range(2))
            piece = chance.choice([sql[at:end], "", chance.choice(FRAGMENTS), "'", "`", "(", "\0"])
            sql = sql[:at] + piece + sql[chance.choice([at, end]) :]
        swallow(sql[:20_000])


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT DEFAULT " + "(" * 300_000 + ")" * 300_000 + ")",
        "CREATE TABLE t (a INT AS " + "(" * 1_000_000,
        "CREATE TABLE t (" + ",".join(f"c{i} INT" for i in range(100_000)) + ")",
        "CREATE TABLE t (a INT" + ", KEY (a)" * 100_000 + ")",
        "CREATE TABLE t (a INT" + ", FOREIGN KEY (a) REFERENCES p (a)" * 50_000 + ")",
        "CREATE TABLE t (a INT, KEY (" + ",".join(["a"] * 200_000) + "))",
        "CREATE TABLE t (a ENUM(" + ",".join(["'x'"] * 300_000) + "))",
        "CREATE TABLE t (a INT" + " NOT NULL" * 200_000 + ")",
        "ALTER TABLE a " + ",".join(["ADD c INT FIRST"] * 100_000),
        "ALTER TABLE a " + ",".join(["DROP c"] * 100_000),
        "ALTER TABLE a " + ",".join(["RENAME COLUMN a TO b"] * 100_000),
        "ALTER TABLE a " + ",".join(["ADD KEY (a)"] * 100_000),
        "RENAME TABLE " + ",".join(["a TO b", "b TO a"] * 50_000),
        "DROP TABLE " + ",".join(["a"] * 300_000),
        "CREATE TABLE t (a INT) " + "COMMENT 'x' " * 200_000,
        "UPDATE " + "(" * 200_000 + "a" + ")" * 200_000 + " SET b = 1",
        "UPDATE " + ",".join(f"t{i}" for i in range(50_000)) + " SET b = 1",
        "DELETE " + ",".join(["a"] * 50_000) + " FROM a",
        "WITH " + "a AS (SELECT " * 50_000,
        "CREATE TABLE " + "a" * 2_000_000 + " (b INT)",
        "CREATE TABLE t (a INT) /*!50100 " * 50_000,
        "/*!" * 200_000 + "DROP TABLE a",
        "CREATE TABLE t (a VARCHAR(" + "9" * 100_000 + "))",
        "CREATE TABLE t (a DECIMAL(99999999999999999999,99999999999999999999))",
        "CREATE TABLE t (a ENUM(0x" + "4" * 1_000_000 + ", b'" + "1" * 1_000_000 + "'))",
        "X" * 8_000_000,
        "ALTER TABLE a ADD b INT " + " " * 8_000_000,
    ],
    ids=lambda sql: sql[:40],
)
@pytest.mark.slow
def test_great_statements(sql: str) -> None:
    swallow(sql)


def test_a_statement_over_the_limit_is_unknown_and_names_no_table() -> None:
    catalog = Catalog("8.0.31")
    for sql, reason in (
        ("CREATE TABLE t (a INT) COMMENT '" + "x" * (4 << 20) + "'", "longer than 4194304"),
        ("DROP TABLE t" + ",t" * 125_000, "more than 250000 words"),
    ):
        (change,) = catalog.apply(sql, default_db="d")
        assert (change.action, change.table) == ("unknown", "")
        assert reason in str(change.reason)


@pytest.mark.slow
def test_great_tables_are_read() -> None:
    """What a server takes stays within the limits (manual, "Limits on Table Column Count")."""
    catalog = Catalog("8.0.31")
    catalog.apply("CREATE DATABASE d CHARACTER SET latin1", default_db=None)
    labels = ",".join(f"'{i:05}'" for i in range(65_535))
    columns = ",".join(f"`column {i}` INT NOT NULL DEFAULT 0 COMMENT 'x'" for i in range(4095))
    (change,) = catalog.apply(f"CREATE TABLE t (e ENUM({labels}), {columns})", default_db="d")
    assert change.definition is not None
    assert len(change.definition.columns) == 4096
    assert len(change.definition.columns[0].labels) == 65_535


def test_steps_survive_every_cut(recorder: ModuleType) -> None:
    """A text cut anywhere, as a damaged event gives it."""
    for step in list(recorder.steps(recorder.script()))[::12]:
        for end in range(0, min(len(step.sql), 400), 3):
            Catalog("8.0.31").apply(step.sql[:end], default_db="d")
