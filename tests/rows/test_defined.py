"""The column that a table map would give of one that SQL defines."""

from __future__ import annotations

import pytest

from binlogkit.rows.ddl import Catalog
from binlogkit.rows.defined import column_of, described


@pytest.mark.parametrize(
    ("text", "length", "meta"),
    [
        ("TINYTEXT", 1, b"\1"),
        ("TEXT", 2, b"\2"),
        ("MEDIUMBLOB", 3, b"\3"),
        ("LONGTEXT", 4, b"\4"),
        ("VARCHAR(10)", 40, b""),
        ("VARCHAR(10) CHARACTER SET latin1", 10, b""),
        ("VARBINARY(10)", 10, b""),
    ],
)
def test_lengths(text: str, length: int, meta: bytes) -> None:
    catalog = Catalog("8.0.31")
    catalog.apply(f"CREATE TABLE t (c {text}) CHARSET utf8mb4", default_db="d")
    table = catalog.table("d", "t")
    assert table is not None and not table.columns[0].invisible
    column = column_of(table.columns[0])
    assert (column.length, column.meta, column.visible) == (length, meta, True)


def test_a_column_that_an_image_describes_is_visible() -> None:
    found = described("c", {"mysql_type": "decimal(6,2) unsigned"})
    assert found is not None and column_of(found).visible
    assert (found.length, found.scale, found.unsigned) == (6, 2, True)
    assert described("c", {}) is None and described("c", {"mysql_type": "enum(?)"}) is None
