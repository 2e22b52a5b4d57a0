"""Bytes, labels, documents and shapes of the scenario ``types``."""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit_fixtures.scenarios.family import Column, Family, literal, literals
from binlogkit_fixtures.scenarios.model import Condition

__all__ = ["families"]


def families() -> Iterator[Family]:
    """Binaries, enums and sets, JSON, geometries, and a table of many columns."""
    yield from (_binaries(), _enums(), _documents(), _geometries(), _wide())


def _binaries() -> Family:
    odd = "x'00FF27225C0A0D1A3B2D2D'"
    return Family(
        "binaries",
        [
            Column("b1", "BINARY(1)", ["x'00'", "x'FF'", "''", "NULL"]),
            Column(
                "b8", "BINARY(8)", ["x'6100'", "x'0000000000000000'", "x'0102030405060700'", "''"]
            ),
            Column("b16", "BINARY(16)", ["x'00112233445566778899AABBCCDDEE00'", "''", "x'20'"]),
            Column("b255", "BINARY(255)", ["x'AB'", "x'" + "FE" * 255 + "'", "NULL"]),
            Column("v8", "VARBINARY(8)", ["x'6100'", "''", "x'0000000000000000'", "x'20'"]),
            Column("v255", "VARBINARY(255)", ["''", "x'" + "00" * 255 + "'", odd]),
            Column("v256", "VARBINARY(256)", ["''", "x'" + "00" * 256 + "'", odd]),
            Column("tb", "TINYBLOB", ["''", odd, "x'" + "F0" * 255 + "'", "NULL"]),
            Column("bl", "BLOB", ["''", odd, "x'" + "0F" * 300 + "'", "NULL"]),
            Column("mb", "MEDIUMBLOB", [odd, "''", "x'" + "1F" * 300 + "'", "NULL", "x'00'"]),
            Column("lb", "LONGBLOB", [odd, "''", "x'" + "2F" * 300 + "'", "NULL", "x'00'"]),
            Column("cb", "CHAR(5) CHARACTER SET binary", ["'ab'", "''", "x'00'"]),
            Column("tx", "TEXT CHARACTER SET binary", ["'ab'", "''", "x'C328'"]),
        ],
    )


def _labels(count: int) -> str:
    return ", ".join(f"'m{n}'" for n in range(1, count + 1))


def _enums() -> Family:
    columns = [
        Column("e1", "ENUM('only')", ["1", "'nothing'", "NULL", "'only'"]),
        Column("e3", "ENUM('a','b','c')", ["1", "3", "''", "NULL", "'b'"]),
        Column("e300", f"ENUM({_labels(300)})", ["1", "255", "256", "300", "NULL", "''"]),
        Column("odd", r"ENUM('it\'s', 'a b', 'x\"y', '', 'ä', '😀')", [*"123456"]),
        Column("needed", "ENUM('yes','no') NOT NULL", ["'no'"] * 6),
    ]
    for count in (1, 2, 7, 8, 9, 16, 17, 24, 25, 32, 33, 63, 64):
        every = (1 << count) - 1
        values = [
            "0",
            str(every),
            "1",
            str(1 << count - 1),
            "NULL",
            str(0x5555555555555555 & every),
        ]
        columns.append(Column(f"s{count}", f"SET({_labels(count)})", values))
    columns.append(Column("s_odd", r"SET('it\'s', 'a b', 'ä')", ["7", "0", "5", "NULL"]))
    return Family("enums", columns)


