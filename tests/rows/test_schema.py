"""Tables and columns as definitions and table maps tell them."""

from __future__ import annotations

import pytest

from binlogkit.constants import ColumnType
from binlogkit.rows.schema import Column, ForeignKey, TableDefinition
from binlogkit.rows.type_text import type_text


def foreign(db: str | None, table: str, on_delete: str = "CASCADE") -> ForeignKey:
    return ForeignKey(("a",), db, table, (), on_delete, "NO ACTION")


def test_parents_whose_changes_cascade() -> None:
    """Each once, with the child's database where the key names none."""
    keys = (
        foreign(None, "p"), foreign("other", "q"), foreign("shop", "p", "SET NULL"),
        foreign(None, "r", "NO ACTION"),
    )  # fmt: skip
    assert TableDefinition("shop", "c", (), foreign=keys).cascades == ("shop.p", "other.q")


@pytest.mark.parametrize(
    ("kind", "labels", "text"),
    [
        (ColumnType.ENUM, None, "enum"),
        (ColumnType.SET, ("a", "it's"), "set('a','it''s')"),
        (ColumnType.ENUM, ("",), "enum('')"),
    ],
)
def test_types_with_labels(kind: ColumnType, labels: tuple[str, ...] | None, text: str) -> None:
    assert type_text(Column(0, "c", kind, b"", "", labels=labels)) == text
