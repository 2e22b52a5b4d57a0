"""What shows that a job did something: when its connection began, and what else it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.suspects.rules import Suspect
from binlogkit.analyses.suspects.units import OPS, WINDOW, Counted, Integers, integers
from binlogkit.constants import TableId

_HOUR, _DAY = 3600, 86_400
_MINUTE, _SECONDS = 60, 2  # a scheduler begins jobs in the first seconds of a minute
_AS_MANY = 0.9  # of the deleted rows were inserted elsewhere
_OTHERS, _FEW = 5, 10  # so many transactions of others, with so few rows: not a job's table alone
_ADDED, _DROPPED = (re.compile(rf"(?i)\b{verb}\s+PARTITION\b") for verb in ("ADD", "DROP"))


class Jobs:
    """What connections did, to judge suspects by."""

    def __init__(
        self, transactions: pa.Table, counted: Counted, boundaries: Sequence[Boundary]
    ) -> None:
        self._tx, self._thread, self._time = (
            integers(transactions[name]) for name in ("tx", "thread_id", "timestamp")
        )
        self._units = counted.units
        self._numbers = {name: number for number, name in enumerate(counted.tables)}
        self._grown: dict[TableId, list[tuple[int, bool, bool]]] = {}
        for b in boundaries:
            here = None if b.tx is None else self._of(b.tx)
            columns = b.alteration is not None and bool(b.alteration.added)
            partition = _ADDED.search(b.statement) is not None
            if here is not None and (columns or partition):
                grown = int(self._time[here]), columns, partition
                self._grown.setdefault(b.name, []).append(grown)
        self._known: dict[int, Integers] = {}

    def weigh(self, suspects: Iterable[Suspect]) -> None:
        """Make those less suspicious that a job seems to have done."""
        for suspect in suspects:
            if suspect.txs and (here := self._of(suspect.txs[0])) is not None:
                thread, when = int(self._thread[here]), int(self._time[here])
                self._weigh(suspect, thread, when)

    def filled(self, name: TableId, tx: int, thread: int, time: int) -> int:
        """How many rows of a table a connection inserts within an hour, if the table is its job's.

        0 where others change the table, too: what they wrote is lost.
        """
        number = self._numbers.get(name)
        if number is None:
            return 0
        units = self._units
        table = units.group // 3 == number
        sizes = units.rows[table & (units.thread != thread)]
        if len(sizes) >= _OTHERS and np.median(sizes) <= _FEW:
            return 0
        here = self._inserted(thread, time, time + _HOUR) & table & (units.tx >= tx)
        return int(units.rows[here].sum())

    def _inserted(self, thread: int, start: int, end: int) -> Any:
        units = self._units
        times = (units.time >= start) & (units.time <= end)
        return times & (units.thread == thread) & (units.group % 3 == OPS.index("insert"))

    def _of(self, tx: int) -> int | None:
        here = int(np.searchsorted(self._tx, tx))
        return here if here < len(self._tx) and self._tx[here] == tx else None

    def _weigh(self, suspect: Suspect, thread: int, when: int) -> None:
        suspect.since, times = when - _DAY, self._times(thread)
        scheduled = times[0] % _MINUTE <= _SECONDS and times[0] - self._time[0] > _MINUTE
        usual = suspect.rows or suspect.op == "alter" or suspect.share < 1
        if usual and scheduled and times[-1] - times[0] < _HOUR:
            suspect.less(0.5, "its connection began with a minute, as scheduled jobs do")
        if suspect.op == "delete" and suspect.rows:
            inserted = self._inserted(thread, when - WINDOW, when + WINDOW)
            if self._units.rows[inserted].sum() >= _AS_MANY * suspect.rows:
                suspect.less(0.4, "the same connection inserted as many rows")
        drops = _DROPPED.search(suspect.what[0] if suspect.what else "")
        for time, columns, partition in (g for n in suspect.names for g in self._grown.get(n, ())):
            near = 0 <= when - time <= _HOUR
            if near and columns and suspect.op == "update":
                suspect.less(0.3, "the table had got new columns just before")
                return
            if near and partition and drops:
                suspect.less(0.5, "another partition had been added just before")
                return

    def _times(self, thread: int) -> Integers:
        """The times of a connection's transactions."""
        if thread not in self._known:
            self._known[thread] = self._time[self._thread == thread]
        return self._known[thread]
