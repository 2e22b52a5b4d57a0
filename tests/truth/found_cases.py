"""Cases in which random workloads found us wrong, cut down to a few statements each.

``make_found.py`` runs each on a real server and keeps the log with the server's own SELECT beside
it; ``test_found.py`` holds the reader to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CASES", "Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """``name``: of its files; ``series``: server; ``options``: of the server; ``marks``: a mark
    is taken after the last statement and after each that is ``MARK``."""

    name: str
    series: str
    statements: tuple[str, ...]
    options: Mapping[str, str | None] = field(default_factory=dict)


FULL_METADATA = {"binlog-row-metadata": "FULL"}

CASES = (
    # YEAR has a bit among the signs of numeric columns: all behind it were shifted by one.
    Case(
        "year-has-a-sign-bit",
        "8.0",
        (
            "CREATE TABLE t (u INT UNSIGNED, y YEAR, id INT PRIMARY KEY, b BIGINT UNSIGNED)",
            "INSERT INTO t VALUES (4294967295, 2023, -27, 18446744073709551615)",
        ),
        FULL_METADATA,
    ),
)
