"""A definition agrees with a table map exactly when that server could have written it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binlogkit._kernel.metadata import resolve
from binlogkit.constants import ColumnType as T
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.match import fits, matches
from binlogkit.rows.schema import Column, ColumnDefinition, TableDefinition

#: SQL type, then type code and metadata in the table map, as 5.7.22 and 8.0.31 wrote them.
TOLD = [
    ("TINYINT UNSIGNED", T.TINY, b""),
    ("SMALLINT", T.SHORT, b""),
    ("MEDIUMINT", T.INT24, b""),
    ("INT", T.LONG, b""),
    ("BIGINT", T.LONGLONG, b""),
    ("FLOAT", T.FLOAT, b"\x04"),
    ("DOUBLE", T.DOUBLE, b"\x08"),
    ("DECIMAL(10,2)", T.NEWDECIMAL, b"\x0a\x02"),
    ("DECIMAL(65,30)", T.NEWDECIMAL, b"\x41\x1e"),
    ("BIT(1)", T.BIT, b"\x01\x00"),
    ("BIT(9)", T.BIT, b"\x01\x01"),
    ("BIT(64)", T.BIT, b"\x00\x08"),
    ("YEAR", T.YEAR, b""),
    ("DATE", T.DATE, b""),
    ("TIME", T.TIME2, b"\x00"),
    ("TIME(6)", T.TIME2, b"\x06"),
    ("DATETIME(3)", T.DATETIME2, b"\x03"),
    ("TIMESTAMP(1) NULL", T.TIMESTAMP2, b"\x01"),
    ("CHAR(10) CHARACTER SET latin1", T.STRING, b"\xfe\x0a"),
    ("CHAR(10) CHARACTER SET utf8mb4", T.STRING, b"\xfe\x28"),
    ("CHAR(255) CHARACTER SET utf8mb4", T.STRING, b"\xce\xfc"),  # 1020 bytes
    ("CHAR(255) CHARACTER SET utf8", T.STRING, b"\xde\xfd"),  # 765 bytes
    ("BINARY(20)", T.STRING, b"\xfe\x14"),
    ("VARCHAR(100) CHARACTER SET utf8mb4", T.VARCHAR, b"\x90\x01"),
    ("VARCHAR(100) CHARACTER SET latin1", T.VARCHAR, b"\x64\x00"),
    ("VARBINARY(300)", T.VARCHAR, b"\x2c\x01"),
    ("TINYTEXT", T.BLOB, b"\x01"),
    ("BLOB", T.BLOB, b"\x02"),
    ("MEDIUMTEXT", T.BLOB, b"\x03"),
    ("LONGBLOB", T.BLOB, b"\x04"),
    ("ENUM('a','b')", T.STRING, b"\xf7\x01"),
    ("ENUM(" + ",".join(f"'{i}'" for i in range(255)) + ")", T.STRING, b"\xf7\x01"),
    ("ENUM(" + ",".join(f"'{i}'" for i in range(256)) + ")", T.STRING, b"\xf7\x02"),
    ("SET(" + ",".join(f"'{i}'" for i in range(8)) + ")", T.STRING, b"\xf8\x01"),
    ("SET(" + ",".join(f"'{i}'" for i in range(9)) + ")", T.STRING, b"\xf8\x02"),
    ("SET(" + ",".join(f"'{i}'" for i in range(32)) + ")", T.STRING, b"\xf8\x04"),
    ("SET(" + ",".join(f"'{i}'" for i in range(33)) + ")", T.STRING, b"\xf8\x08"),
    ("JSON", T.JSON, b"\x04"),
    ("GEOMETRY", T.GEOMETRY, b"\x04"),
    ("POINT", T.GEOMETRY, b"\x04"),
    ("VECTOR(3)", T.VECTOR, b"\x04"),
]


def defined(sql: str) -> ColumnDefinition:
    """The column that a CREATE TABLE with this type makes."""
    catalog = Catalog("9.0.1")
    catalog.apply("CREATE DATABASE d CHARACTER SET utf8mb4", default_db=None)
    catalog.apply(f"CREATE TABLE t (c {sql})", default_db="d")
    table = catalog.table("d", "t")
    assert table is not None
    return table.columns[0]


def agrees(definition: ColumnDefinition, code: T, meta: bytes) -> bool:
    return fits(definition, column(0, code, meta))


@pytest.mark.parametrize(("sql", "code", "meta"), TOLD, ids=[sql[:30] for sql, _, _ in TOLD])
def test_fits_what_the_server_wrote_and_nothing_else(sql: str, code: T, meta: bytes) -> None:
    definition = defined(sql)
    assert agrees(definition, code, meta)
    same = {
        # What a table map cannot tell apart.
        "GEOMETRY": {"POINT"},
        "POINT": {"GEOMETRY"},
    }.get(sql, set())
    for other_sql, other_code, other_meta in TOLD:
        if (other_code, other_meta) != (code, meta) and other_sql not in same:
            assert not agrees(definition, other_code, other_meta), other_sql


def test_types_of_tables_made_before_5_6_4() -> None:
    for sql, code in (("TIME", T.TIME), ("DATETIME", T.DATETIME), ("TIMESTAMP NULL", T.TIMESTAMP)):
        assert agrees(defined(sql), code, b"")
        assert not agrees(defined(sql.replace(" NULL", "") + "(3)"), code, b"")


def test_unknown_character_set_takes_one_to_four_bytes() -> None:
    definition = replace(defined("VARCHAR(10)"), charset=None)
    lengths = [
        n for n in range(60) if fits(definition, Column(0, "a", T.VARCHAR, b"", "", length=n))
    ]
    assert lengths == [10, 20, 30, 40]


def column(index: int, code: T, meta: bytes) -> Column:
    real, length, precision, scale = resolve(code, meta)
    return Column(
        index, f"@{index + 1}", real, meta, "", length=length, precision=precision, scale=scale
    )


def test_matches_names_the_first_contradiction() -> None:
    definition = TableDefinition(
        "shop",
        "or\x1bders",
        (
            replace(defined("INT"), name="a"),
            replace(defined("DECIMAL(10,2)"), name="b"),
            defined("VARCHAR(5) CHARACTER SET utf8mb4"),
        ),
    )
    good = [
        column(0, T.LONG, b""),
        column(1, T.NEWDECIMAL, b"\x0a\x02"),
        column(2, T.VARCHAR, b"\x14\x00"),
    ]
    assert matches(definition, good) is None
    assert matches(definition, good[:2]) == (
        "shop.or\\x1bders is defined with 3 columns, the table map has 2"
    )
    assert matches(definition, [good[0], column(1, T.NEWDECIMAL, b"\x0a\x03"), good[2]]) == (
        "shop.or\\x1bders defines column 2, b, as decimal(10,2), "
        "the table map has NEWDECIMAL (precision 10, scale 3)"
    )
    assert matches(definition, [*good[:2], column(2, T.VARCHAR, b"\x05\x00")]) == (
        "shop.or\\x1bders defines column 3, c, as varchar(5) utf8mb4, "
        "the table map has VARCHAR (length 5)"
    )
