"""The row changes of a log, counted by transaction, table and operation; what is usual of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from math import log
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.constants import TableId

Integers = NDArray[np.int64]

OPS = ("update", "delete", "insert")
WINDOW = 600  # seconds in which one connection's changes belong together
_TIMES = 30  # as many times the usual number of rows is as unusual as can be
_TWICE = 2  # as many times the usual number is not usual
_ALIKE = 2  # a change of half of the rows, or of more, is alike
_LOOKED_AT = 500  # large units of a group, at most
OFTEN = 3  # what was done on as many other occasions is usual
_ENOUGH = 20  # transactions that say what is usual for a table and an operation
_DAILY, _NEAR = 86_400 // WINDOW, 3  # windows of a day; so many apart is the same time of a day
_BITS = 21  # of a name's number


@dataclass(frozen=True, slots=True)
class Units:
    """What connections did to tables, by one operation each, in one transaction or one window.

    ``group``: three times the table's number, and the operation's; ``pieces``: how many
    transactions.
    """

    group: Integers
    tx: Integers
    thread: Integers
    time: Integers
    rows: Integers
    pieces: Integers

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, here: NDArray[Any] | slice) -> Units:
        """Some of them."""
        return Units(*(getattr(self, name)[here] for name in self.__slots__))

    def occasion(self, at: int) -> tuple[int, int]:
        """The connection and the window of one."""
        return int(self.thread[at]), int(self.time[at]) // WINDOW

    def joined(self, places: Integers) -> Iterator[Integers]:
        """Those of one table, operation and connection that follow each other within a window."""
        order = places[np.lexsort((places, self.thread[places], self.group[places]))]
        parted = (
            (np.diff(self.group[order]) != 0)
            | (np.diff(self.thread[order]) != 0)
            | (np.abs(np.diff(self.time[order])) > WINDOW)
        )
        yield from (part for part in np.split(order, np.flatnonzero(parted) + 1) if len(part))

    def windows(self) -> tuple[Units, Integers]:
        """The same by ten minutes of a connection, and which of these each unit is in."""
        keys = np.stack([self.group, self.thread, self.time // WINDOW])
        order = np.lexsort(keys[::-1])
        new = np.append(True, (np.diff(keys[:, order]) != 0).any(axis=0))[: len(order)]
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(new) - 1
        count, first = int(new.sum()), order[new]
        rows = np.bincount(place, self.rows, count).astype(np.int64)
        pieces = np.bincount(place, minlength=count)
        return replace(self.of(first), rows=rows, pieces=pieces), place


class Unusual(NamedTuple):
    """A unit far above what is usual: its place, how unusual it is (to 1), and the usual rows."""

    at: int
    much: float
    usual: int


def unusual(units: Units, least: int) -> Iterator[Unusual]:
    """The units of at least so many rows that are far above what is usual, by group.

    Usual is the 95 % quantile of the group, of all groups where it is small; and what was done in
    :data:`OFTEN` other windows or connections, whatever its size.
    """
    everyday = _quantile(np.sort(units.rows), 0.95)
    order = np.lexsort((units.rows, units.group))
    groups = units.group[order]
    for group in np.unique(groups[units.rows[order] >= least]).tolist():
        start, end = np.searchsorted(groups, [group, group + 1]).tolist()
        sizes = units.rows[order[start:end]]
        usual = _quantile(sizes, 0.95)
        if end - start < _ENOUGH:
            windows = units.time[order[start:end]] // WINDOW
            others = windows != windows[-1]
            several = len(np.unique(windows[others])) >= OFTEN
            usual = max(everyday, _quantile(sizes[others], 0.5)) if several else everyday
        yield from _of_group(units, order[start:end], max(least, _TWICE * usual), max(1, usual))


def _of_group(units: Units, order: Integers, least: int, usual: int) -> Iterator[Unusual]:
    seen: set[int] = set()
    next_at, windows = len(order) - 1, units.time[order] // WINDOW
    for at in range(len(order) - 1, max(-1, len(order) - 1 - _LOOKED_AT), -1):
        if (rows := int(units.rows[order[at]])) < least:
            return
        while next_at >= 0 and units.rows[order[next_at]] * _ALIKE >= rows:
            seen.add(int(windows[next_at]))
            next_at -= 1
        others = elsewhere(int(windows[at]), seen)
        if others < OFTEN:
            much = min(1.0, log(rows / usual) / log(_TIMES)) / (1 + others)
            yield Unusual(int(order[at]), much, usual)


def elsewhere(window: int, seen: Set[int]) -> int:
    """How many different windows are not this one, or beside it.

    Those of a daily job count once for what happens at another time of the day.
    """
    others = [when for when in seen if abs(when - window) > 1]
    if len(others) >= OFTEN and all(_hours(when, others[0]) for when in others):
        return len(others) if _hours(window, others[0]) else 1
    return len(others)


def _hours(window: int, other: int) -> bool:
    """Whether two windows are at about the same time of a day."""
    apart = (window - other) % _DAILY
    return min(apart, _DAILY - apart) <= _NEAR


def _quantile(ordered: NDArray[Any], share: float) -> int:
    return int(ordered[int(share * (len(ordered) - 1))]) if len(ordered) else 1


# ---- from changes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counted:
    """The changes of a log that were not rolled back, in units of transactions.

    ``place``: the unit of each of the changes' rows in ``kept``; ``tables``: names by number.
    """

    units: Units
    kept: Integers
    place: Integers
    tables: Sequence[TableId]


def counted(changes: pa.Table, undone: Integers) -> Counted:
    """Count the changes; ``undone``: the transactions that were rolled back.

    ``changes``: a row for each, or for each event, with their number as ``rows``.
    """
    source, db, table, op = (Coded.of(changes[n]) for n in ("source", "db", "table", "op"))
    pairs, number = np.unique(
        source.codes << 2 * _BITS | db.codes << _BITS | table.codes, return_inverse=True
    )
    low = (1 << _BITS) - 1
    tables = [
        (db.texts[pair >> _BITS & low] or "", table.texts[pair & low] or "")
        for pair in pairs.tolist()
    ]
    ops = np.array([OPS.index(text) if text in OPS else 0 for text in op.texts])[op.codes]
    tx = integers(changes["tx"])
    rows = integers(changes["rows"]) if "rows" in changes.column_names else np.ones_like(tx)
    kept = np.flatnonzero((tx >= 0) & ~np.isin(tx, undone))
    groups = 3 * len(pairs) + 1
    keys, first, place = np.unique(
        (tx * groups + 3 * number + ops)[kept], return_index=True, return_inverse=True
    )
    first = kept[first]
    units = Units(
        keys % groups, keys // groups, integers(changes["thread_id"])[first],
        integers(changes["timestamp"])[first],
        np.bincount(place, rows[kept], len(keys)).astype(np.int64), np.ones(len(keys), np.int64),
    )  # fmt: skip
    return Counted(units, kept, place, tables)


class Coded(NamedTuple):
    """A column of texts: numbers, and the text of each; 0 is null."""

    codes: Integers
    texts: list[str | None]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Coded:
        """The codes of a column of an Arrow table."""
        if not pa.types.is_dictionary(column.type):
            column = pc.dictionary_encode(column)
        column = column.unify_dictionaries()
        texts = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
        parts = [np.asarray(chunk.indices.fill_null(-1)) for chunk in column.chunks]
        codes = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64) + 1
        return cls(codes, [None, *texts])


def integers(column: pa.ChunkedArray) -> Integers:
    """A column's integers, -1 where there is none."""
    return np.asarray(column.fill_null(-1)).astype(np.int64, copy=False)
