"""The live rows of one table while its changes are replayed.

With a key, a row is found by it. Without one, rows form a multiset: equal rows are kept apart, and
a delete removes one of them (TRAPS.md 22).
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import DiffRejected, apply
from binlogkit.analyses.point_in_time.store import UNKNOWN, Row, Store
from binlogkit.frames.schema import CellState

__all__ = ["Image", "Keyed", "Multiset"]


@dataclass(frozen=True, slots=True)
class Image:
    """One side of a change: its handle, and what identifies the row.

    ``identity``: the key's value or values; without a key, a frozenset of (name, value) of all
    cells that are in the image. None where a part of the key is not in the image.
    """

    handle: int
    identity: Hashable | None


@dataclass(slots=True)
class _Merger:
    """Puts a row together from what was known, the image before and the image after.

    ``rejected``: JSON diffs that did not fit the value that was known.
    """

    store: Store
    rejected: int = 0

    def merged(self, known: Row | None, before: int | None, after: int | None) -> Row:
        """The row with the cells of ``after``, else of what was known, else of ``before``."""
        if after is not None and self.store.is_full(after):
            return after
        names = self.store.names
        row = [UNKNOWN] * len(names) if known is None else list(self.store.handles(known))
        if before is not None:
            for i, handle in enumerate(self.store.handles(before)):
                if row[i] == UNKNOWN:
                    row[i] = handle
        if after is not None:
            for i, name in enumerate(names):
                state = self.store.state(after, name)
                if state == CellState.JSON_DIFF:
                    row[i] = self._with_diff(row[i], after, name)
                elif state != CellState.NOT_IN_IMAGE:
                    row[i] = after
        return row

    def _with_diff(self, known: int, after: int, name: str) -> int:
        """The JSON cell after the diff; UNKNOWN where its value before is not known."""
        odd = self.store.odd[after]
        if known == UNKNOWN or name not in odd.raw:
            return UNKNOWN
        if known >= 0 and self.store.state(known, name) != CellState.VALUE:
            return UNKNOWN
        value = self.store.value(known, name)
        if value is None:
            return UNKNOWN
        try:
            return self.store.patch(apply(value, json.loads(odd.raw[name].text or "[]")))
        except (DiffRejected, InvalidJson):
            self.rejected += 1
            return UNKNOWN


class Keyed:
    """Rows found by a key."""

    def __init__(self, store: Store) -> None:
        self.merger = _Merger(store)
        self.rows: dict[Hashable, Row] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def insert(self, after: Image) -> str | None:
        """Add a row; the kind of contradiction that was met, or None."""
        if after.identity is None:
            return "key_missing"
        twice = after.identity in self.rows
        self.rows[after.identity] = self.merger.merged(None, None, after.handle)
        return "duplicate" if twice else None

    def update(self, before: Image, after: Image) -> str | None:
        """Change a row; an update of the key is a delete and an insert of the same row."""
        if before.identity is None:
            return "key_missing"
        known = self.rows.get(before.identity)
        key = before.identity if after.identity is None else after.identity
        moved = key != before.identity
        if moved:
            self.rows.pop(before.identity, None)
        twice = moved and key in self.rows
        self.rows[key] = self.merger.merged(known, before.handle, after.handle)
        return "duplicate" if twice else "unseen" if known is None else None

    def delete(self, before: Image) -> str | None:
        """Take a row away."""
        if before.identity is None:
            return "key_missing"
        return "unseen" if self.rows.pop(before.identity, None) is None else None

    def live(self) -> Iterator[Row]:
        """The rows, in the order in which their keys were first seen."""
        return iter(self.rows.values())

    def replace(self, start: int) -> None:
        """After a compaction: row number n is handle ``start + n``."""
        for n, key in enumerate(self.rows):
            self.rows[key] = start + n


class Multiset:
    """Rows without a key: found by all of their cells.

    A row of which some cells are unknown (inserted under MINIMAL) matches an image that agrees
    with it in every cell that both have.
    """

    def __init__(self, store: Store) -> None:
        self.merger = _Merger(store)
        self.rows: dict[int, Row] = {}
        self._cells: dict[int, dict[str, Any]] = {}
        self._buckets: dict[Hashable, list[int]] = {}
        self._partial: dict[int, None] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self.rows)

    def insert(self, after: Image) -> str | None:
        """Add a row."""
        number, self._next = self._next, self._next + 1
        self._put(number, self.merger.merged(None, None, after.handle), _cells(after))
        return None

    def update(self, before: Image, after: Image) -> str | None:
        """Change one row that equals the image before; it keeps its place."""
        number = self._find(before)
        if number is None:
            number, self._next = self._next, self._next + 1
            row, cells, met = self.merger.merged(None, before.handle, after.handle), {}, "unseen"
        else:
            row = self.merger.merged(self.rows[number], before.handle, after.handle)
            cells, met = self._take(number), None
        for cell in (*_cells(before).items(), *_cells(after).items()):
            cells[cell[0]] = cell[1]
        self._put(number, row, cells)
        return met

    def delete(self, before: Image) -> str | None:
        """Take one row away that equals the image."""
        number = self._find(before)
        if number is None:
            return "unseen"
        self._take(number)
        del self.rows[number]
        return None

    def live(self) -> Iterator[Row]:
        """The rows, in the order in which they were first seen."""
        return (self.rows[number] for number in sorted(self.rows))

    def replace(self, start: int) -> None:
        """After a compaction: row number n is handle ``start + n``."""
        for n, number in enumerate(sorted(self.rows)):
            self.rows[number] = start + n

    def _put(self, number: int, row: Row, cells: dict[str, Any]) -> None:
        self.rows[number] = row
        self._cells[number] = cells
        self._buckets.setdefault(_bucket(cells), []).append(number)
        if len(cells) < self.merger.store.width:
            self._partial[number] = None

    def _take(self, number: int) -> dict[str, Any]:
        cells = self._cells.pop(number)
        bucket = _bucket(cells)
        numbers = self._buckets[bucket]
        numbers.remove(number)
        if not numbers:
            del self._buckets[bucket]
        self._partial.pop(number, None)
        return cells

    def _find(self, before: Image) -> int | None:
        wanted = _cells(before)
        numbers = self._buckets.get(_bucket(wanted))
        if numbers:
            return numbers[0]
        full = len(wanted) == self.merger.store.width
        for number in self._partial if full else self.rows:
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
