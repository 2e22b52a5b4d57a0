"""Dumps read without a server: literals, where rows belong, and what is refused."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from binlogkit.errors import InputError, LimitError, SchemaError
from binlogkit.frames.schema import CellState
from binlogkit.frames.snapshots.dump import read_dump
from binlogkit.frames.snapshots.snapshot import Snapshot

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
HEAD = "-- MySQL dump 10.13\n--\n-- Host: h    Database: d\n-- Server version\t8.0.31\n\n"
HEAD += "/*!50503 SET NAMES utf8mb4 */;\n"
UTC_ZONE = "/*!40103 SET TIME_ZONE='+00:00' */;\n"
END = "UNLOCK TABLES;\n"
LONGEST = "-" + "9" * 35 + "." + "9" * 30
MOMENT = datetime(2020, 1, 2, 3, 4, 5, 670000, UTC)


def snapshot(text: str | bytes, step: int = 1 << 20) -> Snapshot:
    data = text if isinstance(text, bytes) else text.encode()
    file = io.BytesIO(data)
    return read_dump(
        "dump.sql", lambda size: file.read(min(size, step)), data[:4096], lambda _: True
    )


def column(kind: str, *literals: str, before: str = UTC_ZONE, head: str = HEAD) -> Any:
    """What the literals are in a column of a type; ``?`` where that is not known."""
    rows = ",".join(f"({literal})" for literal in literals)
    text = f"{head}{before}CREATE TABLE `t` (c {kind}) DEFAULT CHARSET=utf8mb4;\n"
    found = snapshot(f"{text}INSERT INTO `t` VALUES {rows};\n{END}")
    (table,) = found.tables.values()
    records = table.rows.to_pylist()
    for record in records:
        for cell in record["raw"] or ():
            assert record["value_state"] == [CellState.NO_ARROW_VALUE]
            record["values"]["c"] = (cell["bytes"], cell["text"])
    return ["?" if r["unknown"] else r["values"]["c"] for r in records]


@pytest.mark.parametrize(
    "kind, literals",
    [
        ("BIGINT UNSIGNED", {"18446744073709551615": (1 << 64) - 1, "NULL": None}),
        ("TINYINT", {"-128": -128, "0": 0}),
        ("YEAR", {"0000": 0, "2155": 2155}),
        ("DECIMAL(65,30)", {LONGEST: Decimal(LONGEST)}),
        ("DECIMAL(10,2)", {"12.30": Decimal("12.30"), "'-0.01'": Decimal("-0.01")}),
        ("DOUBLE", {"1.7976931348623157e308": 1.7976931348623157e308, "-0": -0.0, "0.1": 0.1}),
        ("FLOAT", {"0.1": "?", "0": 0.0, "NULL": None}),
        ("FLOAT(7,3)", {"1.234": 1.2339999675750732}),
        ("BIT(9)", {"_binary '\x01\x01'": 257, "0x0001": 1, r"_binary '\0'": 0}),
        ("DATE", {"'2020-02-29'": date(2020, 2, 29), "'0000-00-00'": (bytes(3), "0000-00-00")}),
        ("DATE", {"'2023-00-15'": (b"\x0f\xce\x0f", "2023-00-15")}),
        ("DATETIME(3)", {"'1000-01-01 00:00:00.001'": datetime(1000, 1, 1, microsecond=1000)}),
        ("DATETIME", {"'0000-00-00 00:00:00'": (b"\x80" + bytes(4), "0000-00-00 00:00:00")}),
        ("TIMESTAMP(2) NULL", {"'2020-01-02 03:04:05.67'": MOMENT}),
        ("TIMESTAMP(2) NULL", {"'0000-00-00 00:00:00.00'": (bytes(5), "0000-00-00 00:00:00.00")}),
        ("TIME(1)", {"'-838:59:59.0'": -timedelta(hours=838, minutes=59, seconds=59)}),
        ("TIME(6)", {"'00:00:00.000001'": timedelta(microseconds=1)}),
        ("ENUM('a','b''c')", {"'b\\'c'": "b'c", "''": "", "NULL": None}),
        ("SET('x','y')", {"'x,y'": "x,y", "''": ""}),
        ("VARCHAR(9)", {r"'a\n\r\t\\\'\"\0\Z\%''b'": "a\n\r\t\\'\"\0\x1a\\%'b", "''": ""}),
        ("VARCHAR(9)", {"'日😀?;--'": "日😀?;--", "0xE697A5": "日"}),
        ("BLOB", {r"_binary '\0\'\n'": b"\0'\n", "0xFF00": b"\xff\0", "''": b""}),
        ("BINARY(4)", {r"_binary 'a\0\0\0'": b"a\0\0\0"}),
        ("JSON", {r"'{\"a\": [1, 2.5]}'": '{"a": [1, 2.5]}'}),
        ("GEOMETRY", {r"_binary '\0\0\0\0x'": b"\0\0\0\0x", "NULL": None}),
    ],
)  # fmt: skip
def test_literals(kind: str, literals: dict[str, Any]) -> None:
    assert column(kind, *literals) == list(literals.values())


def test_labels_that_show_create_table_does_not_have() -> None:
    """It has a question mark in place of each character past U+FFFF."""
    assert column("ENUM('a?','b')", "'a😀'", "'a?'", "'b'") == ["a😀", "a?", "b"]
    assert column("SET('a?','b')", "'a😀,b'") == ["a😀,b"]
    with pytest.raises(InputError, match="no label"):
        column("ENUM('a?')", "'a€'")


@pytest.mark.parametrize("more", range(4))
def test_a_long_definition(more: int) -> None:
    """Whatever stands at the 4096th character."""
    names = ", ".join(f"`c{i}` VARCHAR(9) COMMENT '{'x' * (20 + more)}'" for i in range(100))
    found = snapshot(f"{HEAD}CREATE TABLE t ({names});\n{END}")
    assert len(found.tables["d", "t"].rows.schema.field("values").type) == 100


def test_what_a_character_set_does() -> None:
    """A dump in utf8mb3 or latin1 has ? for what it lacks; others tell the text."""
    utf8mb3 = "SET NAMES utf8;\n"
    assert column("VARCHAR(9)", "'a?'", "'é'", before=utf8mb3) == ["?", "é"]
    assert column("VARCHAR(9) CHARSET latin1", "'a?'", before=utf8mb3) == ["a?"]
    assert column("JSON", "'\"?\"'", before=utf8mb3) == ["?"]
    assert column("VARCHAR(9) CHARSET latin1", "'a?'", before="SET NAMES latin1;\n") == ["a?"]
    koi8r = snapshot(
        b"USE d; SET NAMES binary; CREATE TABLE t (c VARCHAR(9) CHARSET koi8r);"
        b"INSERT INTO t VALUES ('\xd0?');" + END.encode()
    )
    (table,) = koi8r.tables.values()
    assert table.rows["values"].to_pylist() == [{"c": "п?"}]
    with pytest.raises(InputError, match="character set gbk"):
        snapshot("SET NAMES gbk;")


def test_no_character_set() -> None:
    """ASCII is the same in all of them, but for ? in place of what a character set lacks."""
    head = HEAD.replace("SET NAMES utf8mb4", "SET @a = 1")
    kind = "VARCHAR(9) CHARSET utf8mb4"
    assert column(kind, "'a'", "'é'", "'a?'", "0xC3A9", head=head) == ["a", "?", "?", "é"]
    assert column("ENUM('a?','b')", "'a?'", "'b'", head=head) == ["?", "b"]


def test_what_a_time_zone_does() -> None:
    literal = "'2020-01-02 03:04:05'"
    zones = {"'+05:30'": datetime(2020, 1, 1, 21, 34, 5, tzinfo=UTC), "'Europe/Rome'": "?"}
    for zone, expected in zones.items():
        found = column("TIMESTAMP NULL", literal, before=f"SET TIME_ZONE={zone};\n")
        assert found == [expected]
    assert column("TIMESTAMP NULL", literal, before="") == ["?"]


def test_no_backslash_escapes() -> None:
    mode = "SET SQL_MODE='NO_BACKSLASH_ESCAPES';\n"
    assert column("VARCHAR(9)", r"'a\'", "'b''c'", before=mode) == ["a\\", "b'c"]


@pytest.mark.parametrize(
    "kind, literal",
    [
        ("TINYINT", "128"), ("TINYINT", "'a'"), ("TINYINT", "1.5"), ("INT UNSIGNED", "-1"),
        ("DECIMAL(4,2)", "1.234"), ("DECIMAL(4,2)", "123"), ("DECIMAL(4,2)", "1e1"),
        ("DATE", "'2020-13-01'"), ("DATE", "'yesterday'"), ("DATETIME", "'2020-01-01 24:00:00'"),
        ("DATETIME", "'2020-01-01 00:00:00.5'"), ("TIME", "'839:00:00'"), ("BIT(8)", "0x0100"),
        ("ENUM('a')", "'b'"), ("SET('a')", "'a,b'"), ("DOUBLE", "NOW()"), ("INT", "DEFAULT"),
        ("INT", "1,2"), ("VARCHAR(9)", "CONCAT('a')"), ("VARCHAR(9)", "_latin1 'a'"),
        ("TIMESTAMP NULL", "'2020-00-01 00:00:00'"), ("FLOAT(4,1)", "1e300"),
    ],
)  # fmt: skip
def test_no_value_of_the_type(kind: str, literal: str) -> None:
    with pytest.raises(InputError, match="an INSERT of it cannot be read"):
        column(kind, literal)


CREATE = "USE d;\nCREATE TABLE t (a INT PRIMARY KEY, b INT AS (a + 1), c INT INVISIBLE);\n"


@pytest.mark.parametrize(
    "statement, reason",
    [
        ("INSERT INTO t (a) VALUES (1)", "leaves out column c"),
        ("INSERT INTO t (a, b, c) VALUES (1, 2, 3)", "values of a generated column"),
        ("INSERT INTO t (a, x) VALUES (1, 2)", "columns that the table does not have"),
        ("INSERT INTO t (a, a) VALUES (1, 2)", "columns that the table does not have"),
        ("INSERT INTO t SELECT 1", "not understood"),
        ("INSERT INTO t (a, c) VALUES (1, 2) ON DUPLICATE KEY UPDATE c = 1", "cannot be separated"),
        ("INSERT INTO t (a, c) VALUES", "no rows"),
        ("UPDATE t SET c = 1", "after its CREATE TABLE"),
        ("ALTER TABLE t ADD d INT", "after its CREATE TABLE"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", "after its CREATE TABLE"),
        ("CALL p()", "may write"),
        ("RENAME TABLE t TO u", "after its CREATE TABLE"),
        ("INSERT INTO other VALUES (1)", "no CREATE TABLE of d.other"),
        ("INSERT INTO t (a, c) VALUES (1, 'x", "ends inside a statement"),
    ],
)
def test_what_is_refused(statement: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        snapshot(f"{CREATE}{statement};\n")


def test_columns_that_are_named() -> None:
    """As for a table with generated and invisible columns; keys that come after the rows."""
    text = CREATE + "REPLACE INTO `d`.`t` (`c`, `a`) VALUES (1, 2), (NULL,3);\n"
    text += "/*!40000 ALTER TABLE `t` ENABLE KEYS */;\nALTER TABLE t ADD UNIQUE (c);\n"
    (table,) = snapshot(text).tables.values()
    rows = table.rows.to_pylist()
    assert [r["values"] for r in rows] == [
        {"a": 2, "b": None, "c": 1},
        {"a": 3, "b": None, "c": None},
    ]
    assert [r["unknown"] for r in rows] == [["b"], ["b"]]
    assert table.definition is not None and table.definition.unique_keys == (("c",),)
    assert table.doubts == ()


def test_only_the_wanted_tables_are_kept() -> None:
    text = (
        CREATE
        + "CREATE TABLE u (a INT); INSERT INTO u VALUES (1); INSERT INTO t (a,c) VALUES (1,2);"
    )
    data = text.encode()
    found = read_dump("x", io.BytesIO(data).read, data, lambda name: name[1] == "u")
    assert set(found.tables) == {("d", "u")}
    assert found.catalog is not None and len(found.catalog.tables()) == 2


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_reading_in_pieces(step: int) -> None:
    """Statements, quotes, comments and escapes that are cut anywhere."""
    rows = ",".join(f"({i},'it''s \\\\ ; -- {i} \\'')" for i in range(20))
    text = f"{HEAD}/* a ; b */ CREATE TABLE t (a INT, b TEXT) CHARSET utf8mb4;\n-- c ' ;\n"
    text += f"INSERT INTO t VALUES {rows};\n# d\n{END}-- Dump completed on 2020\n"
    (table,) = snapshot(text, step).tables.values()
    expected = [{"a": i, "b": f"it's \\ ; -- {i} '"} for i in range(20)]
    assert table.rows["values"].to_pylist() == expected


# ---- where it belongs --------------------------------------------------------------------

AT = "MASTER_LOG_FILE='binlog.000003', MASTER_LOG_POS=154"


@pytest.mark.parametrize(
    "text",
    [
        f"CHANGE MASTER TO {AT};",
        f"-- CHANGE MASTER TO {AT};\n",
        f"CHANGE REPLICATION SOURCE TO {AT.replace('MASTER', 'SOURCE')};",
        f"-- CHANGE REPLICATION SOURCE TO {AT.replace('MASTER', 'SOURCE')};\n",
    ],
)
def test_positions(text: str) -> None:
    found = snapshot(text)
    assert (found.file, found.pos, found.gtids, found.unplaced) == (
        "binlog.000003",
        154,
        None,
        None,
    )


@pytest.mark.parametrize(
    "text",
    [
        f"SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{UUID}:1-3,\n{UUID}:5';",
        f"SET @@GLOBAL.GTID_PURGED='{UUID}:1-3:5';",
        f"/* SET @@GLOBAL.GTID_PURGED='+{UUID}:1-3:5';*/\n",
    ],
)
def test_gtid_sets(text: str) -> None:
    found = snapshot(text)
    assert str(found.gtids) == f"{UUID}:1-3:5" and found.unplaced is None


@pytest.mark.parametrize(
    "text, reason",
    [
        ("SET NAMES utf8mb4;", "no coordinates"),
        (f"CHANGE MASTER TO {AT}; CHANGE MASTER TO {AT.replace('154', '155')};", "several"),
        ("CHANGE MASTER TO MASTER_LOG_FILE='x';", "cannot be read"),
        ("SET @@GLOBAL.GTID_PURGED='nonsense';", "cannot be read"),
    ],
)
def test_no_position(text: str, reason: str) -> None:
    found = snapshot(text)
    assert (found.file, found.pos, found.gtids) == (None, None, None)
    assert found.unplaced is not None and reason in found.unplaced


def test_coordinates_in_data_are_none() -> None:
    data = f"; CHANGE MASTER TO {AT};\n-- CHANGE MASTER TO {AT};\n".replace("'", "\\'")
    text = f"{HEAD}CREATE TABLE t (a TEXT) CHARSET utf8mb4;INSERT INTO t VALUES ('{data}');{END}"
    found = snapshot(text)
    assert found.file is None and found.tables["d", "t"].rows.num_rows == 1


# ---- hostile -----------------------------------------------------------------------------


def test_a_dump_that_is_cut() -> None:
    """Between statements nothing tells but what follows."""
    text = f"{HEAD}CREATE TABLE t (a INT);\nLOCK TABLES t WRITE;\nINSERT INTO t VALUES (1);\n"
    for more, whole in (("", False), (END, True), ("-- Dump completed\n", True)):
        (table,) = snapshot(text + more).tables.values()
        assert (table.doubts == ()) == whole
    assert snapshot(text + "CREATE TABLE u (b INT);").tables["d", "t"].doubts == ()


def test_no_database() -> None:
    with pytest.raises(SchemaError, match="name the database"):
        snapshot("CREATE TABLE t (a INT);")


def test_a_statement_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_LIMIT_DUMP_STATEMENT", "5000000")
    taken = 0

    def read(size: int) -> bytes:
        nonlocal taken
        taken += size
        return b"x" * size

    with pytest.raises(LimitError, match="DUMP_STATEMENT"):
        read_dump("x", read, b"", lambda _: True)
    assert taken < 20_000_000
