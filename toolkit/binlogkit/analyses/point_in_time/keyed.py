"""Changes of a table with a key: its rows after a chunk of changes.

An update of the key is a delete and an insert of the same row (docs/traps.md). Sorted by key and
order, all events of a key are adjacent: the last of them gives the row.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.chains import Chains, Filler
from binlogkit.analyses.point_in_time.chunk import IS, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import (
    Flags,
    Integers,
    codes,
    decoded,
    roots,
    runs,
    unequal,
)
from binlogkit.analyses.point_in_time.known_cells import known, parts_of
from binlogkit.analyses.point_in_time.rows import ORDER, Rows, kept
from binlogkit.analyses.point_in_time.unlogged import ComparedImages, Preceding


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of a chunk's changes, as columns.

    ``parts``: the key after each change, for a delete the one before; if cells of it have no Arrow
    value, their stored bytes and texts are parts too. ``moved``: which updates gave the row another
    key, and ``left``: the keys that those rows had before. ``complete``: which changes have the
    needed key.
    """

    parts: list[Any]
    moved: Flags
    left: list[Any]
    complete: Flags


def read_keys(chunk: Chunk, key: Sequence[str], *, backwards: bool) -> _Keys:
    """The keys of all changes.

    ``backwards``: an after image without the key did not change it.
    """
    none = np.zeros(chunk.size, bool)
    if any(name not in chunk.names for name in key):
        return _Keys([], none, [], none)
    before, after = ([chunk.cells(side, name) for name in key] for side in (WAS, IS))
    stored = any("bytes" in parts_of(cells) for cells in (*before, *after))
    was, was_whole = _read(before, chunk.there[WAS], stored)
    now, now_whole = _read(after, chunk.there[IS], stored)
    if len(key) > 1:
        lacking = [~known(cells) for cells in after]
        now, now_whole = _completed(chunk, lacking, (was, was_whole), now)
    both = chunk.there[WAS] & chunk.there[IS]
    moved = both & was_whole & now_whole
    if moved.any():
        moved &= reduce(np.logical_or, (unequal(a, b) for a, b in zip(was, now, strict=True)))
    whole = np.where(chunk.there[WAS], was_whole | (both & now_whole & backwards), now_whole)
    if not now_whole.all():
        after = pa.array(now_whole)
        now = [pc.if_else(after, a, b) for a, b in zip(now, was, strict=True)]
    return _Keys(now, moved, [part.filter(pa.array(moved)) for part in was], whole)


def _read(
    columns: Sequence[pa.ChunkedArray], there: Flags, stored: bool
) -> tuple[list[Any], Flags]:
    """One side's keys, and which of the images in ``there`` have theirs.

    A key of one NULL part is none; beside other parts a NULL is allowed.
    """
    whole = there.copy()
    found = [parts_of(cells) for cells in columns]
    for cells, parts in zip(columns, found, strict=True):
        whole &= known(cells)
        if len(columns) == 1 and parts["value"].null_count:
            odd = parts.get("state", parts["value"])
            whole &= np.asarray(parts["value"].is_valid()) | np.asarray(odd.is_valid())
    keys = [decoded(parts["value"]) for parts in found]
    for what, dtype in (("bytes", pa.binary()), ("text", pa.string())) if stored else ():
        none = pa.chunked_array([pa.nulls(len(there), dtype)])
        keys += [parts.get(what, none) for parts in found]
    return keys, whole


def _completed(
    chunk: Chunk, lacking: Sequence[Flags], was: tuple[list[Any], Flags], now: list[Any]
) -> tuple[list[Any], Flags]:
    """The keys after changes; parts missing in after images come from before images.

    A minimal after image of an update has only the parts that changed.
    """
    parts, was_whole = was
    complete = chunk.there[IS].copy()
    before = pa.array(chunk.there[WAS] & was_whole)
    for i, absent in enumerate(lacking):
        if absent.any():
            complete &= ~absent | ~chunk.there[WAS] | was_whole
            for at in range(i, len(now), len(lacking)):
                was_part = pc.if_else(before, parts[at], None)
                now[at] = pc.if_else(pa.array(absent), was_part, now[at])
    return now, complete


def mark_rows(rows: Rows, key: Sequence[str]) -> bool:
    """Identify rows by other columns; whether they are known, and different in each row."""
    if not len(rows):
        return True
    cells = [rows.table[name] for name in key if name in rows.fields]
    stored = any("bytes" in parts_of(one) for one in cells)
    parts, whole = _read(cells, np.ones(len(rows), bool), stored)
    rows.mark(parts)
    return (
        len(cells) == len(key) and bool(whole.all()) and np.unique(codes(parts)).size == len(rows)
    )


