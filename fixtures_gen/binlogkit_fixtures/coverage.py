"""What the golden set covers: event types, column types with their images, pairs of settings.

Counted from the cases themselves: from the expected events and rows, the servers' SELECTs
at marks, and the options that the cells' servers were started with. The page: docs/coverage.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from binlogkit_fixtures.golden import GoldenCase
from binlogkit_fixtures.matrix_file import Matrix

__all__ = ["SERVERS", "Coverage", "covered", "pairs"]

_NAMES = {"geometrycollection": "geomcollection"}  # 8.0 calls it so
SERVERS = ("5.6", "5.7", "8.0", "9")
_Place = tuple[str, str]  # a name, and a server
_Value = tuple[str, str]  # a parameter of a matrix, and its value
Pair = tuple[_Value, _Value]


@dataclass(slots=True)
class Coverage:
    """``events``: by type and server how many cases have it; ``columns``: by column type and server
    the row images of the cases with rows of such a column; ``scenarios``: by name the servers that
    played it; ``chosen``: of each case its server and options."""

    events: dict[_Place, int] = field(default_factory=lambda: defaultdict(int))
    columns: dict[_Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    scenarios: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    chosen: list[Mapping[str, str | None]] = field(default_factory=list)


def covered(cases: Iterable[GoldenCase]) -> Coverage:
    """Count what these cases of the golden set have."""
    found = Coverage()
    for case in cases:
        cell = case.settings
        for event in {str(event["type"]) for event in case.events}:
            found.events[event, cell.series] += 1
        for name in _column_types(case):
            found.columns[name, cell.series].add(cell.image)
        found.scenarios[case.scenario].add(cell.series)
        found.chosen.append({"server": cell.series, **cell.options})
    return found


def _column_types(case: GoldenCase) -> set[str]:
    """The data types of columns whose values stand in row images, as servers give them."""
    seen = {
        (f"{row['db']}.{row['table']}", column)
        for row in case.rows
        for image in (row["before"], row["after"])
        for column in image or ()
    }
    return {
        _NAMES.get(name := column.type.partition("(")[0].partition(" ")[0], name)
        for mark in case.manifest.marks
        for full_name, table in mark.tables.items()
        for column in table.columns
        if (full_name, column.name) in seen
    }


def pairs(matrix: Matrix, coverage: Coverage) -> tuple[dict[Pair, bool], dict[Pair, bool]]:
    """Which pairs of a matrix's values stand together in a case: those that can be, and those that
    the matrix excludes. An option that a case does not set has its first value."""
    together = set()
    for chosen in coverage.chosen:
        values = [value for value in _values(matrix, chosen) if value is not None]
        together |= set(combinations(values, 2))
    allowed: dict[Pair, bool] = {}
    excluded: dict[Pair, bool] = {}
    singles = [
        [(name, value) for value in values if value is not None]
        for name, values in matrix.parameters.items()
    ]
    for one, two in combinations(singles, 2):
        for first in one:
            for second in two:
                pair = first, second
                if _unknown(matrix, dict(pair)):
                    continue
                out = matrix.refused(dict(pair))
                (excluded if out else allowed)[pair] = pair in together
    return allowed, excluded


def _unknown(matrix: Matrix, chosen: Mapping[str, str]) -> bool:
    """Whether it is an option and a server that has none such."""
    server = chosen.get("server")
    return server is not None and any(
        server not in matrix.known[name] for name in chosen if name in matrix.known
    )


def _values(matrix: Matrix, chosen: Mapping[str, str | None]) -> Iterator[_Value | None]:
    """A case's value of each parameter; None where its server has no such option."""
    server = str(chosen["server"])
    for name, values in matrix.parameters.items():
        if name in matrix.known and server not in matrix.known[name]:
            yield None
            continue
        first = next(value for value in values if value is not None)
        value = chosen.get(name) or first
        yield (name, value) if value in values else None
