"""Changes of a table without a key: its rows are a multiset, and a delete takes one of its equals.

Of rows that are equal the one that was written first is taken (docs/traps.md, "No primary
key"). Rows of which some cells are not known are matched one by one (loose.py).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.cells import Chains, Filler
from binlogkit.analyses.point_in_time.chunk import IS, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags, Integers, combined, runs
from binlogkit.analyses.point_in_time.images import Images
from binlogkit.analyses.point_in_time.loose import match_loosely
from binlogkit.analyses.point_in_time.rows import Rows, kept

__all__ = ["fold_multiset"]


def fold_multiset(rows: Rows, chunk: Chunk, *, backwards: bool) -> tuple[dict[str, Integers], int]:
    """Carry out the changes of a chunk.

    Returns the changes that contradict what is known, by kind, and how many JSON diffs did not fit.
    """
    there = chunk.there[WAS] | chunk.there[IS]
    problems = {"no_image": np.flatnonzero(~there)}
    if not there.any():
        return problems, 0
    written, by, rejected = _written(rows, chunk, backwards=backwards)
    removing = np.flatnonzero(chunk.there[WAS])
    removed = rows.widened(kept(chunk.cells(WAS), chunk.there[WAS]))
    images = Images(rows, removed, removing, written, by)
    blocked = [chunk.has(WAS, n) if backwards else chunk.diffs(n) for n in rows.fields]
    mixed = _match(images, blocked)
    problems["unseen"] = images.change[images.removes & (images.taken < 0)]
    rows.replace(*images.left(rows, mixed))
    return problems, rejected


def _written(rows: Rows, chunk: Chunk, *, backwards: bool) -> tuple[pa.Table, Integers, int]:
    """The rows that changes write, as far as their images tell them, and which change it is.

    And how many JSON diffs did not fit.
    """
    there = chunk.there[IS]
    told = ~chunk.there[WAS] | (chunk.whole() & (chunk.names.keys() == rows.fields.keys()))
    table = rows.widened(kept(chunk.cells(IS), there & told))
    partial = np.flatnonzero(there & ~told)
    if not len(partial):
        return table, np.flatnonzero(there), 0
    each = np.arange(len(partial))
    chains = Chains(partial, each, np.full(len(partial), -1))
    filler = Filler(chunk, rows, chains, backwards=backwards)
    filled = filler.table(np.ones(len(partial), bool))
    whole = pa.concat_tables([table, filled], promote_options="default")
    return whole, np.concatenate([np.flatnonzero(there & told), partial]), filler.rejected


def _match(images: Images, blocked: list[Flags]) -> dict[int, list[int]]:
    """Find the rows that are removed; the rows whose cells come from several images.

    ``blocked``: by column, the changes after which a cell is not known that was before.
    """
    which = np.ones(len(images.time), bool)
    if not (images.partial & images.removes).any():  # such an image may mean any row
        _match_equals(images, np.flatnonzero(~images.partial))
        which = images.partial | (images.removes & (images.taken < 0))
        if not images.partial.any():
            return {}
    found = np.flatnonzero(which)
    return match_loosely(images, found[np.argsort(images.time[found])], blocked)


def _match_equals(images: Images, which: Integers) -> None:
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
