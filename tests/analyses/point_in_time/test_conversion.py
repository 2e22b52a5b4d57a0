"""Values as ALTER TABLE makes them, and constant defaults.

See log/states/test_state_alter_server.py.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.point_in_time.conversion import LOST, altered, defined_field, definition_of
from binlogkit.analyses.point_in_time.defaults import added_value, default_value
from binlogkit.analyses.point_in_time.known_cells import cells_of, known, parts_of
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.session import DEFAULT_MODE, SqlMode
from binlogkit.rows.schema import ColumnDefinition, StatementTime

PADDED = SqlMode.PAD_CHAR_TO_FULL_LENGTH


def column(text: str) -> ColumnDefinition:
    """A column of a table in utf8mb4."""
    catalog = Catalog("8.0.31")
    catalog.apply(f"CREATE TABLE t (v {text}) CHARSET utf8mb4", default_db="d")
    table = catalog.table("d", "t")
    assert table is not None
    return table.columns[0]


def converted(
    old: str, new: str, values: list[Any], mode: SqlMode | None = DEFAULT_MODE
) -> list[Any]:
    """The values then, ``?`` where they are not certain."""
    field = defined_field(column(old))
    cells = cells_of({"value": pa.chunked_array([pa.array(values, field.type)])})
    found, lost = altered(cells, definition_of(field) or column(old), column(new), mode)
    assert parts_of(found)["value"].type == defined_field(column(new)).type
    told = known(found)
    assert lost == (not told.all())
    texts = parts_of(found)["value"].to_pylist()
    return [value if there else "?" for value, there in zip(texts, told, strict=True)]


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"),
    [
        ("INT", "BIGINT", [1, None], [1, None]),
        ("INT", "TINYINT UNSIGNED", [-1, 7, 300], [0, 7, 255]),
        ("BIGINT UNSIGNED", "BIGINT", [2**64 - 1], [2**63 - 1]),
        ("INT", "INT NOT NULL", [None, 4], [0, 4]),
        ("INT", "INT AUTO_INCREMENT", [None, 0, 4], ["?", "?", 4]),
        ("INT", "VARCHAR(9)", [1, None], ["1", None]),
        ("ENUM('I')", "ENUM('x','i')", ["I"], ["i"]),
        ("ENUM('I')", "ENUM('x','i') COLLATE utf8mb4_turkish_ci", ["I"], ["?"]),
        ("INT", "VARCHAR(2)", [100, -10], ["10", "-1"]),
        ("FLOAT", "VARCHAR(9)", [1.5], ["?"]),
        ("DECIMAL(4,2)", "DECIMAL(4,1)", [Decimal("2.45"), Decimal("-2.45")],
         [Decimal("2.5"), Decimal("-2.5")]),
        ("DECIMAL(4,2)", "DECIMAL(3,2)", [Decimal("-10.00")], [Decimal("-9.99")]),
        ("VARCHAR(9)", "VARCHAR(2)", ["abc", "x"], ["ab", "x"]),
        ("VARCHAR(9)", "CHAR(9)", ["a  "], ["a"]),
        ("VARCHAR(9)", "VARCHAR(9) CHARACTER SET latin1", ["ß", "日"], ["ß", "?"]),
        ("VARCHAR(300)", "TINYTEXT", ["é" * 127, "é" * 128], ["é" * 127, "?"]),
        ("VARBINARY(3)", "BINARY(4)", [b"ab"], [b"ab\0\0"]),
        ("ENUM('a','b')", "ENUM('B','c')", ["b", "a"], ["B", "?"]),
        ("ENUM('a','b')", "ENUM('b','a')", ["b", ""], ["b", ""]),
        ("SET('a','b')", "SET('b','a')", ["a,b", ""], ["b,a", ""]),
        ("SET('a','b')", "SET('b')", ["a,b", "b"], ["?", "b"]),
        ("DATE", "DATE NOT NULL", [None, date(2020, 1, 2)], ["?", date(2020, 1, 2)]),
        ("INT", "INT AS (1)", [1], ["?"]),
    ],
)  # fmt: skip
def test_values(old: str, new: str, values: list[Any], expected: list[Any]) -> None:
    assert converted(old, new, values) == expected


def test_blanks_that_the_mode_adds() -> None:
    assert converted("CHAR(3)", "VARCHAR(9)", ["a"]) == ["a"]
    assert converted("CHAR(3)", "VARCHAR(9)", ["a"], PADDED) == ["?"]
    assert converted("CHAR(3)", "VARCHAR(9)", ["a"], None) == ["?"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INT", None),
        ("INT NOT NULL", 0),
        ("INT DEFAULT '-7'", -7),
        ("INT DEFAULT TRUE", 1),
        ("INT DEFAULT (1 + 1)", LOST),
        ("INT AUTO_INCREMENT", LOST),
        ("DECIMAL(5,2) DEFAULT 1.5", Decimal("1.50")),
        ("DOUBLE DEFAULT -1.5e3", -1500.0),
        ("CHAR(3) DEFAULT 'a ' 'b '", "a b"),
        ("TEXT NOT NULL", ""),
        ("BINARY(2) DEFAULT x'01'", b"\1\0"),
        ("BIT(5) DEFAULT b'101'", 5),
        ("ENUM('a','b') NOT NULL", "a"),
        ("SET('a','b') DEFAULT 'B,a'", "a,b"),
        ("DATE DEFAULT '2020-02-03'", date(2020, 2, 3)),
        ("DATE DEFAULT '0000-00-00'", LOST),
        ("DATETIME DEFAULT '2020-02-03'", datetime(2020, 2, 3)),
        ("DATETIME(1) DEFAULT '2020-02-03 04:05:06.70'", datetime(2020, 2, 3, 4, 5, 6, 700_000)),
        ("DATETIME(1) DEFAULT '2020-02-03 04:05:06.78'", LOST),
        ("DATETIME DEFAULT CURRENT_TIMESTAMP", LOST),
        ("TIMESTAMP DEFAULT '2020-01-01 00:00:00'", LOST),
        ("TIMESTAMP NULL", None),
        # As 5.7.22 and 8.0.31 have them.
        ("DATE DEFAULT '20240229'", date(2024, 2, 29)),
        ("TIME DEFAULT '10:00'", timedelta(hours=10)),
        ("TIME(3) DEFAULT '-10:00:01.5'", -timedelta(hours=10, seconds=1.5)),
        ("TIME DEFAULT '10:00:01.5'", LOST),
        ("YEAR DEFAULT 99", 1999),
        ("YEAR DEFAULT '7'", 2007),
        ("YEAR DEFAULT 0", LOST),
    ],
)
def test_defaults(text: str, expected: Any) -> None:
    found = default_value(column(text))
    assert found is expected if expected is LOST else found == expected


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("TIMESTAMP NULL DEFAULT NOW()", (60, 5, None), datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
        ("TIMESTAMP(2) DEFAULT NOW(2)", (0, 129_999, None),
         datetime(1970, 1, 1, 0, 0, 0, 120_000, UTC)),
        ("TIMESTAMP(2) DEFAULT NOW(2)", (0, None, None), LOST),
        ("TIMESTAMP DEFAULT NOW()", (None, None, None), LOST),
        ("DATETIME DEFAULT NOW()", (0, None, "-03:30"), datetime(1969, 12, 31, 20, 30)),
        ("DATETIME DEFAULT NOW()", (0, None, "Asia/Shanghai"), datetime(1970, 1, 1, 8)),
        ("DATETIME DEFAULT NOW()", (0, None, "SYSTEM"), LOST),
        ("DATETIME DEFAULT NOW()", (0, None, "../../etc/passwd"), LOST),
        ("DATETIME DEFAULT NOW()", (0, None, "Asia"), LOST),
        ("DATETIME DEFAULT NOW()", (0, None, "x" * 300), LOST),
        ("DATETIME DEFAULT (NOW() + INTERVAL 1 DAY)", (0, None, "+00:00"), LOST),
        ("INT DEFAULT 5", (0, None, "+00:00"), 5),
    ],
)  # fmt: skip
def test_what_a_column_that_is_added_holds(
    text: str, moment: tuple[Any, ...], expected: Any
) -> None:
    found = added_value(column(text), StatementTime(*moment))
    assert found is expected if expected is LOST else found == expected
