"""What damage may have cost one log: found out from the events around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from binlogkit.errors import DamageError
from binlogkit.events.base import ParseContext
from binlogkit.events.gtid import Gtid
from binlogkit.rows.losses import GTID_EVENTS, Loss, type_of
from binlogkit.rows.soundness.events import WindowEvents, parsed
from binlogkit.rows.transactions import Transaction, belongs
from binlogkit.rows.window import GTIDS, REPLACED, Met
from binlogkit.sources.raw import RawEvent


class Watch:
    """Takes the events of one log; ``open``: the transaction that is open after those taken, at
    first the one that the log begins in."""

    def __init__(self) -> None:
        self.open: Transaction | None = None
        self._context = ParseContext()
        self._gtid: RawEvent | None = None  # the last GTID event that can be read
        self._begun = False  # the last event gives a GTID, if it can be read
        self._pending: Loss | None = None
        self._last: Gtid | None = None  # before that
        self._number = -1  # of the last transaction before it, or whose GTID event stands after it

    def feed(
        self, events: WindowEvents, met: Sequence[Met], rows: Sequence[Met]
    ) -> Iterator[tuple[int, Loss]]:
        """Take the next events, the damage before or in them, and which ``rows`` cannot be read:
        what may be missing, as far as they settle that, and by which entry."""
        self._context = events.window.context
        own = {i for i, error in met if int(events.positions[i]) == error.offset}
        at = 0
        moments = [*((i, 0, error) for i, error in met), *((i, 1, error) for i, error in rows)]
        for i, after, error in sorted(moments, key=itemgetter(0, 1)):
            yield from self._go_on(events, at, i + after, own)
            at = i + after
            raw = events.stretch.raw(i, events.file) if after or i in own else None
            self._damaged(error, events.stretch.ordinal + at, raw, events, at)
        yield from self._go_on(events, at, events.count, own)
        self.open, self._gtid, self._begun = self._before(events, events.count)
        if self._pending is None:
            self._number = int(events.tx.max())

    def end(self, damages: Sequence[DamageError], ordinal: int) -> list[Loss]:
        """The log ends, with damage after its last event; ``ordinal``: of the next one."""
        for error in damages:
            self._damaged(error, ordinal, None, None, 0)
        return [] if self._pending is None else [self._pending]

    def _damaged(
        self,
        error: DamageError,
        ordinal: int,
        raw: RawEvent | None,
        events: WindowEvents | None,
        at: int,
    ) -> None:
        """Damage before entry ``at``, or after all; ``raw``: the event that has it."""
        end = error.end
        if end is None:
            end = error.offset if raw is None else raw.end_pos
        if self._pending is not None:
            self._pending.end_pos = max(end, self._pending.end_pos)
            self._pending.event = None
            return
        running, gtid, begun = self._before(events, at)
        if at and events is not None:
            self._number = int(events.tx[:at].max())
        body = None if gtid is None else parsed(gtid, self._context).body
        self._last = body if isinstance(body, Gtid) else None
        self._pending = Loss(
            error.file, error.offset, end, None if raw is None else type_of(raw), ordinal=ordinal,
            sure=raw is not None and raw.checksum != "none", first=begun,
        )  # fmt: skip
        if running is not None:
            self._pending.cut = running.gtid or f"at {running.pos}"
            self._pending.tables = [".".join(name) for name in running.tables]

    def _go_on(
        self, events: WindowEvents, a: int, b: int, unread: set[int]
    ) -> Iterator[tuple[int, Loss]]:
        """The events from ``a`` to ``b`` stand after what may have taken something."""
        pending = self._pending
        if pending is None:
            return
        good = np.full(b - a, True) if events.bad is None else ~events.bad[a:b]
        settling = np.flatnonzero(GTIDS[events.types[a:b]] & good)
        end = a + int(settling[0]) if len(settling) else b
        good = good[: end - a]
        good[[i - a for i in unread if a <= i < end]] = False
        self._note(pending, events, a, good)
        if len(settling):
            self._pending, body = None, events.body(end)
            if self._last is not None and isinstance(body, Gtid):
                pending.count(self._last, body)
            yield end, pending

    def _note(
        self, pending: Loss, events: WindowEvents, a: int, theirs: np.ndarray[Any, Any]
    ) -> None:
        """Events from ``a`` on, before the next GTID; ``theirs``: which can be transactions'."""
        b = a + len(theirs)
        gtids, numbers = GTIDS[events.types[a:b]], events.tx[a:b]
        theirs &= ~gtids
        for item in events.among(a, b):
            theirs[item.i - a] &= belongs(item.event.body)
        if theirs.any():
            pending.goes_on = True
            if pending.cut is None and self._last is not None:
                begun = numbers[theirs & (numbers > self._number)]
                pending.headless |= bool(np.isin(begun, numbers[gtids], invert=True).any())
            if pending.cut or pending.event in GTID_EVENTS:
                named = map(".".join, events.tables(a, b))
                pending.tables = list(dict.fromkeys([*pending.tables, *named]))
        self._number = max(self._number, int(numbers[gtids].max(initial=-1)))

    def _before(
        self, events: WindowEvents | None, i: int
    ) -> tuple[Transaction | None, RawEvent | None, bool]:
        """What is open before an entry, the last GTID event, and whether it is the last event."""
        if events is None:
            return self.open, self._gtid, self._begun
        k, begun = int(np.searchsorted(events.gtids, i)), self._begun
        gtid = events.stretch.raw(int(events.gtids[k - 1]), events.file) if k else self._gtid
        return self._running(events, i), gtid, bool(GTIDS[events.types[i - 1]]) if i else begun

    def _running(self, events: WindowEvents, i: int) -> Transaction | None:
        """The transaction that is open before entry ``i``."""
        known = self.open
        number = int(events.tx[i - 1]) if i else -1 if known is None else known.number
        if known is not None and known.number != number:
            known = None
        record = events.records[events.records["number"] == number][:1]
        if number < 0 or not len(record):
            return known
        goes_on = bool((events.tx[i:] == number).any())
        if not (goes_on or record["open"][0] or record["notes"][0] & REPLACED):
            return None
        tables = {} if known is None else dict(known.tables)
        if i:
            tables |= events.tables(int(np.argmax(events.tx == number)), i)
        return Transaction(
            number, events.file, int(record["pos"][0]), events.gtid(number), tables=tables
        )
