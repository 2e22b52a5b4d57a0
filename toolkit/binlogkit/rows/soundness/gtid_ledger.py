"""A set of GTIDs that grows, in memory that depends on its gaps, not on its size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from binlogkit.events.gtid_set import GtidSet

__all__ = ["GtidLedger"]

_Ranges = list[tuple[int, int]]


class GtidLedger:
    """GTIDs seen so far."""

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: dict[str, _Ranges] = {}  # by source: (first, last), sorted

    def add(self, source: str, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Add GTIDs of a source (``uuid`` or ``uuid:tag``) in their order; which were known."""
        ranges = self._ranges.setdefault(source, [])
        known = np.zeros(len(numbers), bool)
        if int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1 and (np.diff(numbers) == 1).all():
            met = _add(ranges, int(numbers[0]), int(numbers[-1]))
        else:
            order = np.argsort(numbers, kind="stable")
            rising = numbers[order]
            again = np.append(False, rising[1:] == rising[:-1])
            known[order[again]] = True
            rising = rising[~again]
            breaks = np.flatnonzero(np.diff(rising) != 1)
            firsts = rising[np.append(0, breaks + 1)].tolist()
            lasts = rising[np.append(breaks, -1)].tolist()
            met = [part for a, b in zip(firsts, lasts, strict=True) for part in _add(ranges, a, b)]
        if met:
            starts, ends = np.array(met, np.int64).T
            at = np.searchsorted(starts, numbers, side="right") - 1
            known |= (at >= 0) & (numbers <= ends[at])
        return known

    def to_set(self) -> GtidSet:
        """The GTIDs as a set."""
        return GtidSet({source: [*ranges] for source, ranges in self._ranges.items()})


def _add(ranges: _Ranges, first: int, last: int) -> _Ranges:
    """Add a range to sorted ones; what of it was there."""
    begin = bisect_left(ranges, first - 1, key=lambda r: r[1])
    end = bisect_right(ranges, last + 1, key=lambda r: r[0])
    near = ranges[begin:end]
    ranges[begin:end] = (
        [(min(first, *(a for a, _ in near)), max(last, *(b for _, b in near)))]
        if near
        else [(first, last)]
    )
    return [(max(a, first), min(b, last)) for a, b in near if a <= last and b >= first]
