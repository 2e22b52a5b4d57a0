"""The live rows of one table while its changes are replayed.

With a key, a row is found by it. Without one, rows form a multiset: equal rows are kept apart, and
a delete removes one of them (TRAPS.md 22).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import DiffRejected, apply
from binlogkit.analyses.point_in_time.store import UNKNOWN, Row, Store
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.frames.schema import CellState

__all__ = ["ABSENT", "Keyed", "Multiset", "Rows"]


class Rows(ABC):
    """What both forms share.

    An image comes as what identifies its row and its handle. The identity is the key's value or
    values (None where a part of it is not in the image); without a key the tuple of all cells in
    the order of :meth:`Store.columns`, :data:`ABSENT` for those that are not in the image.
    ``rejected``: JSON diffs that did not fit the value that was known. ``backwards``: changes come
    turned around, so a cell that only the image before has was changed into something unknown.
    """

    def __init__(self, store: Store, *, backwards: bool = False) -> None:
        self.store = store
        self.backwards = backwards
        self.rejected = 0
        self._rows: dict[Hashable, Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @abstractmethod
    def insert(self, after: Hashable, handle: int) -> str | None:
        """Add a row; the kind of contradiction that was met, or None."""

    @abstractmethod
    def update(self, before: Hashable, old: int, after: Hashable, new: int) -> str | None:
        """Change a row; ``old`` and ``new`` are the images' handles; as insert."""

    @abstractmethod
    def delete(self, before: Hashable) -> str | None:
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
                if self.backwards and handle != UNKNOWN:
                    row[i] = UNKNOWN
                elif row[i] == UNKNOWN:
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

    def insert(self, after: Hashable, handle: int) -> str | None:
        if after is None:
            return "key_missing"
        twice = after in self._rows
        self._rows[after] = handle  # a row that begins is its first image
        return "duplicate" if twice else None

    def update(self, before: Hashable, old: int, after: Hashable, new: int) -> str | None:
        """An update of the key is a delete and an insert of the same row (TRAPS.md 23)."""
        if before is None and self.backwards:
            before = after  # an image after a change that lacks the key did not change it
        if before is None:
            return "key_missing"
        rows = self._rows
        known = rows.get(before)
        key = before if after is None else after
        twice = False
        if key != before:
            rows.pop(before, None)
            twice = key in rows
        rows[key] = self.merged(known, old, new)
        return "duplicate" if twice else "unseen" if known is None else None

    def delete(self, before: Hashable) -> str | None:
        if before is None:
            return "key_missing"
        return "unseen" if self._rows.pop(before, None) is None else None


Cells = tuple[Hashable, ...]
ABSENT = object()  # a cell that is not in the image, or not known


class Multiset(Rows):
    """Rows without a key: found by all of their cells.

    A row of which some cells are unknown (inserted under MINIMAL, or from before an ALTER) matches
    an image that agrees with it in every cell that both have.
    """

    def __init__(self, store: Store, *, backwards: bool = False) -> None:
        super().__init__(store, backwards=backwards)
        self._cells: dict[Hashable, Cells] = {}
        self._equal: dict[Cells, dict[Hashable, None]] = {}
        self._partial: dict[Hashable, None] = {}
        self._names: list[str] = []
        self._next = 0

    def insert(self, after: Hashable, handle: int) -> str | None:
        self._put(self._number(), handle, self._all(after))
        return None

    def update(self, before: Hashable, old: int, after: Hashable, new: int) -> str | None:
        """One row that equals the image before; it keeps its place."""
        wanted, changed = self._all(before), self._all(after)
        number = self._find(wanted)
        known = None if number is None else self._rows[number]
        row = self.merged(known, old, new)
        cells = list(wanted) if number is None else list(self._take(number))
        for image in (wanted, changed):
            cells = [c if new is ABSENT else new for c, new in zip(cells, image, strict=True)]
        for name in self.store.with_diff(new):
            handle = self.store.handles(row)[self.store.names.index(name)]
            value = ABSENT if handle == UNKNOWN else self.store.value(handle, name)
            cells[self.store.columns().index(name)] = value
        self._put(self._number() if number is None else number, row, tuple(cells))
        return "unseen" if number is None else None

    def delete(self, before: Hashable) -> str | None:
        """One row that equals the image."""
        number = self._find(self._all(before))
        if number is None:
            return "unseen"
        self._take(number)
        del self._rows[number]
        return None

    def rewrite(self, done: Alteration, values: Mapping[str, int]) -> None:
        super().rewrite(done, values)
        fixed = {name: self.store.value(handle, name) for name, handle in values.items()}
        came_from = {new: old for old, new in done.renamed.items()}
        places = {name: i for i, name in enumerate(self._names)}
        order = self.store.columns()

        def rebuilt(cells: Cells) -> Cells:
            return tuple(self._kept(cells, name, came_from, places, done, fixed) for name in order)

        self._rebuild([(number, rebuilt(cells)) for number, cells in self._cells.items()])

    @staticmethod
    def _kept(
        cells: Cells,
        name: str,
        came_from: Mapping[str, str],
        places: Mapping[str, int],
        done: Alteration,
        fixed: Mapping[str, Hashable],
    ) -> Hashable:
        if name in fixed:
            return fixed[name]
        if name in done.lost or name in done.added:
            return ABSENT
        at = places.get(came_from.get(name, name))
        return ABSENT if at is None else cells[at]

    def _rebuild(self, cells: list[tuple[Hashable, Cells]]) -> None:
        """Enter all rows anew: the table has other columns."""
        self._names = self.store.columns()
        self._cells, self._equal, self._partial = {}, {}, {}
        for number, row in cells:
            self._enter(number, row)

    def _all(self, identity: Hashable) -> Cells:
        """An image's cells; columns that are new are not known in the rows that are there."""
        assert isinstance(identity, tuple)
        if len(identity) != len(self._names):
            more = (ABSENT,) * (self.store.width - len(self._names))
            self._rebuild([(number, cells + more) for number, cells in self._cells.items()])
        return identity

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _put(self, number: Hashable, row: Row, cells: Cells) -> None:
        self._rows[number] = row
        self._enter(number, cells)

    def _enter(self, number: Hashable, cells: Cells) -> None:
        self._cells[number] = cells
        self._equal.setdefault(cells, {})[number] = None
        if ABSENT in cells:
            self._partial[number] = None

    def _take(self, number: Hashable) -> Cells:
        cells = self._cells.pop(number)
        numbers = self._equal[cells]
        del numbers[number]
        if not numbers:
            del self._equal[cells]
        self._partial.pop(number, None)
        return cells

    def _find(self, wanted: Cells) -> Hashable | None:
        numbers = self._equal.get(wanted)
        if numbers:
            return next(iter(numbers))
        for number in self._rows if ABSENT in wanted else self._partial:
            pairs = zip(self._cells[number], wanted, strict=True)
            if all(a is ABSENT or b is ABSENT or a == b for a, b in pairs):
                return number
        return None
