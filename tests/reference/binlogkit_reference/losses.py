"""What may be missing around damage, event by event."""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit.errors import DamageError
from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid
from binlogkit.events.table_map import TableMap
from binlogkit.rows.losses import GTID_EVENTS, Loss, type_of
from binlogkit.rows.transactions import GTID_TYPES, Transaction, belongs, transaction_of

__all__ = ["Losses"]


class Losses:
    """Fed with every event and every damage of one log, in order; gives what may be missing."""

    def __init__(self) -> None:
        self._open: Transaction | None = None
        self._last: Gtid | None = None
        self._pending: Loss | None = None
        self._begun = False  # the last event gave a GTID

    @property
    def pending(self) -> bool:
        """Whether what a range may have taken is not known yet: events must be fed on."""
        return self._pending is not None

    def know(self, running: Transaction | None, last: Gtid | None, *, begun: bool) -> None:
        """Say what fed events would have told: the transaction that is open, the last GTID.

        ``begun``: whether it stands in the last event.
        """
        self._open, self._last, self._begun = running, last, begun

    def damaged(self, error: DamageError, event: Event | None = None, ordinal: int = 0) -> None:
        """A range was gone past, or ``event`` could not be read, after the events fed."""
        end = error.end
        if end is None:
            end = error.offset if event is None else event.raw.end_pos
        if self._pending is not None:
            self._pending.end_pos = max(end, self._pending.end_pos)
            self._pending.event = None
            return
        self._pending = Loss(
            error.file, error.offset, end, type_of(event.raw) if event else None, ordinal=ordinal,
            sure=event is not None and event.raw.checksum != "none", first=self._begun,
        )  # fmt: skip
        if (running := self._open) is not None:
            self._pending.cut = running.gtid or f"at {running.pos}"
            self._pending.tables = [f"{db}.{table}" for db, table in running.tables]

    def feed(self, event: Event) -> Iterator[Loss]:
        """Take the next event; the loss that it settles."""
        body, pending = event.body, self._pending
        is_gtid = event.raw.header.type_code in GTID_TYPES
        if pending is not None and event.raw.checksum != "bad":
            if is_gtid:
                yield self._settled(pending, body if isinstance(body, Gtid) else None)
            elif belongs(body):
                self._note(pending, event)
        if isinstance(body, Gtid):
            self._last = body
        self._begun = is_gtid
        running, ended = transaction_of(event, self._open)
        self._open = None if ended else running

    def end(self) -> Iterator[Loss]:
        """The log ends."""
        if self._pending is not None:
            yield self._settled(self._pending, None)

    def _note(self, pending: Loss, event: Event) -> None:
        """An event of a transaction stands after the range, before any new transaction."""
        if self._open is None and pending.cut is None and self._last is not None:
            pending.headless = True
        pending.goes_on = True
        if isinstance(event.body, TableMap) and (pending.cut or pending.event in GTID_EVENTS):
            name = f"{event.body.db}.{event.body.table}"
            if name not in pending.tables:
                pending.tables.append(name)

    def _settled(self, pending: Loss, following: Gtid | None) -> Loss:
        self._pending = None
        last = self._last
        if last is not None and following is not None:
            pending.count(last, following)
        return pending
