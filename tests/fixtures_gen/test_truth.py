"""What the server says of its tables, against values written down by hand."""

from __future__ import annotations

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import _form, quote_name, read_tables
from tests.servers import each_server

pytestmark = pytest.mark.server


server = each_server(["5.7", "8.0"])


SAMPLES = [
    ("TINYINT", "-128", -128),
    ("BIGINT UNSIGNED", "18446744073709551615", 18446744073709551615),
    ("INT(6) ZEROFILL", "42", 42),
    ("BIT(64)", "~0", 18446744073709551615),
    ("BIT(3)", "b'101'", 5),
    ("YEAR", "2155", 2155),
    ("FLOAT", "0.1", 0.10000000149011612),
    ("FLOAT", "16777216", 16777216.0),
    ("FLOAT", "3.402823466e38", 3.4028234663852886e38),
    ("DOUBLE", "0.1", 0.1),
    ("DOUBLE", "5e-324", 5e-324),
    ("DECIMAL(10,3) ZEROFILL", "1.5", "1.500"),
    ("DECIMAL(65,30)", "-1", "-1.000000000000000000000000000000"),
    ("DATE", "'0000-00-00'", "0000-00-00"),
    ("DATE", "'2024-00-15'", "2024-00-15"),
    ("TIME(3)", "'-838:59:58.9'", "-838:59:58.900"),
    ("DATETIME(6)", "'1000-01-01'", "1000-01-01 00:00:00.000000"),
    ("TIMESTAMP NULL", "'2024-02-29 12:34:56'", "2024-02-29 12:34:56"),
    ("CHAR(5)", "'a  '", "a"),
    ("VARCHAR(5) CHARACTER SET gbk", "'你'", "你"),
    ("TEXT", "'a\\0b'", "a\0b"),
    ("BINARY(4)", "x'61'", "0x61000000"),
    ("VARBINARY(4)", "''", "0x"),
    ("LONGBLOB", "x'00ff'", "0x00FF"),
    ("ENUM('x','y')", "2", "y"),
    ("ENUM('x','y')", "'z'", ""),
    ("SET('x','y')", "3", "x,y"),
    ("JSON", '\'{"b": 1, "a": [1.5, "x"]}\'', '{"a": [1.5, "x"], "b": 1}'),
    ("POINT", "POINT(1, 2)", "0x000000000101000000000000000000F03F0000000000000040"),
    ("VARCHAR(5)", "NULL", None),
]


@pytest.mark.gate
def test_every_form_of_a_value(server: Server) -> None:
    columns = ", ".join(f"c{n} {kind}" for n, (kind, _, _) in enumerate(SAMPLES))
    values = ", ".join(literal for _, literal, _ in SAMPLES)
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        cursor.execute("DROP DATABASE IF EXISTS forms")
        cursor.execute("CREATE DATABASE forms")
        cursor.execute(f"CREATE TABLE forms.t ({columns}) CHARACTER SET utf8mb4")
        cursor.execute(f"INSERT INTO forms.t VALUES ({values})")
        (row,) = read_tables(session, ["forms"])["forms.t"].rows
    for (kind, literal, expected), found in zip(SAMPLES, row, strict=True):
        assert (found, type(found)) == (expected, type(expected)), f"{kind} {literal}"


def test_what_is_said_of_a_table(server: Server) -> None:
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS `odd``s`")
        cursor.execute("CREATE DATABASE `odd``s`")
        cursor.execute(
            "CREATE TABLE `odd``s`.`t``1` (`a``b` INT NOT NULL, b VARCHAR(3) CHARACTER SET latin1, "
            "c INT AS (`a``b` + 1) STORED, d INT AS (1) VIRTUAL, PRIMARY KEY (`a``b`, c)) "
            "ENGINE=InnoDB"
        )
        cursor.execute("INSERT INTO `odd``s`.`t``1` (`a``b`) VALUES (2), (1)")
        cursor.execute("CREATE VIEW `odd``s`.v AS SELECT 1")
        tables = read_tables(session, ["odd`s"])
    assert list(tables) == ["odd`s.t`1"]
    table = tables["odd`s.t`1"]
    assert [c.name for c in table.columns] == ["a`b", "b", "c", "d"]
    assert [c.generated for c in table.columns] == [None, None, "stored", "virtual"]
    assert [c.charset for c in table.columns] == [None, "latin1", None, None]
    assert [c.nullable for c in table.columns] == [False, True, False, True]
    assert table.primary_key == ("a`b", "c")
    assert table.engine == "InnoDB"
    assert table.create.startswith("CREATE TABLE `t``1` (")
    assert table.rows == ((1, None, 2, 1), (2, None, 3, 1))


@pytest.mark.parametrize("server", ["8.0"], indirect=True)  # 8.0.23 brought them
def test_an_invisible_column_is_seen(server: Server) -> None:
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS hid")
        cursor.execute("CREATE DATABASE hid")
        cursor.execute("CREATE TABLE hid.t (id INT PRIMARY KEY, s INT INVISIBLE DEFAULT 5)")
        cursor.execute("INSERT INTO hid.t VALUES (1)")
        table = read_tables(session, ["hid"])["hid.t"]
    assert [c.invisible for c in table.columns] == [False, True]
    assert table.rows == ((1, 5),)


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(ServerError, match="no form is known for values of type 'new'"):
        _form("new", "new(3)")


def test_names_are_quoted() -> None:
    assert quote_name("a`b") == "`a``b`"
