"""The tables that a statement-format statement writes."""

from __future__ import annotations

import pytest

from binlogkit.rows.ddl.session import SqlMode
from binlogkit.rows.ddl.written import read_tables, written_tables

D = "d"


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("INSERT INTO t VALUES (1)", [(D, "t")]),
        ("insert low_priority ignore `x`.`t` (a) select * from u", [("x", "t")]),
        ("INSERT t SET a = 'INTO u'", [(D, "t")]),
        ("INSERT INTO t PARTITION (p0) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", [(D, "t")]),
        ("REPLACE DELAYED t VALUES (1)", [(D, "t")]),
        ("TRUNCATE t", [(D, "t")]),
        ("TRUNCATE TABLE x.t", [("x", "t")]),
        ("LOAD DATA LOCAL INFILE 'INTO TABLE u' IGNORE INTO TABLE `t` FIELDS", [(D, "t")]),
        ("LOAD XML INFILE 'f' REPLACE INTO TABLE x.t", [("x", "t")]),
        ("UPDATE t SET a = 1 WHERE b IN (SELECT c FROM u)", [(D, "t")]),
        ("UPDATE LOW_PRIORITY IGNORE x.t AS q SET q.a = 1", [("x", "t")]),
        ("UPDATE t PARTITION (p0, p1) p SET a = 1", [(D, "t")]),
        ("UPDATE t, u SET t.a = u.b", [(D, "t")]),
        ("UPDATE t JOIN x.u ON t.a = u.b SET u.c = 1, t.d = (SELECT 1), u.e = 3", [
            ("x", "u"), (D, "t"),
        ]),
        ("UPDATE t AS a LEFT JOIN u b USING (k) SET b.c = 1 WHERE a.c = 2", [(D, "u")]),
        ("UPDATE t JOIN u SET c = 1", [(D, "t"), (D, "u")]),
        ("UPDATE x.t JOIN y.t ON 1 SET y.t.a = 1", [("y", "t")]),
        ("UPDATE t JOIN (SELECT * FROM v) AS w ON t.a = w.a SET t.b = w.b", [(D, "t")]),
        ("UPDATE (t JOIN u ON t.a = u.a) SET t.b = 1", [(D, "t")]),
        ("UPDATE t STRAIGHT_JOIN u FORCE INDEX (i) SET u.b = 1", [(D, "u")]),
        ("UPDATE `SET` SET a = 1", [(D, "SET")]),
        ("DELETE FROM t WHERE a = 1", [(D, "t")]),
        ("DELETE QUICK FROM x.t ORDER BY a LIMIT 1", [("x", "t")]),
        ("DELETE t FROM t JOIN u ON t.a = u.a", [(D, "t")]),
        ("DELETE a, b.* FROM t AS a, x.u AS b WHERE a.c = b.c", [(D, "t"), ("x", "u")]),
        ("DELETE FROM a, b USING t AS a JOIN u AS b JOIN v", [(D, "t"), (D, "u")]),
        ("DELETE x.t FROM x.t", [("x", "t")]),
        ("DELETE x.t.* FROM x.t JOIN u", [("x", "t")]),
        ("WITH c AS (SELECT 1), e (f) AS (SELECT 2) UPDATE t JOIN c SET t.a = 1", [(D, "t")]),
        ("WITH c AS (DELETE) DELETE FROM t WHERE a IN (SELECT * FROM c)", [(D, "t")]),
        ("/* x */ UPDATE /*!50000 t */ SET a = 1", [(D, "t")]),
        ("CALL p(1)", None),
        ("DO f()", None),
        ("SELECT f()", None),
        ("(SELECT f())", None),
        ("WITH c AS (SELECT f()) SELECT * FROM c", None),
        ("UPDATE", None),
        ("UPDATE t SET a = 'open", None),
        ("DELETE FROM 5", None),
        ("BEGIN", []),
        ("CREATE TABLE t (a INT)", []),
        ("LOAD INDEX INTO CACHE t", []),
    ],
)  # fmt: skip
def test_written_tables(sql: str, tables: list[tuple[str | None, str]] | None) -> None:
    assert written_tables(sql, D) == tables


def test_without_a_default_database() -> None:
    assert written_tables("INSERT INTO t VALUES (1)", None) == [(None, "t")]


