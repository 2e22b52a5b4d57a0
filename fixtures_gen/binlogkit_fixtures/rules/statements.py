"""Statements that are made up: sorts × tables × expressions × settings × what came before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PREPARED", "SCHEMA", "Made", "make"]

FILE = "rules.txt"
SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")

_WRITTEN = (
    "i1", "i2", "ik", "ia", "iu", "ip", "m1", "ma", "mf", "me", "bh", "tg1", "tg2", "tg3", "tg4",
    "v1", "vm", "tt", "tn", "fp", "fc",
)  # fmt: skip
_READ = (*_WRITTEN, "vl", "vu")
_COUNTED = (
    *_READ,
    "mysql.general_log",
    "mysql.slow_log",
    "mysql.user",
    "performance_schema.threads",
)
_EXPRESSIONS = (
    "'x'", "'x'", "'y'", "NOW()", "CONNECTION_ID()", "LAST_INSERT_ID()", "UUID()", "RAND()",
    "USER()", "VERSION()", "SYSDATE()", "ROW_COUNT()", "@u", "@@port", "@@time_zone", "@@timestamp",
    "@@global.time_zone", "f_safe()", "f_read()", "f_readn()", "f_uuid()", "f_write()", "f_auto()",
    "f_writen()", "f_limit()", "(SELECT COUNT(*) FROM {s})", "(SELECT MAX(id) FROM {r} LIMIT 1)",
    "CONCAT('a', CURRENT_USER)", "UPPER('LIMIT 1, UUID()')",
)  # fmt: skip
_TEMPLATES = (
    "INSERT INTO {w} (id, a, b) VALUES ({n}, 1, {e})",
    "INSERT INTO {w} (id, b, a) VALUES ({n}, {e}, 2)",
    "INSERT INTO {w} SET id = {n}, a = 3, b = {e}",
    "INSERT INTO {w} (id, a) VALUES ({n}, 1) ON DUPLICATE KEY UPDATE a = {n}, b = {e}",
    "INSERT INTO {w} (id, a) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = {n}, b = {e}",
    "INSERT IGNORE INTO {w} (id, a, b) VALUES ({n}, 1, {e})",
    "INSERT INTO {w} (id, a, b) SELECT id + {n}, a, {e} FROM {r}",
    "INSERT INTO {w} (id, a, b) SELECT {n}, 1, {e}",
    "INSERT IGNORE INTO {w} (id, a, b) SELECT id + {n}, a, {e} FROM {r}",
    "INSERT INTO {w} (id, a) SELECT id + {n}, a FROM {r} ORDER BY id LIMIT 2",
    "INSERT INTO {w} (id, a) SELECT id, 1 FROM {r} AS s ON DUPLICATE KEY UPDATE a = {n}",
    "REPLACE INTO {w} (id, a, b) VALUES ({n}, 1, {e})",
    "REPLACE INTO {w} (id, a, b) VALUES (1, {n}, {e})",
    "REPLACE INTO {w} (id, a) SELECT id, {n} FROM {r}",
    "UPDATE {w} SET a = {n}, b = {e}",
    "UPDATE {w} SET a = {n} WHERE id > 0",
    "UPDATE {w} SET b = CONCAT({e}, '{n}')",
    "UPDATE IGNORE {w} SET a = {n}",
    "UPDATE {w} SET a = {n} LIMIT 2",
    "UPDATE {w} SET a = {n} ORDER BY id LIMIT 1",
    "UPDATE {w} SET a = {n} + (SELECT COUNT(*) FROM {s})",
    "UPDATE {w} AS x, {r} AS y SET x.a = {n} WHERE x.id = y.id",
    "UPDATE {w} AS x JOIN {r} AS y ON x.id = y.id SET x.a = {n}, y.a = {n}",
    "DELETE FROM {w} WHERE id = {e} + 1 OR id >= 1000",
    "DELETE FROM {w} WHERE id > 500",
    "DELETE FROM {w} ORDER BY id DESC LIMIT 1",
    "DELETE x FROM {w} AS x JOIN {r} AS y ON x.id = y.id WHERE x.id > 1",
    "DELETE FROM x, y USING {w} AS x JOIN {r} AS y ON x.id = y.id WHERE x.id > 2",
    "CREATE TABLE c{n} SELECT id, a, {e} AS b FROM {r}",
    "CREATE TABLE c{n} (id INT AUTO_INCREMENT PRIMARY KEY) SELECT a FROM {r}",
    "CREATE TABLE c{n} ENGINE=MyISAM IGNORE SELECT id, a FROM {r}",
    "CREATE TEMPORARY TABLE c{n} SELECT id, {e} AS b FROM {r}",
    "CREATE TABLE c{n} (id INT)",
    "CREATE TABLE c{n} LIKE {w}",
    "SELECT {e}",
    "SELECT a, {e} FROM {r} LIMIT 1",
    "DO {e}",
    "SET @v = {e}",
    "CALL p_one({n})",
    "CALL p_two()",
    "CALL p_three()",
    "CALL p_n()",
    "CALL p_both()",
    "CALL p_if()",
    "CALL p_random()",
    "CALL p_declare()",
    "CALL p_while()",
    "CALL p_case()",
    "CALL p_cursor()",
    "CALL p_nested()",
    "CALL p_in({e})",
    "CALL p_fail()",
    "SELECT f_write() + f_writen(), f_arg({n})",
    "SET @a = f_writen(), @b = f_pair()",
    "DO f_writen(), f_arg(f_write())",
    "SHOW STATUS WHERE Variable_name = 'Uptime' AND f_write() > 0",
    "DROP TABLE tt",
    "DROP TABLE IF EXISTS tn, nope, tt",
    "DROP TEMPORARY TABLE IF EXISTS nope, tt, tn",
    "DROP TABLE IF EXISTS nope",
    "CREATE TABLE c{n} LIKE tt",
    "CREATE TABLE IF NOT EXISTS c{n} SELECT a FROM {r}",
    "CREATE TABLE IF NOT EXISTS i1 SELECT {e} AS b",
    "CREATE OR REPLACE VIEW vw AS SELECT {n} AS a",
    "EXECUTE s_n",
    "EXECUTE s_both",
    "TRUNCATE TABLE {w}",
    "LOAD DATA INFILE '{file}' INTO TABLE {w} (@x, a) SET id = {n}, b = {e}",
    "LOAD DATA INFILE '{file}' REPLACE INTO TABLE {w} (id, a)",
    "WITH k AS (SELECT id FROM {r}) SELECT COUNT(*) FROM k",
    "INSERT INTO {w} (id, a) SELECT {n}, k.a FROM (SELECT MAX(a) AS a FROM {r}) AS k",
    "ANALYZE TABLE i1",
    "ALTER TABLE i1 COMMENT '{n}'",
)
#: What is prepared in the session.
PREPARED = (
    "PREPARE s_n FROM 'UPDATE m1 SET a = a + 1'",
    "PREPARE s_both FROM 'INSERT INTO pre_n (a) SELECT COUNT(*) + 2 FROM i1'",
)
#: What came before in the transaction.
_BEFORE: tuple[tuple[str, ...], ...] = (
    (), (), (), ("BEGIN",), ("BEGIN", "INSERT INTO pre_t (a) VALUES (1)"),
    ("BEGIN", "INSERT INTO pre_n (a) VALUES (1)"), ("BEGIN", "SELECT COUNT(*) FROM pre_t"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A statement with its settings; ``before``: what came before it in its transaction."""

    sql: str
    settings: dict[str, str]
    before: tuple[str, ...]


