"""The live rows of one table while its changes are replayed.

With a key, a row is found by it. Without one, rows form a multiset: equal rows are kept apart, and
a delete removes one of them (TRAPS.md 22).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import DiffRejected, apply
from binlogkit.analyses.point_in_time.store import UNKNOWN, Row, Store
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.frames.schema import CellState

__all__ = ["Image", "Keyed", "Multiset", "Rows"]


@dataclass(frozen=True, slots=True)
class Image:
    """One side of a change: its handle, and what identifies the row.

    ``identity``: the key's value or values; without a key, a frozenset of (name, value) of all
    cells that are in the image. None where a part of the key is not in the image.
    """

    handle: int
    identity: Hashable | None


class Rows(ABC):
    """What both forms share.

    ``rejected``: JSON diffs that did not fit the value that was known.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rejected = 0
        self._rows: dict[Hashable, Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @abstractmethod
    def insert(self, after: Image) -> str | None:
        """Add a row; the kind of contradiction that was met, or None."""

    @abstractmethod
    def update(self, before: Image, after: Image) -> str | None:
        """Change a row; as insert."""

    @abstractmethod
    def delete(self, before: Image) -> str | None:
        """Take a row away; as insert."""

    def live(self) -> Iterator[Row]:
        """The rows, in the order in which they were first seen."""
        return iter(self._rows.values())

    def replace(self, start: int) -> None:
        """After a compaction: row number n is handle ``start + n``."""
        for n, key in enumerate(self._rows):
            self._rows[key] = start + n

    def rewrite(self, done: Alteration, values: Mapping[str, int]) -> None:
        """After an ALTER, with the store's names changed already.

        ``values``: the cell that every row has in a new column, where it is known.
        """
        names = self.store.names
        places = {names.index(name): handle for name, handle in values.items()}
        places |= {i: UNKNOWN for i, name in enumerate(names) if name in done.lost}
        if not places:
            return
        for key, row in self._rows.items():
            handles = list(self.store.handles(row))
            for i, handle in places.items():
                handles[i] = handle
            self._rows[key] = handles

    def merged(self, known: Row | None, before: int | None, after: int) -> Row:
        """The row with the cells of ``after``, else of what was known, else of ``before``."""
        if self.store.is_full(after):
            return after
        names = self.store.names
        row = [UNKNOWN] * len(names) if known is None else list(self.store.handles(known))
        if before is not None:
            for i, handle in enumerate(self.store.handles(before)):
                if row[i] == UNKNOWN:
                    row[i] = handle
        for i, name in enumerate(names):
            state = self.store.state(after, name)
            if state == CellState.JSON_DIFF:
                row[i] = self._with_diff(row[i], after, name)
            elif state != CellState.NOT_IN_IMAGE:
                row[i] = after
        return row

    def _with_diff(self, known: int, after: int, name: str) -> int:
        """The JSON cell after the diff; UNKNOWN where its value before is not known."""
        store = self.store
        odd = store.odd[after]
        if known == UNKNOWN or name not in odd.raw:
            return UNKNOWN
        if known >= 0 and store.state(known, name) != CellState.VALUE:
            return UNKNOWN
        value = store.value(known, name)
        if value is None:
            return UNKNOWN
        try:
            return store.patch(apply(value, json.loads(odd.raw[name].text or "[]")))
        except (DiffRejected, InvalidJson):
            self.rejected += 1
            return UNKNOWN


class Keyed(Rows):
    """Rows found by a key."""

    def insert(self, after: Image) -> str | None:
        if after.identity is None:
            return "key_missing"
        twice = after.identity in self._rows
        self._rows[after.identity] = self.merged(None, None, after.handle)
        return "duplicate" if twice else None

    def update(self, before: Image, after: Image) -> str | None:
        """An update of the key is a delete and an insert of the same row (TRAPS.md 23)."""
        if before.identity is None:
            return "key_missing"
        known = self._rows.get(before.identity)
        key = before.identity if after.identity is None else after.identity
        moved = key != before.identity
        if moved:
            self._rows.pop(before.identity, None)
        twice = moved and key in self._rows
        self._rows[key] = self.merged(known, before.handle, after.handle)
        return "duplicate" if twice else "unseen" if known is None else None

    def delete(self, before: Image) -> str | None:
        if before.identity is None:
            return "key_missing"
        return "unseen" if self._rows.pop(before.identity, None) is None else None


class Multiset(Rows):
    """Rows without a key: found by all of their cells.

    A row of which some cells are unknown (inserted under MINIMAL, or from before an ALTER) matches
    an image that agrees with it in every cell that both have.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._cells: dict[Hashable, dict[str, Any]] = {}
        self._buckets: dict[Hashable, list[Hashable]] = {}
        self._partial: dict[Hashable, None] = {}
        self._next = 0

    def insert(self, after: Image) -> str | None:
        self._put(self._number(), self.merged(None, None, after.handle), _cells(after))
        return None

    def update(self, before: Image, after: Image) -> str | None:
        """One row that equals the image before; it keeps its place."""
        number = self._find(before)
        known = None if number is None else self._rows[number]
        row = self.merged(known, before.handle, after.handle)
        cells = {} if number is None else self._take(number)
        cells |= _cells(before) | _cells(after)
        for name in self.store.with_diff(after.handle):
            handle = self.store.handles(row)[self.store.names.index(name)]
            cells.pop(name, None)
            if handle != UNKNOWN:
                cells[name] = self.store.value(handle, name)
        self._put(self._number() if number is None else number, row, cells)
        return "unseen" if number is None else None

    def delete(self, before: Image) -> str | None:
        """One row that equals the image."""
        number = self._find(before)
        if number is None:
            return "unseen"
        self._take(number)
        del self._rows[number]
        return None

    def rewrite(self, done: Alteration, values: Mapping[str, int]) -> None:
        super().rewrite(done, values)
        fixed = {name: self.store.value(handle, name) for name, handle in values.items()}
        old, self._cells, self._buckets, self._partial = self._cells, {}, {}, {}
        for number, cells in old.items():
            kept = {
                done.renamed.get(name, name): value
                for name, value in cells.items()
                if name not in done.dropped
            }
            known = {name: value for name, value in kept.items() if name not in done.lost}
            self._put(number, self._rows[number], known | fixed)

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _put(self, number: Hashable, row: Row, cells: dict[str, Any]) -> None:
        self._rows[number] = row
        self._cells[number] = cells
        self._buckets.setdefault(_bucket(cells), []).append(number)
        if len(cells) < self.store.width:
            self._partial[number] = None

    def _take(self, number: Hashable) -> dict[str, Any]:
        cells = self._cells.pop(number)
        bucket = _bucket(cells)
        numbers = self._buckets[bucket]
        numbers.remove(number)
        if not numbers:
            del self._buckets[bucket]
        self._partial.pop(number, None)
        return cells

    def _find(self, before: Image) -> Hashable | None:
        wanted = _cells(before)
        numbers = self._buckets.get(_bucket(wanted))
        if numbers:
            return numbers[0]
        full = len(wanted) == self.store.width
        for number in self._partial if full else self._rows:
            cells = self._cells[number]
            if all(cells[name] == wanted[name] for name in cells.keys() & wanted.keys()):
                return number
        return None


def _cells(image: Image) -> dict[str, Any]:
    """The cells that an image of a table without a key has, by name."""
    assert isinstance(image.identity, frozenset)
    return dict(image.identity)


def _bucket(cells: dict[str, Any]) -> Hashable:
    return frozenset(cells.items())
