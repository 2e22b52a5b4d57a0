"""Changes of a table whose rows are told by a key: what its rows are after a chunk of them.

An update of the key is a delete and an insert of the same row (docs/traps.md). Sorted by key
and order, all that happens to a key stands together: the last of it is the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.cells import Chains, Filler
from binlogkit.analyses.point_in_time.chunk import IS, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags, Integers, codes, roots, runs
from binlogkit.analyses.point_in_time.keys import Keys, read_keys
from binlogkit.analyses.point_in_time.rows import ORDER, Rows, kept

__all__ = ["fold_keyed"]


def fold_keyed(
    rows: Rows, chunk: Chunk, key: Sequence[str], *, backwards: bool
) -> tuple[dict[str, Integers], int]:
    """Carry out the changes of a chunk.

    Returns the changes that contradict what is known, by kind, and how many JSON diffs did not fit.
    """
    keys = read_keys(chunk, key, backwards=backwards)
    there = chunk.there[WAS] | chunk.there[IS]
    problems = {"no_image": ~there, "key_missing": there & ~keys.told}
    rejected = 0
    if keys.told.any():
        known, parts = rows.aligned(keys.parts)
        events = _Events(known, chunk, keys, parts)
        whole = chunk.whole() & (chunk.names.keys() == rows.fields.keys())
        more, rejected = _survivors(rows, chunk, events, parts, whole, backwards=backwards)
        rows.replace(events.untouched, more)
        problems |= events.problems()
    return {kind: np.flatnonzero(which) for kind, which in problems.items()}, rejected


class _Events:
    """What happens to keys: sorted by key, and by order for each.

    ``change``: which change does it; ``removes``: whether the row with the key goes; ``begins``:
    whether a row begins, by an INSERT; ``comes``: whether it comes from another key; ``first``: of
    its key; ``base``: the row that has the key before the chunk, for first events, else -1;
    ``exists``: whether a row has the key before the event; ``untouched``: rows of other keys.
    """

    def __init__(self, known: list[Any], chunk: Chunk, keys: Keys, parts: list[Any]) -> None:
        before, size = len(known[0]), chunk.size
        left = keys.left + [p.filter(keys.moved) for p in parts[len(keys.left) :]]
        found = codes([_joined(*p) for p in zip(known, parts, left, strict=True)])
        change = np.flatnonzero(keys.told)
        code, removes = found[before + change], ~chunk.there[IS][change]
        if keys.moved.any():
            at = np.searchsorted(change, np.flatnonzero(keys.moved))
            code = np.insert(code, at, found[before + size :])
            removes = np.insert(removes, at, True)
            change = np.insert(change, at, change[at])
        order = np.argsort(code, kind="stable")
        code, self.change, self.removes = code[order], change[order], removes[order]
        holder = np.full(int(found.max()) + 1, -1)
        holder[found[:before]] = np.arange(before)
        self.first = runs(code)
        self.base = np.where(self.first, holder[code], -1)
        self.exists = self.base >= 0
        self.exists[1:] |= ~self.first[1:] & ~self.removes[:-1]
        self.begins = ~chunk.there[WAS][self.change]
        self.comes = keys.moved[self.change] & ~self.removes
        self.untouched = np.ones(before, bool)
        self.untouched[self.base[self.base >= 0]] = False
        self._size = size

    def alive(self) -> Integers:
        """The events that leave a row behind."""
        return np.flatnonzero(np.append(self.first[1:], True) & ~self.removes)

    def order(self, which: Integers, rows: Rows) -> Integers:
        """When the rows that these events leave were first seen."""
        at = np.arange(len(self.change))
        start = np.maximum.accumulate(np.where(self.first, at, 0))
        begun = np.maximum.accumulate(np.where(~self.removes & ~self.exists, at, -1))[which]
        base = self.base[start[which]]
        old = begun < start[which]
        found = rows.seen + self.change[begun]
        if old.any():
            found[old] = rows.hidden(ORDER)[base[old]]
        return found

    def problems(self) -> dict[str, Flags]:
        """The changes that do not fit the rows that are there."""
        flags = {kind: np.zeros(self._size, bool) for kind in ("duplicate", "unseen")}
        appears = self.begins | self.comes
        flags["duplicate"][self.change[self.exists & appears & ~self.removes]] = True
        flags["unseen"][self.change[~self.exists & (self.removes | ~appears)]] = True
        flags["unseen"] &= ~flags["duplicate"]
        return flags

    def chains(self, whole: Flags, wanted: Flags, concerned: Flags) -> tuple[Chains, Integers]:
        """The lives with ``wanted`` or ``concerned`` events, and the last event of each.

        ``whole``: changes that tell all of a row.
        """
        at = np.arange(len(self.change))
        before = np.where(self.first | ~self.exists, -1, at - 1)
        base = self.base.copy()
        source = np.full(self._size, -1)
        source[self.change[self.removes]] = np.flatnonzero(self.removes)
        comes = np.flatnonzero(self.comes)
        left = source[self.change[comes]]
        before[comes], base[comes] = before[left], base[left]
        alone = self.begins | whole[self.change]
        starts = self.removes | alone | (before < 0)
        root = roots(np.where(starts, at, before))
        chosen = np.zeros(len(at), bool)
        chosen[root[wanted | concerned]] = True
        mine = np.flatnonzero(chosen[root] & ~self.removes)
        mine = mine[np.lexsort((self.change[mine], root[mine]))]
        firsts = np.flatnonzero(runs(root[mine]))
        begun = mine[firsts]
        chains = Chains(self.change[mine], firsts, np.where(alone, -1, base)[begun])
        return chains, mine[chains.ends - 1]


def _survivors(
    rows: Rows, chunk: Chunk, events: _Events, parts: list[Any], whole: Flags, *, backwards: bool
) -> tuple[list[pa.Table], int]:
    """The rows that the changes leave, and how many JSON diffs did not fit."""
    alive = events.alive()
    complete = (events.begins | whole[events.change])[alive]
    tables = []
    if complete.any():
        last = events.change[alive[complete]]
        order = np.zeros(chunk.size, np.int64)
        order[last] = events.order(alive[complete], rows)
        stay = np.zeros(chunk.size, bool)
        stay[last] = True
        tables.append(kept(rows.marked(chunk.cells(IS), parts, order), stay))
    wanted, concerned = np.zeros((2, len(events.change)), bool)
    wanted[alive[~complete]] = True
    concerned[:] = ~events.removes & chunk.with_diffs()[events.change]
    if not (wanted | concerned).any():
        return tables, 0
    chains, ends = events.chains(whole, wanted, concerned)
    filler = Filler(chunk, rows, chains, backwards=backwards)
    filled = filler.table(wanted[ends])
    ends = ends[wanted[ends]]
    keys = [part.take(events.change[ends]) for part in parts]
    tables.append(rows.marked(filled, keys, events.order(ends, rows)))
    return tables, filler.rejected


def _joined(*columns: Any) -> Any:
    """Columns of one type, one behind the other."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[1].type)
