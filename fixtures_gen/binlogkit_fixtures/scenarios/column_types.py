"""The scenario ``types``: every column type of 5.7 and 8.0, with the values at its edges.

Each family is a table: columns with their values as SQL literals, the n-th value of every column in
the n-th row, NULL where a column has no more. Rows are inserted, some are updated to the values of
another row, some are deleted. Limits are those of the manual, chapter "Data Types".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from binlogkit_fixtures.scenarios import number_families, other_families, text_families
from binlogkit_fixtures.scenarios.family import DATABASE, Family
from binlogkit_fixtures.scenarios.model import Mark, Scenario, Sql, Step

__all__ = ["FAMILIES", "scenario"]

_START = 1_714_554_000_000_000  # 2024-05-01T09:00:00Z
_SECOND = 1_000_000
_SESSION = "main"

FAMILIES: tuple[Family, ...] = (
    *number_families.families(),
    *text_families.families(),
    *other_families.families(),
)


#: What is done to each family before the mark of that name.
_PARTS: Mapping[str, Callable[[Family], list[str]]] = {
    "created": lambda f: [f.create()],
    "inserted": lambda f: [f.insert(), f.insert_last()],
    "updated": lambda f: [f.update(0, 1), f.update(f.height - 1, 0)],
    "deleted": lambda f: [f.delete(1), f.delete(f.height - 1)],
}

_STORY = (
    "One table for each family of column types. Values at the edges of each type are inserted, "
    "then the first row takes the values of the second and the last those of the first, then the "
    "second row and the last are deleted. The sql_mode lets zero and incomplete dates in."
)


def scenario() -> Scenario:
    """The whole story: create, insert, update, delete, with a mark after each part."""
    charset = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    steps: list[Step] = [Sql(f"CREATE DATABASE {DATABASE} {charset}", _SESSION, _START)]

    def clock() -> int:
        return _START + _SECOND * sum(isinstance(step, Sql) for step in steps)

    for mark, part in _PARTS.items():
        for family in FAMILIES:
            for text in part(family):
                steps.append(Sql(text, _SESSION, clock(), when=family.when))
        steps.append(Mark(mark, clock()))
    return Scenario("types", _STORY, (DATABASE,), tuple(steps))
