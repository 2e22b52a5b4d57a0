"""Where damage stands between an event and the last certain start of a transaction before it."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["Doubt"]


class Doubt:
    """``now``: whether there is doubt behind what was taken.

    Moments: damage before or in the event at entry i happens at 2 i - 1, what its rows show at
    2 i + 1; a start is certain for what comes behind it, from 2 i on.
    """

    def __init__(self) -> None:
        self.now = False
        self._damages: list[int] = []
        self._starts: list[int] = []

    def begin(self, damages: list[int]) -> bool:
        """The moments of damage in the events that come; whether there is doubt of any."""
        self._damages, self._starts = damages, []
        return self.now or bool(damages)

    def certain(self, starts: list[int]) -> None:
        """The entries of certain starts among them."""
        self._starts = starts

    def at(self, i: int) -> bool:
        """Whether there is doubt at an entry."""
        k = bisect_left(self._damages, 2 * i)
        if not k and not self.now:
            return False
        damage = self._damages[k - 1] if k else -1
        start = bisect_left(self._starts, i)
        return not start or damage > 2 * self._starts[start - 1]

    def between(self, a: int, i: int) -> bool:
        """Whether damage stands behind entry ``a`` and before or in entry ``i``."""
        k = bisect_left(self._damages, 2 * i)
        return k > 0 and self._damages[k - 1] > 2 * a

    def end(self, i: int) -> None:
        """The events up to entry ``i`` were taken."""
        self.now = self.at(i)