def _documents() -> Family:
    numbers = (
        "0 1 -1 32767 32768 -32768 -32769 65535 65536 2147483647 2147483648 -2147483648 "
        "-2147483649 4294967295 4294967296 9223372036854775807 9223372036854775808 "
        "-9223372036854775808 18446744073709551615 1.5 -0.1 1e100 5e-324 1.0 100000000000000000000"
    )
    scalars = [
        "null",
        "true",
        "false",
        '""',
        '"a"',
        f'"{"x" * 127}"',
        f'"{"y" * 128}"',
        '"😀 \\u0000 \\" \\\\ /"',
    ]
    nested = [
        "{}", "[]", '{"": ""}', '{"b": 1, "a": 2, "aa": 3, "B": 4}', "[[[[]]], {}, null, 0]",
        '{"list": [1, "two", 3.0, true, null, {"deep": {"er": []}}], "ключ": "значение"}',
        "[" + numbers.replace(" ", ", ") + "]", f'{{"{"k" * 300}": "{"v" * 300}"}}',
    ]  # fmt: skip
    opaque = [
        "CAST(CAST('123.4500' AS DECIMAL(20,4)) AS JSON)",
        "CAST(CAST('-0.000000000000000000000000000001' AS DECIMAL(65,30)) AS JSON)",
        "CAST(CAST('2024-02-29' AS DATE) AS JSON)",
        "CAST(CAST('-838:59:59' AS TIME(6)) AS JSON)",
        "CAST(CAST('12:34:56.789012' AS TIME(6)) AS JSON)",
        "CAST(CAST('2024-02-29 12:34:56.789012' AS DATETIME(6)) AS JSON)",
        "CAST(TIMESTAMP'2024-02-29 12:34:56' AS JSON)",
        "CAST(x'00FF10' AS JSON)",
        "CAST(ST_GeomFromText('POINT(1 2)') AS JSON)",
        "JSON_ARRAY(CAST('1.10' AS DECIMAL(5,2)), CAST('2024-01-01' AS DATE), x'AB', 1.10, 2e0)",
        "JSON_OBJECT('t', CAST('01:00:00' AS TIME), 'u', CAST(18446744073709551615 AS UNSIGNED))",
    ]
    values = [literal(n) for n in numbers.split()] + literals(*scalars, *nested) + opaque
    return Family(
        "documents",
        [Column("j", "JSON", [*values, "NULL", "'[1]'"])],
        Condition.parse("version>=5.7.8"),
    )


def _geometries() -> Family:
    shapes = {
        "POINT": ("POINT(1 2)", "POINT(-0.5 1e300)"),
        "LINESTRING": ("LINESTRING(0 0,1 1,2 4)", "LINESTRING(0 0,0 1)"),
        "POLYGON": (
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))", "POLYGON((0 0,1 0,1 1,0 0))",
        ),
        "MULTIPOINT": ("MULTIPOINT((0 0),(1 1))", "MULTIPOINT((5 5))"),
        "MULTILINESTRING": ("MULTILINESTRING((0 0,1 1),(2 2,3 3))", "MULTILINESTRING((0 0,1 1))"),
        "MULTIPOLYGON": ("MULTIPOLYGON(((0 0,1 0,1 1,0 0)))", "MULTIPOLYGON(((0 0,2 0,2 2,0 0)))"),
        "GEOMETRYCOLLECTION": (
            "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))", "GEOMETRYCOLLECTION()",
        ),
    }  # fmt: skip
    columns = [
        Column(kind.lower(), kind, [f"ST_GeomFromText('{text}')" for text in texts])
        for kind, texts in shapes.items()
    ]
    mixed = [f"ST_GeomFromText('{texts[0]}')" for texts in shapes.values()]
    earth = "ST_GeomFromText('POINT(12.5 41.9)', 4326)"
    return Family("geometries", [Column("g", "GEOMETRY", [earth, "NULL", *mixed]), *columns])


def _wide() -> Family:
    """A NOT NULL column of each kind between nullable ones: bitmaps over several bytes."""
    columns = []
    for n in range(1, 41):
        kind, value = (("INT", str(n)), ("VARCHAR(9)", f"'v{n}'"), ("DATE", "'2024-05-01'"))[n % 3]
        if n % 4 == 0:
            columns.append(Column(f"c{n}", f"{kind} NOT NULL", [value] * 4))
        else:
            columns.append(
                Column(f"c{n}", kind, ["NULL" if n % 5 < r else value for r in range(4)])
            )
    return Family("wide", columns)
