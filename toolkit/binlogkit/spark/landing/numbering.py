"""The order of landed changes: their transactions, and a number that sorts them.

A number is that of a stretch of the logs, which begins with a transaction or with what happens to a
table, shifted left by 32, plus the change's place in the stretch. So the changes of one stretch can
be numbered without the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binlogkit.frames.arrays import one_array

Integers = NDArray[np.int64]
#: Of changes: numbers of files, positions, numbers in a payload (-1 outside) and of rows.
Places = tuple[Integers, Integers, Integers, Integers]

#: The columns of flat rows by which they are ordered.
PLACES = ("_file", "_pos", "_inner", "_row")
SHIFT = 32  # of a stretch's number
_INNER = 24  # bits of an event's number in a payload
BEFORE, AFTER = -1, 1 << 62  # any row of an event


@dataclass(frozen=True, slots=True)
class Numbering:
    """The part of a ledger that orders changes; it goes to tasks.

    ``files``: the number of each log; ``edges``: where the transactions of each begin in the other
    columns: ``starts``, ``ends``, ``tx``, ``commits`` (microseconds, -1 without); ``cuts``: the
    places (:data:`Places`) before which a stretch begins besides, a row each; ``copies``: of
    transactions that landed, and that other logs have first: the number of the file, the first
    position and the one after the last, and the first copy's file and first position, a row each.
    """

    files: Mapping[str, int]
    edges: Integers
    starts: Integers
    ends: Integers
    tx: Integers
    commits: Integers
    cuts: Integers
    copies: Integers

    @classmethod
    def of(cls, files: Mapping[str, int], transactions: pa.Table, copies: Integers) -> Numbering:
        """From a ledger's transactions, without what happened to tables; ``copies``: rows of the
        columns that the attribute has."""
        file = of_files(files, transactions["file"])
        pos, end, tx = (np.asarray(transactions[name]) for name in ("pos", "end_pos", "tx"))
        commits = np.asarray(transactions["commit_timestamp"].cast(pa.int64()).fill_null(BEFORE))
        order = np.lexsort([pos, file])
        edges = np.searchsorted(file[order], np.arange(len(files) + 1))
        own = pos[order], end[order], tx[order], commits[order]
        moved = copies[np.lexsort([copies[:, 1], copies[:, 0]])]
        return cls(files, edges, *own, cuts_of(()), moved)

    def places(self, rows: Mapping[str, Any]) -> Places:
        """The places of flat rows: of what landed from a copy of a transaction, in the first one,
        which stands where statements and other transactions are."""
        file, pos, inner, row = places_of(rows, self.files)
        if not len(self.copies):
            return file, pos, inner, row
        at = self._copies_of(file, pos)
        offset = pos - self.copies[at, 1]
        inner = np.where(at >= 0, (offset << _INNER) + inner + 1, inner)
        return *self._first(at, file, pos), inner, row

    def first_places(self, files: Integers, pos: Integers) -> tuple[Integers, Integers]:
        """The first two of these places."""
        if not len(self.copies):
            return files, pos
        return self._first(self._copies_of(files, pos), files, pos)

    def _first(self, at: Integers, files: Integers, pos: Integers) -> tuple[Integers, Integers]:
        first = self.copies[at]
        return np.where(at >= 0, first[:, 3], files), np.where(at >= 0, first[:, 4], pos)

    def _copies_of(self, files: Integers, pos: Integers) -> Integers:
        """The copies that hold events, as rows, -1 for none."""
        edges = np.searchsorted(self.copies[:, 0], np.arange(len(self.files) + 1))
        return _holding(edges, self.copies[:, 1], self.copies[:, 2], files, pos)

    def transactions(self, files: Integers, pos: Integers) -> Integers:
        """The transactions that hold events, as places in the columns, -1 for none."""
        return _holding(self.edges, self.starts, self.ends, files, pos)

    def begun(self, files: Integers, pos: Integers) -> Integers:
        """How many transactions begin at or before positions, those of earlier logs included."""
        return _begun(self.edges, self.starts, files, pos)

    def of_cuts(self) -> Integers:
        """The numbers of the cuts."""
        none = np.empty(0, np.int64)
        return self._numbered((none, none, none, none))[1]

    def numbers(self, places: Places) -> Integers:
        """The numbers of changes; each of their stretches must be complete."""
        return self._numbered(places)[0]

    def _numbered(self, places: Places) -> tuple[Integers, Integers]:
        cuts = len(self.cuts)
        columns = [np.concatenate([self.cuts[:, i], places[i]]) for i in range(len(places))]
        order = np.lexsort(columns[::-1])
        begun = self.begun(*columns[:2])  # before what happens at the same position
        stretch = np.cumsum(order < cuts) + begun[order]
        begins = np.flatnonzero(np.diff(stretch, prepend=-1))
        first = np.repeat(begins, np.diff(begins, append=len(order)))
        found = np.empty(len(order), np.int64)
        found[order] = (stretch << SHIFT) + np.arange(len(order)) - first
        return found[cuts:], found[:cuts]


def _holding(
    edges: Integers, starts: Integers, ends: Integers, files: Integers, pos: Integers
) -> Integers:
    """Which stretches from ``starts`` to before ``ends`` hold positions, -1 for none; ``edges``:
    where those of each file begin."""
    at = _begun(edges, starts, files, pos) - 1
    inside = (at >= edges[files]) & (pos < np.append(ends, 0)[at])
    return np.where(inside, at, BEFORE)


def _begun(edges: Integers, starts: Integers, files: Integers, pos: Integers) -> Integers:
    found = np.zeros(len(pos), np.int64)
    order = np.argsort(files, kind="stable")
    there, firsts = np.unique(files[order], return_index=True)
    for file, own in zip(there.tolist(), np.split(order, firsts[1:]), strict=False):
        first, end = edges[file : file + 2].tolist()
        found[own] = first + np.searchsorted(starts[first:end], pos[own], side="right")
    return found


def cuts_of(places: Sequence[tuple[int, int, int, int]]) -> Integers:
    """The rows of ``cuts``."""
    return np.array([*places], np.int64).reshape(-1, 4)


def of_files(numbers: Mapping[str, int], names: Any) -> Integers:
    """The number of each file's name."""
    whole = one_array(names)
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    known = np.array([numbers[name] for name in whole.dictionary.to_pylist()] or [0], np.int64)
    found: Integers = known[np.asarray(whole.indices)]
    return found


def places_of(rows: Mapping[str, Any], files: Mapping[str, int]) -> Places:
    """The places of flat rows."""
    return (
        of_files(files, rows["_file"]),
        np.asarray(rows["_pos"]).astype(np.int64),
        np.asarray(rows["_inner"].fill_null(BEFORE)).astype(np.int64),
        np.asarray(rows["_row"]).astype(np.int64),
    )
