"""The events of one log, all of them at once, with what was met on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from binlogkit.errors import BinlogKitError, DamageError
from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid
from binlogkit.events.reader import read_events
from binlogkit.rows.losses import Loss
from binlogkit.rows.transactions import GTID_TYPES, Transaction
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.loose_events import LooseEvents
from tests.reference.binlogkit_reference.losses import Losses
from tests.reference.binlogkit_reference.memberships import Memberships, is_relay
from tests.reference.binlogkit_reference.tracker import Tracked

__all__ = ["StoredEvent", "StoredLog", "read_log"]


@dataclass
class StoredEvent:
    """``damages``: met before it, or in it; ``lost``: whether framing was lost before it;
    ``losses``: what it settles of what may be missing."""

    event: Event
    damages: list[DamageError]
    lost: bool
    losses: list[Loss] = field(default_factory=list)


@dataclass
class StoredLog:
    """``damages``, ``losses``: as of an event, behind the last one; ``error``: what ended the
    reading; ``loose``: whether the events have no file around them; ``open``: the transaction that
    the log ends in."""

    carrier: Carrier
    events: list[StoredEvent] = field(default_factory=list)
    damages: list[DamageError] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    error: BinlogKitError | None = None
    loose: bool = False
    open: Tracked | None = None

    @property
    def relay(self) -> bool:
        """Whether it is a relay log."""
        return any(is_relay(first.event) for first in self.events[:1])


def read_log(carrier: Carrier, on_damage: str, before: StoredLog | None) -> StoredLog:
    """Read one log to its end, or to what cannot be passed; ``before``: the log before it."""
    log = StoredLog(carrier)
    framing: list[DamageError] = []
    met: list[DamageError] = []

    def lost(error: DamageError) -> None:
        framing.append(error)
        met.append(error)

    try:
        for event in _events(log, on_damage, lost, met.append):
            log.events.append(StoredEvent(event, [*met], bool(framing)))
            framing.clear()
            met.clear()
    except BinlogKitError as error:
        log.error = error
    log.damages = met
    _look_for_losses(log, before, on_damage)
    return log


def _events(
    log: StoredLog,
    on_damage: str,
    lost: Callable[[DamageError], None],
    failed: Callable[[DamageError], None],
) -> Iterator[Event]:
    name = log.carrier.name
    with log.carrier.open() as file:
        log.loose = isinstance(file, LooseEvents)
        reader = LogReader(name, file, on_damage=on_damage, sink=lost)
        yield from read_events(reader, on_damage=on_damage, sink=failed)


def _look_for_losses(log: StoredLog, before: StoredLog | None, on_damage: str) -> None:
    """Find out what damage may have taken, and the transaction that the log ends in."""
    losses, memberships, gtid, begun = Losses(), Memberships(), None, False
    if before is not None and before.relay and log.relay:
        memberships.open = before.open
    for stored in log.events:
        event = stored.event
        if not losses.pending:
            losses.know(_copied(memberships.open), gtid, begun=begun)
        for error in stored.damages:
            losses.damaged(error, event if event.raw.pos == error.offset else None)
        stored.losses = [*losses.feed(event)] if on_damage == "report" else []
        memberships.take(event, lost=stored.lost)
        begun = event.raw.header.type_code in GTID_TYPES
        gtid = event.body if isinstance(event.body, Gtid) else gtid
    if not losses.pending:
        losses.know(_copied(memberships.open), gtid, begun=begun)
    for error in log.damages:
        losses.damaged(error)
    log.losses = [*losses.end()] if log.error is None else []
    log.open = memberships.open


def _copied(transaction: Transaction | None) -> Transaction | None:
    return transaction and replace(transaction, tables={**transaction.tables})
