"""A set of GTIDs that grows one by one, in memory that depends on its gaps, not on its size."""

from __future__ import annotations

from bisect import bisect_right

from binlogkit.events.gtid_set import GtidSet

__all__ = ["GtidLedger"]


class GtidLedger:
    """GTIDs seen so far."""

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: dict[str, list[list[int]]] = {}  # by source: [first, last], sorted

    def add(self, gtid: str) -> bool:
        """Add a GTID; whether it was new."""
        source, _, digits = gtid.rpartition(":")
        number = int(digits)
        ranges = self._ranges.setdefault(source, [])
        at = bisect_right(ranges, number, key=lambda r: r[0])
        if at and number <= ranges[at - 1][1]:
            return False
        joins_left = bool(at) and ranges[at - 1][1] == number - 1
        joins_right = at < len(ranges) and ranges[at][0] == number + 1
        if joins_left and joins_right:
            ranges[at - 1][1] = ranges[at][1]
            del ranges[at]
        elif joins_left:
            ranges[at - 1][1] = number
        elif joins_right:
            ranges[at][0] = number
        else:
            ranges.insert(at, [number, number])
        return True

    def to_set(self) -> GtidSet:
        """The GTIDs as a set."""
        return GtidSet({s: [(a, b) for a, b in ranges] for s, ranges in self._ranges.items()})
