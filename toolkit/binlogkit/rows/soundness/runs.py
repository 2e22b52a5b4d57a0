"""The transactions of a window's events, by the column, and where damage leaves them in doubt."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from binlogkit.events.gtid import Gtid
from binlogkit.rows.soundness.events import WindowEvents
from binlogkit.rows.transactions import belongs
from binlogkit.rows.window import GTIDS, LOOK

Array = np.ndarray[Any, Any]

GTID, CLOCK = 1, 2  # of a transaction's ``has``


@dataclass(slots=True)
class EventRuns:
    """The events of each transaction: entries ``firsts`` to ``lasts``, ``records`` the kernel's.

    ``new``: it begins here; ``ended``: it ends here; ``named``: it begins with a GTID event, and
    ``gtids`` with one that can be read: of ``bodies`` by Python.
    """

    firsts: Array
    lasts: Array
    numbers: Array
    records: Array
    new: Array
    ended: Array
    named: Array
    gtids: Array
    bodies: dict[int, Gtid]


def runs_of(events: WindowEvents, a: int, b: int, before: int) -> EventRuns | None:
    """The transactions of the entries from ``a`` to ``b``, None without any.

    ``before``: the one that is open before them. An event whose checksum is wrong is none of a
    transaction's.
    """
    tx = events.tx[a:b]
    firsts = np.append(0, np.flatnonzero(tx[1:] != tx[:-1]) + 1)
    lasts = np.append(firsts[1:] - 1, len(tx) - 1) + a
    numbers = tx[firsts]
    firsts += a
    inside = numbers >= 0
    if events.bad is not None:
        for k in np.flatnonzero(events.bad[firsts]).tolist():
            good = np.flatnonzero(~events.bad[firsts[k] : lasts[k] + 1])
            firsts[k] += int(good[0]) if len(good) else 0
            inside[k] &= len(good) > 0
    if numbers[0] >= 0 and int(numbers[0]) == events.headless:
        others = [i.i for i in events.among(a, int(lasts[0]) + 1) if not belongs(i.event.body)]
        left = np.setdiff1d(np.arange(a, lasts[0] + 1), others)
        inside[0], firsts[0] = len(left) > 0, left[0] if len(left) else a
    if not inside.all():
        firsts, lasts, numbers = firsts[inside], lasts[inside], numbers[inside]
    if not len(numbers):
        return None
    at = numbers - events.first_record
    whole = int(at[-1]) - int(at[0]) == len(at) - 1
    records = events.records[int(at[0]) : int(at[-1]) + 1] if whole else events.records[at]
    if int(numbers[0]) == events.headless:
        records = records.copy()
        records["explicit"][0] = records["has"][0] = 0
        records["length"][0] = -1
    new = numbers != before
    ended = records["outcome"] > 0
    if b < events.count and events.tx[b] == numbers[-1]:
        ended[-1] = False
    named = new & GTIDS[events.types[firsts]]
    gtids, bodies = named, {}
    looked = named & (events.notes[firsts] & LOOK > 0)
    if looked.any():
        known = {item.i: item.event.body for item in events.looked}
        looked_bodies = {k: known[int(firsts[k])] for k in np.flatnonzero(looked).tolist()}
        bodies = {k: body for k, body in looked_bodies.items() if isinstance(body, Gtid)}
        gtids = named & ~looked
        gtids[list(bodies)] = True
    return EventRuns(firsts, lasts, numbers, records, new, ended, named, gtids, bodies)


class Moments:
    """Where damage stands between an event and the last certain start of a transaction before it.

    ``now``: whether there is doubt after what was taken.

    Moments: damage before or in the event at entry i happens at 2 i - 1, what its rows show at
    2 i + 1; a start is certain for what comes after it, from 2 i on.
    """

    def __init__(self) -> None:
        self.now = False
        self._damages: list[int] = []
        self._starts: list[int] = []

    def begin(self, damages: list[int]) -> bool:
        """The moments of damage in the events that come; whether there is doubt of any."""
        self._damages, self._starts = damages, []
        return self.now or bool(damages)

    def certain(self, starts: list[int]) -> None:
        """The entries of certain starts among them."""
        self._starts = starts

    def at(self, i: int) -> bool:
        """Whether there is doubt at an entry."""
        k = bisect_left(self._damages, 2 * i)
        if not k and not self.now:
            return False
        damage = self._damages[k - 1] if k else -1
        start = bisect_left(self._starts, i)
        return not start or damage > 2 * self._starts[start - 1]

    def between(self, a: int, i: int) -> bool:
        """Whether damage stands after entry ``a`` and before or in entry ``i``."""
        k = bisect_left(self._damages, 2 * i)
        return k > 0 and self._damages[k - 1] > 2 * a

    def end(self, i: int) -> None:
        """The events up to entry ``i`` were taken."""
        self.now = self.at(i)