def make(seed: int, count: int, statement: int = 0, file: str = FILE) -> Iterator[Made]:
    """``count`` statements; the same for the same seed.

    ``statement``: the first one's number; ``file``: what LOAD DATA reads.
    """
    chance = random.Random(seed)  # noqa: S311  repeatable, not secret
    isolation = "transaction_isolation"
    for number in range(statement, statement + count):
        values = {
            "w": chance.choice(_WRITTEN),
            "r": chance.choice(_READ),
            "s": chance.choice(_COUNTED),
            "n": str(1000 + number * 3),
        }
        expression = chance.choice(_EXPRESSIONS).format(**values)
        sql = chance.choice(_TEMPLATES).format(e=expression, file=file, **values)
        settings = {
            "binlog_format": chance.choice(("ROW", "STATEMENT", "MIXED")),
            "binlog_row_image": chance.choice(("FULL", "MINIMAL", "NOBLOB")),
            isolation: chance.choice(("REPEATABLE-READ", "REPEATABLE-READ", "READ-COMMITTED")),
            "binlog_direct_non_transactional_updates": chance.choice(("OFF", "OFF", "ON")),
        }
        before = chance.choice(_BEFORE)
        if settings["binlog_format"] == "STATEMENT" and settings[isolation] == "READ-COMMITTED":
            before = before[:1]  # InnoDB would refuse the rest
        yield Made(sql, settings, before)
