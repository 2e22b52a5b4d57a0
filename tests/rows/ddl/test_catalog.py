"""What statements tell of tables, beyond what steps.sql compares with servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from binlogkit.rows.ddl import Catalog, TableChange
from binlogkit.rows.ddl.session import Acted, SqlMode


def catalog(*statements: str, version: str = "8.0.31", **arguments: Any) -> Catalog:
    """A catalog after some statements in the database ``d``."""
    result = Catalog(version, **arguments)
    for sql in ("CREATE DATABASE d CHARACTER SET utf8mb4", *statements):
        assert all(c.action != "unknown" for c in result.apply(sql, default_db="d")), sql
    return result


def later(*statements: str) -> Catalog:
    """The catalog of a log that begins when there is a database ``d`` already."""
    result = Catalog("8.0.31")
    for sql in statements:
        result.apply(sql, default_db="d")
    return result


def names(tables: Catalog, table: str, db: str = "d") -> list[str] | None:
    found = tables.table(db, table)
    return None if found is None else [column.name for column in found.columns]


def told(changes: list[TableChange]) -> list[tuple[str | None, ...]]:
    return [(c.action, c.db, c.table, c.new_db, c.new_table) for c in changes]


def test_a_table_map_in_small_letters_shows_how_names_are_stored() -> None:
    """lower_case_table_names=1: of ``CREATE TABLE Shop.Orders`` the map has ``shop.orders``."""
    tables = catalog(
        "CREATE DATABASE Shop CHARACTER SET gbk",
        "CREATE TABLE Shop.Orders (Id INT PRIMARY KEY, a TEXT)",
        "CREATE TABLE Shop.Child (p INT, FOREIGN KEY (p) REFERENCES Orders (Id) ON DELETE CASCADE)",
    )
    tables.apply("CREATE TABLE Shop.Selected SELECT 1", default_db=None)
    assert tables.table("shop", "orders") is None
    assert not tables.folded
    found = tables.mapped("shop", "orders")
    assert tables.folded
    assert found is not None and [c.name for c in found.columns] == ["Id", "a"]
    assert found.columns[1].charset == "gbk"
    child = tables.table("SHOP", "CHILD")
    assert child is not None and child.cascades == ("shop.orders",)
    assert tables.is_unknown("shop", "selected")
    assert told(tables.apply("RENAME TABLE Shop.Orders TO SHOP.O", default_db=None)) == [
        ("rename", "shop", "orders", "shop", "o")
    ]
    assert told(tables.apply("DROP SCHEMA SHOP", default_db=None)) == [
        ("drop_database", "shop", "", None, None)
    ]
    assert tables.tables() == []


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        (["CREATE TABLE T (a INT)", "CREATE TABLE X (a INT)", "CREATE TABLE x (a INT)"], "t"),
        (["CREATE TABLE T (a INT)", "CREATE DATABASE D", "CREATE DATABASE d"], "t"),
        (["CREATE TABLE T (a INT)", "CREATE TABLE t (a INT)"], "t"),
        (["CREATE TABLE T (a INT)"], "u"),
        (["CREATE TABLE t (a INT)"], "T"),
        (["CREATE TABLE T (a INT)", "DROP TABLE T"], "t"),
    ],
)
def test_names_that_differ_by_capitals_stay_apart(statements: list[str], name: str) -> None:
    tables = catalog(*statements)
    known = tables.table("d", name)
    assert tables.mapped("d", name) == known
    assert not tables.folded


ROW_ID = "my_row_id bigint unsigned NOT NULL AUTO_INCREMENT"


@pytest.mark.parametrize(
    ("definition", "alter", "expected"),
    [
        (f"{ROW_ID} /*!80023 INVISIBLE */, a INT", "ADD z BIGINT UNSIGNED FIRST", "my_row_id z a"),
        (f"{ROW_ID} INVISIBLE, a INT, b INT", "MODIFY b INT FIRST", "my_row_id b a"),
        (f"{ROW_ID} INVISIBLE, a INT", "ALTER my_row_id SET VISIBLE, ADD z INT", "my_row_id a z"),
        (f"{ROW_ID} INVISIBLE, a INT", "DROP my_row_id, DROP PRIMARY KEY, ADD z INT FIRST", "z a"),
        (f"{ROW_ID}, a INT", "ADD z INT FIRST", "z my_row_id a"),
        (f"a INT, {ROW_ID} INVISIBLE", "ADD z INT FIRST", "z a my_row_id"),
    ],
)
def test_a_generated_invisible_primary_key_stays_first(
    definition: str, alter: str, expected: str
) -> None:
    """As information_schema of 8.0.31 has the columns afterwards."""
    tables = catalog(
        f"CREATE TABLE t ({definition}, PRIMARY KEY (my_row_id))", f"ALTER TABLE t {alter}"
    )
    assert names(tables, "t") == expected.split()


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("ADD n INT AFTER b2, CHANGE b b2 INT", "a b2 n c"),
        ("CHANGE a a INT AFTER b2, CHANGE b b2 INT", "b2 a c"),
        ("CHANGE a b INT, CHANGE b a INT, ADD d INT AFTER a", "b a d c"),
        ("ADD d INT FIRST, MODIFY a INT AFTER d", "d a b c"),
        ("DROP b, ADD b INT FIRST, ADD d INT AFTER b", "b d a c"),
        ("MODIFY c INT FIRST, MODIFY b INT FIRST, ADD x INT AFTER a", "b c a x"),
        ("ADD y INT AFTER x, RENAME COLUMN b TO x", "a x y c"),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a, MODIFY c INT FIRST", "c b a"),
    ],
)
def test_an_alter_names_columns_as_they_are_called_afterwards(alter: str, expected: str) -> None:
    """As SHOW COLUMNS of 5.7.22, 8.0.31 and 9.7.4 has them (RENAME COLUMN from 8.0 on)."""
    tables = catalog("CREATE TABLE t (a INT, b INT, c INT)", f"ALTER TABLE t {alter}")
    assert names(tables, "t") == expected.split()


@pytest.mark.parametrize(
    ("made", "checked", "folded"),
    [
        (["Parent"], True, True),
        (["Parent"], False, False),  # the parent need not be there
        (["Parent"], None, False),
        (["parent"], True, False),
        (["Parent", "parent"], True, False),
        (["Parent", "Other", "other"], True, False),  # names that differ by capitals alone
        (["unrelated"], True, False),
    ],
)
def test_a_foreign_key_shows_how_names_are_compared(
    made: list[str], checked: bool | None, folded: bool
) -> None:
    """With foreign_key_checks on a server refuses a child whose parent is not there (error 1215
    and 1824), so that a parent which is known in other letters is that one."""
    tables = catalog(*(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in made))
    key = "FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE"
    tables.apply("CREATE TABLE child (p INT)", default_db="d", foreign_key_checks=checked)
    assert not tables.folded
    tables.apply(f"ALTER TABLE child ADD {key}", default_db="d", foreign_key_checks=checked)
    assert tables.folded == folded
    child = tables.table("d", "child")
    assert child is not None and child.cascades == ("d.parent",)


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("MODIFY t.b BIGINT", "a b c"),
        ("MODIFY COLUMN .b BIGINT FIRST", "b a c"),
        ("CHANGE t.b d.t.bb INT", "a bb c"),
        ("ADD d.t.f INT AFTER a", "a f b c"),
        ("ADD (t.f INT, .g INT)", "a b c f g"),
        ("DROP t.c, DROP COLUMN d.t.b", "a"),
        ("ALTER t.a SET DEFAULT 5, ALTER COLUMN .b DROP DEFAULT", "a b c"),
        ("ADD x VARCHAR(9) DEFAULT _utf8'a' 'b' COMMENT 'y', ADD y INT", "a b c x y"),
        ("ADD x VARCHAR(9) DEFAULT N'a' 'b', ADD y INT", "a b c x y"),
    ],
)
def test_columns_may_be_qualified(alter: str, expected: str) -> None:
    """As 5.7.22 takes it; from 8.0 on a name before a column is an error."""
    tables = catalog("CREATE TABLE t (t.a INT, d.t.b INT, .c INT)", f"ALTER TABLE t {alter}")
    assert names(tables, "t") == expected.split()


def test_actions() -> None:
    tables = catalog("CREATE TABLE t (a INT)")

    def apply(sql: str) -> list[tuple[str | None, ...]]:
        return told(tables.apply(sql, default_db="d"))

    assert apply("CREATE TABLE u (a INT)") == [("create", "d", "u", None, None)]
    assert apply("ALTER TABLE t ADD b INT") == [("alter", "d", "t", None, None)]
    assert apply("ALTER TABLE t RENAME x.v") == [("rename", "d", "t", "x", "v")]
    assert apply("ALTER TABLE x.v DROP b, RENAME t") == [
        ("alter", "x", "v", None, None),
        ("rename", "x", "v", "d", "t"),
    ]
    assert apply("RENAME TABLE t TO w, u TO t, w TO u") == [
        ("rename", "d", "t", "d", "w"),
        ("rename", "d", "u", "d", "t"),
        ("rename", "d", "w", "d", "u"),
    ]
    assert apply("TRUNCATE t") == [("truncate", "d", "t", None, None)]
    assert apply("CREATE UNIQUE INDEX i ON t (a)") == [("alter", "d", "t", None, None)]
    assert apply("DROP INDEX i ON t") == [("alter", "d", "t", None, None)]
    assert apply("INSERT INTO t VALUES (1)") == [("statement_write", "d", "t", None, None)]
    assert apply("UPDATE t, u SET t.a = 1, u.a = 2") == [
        ("statement_write", "d", "t", None, None),
        ("statement_write", "d", "u", None, None),
    ]
    assert apply("CALL p()") == [("statement_write", "", "", None, None)]
    assert apply("DROP TABLE t, x.y") == [
        ("drop", "d", "t", None, None),
        ("drop", "x", "y", None, None),
    ]
    assert apply("DROP DATABASE d") == [("drop_database", "d", "", None, None)]
    assert tables.tables() == []
    for sql in (
        "BEGIN",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW v",
        "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
        "DROP PROCEDURE p",
        "GRANT ALL ON *.* TO u",
        "CREATE USER u",
        "SET @a = 1",
        "ANALYZE TABLE t",
        "CREATE DATABASE d",
        "ALTER DATABASE d READ ONLY = 1 CHARACTER SET latin1",
        "DROP EVENT e",
        "",
    ):
        assert apply(sql) == [], sql


def test_rows_that_move_without_row_events() -> None:
    tables = catalog("CREATE TABLE p (a INT) PARTITION BY HASH (a)", "CREATE TABLE t (a INT)")
    changes = tables.apply("ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE x.t", default_db="d")
    assert told(changes) == [
        ("alter", "d", "p", None, None),
        ("statement_write", "d", "p", None, None),
        ("statement_write", "x", "t", None, None),
    ]
    assert "EXCHANGE PARTITION" in str(changes[1].reason)
    for sql in (
        "ALTER TABLE p DROP PARTITION p0",
        "ALTER TABLE p TRUNCATE PARTITION ALL",
        "ALTER TABLE p IMPORT TABLESPACE",
        "ALTER TABLE p DISCARD PARTITION p0 TABLESPACE",
    ):
        assert told(tables.apply(sql, default_db="d"))[1:] == [
            ("statement_write", "d", "p", None, None)
        ]


def test_what_is_not_understood_is_unknown_until_it_is_made_again() -> None:
    tables = catalog("CREATE TABLE t (a INT)", "CREATE TABLE u (a INT)")
    (change,) = tables.apply("ALTER TABLE t FROBNICATE b", default_db="d")
    assert (change.action, change.db, change.table) == ("unknown", "d", "t")
    assert "FROBNICATE" in str(change.reason)
    assert tables.table("d", "t") is None
    assert tables.is_unknown("d", "t") == change.reason
    assert tables.is_unknown("d", "u") is None
    (change,) = tables.apply("ALTER TABLE t ADD b INT", default_db="d")
    assert (change.action, change.definition) == ("alter", None)
    tables.apply("CREATE TABLE IF NOT EXISTS t (z INT)", default_db="d")
    assert tables.table("d", "t") is None
    (change,) = tables.apply("RENAME TABLE t TO v", default_db="d")
    assert tables.is_unknown("d", "t") is None
    assert tables.is_unknown("d", "v") == change.reason is not None
    tables.apply("CREATE TABLE w LIKE v", default_db="d")
    assert "LIKE" in str(tables.is_unknown("d", "w"))
    tables.apply("DROP TABLE v", default_db="d")
    assert tables.is_unknown("d", "v") is None
    tables.apply("CREATE TABLE v (z INT)", default_db="d")
    assert names(tables, "v") == ["z"]


def test_a_statement_that_contradicts_the_definition_makes_it_unknown() -> None:
    for sql in (
        "ALTER TABLE t DROP b",
        "ALTER TABLE t MODIFY b INT",
        "ALTER TABLE t CHANGE b c INT",
        "ALTER TABLE t ADD c INT AFTER b",
        "ALTER TABLE t RENAME COLUMN b TO c",
        "ALTER TABLE t ALTER b SET INVISIBLE",
    ):
        tables = catalog("CREATE TABLE t (a INT)")
        (change,) = tables.apply(sql, default_db="d")
        assert change.action == "unknown", sql
        assert "unknown" in str(change.reason)
        assert tables.is_unknown("d", "t") == change.reason


@pytest.mark.parametrize(
    "sql",
    [
        "TRUNCATE t u",
        "DROP TABLE t u",
        "RENAME TABLE t TO u v",
        "CREATE TABLE t LIKE u v",
        "CREATE TABLE t",
        "CREATE TABLE t ()",
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a INT) b",
        "CREATE TABLE t (a INT",
        "CREATE TABLE t (a VARCHAR)",
        "CREATE TABLE t (a ENUM())",
        "CREATE TABLE t (KEY (a))",
        "ALTER TABLE t CONVERT TO",
        "ALTER TABLE t ADD",
        "ALTER TABLE t,",
        "CREATE INDEX i ON t",
        "ALTER TABLE t ADD KEY k",
    ],
)
def test_what_no_server_takes_is_not_understood(sql: str) -> None:
    tables = catalog("CREATE TABLE t (a INT)")
    assert [c.action for c in tables.apply(sql, default_db="d")] == ["unknown"]
    assert tables.is_unknown("d", "t")


def test_create_select_in_statement_format() -> None:
    tables = catalog()
    for sql in (
        "CREATE TABLE t SELECT 1 AS a",
        "CREATE TABLE t (a INT) SELECT 1 AS a",
        "CREATE TABLE t (a INT) ENGINE=InnoDB AS SELECT 1",
        "CREATE TABLE t (a INT) IGNORE SELECT 1",
        "CREATE TABLE t (a INT) REPLACE AS (SELECT 1)",
        "CREATE TABLE t (SELECT 1)",
        "CREATE TABLE t ((SELECT 1) UNION (SELECT 2))",
        "CREATE TABLE t AS WITH c AS (SELECT 1) SELECT * FROM c",
        "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 2 SELECT 1 AS a",
        "CREATE TABLE t TABLE u",
        "CREATE TABLE t VALUES ROW(1, 2)",
    ):
        (change,) = tables.apply(sql, default_db="d")
        assert change.action == "unknown", sql
        assert "SELECT" in str(tables.is_unknown("d", "t"))
        tables.apply("DROP TABLE t", default_db="d")


A_TABLE = "CREATE TABLE IF NOT EXISTS t (x INT)"


@pytest.mark.parametrize(
    "before, sql, acted, columns, supposed",
    [
        ((), A_TABLE, Acted.AS_KNOWN, ["x"], False),
        ((), A_TABLE, Acted.UNKNOWN, ["x"], True),
        ((), A_TABLE, Acted.YES, ["x"], False),
        ((), A_TABLE, Acted.NO, [], False),
        ((), A_TABLE + " ENGINE=MyISAM", Acted.NO, ["x"], True),
        ((), A_TABLE + " START TRANSACTION", Acted.NO, ["x"], False),
        (("CREATE TABLE t (a INT)",), A_TABLE, Acted.UNKNOWN, ["a"], False),
        (("CREATE TABLE t (a INT)",), A_TABLE, Acted.YES, ["x"], False),
        (("ALTER TABLE t nonsense",), A_TABLE, Acted.UNKNOWN, [], False),
        (("DROP TABLE IF EXISTS t",), A_TABLE, Acted.UNKNOWN, ["x"], False),
        (("RENAME TABLE t TO u",), A_TABLE, Acted.UNKNOWN, ["x"], False),
        (("RENAME TABLE u TO t",), A_TABLE, Acted.UNKNOWN, [], False),
        (("CREATE DATABASE d",), A_TABLE, Acted.UNKNOWN, ["x"], False),
        (("DROP DATABASE d",), A_TABLE, Acted.UNKNOWN, ["x"], False),
        (("CREATE DATABASE e",), A_TABLE, Acted.UNKNOWN, ["x"], True),
        (("CREATE DATABASE d", "RENAME TABLE e.t TO t"), A_TABLE, Acted.UNKNOWN, [], False),
        (("DROP TABLE t", "DROP DATABASE d \x00"), A_TABLE, Acted.UNKNOWN, ["x"], True),
        (("CREATE TABLE m (x INT)",), "CREATE TABLE IF NOT EXISTS t LIKE m", Acted.UNKNOWN, ["x"],
         True),
        ((), "CREATE TABLE IF NOT EXISTS t SELECT 1 x", Acted.UNKNOWN, [], False),
        (("CREATE TABLE t (a INT)",), "CREATE TABLE IF NOT EXISTS t SELECT 1 x", Acted.AS_KNOWN,
         ["a"], False),
    ],
)  # fmt: skip
def test_whether_if_not_exists_made_a_table(
    before: Sequence[str], sql: str, acted: Acted, columns: list[str], supposed: bool
) -> None:
    tables = later(*before)
    changes = tables.apply(sql, default_db="d", acted=acted, place="log at 4")
    known = tables.table("d", "t")
    assert ([] if known is None else [c.name for c in known.columns]) == columns
    assert [s.name for s in known.supposed] == ["definition:d.t"] * supposed if known else True
    assert any(change.conditional for change in changes) == supposed


def test_a_supposition_lasts_until_the_table_is_made_anew() -> None:
    tables = later()
    tables.apply(A_TABLE, default_db="d", acted=Acted.UNKNOWN, place="log at 4")
    for sql in ("ALTER TABLE t ADD y INT", "RENAME TABLE t TO u", "CREATE TABLE v LIKE u"):
        tables.apply(sql, default_db="d")
    found = [tables.table("d", name) for name in ("u", "v")]
    assert [[s.name for s in table.supposed] for table in found if table] == [
        ["definition:d.t"], ["definition:d.t"],
    ]  # fmt: skip
    assert "(log at 4)" in str(found[0] and found[0].supposed[0])
    tables.apply("DROP TABLE u", default_db="d")
    tables.apply("CREATE TABLE u (a INT)", default_db="d")
    made = tables.table("d", "u")
    assert made is not None and not made.supposed


@pytest.mark.parametrize(
    "before, acted, charset",
    [
        ((), Acted.AS_KNOWN, "latin1"),
        ((), Acted.UNKNOWN, None),
        ((), Acted.YES, "latin1"),
        ((), Acted.NO, None),
        (("DROP DATABASE d",), Acted.UNKNOWN, "latin1"),
        (("CREATE DATABASE d CHARACTER SET koi8r",), Acted.UNKNOWN, "koi8r"),
        (("CREATE DATABASE d CHARACTER SET koi8r",), Acted.YES, "latin1"),
        (("CREATE TABLE d.x (a INT)",), Acted.UNKNOWN, None),
    ],
)
def test_whether_if_not_exists_made_a_database(
    before: Sequence[str], acted: Acted, charset: str | None
) -> None:
    tables = later(*before)
    made = "CREATE DATABASE IF NOT EXISTS d CHARACTER SET latin1"
    assert tables.apply(made, default_db=None, acted=acted) == []
    tables.apply("CREATE TABLE t (c VARCHAR(10))", default_db="d")
    table = tables.table("d", "t")
    assert table is not None and table.columns[0].charset == charset


def test_temporary_tables_belong_to_their_thread() -> None:
    tables = catalog("CREATE TABLE t (a INT)")

    def apply(sql: str, thread: int) -> list[str]:
        return [c.action for c in tables.apply(sql, default_db="d", thread_id=thread)]

    assert apply("CREATE TEMPORARY TABLE t (x INT, y INT)", 7) == []
    assert apply("ALTER TABLE t DROP y", 7) == []
    assert apply("INSERT INTO t VALUES (1)", 7) == []
    assert apply("TRUNCATE t", 7) == []
    assert apply("CREATE INDEX i ON t (x)", 7) == []
    assert names(tables, "t") == ["a"]
    assert apply("ALTER TABLE t ADD b INT", 8) == ["alter"]
    assert names(tables, "t") == ["a", "b"]
    assert apply("CREATE TABLE copy LIKE t", 7) == ["create"]
    assert names(tables, "copy") == ["x"]
    assert apply("CREATE TABLE copy2 LIKE t", 8) == ["create"]
    assert names(tables, "copy2") == ["a", "b"]
    assert apply("ALTER TABLE t RENAME TO t2", 7) == []
    assert apply("DROP TABLE t2", 7) == []
    assert apply("DROP TEMPORARY TABLE IF EXISTS `t` /* generated by server */", 7) == []
    assert names(tables, "t") == ["a", "b"]
    assert apply("DROP TABLE t", 7) == ["drop"]
    assert apply("CREATE TEMPORARY TABLE s SELECT 1", 7) == []
    assert apply("ALTER TABLE s ADD b INT", 7) == []


def test_a_table_that_was_never_seen() -> None:
    tables = catalog()
    changes = tables.apply("ALTER TABLE t ADD a INT", default_db="d")
    assert told(changes) == [("alter", "d", "t", None, None)]
    assert changes[0].definition is None
    changes = tables.apply("RENAME TABLE t TO u", default_db="d")
    assert told(changes) == [("rename", "d", "t", "d", "u")]
    assert tables.tables() == []


def test_without_a_default_database() -> None:
    tables = Catalog("8.0.31")
    (change,) = tables.apply("CREATE TABLE t (a INT)", default_db=None)
    assert (change.action, change.db, change.table) == ("unknown", "", "")
    assert "no default database" in str(change.reason)
    assert tables.apply("CREATE TABLE x.t (a INT)", default_db=None)[0].action == "create"


def test_copies_are_independent() -> None:
    first = catalog("CREATE TABLE t (a INT)", "CREATE DATABASE l CHARACTER SET latin1")
    second = first.copy()
    second.apply("DROP TABLE t", default_db="d")
    second.apply("DROP DATABASE l", default_db="d")
    second.apply("ALTER TABLE u X", default_db="d")
    assert names(first, "t") == ["a"]
    assert first.is_unknown("d", "u") is None
    first.apply("CREATE TABLE l.t (a CHAR(1))", default_db="d")
    table = first.table("l", "t")
    assert table is not None and table.charset == "latin1"
    assert second.server_version == "8.0.31"


@pytest.mark.parametrize("fold", [1, 2])
def test_names_in_lower_case(fold: int) -> None:
    tables = catalog("CREATE TABLE Big (a INT)", lower_case_table_names=fold)
    tables.apply("ALTER TABLE bIG ADD b INT", default_db="D")
    table = tables.table("d", "BIG")
    assert table is not None
    assert table.table == ("big" if fold == 1 else "Big")
    assert len(table.columns) == 2


def test_names_by_case() -> None:
    tables = catalog("CREATE TABLE Big (a INT)", "CREATE TABLE big (b INT)")
    assert names(tables, "Big") == ["a"]
    assert names(tables, "big") == ["b"]
    assert names(tables, "BIG") is None


def test_the_character_set_of_a_database_that_nothing_tells() -> None:
    tables = Catalog("8.0.31")
    sql = "CREATE TABLE {} (a VARCHAR(5), b CHAR(3) CHARACTER SET latin1, c BLOB)"
    tables.apply(sql.format("t"), default_db="d", collation_server="latin1_swedish_ci")
    table = tables.table("d", "t")
    assert table is not None
    assert [c.charset for c in table.columns] == [None, "latin1", "binary"]
    told_by_event = {"default_db": "d", "collation_database": "koi8r_bin"}
    tables.apply(sql.format("u"), **told_by_event)  # type: ignore[arg-type]
    table = tables.table("d", "u")
    assert table is not None
    assert table.columns[0].collation == "koi8r_bin"
    tables.apply(sql.format("x.u"), **told_by_event)  # type: ignore[arg-type]
    table = tables.table("x", "u")
    assert table is not None and table.charset is None
    tables.apply("CREATE DATABASE y", default_db=None, collation_server="latin2_bin")
    tables.apply(sql.format("y.u"), **told_by_event)  # type: ignore[arg-type]
    table = tables.table("y", "u")
    assert table is not None and table.columns[0].collation == "latin2_bin"


def test_defaults_follow_the_server_version() -> None:
    sql = "CREATE TABLE t (a TIMESTAMP, b VARCHAR(3) CHARACTER SET utf8mb4, c GEOMETRYCOLLECTION)"
    for version, nullable, collation, spatial in (
        ("5.7.22", False, "utf8mb4_general_ci", "geometrycollection"),
        ("8.0.31", True, "utf8mb4_0900_ai_ci", "geomcollection"),
    ):
        table = catalog(sql, version=version).table("d", "t")
        assert table is not None
        a, b, c = table.columns
        assert (a.nullable, b.collation, c.type) == (nullable, collation, spatial)


def test_inline_references_count_from_9_0() -> None:
    sql = "CREATE TABLE t (a INT REFERENCES p (id) ON DELETE CASCADE)"
    for version, cascades in (("8.4.3", ()), ("9.0.0", ("d.p",))):
        table = catalog(sql, version=version).table("d", "t")
        assert table is not None and table.cascades == cascades


def test_vector() -> None:
    table = catalog("CREATE TABLE t (a VECTOR, b VECTOR(3) NOT NULL)", version="9.0.1").table(
        "d", "t"
    )
    assert table is not None
    assert [(c.type, c.length) for c in table.columns] == [("vector", 2048), ("vector", 3)]


def test_the_server_goes_on_under_another_version() -> None:
    tables = catalog()
    tables.server_version = "5.7.22"
    tables.apply("CREATE TABLE t (a INT /*!80023 INVISIBLE */)", default_db="d")
    tables.server_version = "8.0.31"
    tables.apply("CREATE TABLE u (a INT /*!80023 INVISIBLE */)", default_db="d")
    seen = [table.columns[0].invisible for table in tables.tables()]
    assert seen == [False, True]


def test_sql_mode_comes_as_the_events_mask() -> None:
    tables = catalog()
    ansi = int(SqlMode.ANSI_QUOTES) | 0x20_0000
    tables.apply('CREATE TABLE "t" ("a" INT)', default_db="d", sql_mode=ansi)
    assert names(tables, "t") == ["a"]
    (change,) = tables.apply('CREATE TABLE "u" ("a" INT)', default_db="d", sql_mode=0)
    assert change.action == "unknown"


@pytest.mark.parametrize(
    ("inside", "action"),
    [
        ("a INT, b INT, c INT", "create"),
        ("a INT, b INT, c INT, d INT", "unknown"),
        ("a INT PRIMARY KEY, KEY (a)", "create"),
        ("a INT PRIMARY KEY, KEY (a), FOREIGN KEY (a) REFERENCES u (a)", "unknown"),
    ],
)
def test_no_table_has_more_columns_and_keys_than_a_server_takes(
    monkeypatch: pytest.MonkeyPatch, inside: str, action: str
) -> None:
    monkeypatch.setattr("binlogkit.rows.ddl.create._MAX_COLUMNS", 3)
    monkeypatch.setattr("binlogkit.rows.ddl.create._MAX_KEYS", 2)
    changes = Catalog("8.0.31").apply(f"CREATE TABLE t ({inside})", default_db="d")
    assert [change.action for change in changes] == [action]
