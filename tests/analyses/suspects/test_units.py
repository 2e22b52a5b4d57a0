"""What is usual: by table and operation, from the log itself."""

from __future__ import annotations

import numpy as np
import pytest

from binlogkit.analyses.suspects.units import Units, unusual


def units(rows: list[tuple[int, int, int]], group: int = 0) -> Units:
    """Units of (rows, thread, second) in log order."""
    counts, threads, times = (np.array(c, np.int64) for c in zip(*rows, strict=True))
    return Units(np.full(len(rows), group), np.arange(len(rows)), threads, times, counts,
                 np.ones(len(rows), np.int64))  # fmt: skip


USUAL = [(n % 4 + 1, n % 5, 600 * n) for n in range(100)]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ([], []),
        ([(75, 9, 1000)], [(75, 4)]),
        # below the least number of rows
        ([(9, 9, 1000)], []),
        # once more at another time is less unusual, but no less large
        ([(75, 9, 1000), (80, 9, 90_000)], [(80, 4), (75, 4)]),
        # as nightly jobs do it
        ([(n + 70, 9 + n, 86_400 * n) for n in range(5)], []),
        # one connection, in pieces: one occasion
        ([(50, 9, 1000 + n) for n in range(4)], [(50, 4)] * 4),
        # far more than those
        ([(n + 70, 9 + n, 86_400 * n) for n in range(5)] + [(900, 99, 5)], [(900, 4)]),
    ],
)
def test_what_is_far_from_usual(
    more: list[tuple[int, int, int]], found: list[tuple[int, int]]
) -> None:
    told = units(USUAL + more)
    assert [(int(told.rows[one.at]), one.usual) for one in unusual(told, 10)] == found


def test_the_more_the_rows_and_the_fewer_the_like_the_more_unusual() -> None:
    def much(*more: tuple[int, int, int]) -> float:
        return max(one.much for one in unusual(units(USUAL + list(more)), 10))

    assert much((500, 9, 0)) == 1.0
    assert much((500, 9, 0)) > much((40, 9, 0)) > 0
    assert much((500, 9, 0), (500, 8, 9000)) == 0.5


def test_a_seldom_changed_table_is_held_against_all_others() -> None:
    alone = units([(75, 9, 1000)], group=3)
    everyday = units(USUAL)
    both = Units(*(np.concatenate([getattr(everyday, n), getattr(alone, n)])
                   for n in Units.__slots__))  # fmt: skip
    assert [one.usual for one in unusual(both, 10)] == [4]