@dataclass(slots=True)
class Applied:
    """What was met when changes were applied.

    ``problems``: the changes that contradict what is known, by kind; ``rejected``: how many JSON
    diffs did not fit; ``compared``: the images before the changes, if they were compared.
    """

    problems: dict[str, Integers]
    rejected: int
    compared: ComparedImages | None = None


def fold_keyed(
    rows: Rows,
    chunk: Chunk,
    key: Sequence[str],
    *,
    backwards: bool,
    unchecked: Container[str] | None = None,
) -> Applied:
    """Apply the changes of a chunk.

    ``unchecked``: the columns that are not compared with what is known of rows; None: no column is.
    """
    keys = read_keys(chunk, key, backwards=backwards)
    there = chunk.there[WAS] | chunk.there[IS]
    problems = {"no_image": ~there, "key_missing": there & ~keys.complete}
    rejected, compared = 0, None
    if keys.complete.any():
        before, parts = rows.aligned(keys.parts)
        events = _Events(before, chunk, keys, parts)
        whole = chunk.whole() & (chunk.names.keys() == rows.fields.keys())
        more, rejected = _survivors(rows, chunk, events, parts, whole, backwards=backwards)
        gone = rows.replace(events.untouched, more, returned=unchecked is not None)
        problems |= events.problems()
        if unchecked is not None:
            compared = ComparedImages(chunk, gone, events.preceding())
            problems["unlogged"] = compared.compare(unchecked)
    found = {kind: np.flatnonzero(which) for kind, which in problems.items()}
    return Applied(found, rejected, compared)


class _Events:
    """The events of keys, sorted by key and by order within each.

    ``change``: the change it is of; ``removes``: whether the row with the key is removed;
    ``begins``: whether a row begins, by an INSERT; ``comes``: whether it comes from another key;
    ``first``: first of its key; ``base``: the row that has the key before the chunk, for first
    events, else -1; ``exists``: whether a row has the key before the event; ``untouched``: rows of
    other keys.
    """

    def __init__(self, known: list[Any], chunk: Chunk, keys: _Keys, parts: list[Any]) -> None:
        before, size = len(known[0]), chunk.size
        left = keys.left + [p.filter(keys.moved) for p in parts[len(keys.left) :]]
        found = codes([_joined(*p) for p in zip(known, parts, left, strict=True)])
        change = np.flatnonzero(keys.complete)
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
        """The events that leave a row."""
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

    def preceding(self) -> Preceding:
        """What each change's row was."""
        touched = np.cumsum(~self.untouched) - 1
        known = ~self.begins & ~self.comes & self.exists
        base = np.where(known & self.first, self.base, -1)
        base[base >= 0] = touched[base[base >= 0]]
        return Preceding(self.change, known & ~self.first, base, self._size)

    def problems(self) -> dict[str, Flags]:
        """The changes that do not fit the existing rows."""
        flags = {kind: np.zeros(self._size, bool) for kind in ("duplicate", "unseen")}
        appears = self.begins | self.comes
        flags["duplicate"][self.change[self.exists & appears & ~self.removes]] = True
        flags["unseen"][self.change[~self.exists & (self.removes | ~appears)]] = True
        flags["unseen"] &= ~flags["duplicate"]
        return flags

    def chains(self, whole: Flags, wanted: Flags, concerned: Flags) -> tuple[Chains, Integers]:
        """The lives with ``wanted`` or ``concerned`` events, and the last event of each.

        ``whole``: changes with a complete row.
        """
        at = np.arange(len(self.change))
        before = np.where(self.first | ~self.exists, -1, at - 1)
        base = self.base.copy()
        source = np.full(self._size, -1)
        source[self.change[self.removes]] = np.flatnonzero(self.removes)
        comes = np.flatnonzero(self.comes)
        left = source[self.change[comes]]
        arrived = base[comes]
        before[comes], base[comes] = before[left], base[left]
        alone = self.begins | whole[self.change]
        starts = self.removes | alone | (before < 0)
        root = roots(np.where(starts, at, before))
        # A row that was read after it moved (log/server/chunked.py) is at its new key only, where
        # nothing can have been before it.
        begun = root[comes]
        lost = (base[begun] < 0) & ~alone[begun] & (arrived >= 0)
        base[begun[lost]] = arrived[lost]
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
        tables.append(kept(rows.marked(chunk.rows(IS), parts, order), stay))
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
    """Columns of one type, concatenated."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[1].type)
