"""What damage may have taken from one log: found out from the windows around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from binlogkit.constants import EventType
from binlogkit.errors import DamageError
from binlogkit.events.base import Event, ParseContext
from binlogkit.events.gtid import Gtid
from binlogkit.events.reader import EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.rows.gtid_ledger import gtid_of
from binlogkit.rows.losses import Loss, Losses
from binlogkit.rows.transactions import GTID_TYPES, Transaction
from binlogkit.rows.window import REPLACED, Stretch, Window
from binlogkit.sources.raw import RawEvent

#: Damage, and the entry before or in which it stands.
Met = tuple[int, DamageError]

_GTID_TYPE = np.zeros(256, bool)
_GTID_TYPE[[int(code) for code in GTID_TYPES]] = True


class Watch:
    """Takes the windows of one log.

    ``every``: also damage whose end nobody knows; ``ordinal``: of the first event; ``open``: the
    transaction that is open after the windows taken, at first the one that the log begins in.
    """

    def __init__(
        self,
        file: str,
        *,
        every: bool = False,
        ordinal: int = 0,
        running: Transaction | None = None,
    ) -> None:
        self._file = file
        self._every = every
        self._context = ParseContext()
        self._losses = Losses()
        self._next = ordinal  # of the next event
        self._gtid: RawEvent | None = None  # the last GTID event of the windows before
        self._begun = False  # the last event of the windows before gives a GTID
        self.open = running

    def take(
        self, window: Window, damages: Sequence[Met], rows: Sequence[Met] = ()
    ) -> list[tuple[int, Loss]]:
        """Take the next window, what framing and reading its events met, and which ``rows`` cannot
        be read: what may be missing, as far as it settles that, and by which entry."""
        found: list[tuple[int, Loss]] = []
        self._context = window.context
        if damages or rows or self._losses.pending:
            found = list(self._around(window, [*damages], [*rows]))
        if window.stretch is not None and len(window.stretch.entries):
            self._gtid = self._last_gtid(window, len(window.stretch.entries))
            self.open = self._running(window, len(window.stretch.entries))
            self._next = window.stretch.ordinal + len(window.stretch.entries)
            self._begun = bool(_GTID_TYPE[window.stretch.entries["type"][-1]])
        return found

    def end(self, damages: Sequence[DamageError] = ()) -> list[Loss]:
        """The log ends, with damage after its last event."""
        for error in damages:
            self._know(self.open, self._gtid, begun=self._begun)
            self._losses.damaged(error, None, self._next)
        return list(self._losses.end())

    def _around(
        self, window: Window, damages: list[Met], rows: list[Met]
    ) -> Iterator[tuple[int, Loss]]:
        stretch = window.stretch
        looked = {item.i: item.event for item in window.looked}
        count = 0 if stretch is None else len(stretch.entries)
        i = 0
        while i <= count:
            if not self._losses.pending:
                if not damages and not rows:
                    return
                i = max(i, min(told[0][0] for told in (damages, rows) if told))
            event = None
            if stretch is not None and i < count:
                event = looked.get(i) or self._parsed(stretch.raw(i, self._file))
            while damages and damages[0][0] <= i:
                error = damages.pop(0)[1]
                own = event is not None and event.raw.pos == error.offset
                if own or self._every or error.end is not None:
                    self._damaged(window, i, error, event if own else None)
            if event is not None:
                for loss in self._losses.feed(event):
                    yield i, loss
            while rows and rows[0][0] <= i:
                self._damaged(window, i + 1, rows.pop(0)[1], event)
            i += 1

    def _damaged(self, window: Window, i: int, error: DamageError, event: Event | None) -> None:
        """Damage before entry ``i``; ``event``: the one that has it."""
        if not self._losses.pending:
            stretch, begun = window.stretch, self._begun
            if stretch is not None and i:
                begun = bool(_GTID_TYPE[stretch.entries["type"][i - 1]])
            self._know(self._running(window, i), self._last_gtid(window, i), begun=begun)
        at = self._next if window.stretch is None else window.stretch.ordinal + i
        self._losses.damaged(error, event, at)

    def _know(self, running: Transaction | None, gtid: RawEvent | None, *, begun: bool) -> None:
        body = None if gtid is None else self._parsed(gtid).body
        if not self._losses.pending:
            self._losses.know(running, body if isinstance(body, Gtid) else None, begun=begun)

    def _parsed(self, raw: RawEvent) -> Event:
        """An event that the reading has not read; what is wrong with it is reported elsewhere."""
        context = ParseContext(
            self._context.version, self._context.server_version,
            dict(self._context.post_header_lengths),
        )  # fmt: skip
        return EventParser(lambda _: None, context).parse(raw)

    def _last_gtid(self, window: Window, i: int) -> RawEvent | None:
        """The last GTID event before entry ``i`` that can be read."""
        stretch = window.stretch
        if stretch is None:
            return self._gtid
        good = _GTID_TYPE[stretch.entries["type"][:i]]
        for item in window.looked:
            good[item.i : item.i + 1] &= isinstance(item.event.body, Gtid)
        found = np.flatnonzero(good)
        return stretch.raw(int(found[-1]), self._file) if len(found) else self._gtid

    def _running(self, window: Window, i: int) -> Transaction | None:
        """The transaction that is open before entry ``i``."""
        stretch, number = window.stretch, -1
        if stretch is not None and i:
            number = int(stretch.entries["tx"][i - 1])
        elif self.open is not None:
            number = self.open.number
        if number < 0:
            return None
        record = window.transactions[window.transactions["number"] == number]
        if stretch is None or not len(record):
            return self.open if self.open is not None and self.open.number == number else None
        goes_on = bool((stretch.entries["tx"][i:] == number).any())
        if not (goes_on or record["open"][0] or record["notes"][0] & REPLACED):
            return None
        known = window.facts.gtids.get(number)
        gtid = gtid_of(record[0]) if known is None else known[0]
        running = Transaction(
            number, self._file, int(record["pos"][0]), gtid, explicit=bool(record["explicit"][0])
        )  # fmt: skip
        if self.open is not None and self.open.number == number:
            running.tables |= self.open.tables
        for name in self._tables(window, stretch, number, i):
            running.tables.setdefault(name)
        return running

    def _tables(
        self, window: Window, stretch: Stretch, number: int, end: int
    ) -> Iterator[tuple[str, str]]:
        """The tables that a transaction names before entry ``end``, in order."""
        entries = stretch.entries[:end]
        maps = (entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["tx"] == number)
        _, firsts = np.unique(entries["slot"][maps], return_index=True)
        found: list[tuple[int, Transaction | None]] = [
            (at, None) for at in np.flatnonzero(maps)[firsts].tolist()
        ]
        told = [item for item in window.looked if item.number == number and item.i < end]
        found += [(item.i, item.told) for item in told if item.told is not None]
        for at, known in sorted(found, key=lambda one: one[0]):
            body = None if known else self._parsed(stretch.raw(at, self._file)).body
            if isinstance(body, TableMap):
                yield body.db, body.table
            elif known is not None:
                yield from known.tables
