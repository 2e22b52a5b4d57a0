"""Statements by their first words."""

from __future__ import annotations

import pytest

from binlogkit.rows.ddl import StatementKind, statement_kind

K = StatementKind


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("create table t (a int)", K.DDL),
        ("/* x */ -- y\n/*!50001 CREATE*/ VIEW v AS SELECT 1", K.DDL),
        ("#c\nDrop   Table t", K.DDL),
        ("TRUNCATE t", K.DDL),
        ("rename table a to b", K.DDL),
        ("CREATE DEFINER=`root`@`%` TRIGGER t", K.DDL),
        ("INSERT INTO t VALUES (1)", K.DML),
        ("replace t values (1)", K.DML),
        ("LOAD DATA INFILE 'x' INTO TABLE t", K.DML),
        ("load xml infile 'x' into table t", K.DML),
        ("WITH c AS (SELECT 1) DELETE FROM t", K.DML),
        ("(SELECT f())", K.DML),
        ("CALL p()", K.DML),
        ("DO f()", K.DML),
        ("BEGIN", K.BEGIN),
        ("begin work", K.BEGIN),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", K.BEGIN),
        ("COMMIT", K.COMMIT),
        ("ROLLBACK", K.ROLLBACK),
        ("ROLLBACK WORK", K.ROLLBACK),
        ("ROLLBACK TO SAVEPOINT `a`", K.ROLLBACK_TO),
        ("ROLLBACK WORK TO a", K.ROLLBACK_TO),
        ("ROLLBACK TO `begin`", K.ROLLBACK_TO),
        ("SAVEPOINT `x`", K.SAVEPOINT),
        ("RELEASE SAVEPOINT x", K.RELEASE_SAVEPOINT),
        ("XA START X'61',X'',1", K.XA_START),
        ("xa begin 'a'", K.XA_START),
        ("XA END X'61',X'',1", K.XA_END),
        ("XA PREPARE X'61',X'',1", K.XA_PREPARE),
        ("XA COMMIT X'61',X'',1 ONE PHASE", K.XA_COMMIT),
        ("XA ROLLBACK X'61',X'',1", K.XA_ROLLBACK),
        ("XA RECOVER", K.OTHER),
        ("SET @a = 1", K.SET),
        ("SET PASSWORD FOR 'u'@'h' = 'x'", K.ACCOUNT),
        ("SET DEFAULT ROLE r TO u", K.ACCOUNT),
        ("USE `db`", K.USE),
        ("GRANT ALL ON *.* TO u", K.ACCOUNT),
        ("revoke all on *.* from u", K.ACCOUNT),
        ("CREATE USER IF NOT EXISTS u", K.ACCOUNT),
        ("ALTER USER u", K.ACCOUNT),
        ("DROP ROLE r", K.ACCOUNT),
        ("RENAME USER a TO b", K.ACCOUNT),
        ("ANALYZE TABLE t", K.ADMIN),
        ("FLUSH TABLES", K.ADMIN),
        ("OPTIMIZE NO_WRITE_TO_BINLOG TABLE t", K.ADMIN),
        ("REPAIR TABLE t", K.ADMIN),
        ("INSTALL PLUGIN x SONAME 'y'", K.ADMIN),
        ("CREATE TABLESPACE ts ADD DATAFILE 'x'", K.ADMIN),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql", K.ADMIN),
        ("START SLAVE", K.ADMIN),
        ("LOAD INDEX INTO CACHE t", K.ADMIN),
        ("LOCK TABLES t WRITE", K.OTHER),
        ("BINLOG 'x'", K.OTHER),
        ("`create` table", K.OTHER),
        ("'open", K.OTHER),
        ("", K.OTHER),
        ("/* only a comment", K.OTHER),
        ("/*!99999 DROP TABLE t */", K.OTHER),
    ],
)
def test_kind(sql: str, kind: StatementKind) -> None:
    assert statement_kind(sql) is kind


def test_the_version_decides_on_versioned_words() -> None:
    assert statement_kind("/*!80000 DROP */ TABLE t", version=80031) is K.DDL
    assert statement_kind("/*!80000 DROP */ TABLE t", version=50722) is K.DML
