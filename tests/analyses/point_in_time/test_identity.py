"""Which table a name means at each place of a log."""

from __future__ import annotations

import pytest

from binlogkit.analyses.point_in_time.identity import Renames

C, D, T = ("u", "c"), ("u", "d"), ("u", "t")
END = 1 << 63
#: c and d are swapped by way of t, and c is renamed again, so that another c is made.
SWAPPED = Renames([(10, C, T), (11, D, C), (12, T, D), (20, C, T)])


@pytest.mark.parametrize(
    ("name", "at", "table"),
    [
        (C, 5, ((C, -1, 10), (T, 10, 12), (D, 12, END))),
        (D, 15, ((C, -1, 10), (T, 10, 12), (D, 12, END))),
        (D, 5, ((D, -1, 11), (C, 11, 20), (T, 20, END))),
        (T, 25, ((D, -1, 11), (C, 11, 20), (T, 20, END))),
        (C, 25, ((C, 20, END),)),
    ],
)
def test_a_table_by_its_names(name: tuple[str, str], at: int, table: object) -> None:
    assert SWAPPED.table(name, at) == table


def test_a_table_that_another_replaces() -> None:
    """It was dropped before."""
    renames = Renames([(10, D, C)])
    assert renames.table(C, 5) == ((C, -1, 10),)
    assert renames.table(C, 15) == ((D, -1, 10), (C, 10, END))
