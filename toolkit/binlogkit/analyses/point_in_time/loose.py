"""Rows without a key of which some cells are not known: matched one by one.

An image means a row that equals it, else the first one that agrees with it in every cell that both
have.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.images import Images

__all__ = ["match_loosely"]

_Cells = tuple[int, ...]
_UNKNOWN = -1


def match_loosely(images: Images, which: Integers, blocked: list[Flags]) -> dict[int, list[int]]:
    """Find the rows that these images (places in the order of their times) remove.

    ``images.taken`` gets them. Returns where the cells stand of rows that images after an update do
    not tell wholly; ``blocked``: by column, the changes after which a cell is not known.
    """
    codes = np.stack([cells[which] for cells in images.cells], axis=1).tolist()
    rows = _Rows(sorted(images.number.tolist()))
    sources: dict[int, list[int]] = {}
    left: dict[int, tuple[int, int]] = {}  # by change, the number and place of the row it takes
    for place, cells in zip(which.tolist(), map(tuple, codes), strict=True):
        change = int(images.change[place])
        if images.removes[place]:
            found = rows.take(cells)
            if found is not None:
                left[change] = found
                images.taken[place] = found[1]
            continue
        number = int(images.number[place] if change < 0 else images.time[place])
        if change in left:
            number, row = left[change]
            known = sources.get(row, [row] * len(cells))
            at = [
                place if code >= 0 else _UNKNOWN if block[change] else source
                for code, source, block in zip(cells, known, blocked, strict=True)
            ]
            at = [
                s if s >= 0 and c[s] >= 0 else _UNKNOWN
                for s, c in zip(at, images.cells, strict=True)
            ]
            sources[place] = at
            cells = tuple(int(c[s]) if s >= 0 else s for s, c in zip(at, images.cells, strict=True))
        rows.enter(number, place, cells)
    return sources


class _Rows:
    """The rows to look at, in the order of their numbers; ``known``: of those before the chunk."""

    def __init__(self, known: Iterable[int]) -> None:
        self._rows: dict[int, tuple[int, _Cells] | None] = dict.fromkeys(known)
        self._equal: dict[_Cells, dict[int, None]] = {}
        self._partial: dict[int, None] = {}

    def enter(self, number: int, place: int, cells: _Cells) -> None:
        """A row with these cells was written; its number keeps its place."""
        self._rows[number] = (place, cells)
        self._equal.setdefault(cells, {})[number] = None
        if _UNKNOWN in cells:
            self._partial[number] = None

    def take(self, wanted: _Cells) -> tuple[int, int] | None:
        """The number and place of the row that an image means; it is no longer there."""
        number = self._find(wanted)
        found = None if number is None else self._rows[number]
        if number is None or found is None:
            return None
        place, cells = found
        self._rows[number] = None
        del self._equal[cells][number]
        self._partial.pop(number, None)
        return number, place

    def _find(self, wanted: _Cells) -> int | None:
        equal = self._equal.get(wanted)
        if equal:
            return next(iter(equal))
        for number in self._rows if _UNKNOWN in wanted else self._partial:
            row = self._rows[number]
            if row is not None and all(
                a == b or _UNKNOWN in (a, b) for a, b in zip(row[1], wanted, strict=True)
            ):
                return number
        return None
