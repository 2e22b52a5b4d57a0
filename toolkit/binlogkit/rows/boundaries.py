"""Where a log can be gone on with: at GTID events, with which transactions begin.

Behind damage a log is read event by event, until enough of it was sound; then the kernel goes on
with it. Where it meets the next damage, reading event by event begins a transaction earlier, so
that what comes before a damage is known as if all had been read so.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from binlogkit.constants import EventType
from binlogkit.rows.spans import Span, place_of
from binlogkit.rows.stretches import Stretch
from binlogkit.rows.transactions import GTID_TYPES
from binlogkit.sources.raw import RawEvent

__all__ = ["Boundaries", "Boundary", "WayBack"]

# Sound events in a row before the kernel goes on: reading them takes about as long as its start.
ENOUGH = 256


@dataclass(frozen=True, slots=True)
class Boundary:
    """The offset of a transaction's GTID event, and the transaction's number."""

    offset: int
    number: int


class Boundaries:
    """The last two boundaries of what was scanned."""

    def __init__(self, *known: Boundary) -> None:
        self._last = deque(known, 2)

    @property
    def before(self) -> Boundary | None:
        """The last but one."""
        return self._last[0] if len(self._last) == 2 else None

    def note(self, stretch: Stretch) -> None:
        """Take what was handed over."""
        if stretch.outer is not None:
            return
        entries = stretch.entries
        for i in np.flatnonzero(np.isin(entries["type"], GTID_TYPES))[-2:].tolist():
            offset = stretch.origin + int(entries["offset"][i])
            self._last.append(Boundary(offset, int(entries["tx"][i])))


class WayBack:
    """Looks, behind what the kernel was not made for, for a boundary from which it is again."""

    def __init__(self) -> None:
        self._damages = self._events = 0
        self._last: Boundary | None = None
        self._closed = False

    def at(
        self, raw: RawEvent, span: Span | None, damages: int
    ) -> tuple[Boundary, Boundary] | None:
        """Take the next event; the boundary that it is, behind the one before it.

        ``span``: where the transaction lies that is open here or comes next; ``damages``: how many
        were told up to here.
        """
        code = raw.header.type_code
        if code == EventType.FORMAT_DESCRIPTION_EVENT:
            self._closed = True  # the kernel would begin with the log's first
        if damages != self._damages:
            self._damages, self._events, self._last = damages, 0, None
        self._events += 1
        begins = span is not None and span.start == place_of(raw) and raw.inner is None
        if self._closed or span is None or not begins or code not in GTID_TYPES:
            return None
        if raw.checksum != "ok":
            return None
        before, self._last = self._last, Boundary(raw.pos, span.transaction.number)
        return (before, self._last) if before is not None and self._events > ENOUGH else None