def test_ansi_quotes() -> None:
    sql = 'INSERT INTO "a b"."c" VALUES (\'x\')'
    assert written_tables(sql, D, int(SqlMode.ANSI_QUOTES)) == [("a b", "c")]
    assert written_tables(sql, D) is None


def test_long_values() -> None:
    rows = ",".join(f"({i},'{'x' * 50}')" for i in range(10_000))
    image = "'" + "y" * 800_000 + "'"
    assert written_tables(f"INSERT INTO t VALUES {rows}", D) == [(D, "t")]
    assert written_tables(f"UPDATE t SET a = {image}, b = {image} WHERE c = 1", D) == [(D, "t")]
    assert written_tables(f"UPDATE t JOIN u SET t.a = {image}, u.b = 1", D) == [(D, "t"), (D, "u")]


CHECKSUM = (
    "REPLACE INTO `percona`.`checksums` (db, tbl, chunk, chunk_index, lower_boundary, "
    "upper_boundary, this_cnt, this_crc) SELECT 'x', 't', '1', 'PRIMARY', '1', '9', COUNT(*) AS "
    "cnt, COALESCE(LOWER(CONV(BIT_XOR(CAST(CRC32(CONCAT_WS('#', `id`, `a`, CONCAT(ISNULL(`a`)))) "
    "AS UNSIGNED)), 10, 16)), 0) AS crc FROM `x`.`t` FORCE INDEX(`PRIMARY`) WHERE ((`id` >= '1')) "
    "AND ((`id` <= '9')) /*checksum chunk*/"
)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("INSERT INTO t VALUES (1, NOW())", []),
        ("INSERT INTO t (a, b) SELECT a, b FROM u", [(D, "u")]),
        ("INSERT INTO t SELECT 'FROM v', TRIM(' ' FROM a) FROM x.u AS q WHERE a IN (1, 2)", [
            ("x", "u"),
        ]),
        ("INSERT t SELECT a FROM u, v w JOIN x ON w.a = x.a GROUP BY a, b ON DUPLICATE KEY UPDATE "
         "a = 1, b = 2", [(D, "u"), (D, "v"), (D, "x")]),
        ("INSERT t SELECT a FROM u GROUP BY a, b", [(D, "u")]),
        ("INSERT t SELECT a FROM u UNION ALL SELECT b FROM v ORDER BY 1, 2", [(D, "u"), (D, "v")]),
        ("INSERT t SELECT 1", []),
        (CHECKSUM, [("x", "t")]),
        ("UPDATE t, x.u SET t.a = u.b", [(D, "t"), ("x", "u")]),
        ("UPDATE IGNORE t SET a = 1", [(D, "t")]),
        ("DELETE FROM t WHERE a = 1", []),
        ("DELETE t FROM t JOIN u USING (k) WHERE t.a = 1", [(D, "t"), (D, "u")]),
        ("DELETE FROM a USING t AS a JOIN u AS b USING (k)", [(D, "t"), (D, "u")]),
        # What may call a function, or read a view.
        ("INSERT INTO t VALUES (f(1))", None),
        ("INSERT INTO t VALUES (x.ABS(1))", None),
        ("INSERT INTO t VALUES ((SELECT a FROM u))", None),
        ("INSERT INTO t SELECT a FROM (SELECT a FROM u) w", None),
        ("INSERT INTO t (SELECT a FROM u)", None),
        ("INSERT INTO t SELECT a FROM u WHERE b = (SELECT MAX(b) FROM u)", None),
        ("INSERT INTO t SELECT `f`(a) FROM u", None),
        ("INSERT INTO t TABLE u", None),
        ("INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM c", None),
        ("UPDATE t SET a = (SELECT 1)", None),
        ("DELETE FROM t WHERE a IN (SELECT a FROM u)", None),
        ("CALL p()", None),
        ("INSERT INTO t SELECT 'open", None),
        ("INSERT INTO t VALUES ('" + "x" * (1 << 15) + "')", None),
    ],
)  # fmt: skip
def test_what_a_statement_reads(sql: str, tables: list[tuple[str | None, str]] | None) -> None:
    assert read_tables(sql, D) == tables
