"""Which transactions are known to have committed while a log is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.rows.prepared import Prepared
from binlogkit.rows.settling import OUTCOMES
from binlogkit.rows.transactions import Outcome

if TYPE_CHECKING:
    from binlogkit.rows.window import Window

#: What is known of a transaction so far: nothing yet, that it counts, that it does not.
OPEN, COUNTS, LEFT_OUT = range(3)
_MEANING = {Outcome.COMMITTED: COUNTS, Outcome.PREPARED: OPEN}
_KNOWN = np.array([_MEANING.get(outcome, LEFT_OUT) for outcome in OUTCOMES], np.uint8)


class Outcomes:
    """Transactions by number, from the windows so far: a byte for each."""

    def __init__(self) -> None:
        self._known = np.zeros(0, np.uint8)  # with spare room
        self._count = 0
        self._first: int | None = None
        self._prepared = Prepared()
        self._resolved: dict[int, int] = {}  # and the transactions that decided them

    def feed(self, window: Window) -> None:
        """Take a window."""
        for prepared, decider, _ in self._prepared.feed(window):
            self._resolved[prepared] = decider
        records = window.transactions
        if not len(records):
            return
        numbers = records["number"]
        if self._first is None:
            self._first = int(numbers[0])
        known = _KNOWN[records["outcome"]]
        known[records["open"] != 0] = OPEN
        at = int(numbers[0]) - self._first
        self._count = at + len(known)
        if self._count > len(self._known):
            grown = np.zeros(2 * self._count, np.uint8)
            kept = self._known[:at]
            grown[: len(kept)] = kept
            self._known = grown
        self._known[at : self._count] = known

    def of(self, tx: np.ndarray[Any, Any], xid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """:data:`OPEN` … for each number, -1 outside any; ``xid``: whether a change has an XID.

        A change with an XID in an open transaction was read ahead: it commits.
        """
        at = tx - (self._first or 0)
        inside = (tx >= 0) & (at < self._count)
        found = np.full(len(tx), OPEN, np.uint8)
        found[inside] = self._known[at[inside]]
        found[(found == OPEN) & xid] = COUNTS
        found[tx < 0] = COUNTS
        for number in np.unique(tx[found == OPEN]).tolist() if self._resolved else ():
            decider = self._resolved.get(number)
            if decider is not None:
                found[tx == number] = self.of(np.array([decider]), np.zeros(1, bool))[0]
        return found
