"""Rows of limited queries are kept in the order that a sort of all of them gives."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from binlogkit.livestate.views.kinds import ValueKind
from binlogkit.livestate.views.plan import Ordering, QueryPlan, ResultColumn
from binlogkit.livestate.views.result import Result, Row


class Given:
    """In place of DuckDB: the changes of the next step."""

    def __init__(self) -> None:
        self.rows: Counter[Row] = Counter()

    def query(self, _: str) -> list[Row]:
        return [(*row, weight) for row, weight in self.rows.items() if weight]


def in_order(rows: Counter[Row]) -> list[Row]:
    """By the first column, folded and falling, NULL last; then by the second, NULL first."""
    found = sorted(rows.elements(), key=lambda row: (row[1] is not None, row[1] or 0))
    return sorted(found, key=lambda row: (row[0] is not None, (row[0] or "").lower()), reverse=True)


@pytest.mark.parametrize("seed", range(20))
def test_order(seed: int) -> None:
    chance = random.Random(seed)
    plan: Any = QueryPlan(
        sql="SELECT …", tables=(), inner=("a", "b"), kinds=(), where="",
        outputs=tuple(
            ResultColumn(name, "value", i, ValueKind("integer")) for i, name in enumerate("ab")
        ),
        group=None, order=(Ordering(0, True, folded=True), Ordering(1, False)), limit=5,
        offset=chance.choice((0, 3)),
    )  # fmt: skip
    result, given, rows = Result(plan), Given(), Counter[Row]()
    for _ in range(60):
        given.rows = Counter()
        for _ in range(chance.choice((1, 2, 60))):
            row = (chance.choice((None, "a", "B", "c", "Dd")), chance.choice((None, *range(40))))
            if rows[row] + given.rows[row] and chance.random() < 0.5:
                given.rows[row] -= 1
            else:
                given.rows[row] += 1
        rows.update(given.rows)
        rows = +rows
        result.take(given)  # type: ignore[arg-type]
        assert result.ordered() == in_order(rows)[plan.offset : plan.offset + plan.limit]
