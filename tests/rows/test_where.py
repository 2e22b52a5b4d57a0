"""What a condition on rows may be, and why a wrong one is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from binlogkit.errors import UsageError
from binlogkit.rows.where import ALL, Condition, Equals, Operand, parse_where

ID, TOTAL, OLD = Operand("after", "id"), Operand("after", "total"), Operand("before", "total")


@pytest.mark.parametrize(
    ("given", "equals"),
    [
        ("id=5", [("id", "5")]),
        ("name=", [("name", "")]),
        ("name=a=b", [("name", "a=b")]),
        ("name=NULL", [("name", None)]),
        ("name=null", [("name", "null")]),
        ("@1=5", [("@1", "5")]),
        ("`odd name`=x", [("odd name", "x")]),
        ("`a``b`=x", [("a`b", "x")]),
        ("note=you and me", [("note", "you and me")]),
        ("`op`=a AND after.id = 5", [("op", "a AND after.id = 5")]),
        (["id=5", "name=x"], [("id", "5"), ("name", "x")]),
        ({"id": 5, "name": None}, [("id", 5), ("name", None)]),
        ([{"id": 5}, "name=x"], [("id", 5), ("name", "x")]),
    ],
)
def test_columns_and_values(given: Any, equals: list[tuple[str, Any]]) -> None:
    where = parse_where(given)
    assert where.equals == tuple(Equals(*one) for one in equals)
    assert where.columns == {column for column, _ in equals} and not where.expressions


@pytest.mark.parametrize("given", [None, [], {}])
def test_no_condition(given: Any) -> None:
    assert parse_where(given) == ALL and not ALL


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("after.id = 5", Condition("equal", ID, Decimal(5))),
        ("after.id=5", Condition("equal", ID, Decimal(5))),
        (
            "op='insert' AND after.id=5",
            Condition(
                "and",
                Condition("equal", Operand(None, "op"), "insert"),
                Condition("equal", ID, Decimal(5)),
            ),
        ),
        ("5 <= after.id", Condition("greater_equal", ID, Decimal(5))),
        ("after.id <> -1.50", Condition("not_equal", ID, Decimal("-1.50"))),
        ("after.total < before.total", Condition("less", TOTAL, OLD)),
        ("after.total <=> NULL", Condition("same", TOTAL, None)),
        ("op = 'update'", Condition("equal", Operand(None, "op"), "update")),
        ("after.id = 0xabc", Condition("equal", ID, b"\x0a\xbc")),
        ("after.id = TRUE", Condition("equal", ID, 1)),
        ("after.@1 > 5", Condition("greater", Operand("after", "@1"), Decimal(5))),
        ("before.`a.b` IS NULL", Condition("null", Operand("before", "a.b"))),
        ("after.id IS NOT NULL", Condition("not", Condition("null", ID))),
        ("after.id NOT LIKE 'a%'", Condition("not", Condition("like", ID, "a%"))),
        (
            "after.id IN (1, 2)",
            Condition("or", Condition("equal", ID, Decimal(1)), Condition("equal", ID, Decimal(2))),
        ),
        (
            "after.id BETWEEN 1 AND 2",
            Condition(
                "and",
                Condition("greater_equal", ID, Decimal(1)),
                Condition("less_equal", ID, Decimal(2)),
            ),
        ),
        (
            "NOT (after.id = 1 OR after.id = 2) AND op = 'it''s'",
            Condition(
                "and",
                Condition(
                    "not",
                    Condition(
                        "or", Condition("equal", ID, Decimal(1)), Condition("equal", ID, Decimal(2))
                    ),
                ),
                Condition("equal", Operand(None, "op"), "it's"),
            ),
        ),
    ],
)
def test_expressions(text: str, node: Condition) -> None:
    where = parse_where(text)
    assert where.expressions == (node,) and not where.equals
    named = {part.partition(".")[2] for part in ("after.id", "after.total") if part in text}
    assert named <= where.columns


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "not a condition: ''"),
        ("id", "not a condition: 'id' (write COLUMN=VALUE, or an expression"),
        ("=1", "not a condition"),
        ("after.id = 1; after.id = 2", "not a condition"),
        ("after.id >", "not a condition"),
        ("after.id + 1 = 2", "after.id + 1 is no value"),
        ("after.id = NULL", "write IS NULL"),
        ("after.id IN (1, NULL)", "write IS NULL"),
        ("after.id IN (SELECT 1)", "there are comparisons, IN,"),
        ("after.id REGEXP 'a'", "there are comparisons, IN,"),
        ("later.id > 1", "later is no image: write before.id or after.id"),
        ("shop.after.id > 1", "is no column of an image"),
        ("after.id LIKE 5", "LIKE takes a text"),
        (5, "not a condition: 5"),
        ([5], "not a condition: 5"),
        ("after.id = 1" + " AND after.id = 1" * 20_000, "nested too deep"),
        ("(" * 20_000 + "after.id > 1" + ")" * 20_000, "not a condition"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_none(given: Any, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_where(given)
    assert told in str(raised.value)
