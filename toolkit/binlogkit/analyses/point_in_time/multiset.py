"""Changes of a table without a key: its rows are a multiset; a delete removes one of several
equals.

Of equal rows the one written first is removed (docs/traps.md, "No primary key"). Rows with unknown
cells are matched one by one: an image means a row that equals it, else the first one that agrees
with it in every cell that both have.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.chains import Chains, Filler
from binlogkit.analyses.point_in_time.chunk import IS, PLACES, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags, Integers, combined, roots, runs
from binlogkit.analyses.point_in_time.keyed import Applied
from binlogkit.analyses.point_in_time.known_cells import cell_codes, index, joined
from binlogkit.analyses.point_in_time.rows import ORDER, WRITTEN, Rows, kept


class _Images:
    """The rows before a chunk, its removed images and its written images, in one table.

    ``cells``: by column a code for the value, -1 if not known; ``change``: its change, -1 for rows;
    ``removes``: whether it is an image that is removed; ``time``: when the change does it;
    ``number``: of rows, in the order in which they were first seen; ``partial``: whether a cell is
    not known; ``taken``: the row that is removed, -1 if there is none; ``loose``: whether other
    rows agree with the image as well.
    """

    def __init__(
        self, rows: Rows, removed: pa.Table, removing: Integers, written: pa.Table, by: Integers
    ) -> None:
        self.table = joined([rows.table, removed, written])
        self.change = np.concatenate([np.full(len(rows), -1), removing, by])
        self.removes = np.zeros(len(self.change), bool)
        self.removes[len(rows) : len(rows) + len(removing)] = True
        self.time = 2 * (rows.seen + self.change) + ~self.removes
        self.time[: len(rows)] = rows.hidden(WRITTEN)
        self.number = rows.hidden(ORDER)
        self.cells = [cell_codes(self.table[name]) for name in rows.fields]
        self.partial = np.zeros(len(self.change), bool)
        for cells in self.cells:
            self.partial |= cells < 0
        self.taken = np.full(len(self.change), -1)
        self.loose = np.zeros(len(self.change), bool)

    def left(self, rows: Rows, mixed: dict[int, list[int]]) -> tuple[Flags, list[pa.Table]]:
        """Which of the rows stay, and the new ones."""
        alive = ~self.removes
        alive[self.taken[self.taken >= 0]] = False
        number = np.append(self.number, self.time[len(rows) :])[self._begins()]
        names = [name for name in self.table.column_names if name not in (ORDER, WRITTEN)]
        table = self.table.select(names).append_column(ORDER, pa.array(number))
        table = table.append_column(WRITTEN, pa.array(self.time))
        several = np.array(sorted(mixed.keys() & set(np.flatnonzero(alive).tolist())), np.int64)
        new = alive.copy()
        new[: len(rows)] = False
        new[several] = False
        more = [kept(table, new)]
        if len(several):
            sources = np.array([mixed[int(at)] for at in several]).T
            places = dict.fromkeys((*PLACES, ORDER, WRITTEN), several)
            places |= dict(zip(rows.fields, sources, strict=True))
            more.append(
                pa.table({name: table[name].take(index(at)) for name, at in places.items()})
            )
        return alive[: len(rows)], more

    def _begins(self) -> Integers:
        """The row or image with which each row began: an update keeps a row's place."""
        follows = np.arange(len(self.change))
        removes = np.full(int(self.change.max(initial=0)) + 1, -1)
        removes[self.change[self.removes]] = np.flatnonzero(self.removes)
        writes = np.flatnonzero(~self.removes & (self.change >= 0))
        before = removes[self.change[writes]]
        taken = np.where(before >= 0, self.taken[before], -1)
        follows[writes[taken >= 0]] = taken[taken >= 0]
        return roots(follows)


_Cells = tuple[int, ...]
_UNKNOWN = -1


def _match_loosely(images: _Images, which: Integers, blocked: list[Flags]) -> dict[int, list[int]]:
    """Find the rows that these images (places in the order of their times) remove.

    ``images.taken`` gets them. Returns the sources of cells for rows whose after images are
    partial. ``blocked``: by column, the changes after which a cell is not known.
    """
    codes = np.stack([cells[which] for cells in images.cells], axis=1).tolist()
    rows = _Rows(sorted(images.number.tolist()))
    sources: dict[int, list[int]] = {}
    left: dict[int, tuple[int, int]] = {}  # by change, the number and place of the row it removes
    for place, cells in zip(which.tolist(), map(tuple, codes), strict=True):
        change = int(images.change[place])
        if images.removes[place]:
            found = rows.take(cells)
            if found is not None:
                left[change] = found
                images.taken[place] = found[1]
                images.loose[place] = rows.others(cells, found[1])
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
    """The rows to search, in the order of their numbers; ``known``: of those before the chunk."""

    def __init__(self, known: Iterable[int]) -> None:
        self._rows: dict[int, tuple[int, _Cells] | None] = dict.fromkeys(known)
        self._equal: dict[_Cells, dict[int, None]] = {}
        self._partial: dict[int, None] = {}
        self._cells: dict[int, _Cells] = {}  # of each place

    def enter(self, number: int, place: int, cells: _Cells) -> None:
        """Add a row with these cells; its number keeps its place."""
        self._rows[number] = (place, cells)
        self._cells[place] = cells
        self._equal.setdefault(cells, {})[number] = None
        if _UNKNOWN in cells:
            self._partial[number] = None

    def take(self, wanted: _Cells) -> tuple[int, int] | None:
        """The number and place of the row that an image means; the row is removed."""
        number = self._find(wanted)
        found = None if number is None else self._rows[number]
        if number is None or found is None:
            return None
        place, cells = found
        self._rows[number] = None
        del self._equal[cells][number]
        self._partial.pop(number, None)
        return number, place

    def others(self, wanted: _Cells, taken: int) -> bool:
        """Whether rows that differ from the removed one agree with its partial image."""
        if _UNKNOWN not in wanted:
            return False
        was = self._cells[taken]
        return any(
            row is not None and row[1] != was and _agree(row[1], wanted)
            for row in self._rows.values()
        )

    def _find(self, wanted: _Cells) -> int | None:
        equal = self._equal.get(wanted)
        if equal:
            return next(iter(equal))
        for number in self._rows if _UNKNOWN in wanted else self._partial:
            row = self._rows[number]
            if row is not None and _agree(row[1], wanted):
                return number
        return None


