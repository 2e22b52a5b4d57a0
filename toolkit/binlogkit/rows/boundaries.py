"""Where a log can be gone on with: at GTID events, with which transactions begin.

Behind damage a log is read event by event, until enough of it was sound; then the kernel goes on
with it. Where it meets the next damage, reading event by event begins with that transaction, so
that what comes before a damage is known as if all had been read so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binlogkit.constants import EventType
from binlogkit.rows.spans import Span, place_of
from binlogkit.rows.stretches import Stretch
from binlogkit.rows.transactions import GTID_TYPES
from binlogkit.sources.raw import RawEvent

__all__ = ["Boundary", "WayBack", "last_boundary"]

# Sound events in a row before the kernel goes on: they take longer to read than it takes to start.
ENOUGH = 32


@dataclass(frozen=True, slots=True)
class Boundary:
    """The offset of a transaction's GTID event, and the transaction's number."""

    offset: int
    number: int


def last_boundary(stretch: Stretch) -> Boundary | None:
    """The last one that was scanned in a stretch."""
    if stretch.outer is not None:
        return None
    entries = stretch.entries
    for i in np.flatnonzero(np.isin(entries["type"], GTID_TYPES))[-1:].tolist():
        return Boundary(stretch.origin + int(entries["offset"][i]), int(entries["tx"][i]))
    return None


class WayBack:
    """Looks, behind what the kernel was not made for, for a boundary from which it is again."""

    def __init__(self) -> None:
        self._damages = self._events = 0
        self._closed = False

    def at(self, raw: RawEvent, span: Span | None, damages: int) -> Boundary | None:
        """Take the next event; the boundary that it is, where the kernel can go on.

        ``span``: where the transaction lies that is open here or comes next; ``damages``: how many
        were told up to here.
        """
        code = raw.header.type_code
        if code == EventType.FORMAT_DESCRIPTION_EVENT:
            self._closed = True  # the kernel would begin with the log's first
        if damages != self._damages:
            self._damages, self._events = damages, 0
        self._events += 1
        if self._closed or self._events <= ENOUGH or code not in GTID_TYPES:
            return None
        sound = raw.checksum == "ok" and raw.inner is None
        if not sound or span is None or span.start != place_of(raw):
            return None
        return Boundary(raw.pos, span.transaction.number)
