"""Which transactions are known to count for a state while the log is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.analyses.point_in_time.forward import COUNTS, LEFT_OUT, OPEN
from binlogkit.frames.transaction_facts import COMMIT, GTID, gtid_array
from binlogkit.rows.prepared import Prepared
from binlogkit.rows.settling import OUTCOMES
from binlogkit.rows.transactions import Outcome

if TYPE_CHECKING:
    from binlogkit.log.states.point import Point
    from binlogkit.rows.window import Window

_MICROSECONDS = 1_000_000
_NONE = -1


class Outcomes:
    """Transactions by number, from the windows so far.

    ``point``: up to where they count; ``transactional``: False if rolled back changes stay.
    """

    def __init__(self, point: Point, transactional: bool | None) -> None:
        self._files = point.files
        self._place, self._gtids, self._time = point.place, point.gtids, point.time
        self._known = np.zeros(0, np.uint8)  # with spare room
        self._count = 0
        self._first: int | None = None
        self._last_member = _NONE
        self._prepared = Prepared()
        self._resolved: dict[int, int] = {}  # and the transactions that decided them
        meaning = {
            Outcome.COMMITTED: COUNTS,
            Outcome.PREPARED: OPEN,
            Outcome.ROLLED_BACK: COUNTS if transactional is False else LEFT_OUT,
        }
        self._meaning = np.array([meaning.get(o, LEFT_OUT) for o in OUTCOMES], np.uint8)

    @property
    def by_gtid(self) -> bool:
        """Whether the point is a GTID set, whose last member must be searched in all logs."""
        return self._gtids is not None

    def take(self, window: Window, held: np.ndarray[Any, Any] | None = None) -> None:
        """Take a window; ``held``: which of its transactions a base holds, which do not count."""
        for prepared, decider, _ in self._prepared.take(window):
            self._resolved[prepared] = decider
        records = window.transactions
        if not len(records):
            return
        numbers = records["number"]
        if self._first is None:
            self._first = int(numbers[0])
        known = self._meaning[records["outcome"]]
        known[(known == COUNTS) & self._late(window)] = LEFT_OUT
        if held is not None:
            known[(known == COUNTS) & held] = LEFT_OUT
        known[records["open"] != 0] = OPEN
        at = int(numbers[0]) - self._first
        self._count = at + len(known)
        if self._count > len(self._known):
            grown = np.zeros(2 * self._count, np.uint8)
            kept = self._known[:at]
            grown[: len(kept)] = kept
            self._known = grown
        self._known[at : self._count] = known
        if self._gtids is not None:
            self._note_members(window)

    def _late(self, window: Window) -> np.ndarray[Any, Any]:
        """Which of a window's transactions end after the point."""
        records = window.transactions
        if self._place is not None:
            file, pos = self._place
            here, there = self._files[window.carrier.name], self._files[file]
            late: np.ndarray[Any, Any] = (here > there) | (
                (here == there) & (records["end_pos"] > pos)
            )
            return late
        if self._time is None:
            return np.zeros(len(records), bool)
        times = records["end_timestamp"].astype(np.int64) * _MICROSECONDS
        times = np.where(records["has"] & COMMIT > 0, records["commit_timestamp"], times)
        for place, (_, commit) in window.facts.gtids_of(records).items():
            if commit is not None:
                times[place] = commit
        return np.asarray(times > self._time)

    def _note_members(self, window: Window) -> None:
        records = window.transactions
        texts: list[str | None] = gtid_array(records).to_pylist()
        for i in np.flatnonzero(records["has"] & GTID == 0).tolist():
            texts[i] = None
        first = int(records["number"][0])
        for place, (gtid, _) in window.facts.gtids_of(records).items():
            texts[place] = gtid
        for number in [] if window.repeated is None else window.repeated.tolist():
            texts[number - first] = None
        for i, text in enumerate(texts):
            if text is not None and self._gtids is not None and text in self._gtids:
                self._last_member = max(self._last_member, first + i)

    def of(self, tx: np.ndarray[Any, Any], xid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """See :data:`~binlogkit.analyses.point_in_time.forward.Decided`.

        A change with an XID in an open transaction was read ahead: it commits.
        """
        at = tx - (self._first or 0)
        inside = (tx >= 0) & (at < self._count)
        found = np.full(len(tx), OPEN, np.uint8)
        found[inside] = self._known[at[inside]]
        if self._gtids is not None:
            found[tx > self._last_member] = OPEN
        elif self._place is None and self._time is None:
            found[(found == OPEN) & xid] = COUNTS
        found[tx < 0] = COUNTS
        for number in np.unique(tx[found == OPEN]).tolist() if self._resolved else ():
            decider = self._resolved.get(number)
            if decider is not None:
                found[tx == number] = self.of(np.array([decider]), np.zeros(1, bool))[0]
        return found