def _agree(one: _Cells, other: _Cells) -> bool:
    return all(a == b or _UNKNOWN in (a, b) for a, b in zip(one, other, strict=True))


def fold_multiset(rows: Rows, chunk: Chunk, *, backwards: bool) -> Applied:
    """Apply the changes of a chunk."""
    there = chunk.there[WAS] | chunk.there[IS]
    problems = {"no_image": np.flatnonzero(~there)}
    if not there.any():
        return Applied(problems, 0)
    written, by, rejected = _written(rows, chunk, backwards=backwards)
    if backwards:  # cells missing in an after image are as before
        removed, removing, _ = _written(rows, chunk.turned(), backwards=False)
    else:
        removing = np.flatnonzero(chunk.there[WAS])
        removed = rows.widened(kept(chunk.rows(WAS), chunk.there[WAS]))
    images = _Images(rows, removed, removing, written, by)
    blocked = [chunk.has(WAS, n) if backwards else chunk.diffs(n) for n in rows.fields]
    mixed = _match(images, blocked)
    if backwards:  # an insert that leaves out columns may mean any row that agrees
        problems["loose"] = images.change[images.loose]
    problems["unseen"] = images.change[images.removes & (images.taken < 0)]
    rows.replace(*images.left(rows, mixed))
    return Applied(problems, rejected)


def _written(rows: Rows, chunk: Chunk, *, backwards: bool) -> tuple[pa.Table, Integers, int]:
    """The rows that changes write, as far as their images show them, and the change of each.

    And how many JSON diffs did not fit.
    """
    there = chunk.there[IS]
    complete = ~chunk.there[WAS] | (chunk.whole() & (chunk.names.keys() == rows.fields.keys()))
    table = rows.widened(kept(chunk.rows(IS), there & complete))
    partial = np.flatnonzero(there & ~complete)
    if not len(partial):
        return table, np.flatnonzero(there), 0
    each = np.arange(len(partial))
    chains = Chains(partial, each, np.full(len(partial), -1))
    filler = Filler(chunk, rows, chains, backwards=backwards)
    filled = filler.table(np.ones(len(partial), bool))
    return (
        joined([table, filled]),
        np.concatenate([np.flatnonzero(there & complete), partial]),
        filler.rejected,
    )


def _match(images: _Images, blocked: list[Flags]) -> dict[int, list[int]]:
    """Find the removed rows; returns the rows whose cells come from several images.

    ``blocked``: by column, the changes after which a cell is not known that was before.
    """
    which = np.ones(len(images.time), bool)
    if not (images.partial & images.removes).any():  # such an image may mean any row
        _match_equals(images, np.flatnonzero(~images.partial))
        which = images.partial | (images.removes & (images.taken < 0))
        if not images.partial.any():
            return {}
    found = np.flatnonzero(which)
    return _match_loosely(images, found[np.argsort(images.time[found])], blocked)


def _match_equals(images: _Images, which: Integers) -> None:
    """Match images without unknown cells: per value, first come, first served."""
    code = combined([np.zeros(len(which), np.int64), *(cells[which] for cells in images.cells)])
    order = which[np.lexsort((images.time[which], code))]
    removes: Flags = images.removes[order]
    first = runs(np.sort(code))
    group = np.cumsum(first) - 1
    steps: Integers = np.where(removes, -1, 1)
    there: Integers = np.cumsum(steps)
    there = there - (there - steps)[first][group]
    # The lowest number of rows so far in each group: groups are moved apart for one pass.
    apart = group * (2 * len(which) + 2)
    lowest = np.minimum(np.minimum.accumulate(there - apart) + apart, 0)
    before = np.where(first, 0, np.append(0, lowest[:-1]))
    found = removes & (there >= before)
    rank: Integers = np.cumsum(found)
    rank = rank - (rank - found)[first][group]
    written = np.flatnonzero(~removes)
    start = np.cumsum(~removes)
    start = (start - ~removes)[first][group]
    images.taken[order[found]] = order[written[(start + rank - 1)[found]]]
