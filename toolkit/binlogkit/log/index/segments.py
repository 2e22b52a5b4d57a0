"""Where a log can be cut: at transactions that can be read without those before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binlogkit.constants import EventType
from binlogkit.rows.window import ROWS_EVENTS, Stretch, Window

_SLOT_BITS = 32
_SLOTS = (1 << _SLOT_BITS) - 1
_NONE = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Segment:
    """Where a part of a log begins: offset of a transaction's first event (0: of the log), and how
    many events and transactions of the log precede it."""

    pos: int = 0
    events: int = 0
    transactions: int = 0


class Segments:
    """A view of one log's windows; ``size``: bytes after which another segment may begin; ``cuts``:
    whether the log may be cut at all."""

    def __init__(self, size: int, *, cuts: bool) -> None:
        self._size = size
        self._cuts = cuts
        self._ordered = False
        self._end = 0
        self._alone = _Alone()
        self._going_on = -1  # the latest transaction so far
        self._found = [Segment()]

    def feed(self, window: Window) -> None:
        """Take the next window."""
        stretch = window.stretch
        if window.repeated is not None:
            self._cuts = False
        if window.damages:
            self._ordered = False
        if stretch is None or not len(stretch.entries):
            return
        plain = stretch.raws is None
        self._ordered = plain if not self._end else self._ordered and plain
        self._cuts = self._cuts and plain and self._alone.still(stretch)
        if stretch.outer is None:
            self._end = int(stretch.ends[-1])
            if self._cuts:
                self._cut(stretch)

    @property
    def stop(self) -> int | None:
        """Where a plain log that was read to its end without damage ends; None for others."""
        return self._end if self._ordered else None

    def finish(self) -> tuple[Segment, ...]:
        """The segments in order; one if the log cannot be cut."""
        if not self._cuts:
            return (Segment(),)
        ends = len(self._found) > 1 and self._found[-1].pos == self.stop
        return tuple(self._found[:-1] if ends else self._found)

    def _cut(self, stretch: Stretch) -> None:
        """Begin new segments at transactions of a stretch, or after its end."""
        offsets = stretch.positions
        numbers, events = np.unique(stretch.entries["tx"], return_index=True)
        for number, event in zip(numbers.tolist(), events.tolist(), strict=True):
            if number > self._going_on:
                self._cut_at(int(offsets[event]), stretch.ordinal + event, number)
        if stretch.scanner.open_transaction is None:
            after = stretch.ordinal + len(offsets)
            self._cut_at(self._end, after, stretch.scanner.transactions.number)
        self._going_on = max(self._going_on, int(numbers[-1]))

    def _cut_at(self, pos: int, events: int, transactions: int) -> None:
        if pos >= self._found[-1].pos + self._size:
            self._found.append(Segment(pos, events, transactions))


class _Alone:
    """Whether each transaction of a log can be read without those before it.

    Those that a server wrote can. But rows are also read if their table id's map is in an earlier
    transaction, and a second format description may change the decoding. What comes after damage
    needs what is before it.
    """

    def __init__(self) -> None:
        self._formats = 0
        self._tx = -1
        self._mapped: set[int] = set()

    def still(self, stretch: Stretch) -> bool:
        """Whether that holds up to the stretch's end."""
        entries = stretch.entries
        self._formats += int((entries["type"] == EventType.FORMAT_DESCRIPTION_EVENT).sum())
        going_on = entries["tx"] == self._tx
        rows, read = _firsts(entries, ROWS_EVENTS[entries["type"]])
        mapped, maps_at = _firsts(entries, entries["type"] == EventType.TABLE_MAP_EVENT)
        places = np.searchsorted(mapped, rows)
        there = np.append(mapped, _NONE)[places] == rows
        needed = rows[~there | (np.append(maps_at, 0)[places] > read)]
        known = self._mapped if going_on.any() else set()
        last = int(entries["tx"][-1])
        own = set(mapped[mapped >> _SLOT_BITS == last].tolist())
        self._mapped = own | known if last == self._tx else own
        self._tx = last
        return self._formats == 1 and known.issuperset(needed.tolist())


def _firsts(
    entries: np.ndarray[Any, Any], which: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The tables in transactions of some entries, and where each comes first."""
    here = np.flatnonzero(which)
    tables, firsts = np.unique(_table_in_transaction(entries[here]), return_index=True)
    return tables, here[firsts]


def _table_in_transaction(entries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A number for each slot in each transaction."""
    slots = entries["slot"].astype(np.int64)
    return entries["tx"].astype(np.int64) << _SLOT_BITS | slots & _SLOTS
