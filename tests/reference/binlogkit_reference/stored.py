"""The events of one log, all of them at once, with what was met on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from binlogkit.constants import EventFlag
from binlogkit.errors import BinlogKitError, DamageError
from binlogkit.events.base import Event
from binlogkit.events.reader import read_events
from binlogkit.rows.losses import Loss, Losses
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.loose_events import LooseEvents

__all__ = ["StoredEvent", "StoredLog", "read_log"]


@dataclass
class StoredEvent:
    """``damages``: met before it, or in it; ``lost``: whether framing was lost before it;
    ``losses``: what it settles of what may be missing."""

    event: Event
    damages: list[DamageError]
    lost: bool
    losses: list[Loss]


@dataclass
class StoredLog:
    """``damages``, ``lost``, ``losses``: as of an event, behind the last one; ``error``: what ended
    the reading; ``loose``: whether the events have no file around them."""

    carrier: Carrier
    events: list[StoredEvent] = field(default_factory=list)
    damages: list[DamageError] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    error: BinlogKitError | None = None
    loose: bool = False

    @property
    def relay(self) -> bool:
        """Whether its first event says that it is a relay log (5.6+)."""
        first = self.events[:1]
        return any(e.event.raw.header.flags & EventFlag.RELAY_LOG for e in first)


def read_log(carrier: Carrier, on_damage: str) -> StoredLog:
    """Read one log to its end, or to what cannot be passed."""
    found = StoredLog(carrier)
    framing: list[DamageError] = []
    met: list[DamageError] = []

    def lost(error: DamageError) -> None:
        framing.append(error)
        met.append(error)

    losses = Losses()
    try:
        with carrier.open() as file:
            found.loose = isinstance(file, LooseEvents)
            reader = LogReader(carrier.name, file, on_damage=on_damage, sink=lost)
            for event in read_events(reader, on_damage=on_damage, sink=met.append):
                settled = [*_losses(losses, met, event)] if on_damage == "report" else []
                found.events.append(StoredEvent(event, [*met], bool(framing), settled))
                framing.clear()
                met.clear()
    except BinlogKitError as error:
        found.error = error
    else:
        found.losses = [*_losses(losses, met, None)]
    found.damages = met
    return found


def _losses(
    losses: Losses, damages: Iterable[DamageError], event: Event | None
) -> Iterator[Loss]:
    """Take what was met before or in ``event``, and the event; None at the log's end."""
    for error in damages:
        own = event is not None and event.raw.pos == error.offset
        if own or error.end is not None:
            losses.damaged(error, event if own else None)
    yield from losses.end() if event is None else losses.feed(event)
