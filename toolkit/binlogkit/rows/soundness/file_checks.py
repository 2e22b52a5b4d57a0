"""What a file shows by itself: its ends, positions, clocks, checksums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from binlogkit.constants import EventFlag, EventType
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.control import Rotate, Stop
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.soundness.events import Found, WindowEvents
from binlogkit.rows.soundness.finding import FileFacts, Finding, Grade, Place, finding
from binlogkit.rows.window import Looked
from binlogkit.sources.log_format import version_tuple
from binlogkit.sources.plausible import MODULUS

_FORMATS = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.START_EVENT_V3)
_OLD = (5, 3, 0)  # 5.2 was an alpha of what became 6.0 and then nothing
_FIRST_FOREIGN = 160  # MariaDB's own types begin here
_NO_CHANGE = range(160, 165)  # of these: those that change no rows and no tables
_RANK = 1


class FileChecks:
    """Takes the events of a file in order."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.number = -1
        self._shift = 0
        self._unknown: Counter[str] = Counter()
        self._back: tuple[int, Place] | None = None
        self._latest = 0
        self._cache_positions = False

    def turns(self, item: Looked) -> bool:
        """Whether an event changes how it and what follows are checked."""
        facts, body = self.facts, item.event.body
        if isinstance(body, (FormatDescription, StartV3)):
            return not facts.server_version or (not facts.foreign and _is_foreign(body))
        if isinstance(body, Rotate):
            return not facts.relay
        if isinstance(body, PreviousGtids):
            return facts.previous is None
        return _is_unknown(item.event) and not facts.foreign and _is_foreign(item.event)

    def feed(self, events: WindowEvents, a: int, b: int) -> Iterator[Found]:
        """Take the events from ``a`` to ``b``, of which only the only one turns anything."""
        framed, items = events.framed, events.among(a, b)
        count = b - a if framed is None else int(np.count_nonzero(framed[a:b]))
        if count:
            i = a if framed is None else a + int(np.argmax(framed[a:b]))
            if self.number < 0:
                yield from self._first(events, i)
            yield from self._repeated(events, items)
            yield from self._closing(events, a, b, items)
            self._count(events, a, b, count, items)
            self.number = events.number(b - 1)
        self._note_times(events, a, b)
        self._note(events, a, b, items)
        yield from self._unread(events, items)
        if count:
            yield from self._positions(events, a, b)

    def _first(self, events: WindowEvents, i: int) -> Iterator[Found]:
        facts, entry, at = self.facts, events.stretch.entries[i], events.place(i)
        facts.server_id, facts.version = int(entry["server_id"]), events.version
        if entry["type"] not in _FORMATS:
            yield i, _RANK, finding("no_format_description", at, f"the first event is {at.type}")
        facts.relay = bool(entry["flags"] & EventFlag.RELAY_LOG)
        if entry["flags"] & EventFlag.IN_USE and not (events.bad is not None and events.bad[i]):
            facts.in_use = True
            yield i, _RANK, finding("in_use", at, "the flag IN_USE is set")

    def _repeated(self, events: WindowEvents, items: list[Looked]) -> Iterator[Found]:
        for item in items:
            again = item.event.raw.header.type_code in _FORMATS and events.number(item.i) > 0
            if again and item.event.raw.inner is None and not self.facts.relay:
                at = events.place(item.i)
                yield item.i, _RANK, finding("format_repeated", at, "a second format description")

    def _closing(
        self, events: WindowEvents, a: int, b: int, items: list[Looked]
    ) -> Iterator[Found]:
        """STOP and ROTATE end a log; what stands after them."""
        facts, at = self.facts, a
        for item in items:
            body, raw = item.event.body, item.event.raw
            if not isinstance(body, (Rotate, Stop)) or raw.inner is not None:
                continue
            yield from self._behind_end(events, at, item.i)
            at = item.i + 1
            if facts.ended and not facts.relay:
                yield self._after_end(events, item.i)
            made_up = raw.header.flags & EventFlag.ARTIFICIAL or not raw.header.log_pos
            if isinstance(body, Stop):
                facts.ended = item.event.type
            elif not made_up or raw.version == 1:
                facts.next_name, facts.ended = body.name, item.event.type
            else:
                facts.relay = True  # up to 5.5 relay logs have no flag, but this made-up ROTATE
        yield from self._behind_end(events, at, b)

    def _behind_end(self, events: WindowEvents, a: int, b: int) -> Iterator[Found]:
        """Other events from ``a`` to ``b``: after the log's end or, made up, beside it."""
        if not self.facts.ended or a == b:
            return
        others = events.types[a:b] != _FORMATS[0]
        others &= events.types[a:b] != _FORMATS[1]
        settles = np.full(b - a, True)
        if events.version > 1:
            settles = ~events.artificial[a:b] & (events.stretch.entries["log_pos"][a:b] != 0)
        if not self.facts.relay:
            settles |= others
        if events.framed is not None:
            settles &= events.framed[a:b]
        if settles.any():
            i = a + int(np.argmax(settles))
            if others[i - a] and not self.facts.relay:
                yield self._after_end(events, i)
            self.facts.ended = None

    def _after_end(self, events: WindowEvents, i: int) -> Found:
        found = finding("events_after_end", events.place(i), f"it comes after {self.facts.ended}")
        self.facts.ended = None
        return i, _RANK, found

    def _count(self, events: WindowEvents, a: int, b: int, count: int, items: list[Looked]) -> None:
        facts = self.facts
        facts.events += count
        ends = events.ends[a:b] if events.framed is None else events.ends[a:b][events.framed[a:b]]
        facts.size = int(ends[-1])
        if events.raws is not None:
            facts.checksums.update(raw.checksum for raw in events.raws[a:b] if raw.inner is None)
            return
        usual = "ok" if events.stretch.checked else "none"
        facts.checksums[usual] += count
        for raw in (item.event.raw for item in items):
            if raw.inner is None and raw.checksum != usual:  # a format description has its own way
                facts.checksums[usual] -= 1
                facts.checksums[raw.checksum] += 1

    def _note(self, events: WindowEvents, a: int, b: int, items: list[Looked]) -> None:
        """What single events say."""
        facts = self.facts
        for item in items:
            body = item.event.body
            if isinstance(body, (FormatDescription, StartV3)):
                facts.server_started |= not facts.server_version and body.created > 0
                facts.server_version = facts.server_version or body.server_version
                facts.foreign |= _is_foreign(body)
            elif isinstance(body, PreviousGtids) and facts.previous is None:
                facts.previous = GtidSet.parse(body.gtid_set)
            elif _is_unknown(item.event):
                facts.foreign |= _is_foreign(item.event)
        gtids = events.gtids
        if a or b < events.count:
            gtids = gtids[np.searchsorted(gtids, a) : np.searchsorted(gtids, b)]
        if len(gtids):
            servers = events.stretch.entries["server_id"][gtids]
            if (servers == servers[0]).all():
                servers = servers[:1]
            _, firsts = np.unique(servers, return_index=True)
            facts.servers.update(dict.fromkeys(servers[np.sort(firsts)].tolist()))

    def _unread(self, events: WindowEvents, items: list[Looked]) -> Iterator[Found]:
        """Events of unknown types: a replica stops at those that are not marked as ignorable."""
        for item in items:
            if not _is_unknown(item.event):
                continue
            header = item.event.raw.header
            if header.flags & EventFlag.IGNORABLE or header.type_code in _NO_CHANGE:
                self._unknown[item.event.type] += 1
            else:
                found = f"one {item.event.type} is not read"
                yield item.i, _RANK, finding("unread_event", events.place(item.i), found)

    def _note_times(self, events: WindowEvents, a: int, b: int) -> None:
        facts = self.facts
        stamps = events.stretch.entries["timestamp"][a:b]
        timed = (stamps != 0) & ~events.artificial[a:b]
        if events.bad is not None:
            timed &= ~events.bad[a:b]
        places: np.ndarray[Any, Any] | None = None
        if not timed.all():
            places = np.flatnonzero(timed)
            stamps = stamps[places]
        if not len(stamps):
            return
        first, last = int(stamps.min()), int(stamps.max())
        facts.first_timestamp = min(facts.first_timestamp or first, first)
        facts.last_timestamp = max(facts.last_timestamp or last, last)
        if first < self._latest or (stamps[1:] < stamps[:-1]).any():
            latest = np.maximum.accumulate(np.append(self._latest, stamps[:-1]))
            back = latest - stamps
            k = int(np.argmax(back))
            if back[k] > (self._back[0] if self._back else 0):
                i = a + (k if places is None else int(places[k]))
                self._back = (int(back[k]), events.place(i))
        self._latest = max(self._latest, last)

    def _positions(self, events: WindowEvents, a: int, b: int) -> Iterator[Found]:
        """Events that do not stand where their headers say; reported where the distance changes.

        Relay logs keep the source's positions, and up to 4.1 a transaction's cache had its own.
        """
        if events.version == 1:
            return
        at = (events.positions if events.version == 3 else events.ends)[a:b]
        log_pos = events.stretch.entries["log_pos"][a:b]
        placed = log_pos != 0
        for mask in (events.framed, None if events.bad is None else ~events.bad):
            if mask is not None:
                placed &= mask[a:b]
        shift = (at - log_pos) & MODULUS
        changed = placed & (shift != self._shift)
        if not changed.any():
            return
        places = np.flatnonzero(placed)
        shifts = shift[places]
        changes = shifts != np.append(self._shift, shifts[:-1])
        self._shift = int(shifts[-1])
        if not self.facts.relay:
            for k in np.flatnonzero(changes & (shifts != 0)).tolist():
                yield from self._shifted(events, a + int(places[k]), int(shifts[k]))

    def _shifted(self, events: WindowEvents, i: int, shift: int) -> Iterator[Found]:
        at, log_pos = events.place(i), int(events.stretch.entries["log_pos"][i])
        old = version_tuple(self.facts.server_version or "") < _OLD
        if shift == at.pos and events.version == 4 and old:
            if not self._cache_positions:
                self._cache_positions = True
                yield i, _RANK, finding("cache_positions", at, f"log_pos {log_pos} at {at.pos}")
            return
        grade = Grade.NOTE if events.version < 4 else None
        distance = shift - (1 << 32) if shift >> 31 else shift
        text = f"log_pos {log_pos} at {at.pos} to {at.end_pos}: {distance:+} bytes off"
        yield i, _RANK, finding("position_mismatch", at, text, grade=grade)

    def end(self, *, cut: bool) -> Iterator[Finding]:
        """What the whole file shows. ``cut``: its last bytes are damaged or were not read."""
        facts, whole = self.facts, Place(self.facts.name)
        tail = Place(facts.name, facts.size, facts.size)
        if not facts.events and not facts.damages and not facts.loose:
            yield finding("no_events", whole, "the file holds no event")
        if facts.loose:
            yield finding("no_file", whole, f"{facts.events} events without a log file around them")
        if facts.loose and facts.alone:
            yield finding("rows_alone", whole, f"the rows of {facts.alone} statements")
        if facts.ended is None and not cut and facts.events and not facts.loose:
            yield finding("not_closed", tail, "the log ends without STOP or ROTATE")
        unchecked = facts.checksums["none"]
        if unchecked:
            text = f"{unchecked} of {facts.events} events have no checksum"
            yield finding("no_checksums", whole, text)
        if facts.relay:
            yield finding("relay_log", whole, "it is a replica's relay log")
        if facts.foreign:
            yield finding("foreign_log", whole, f"written by {facts.server_version or 'MariaDB'}")
        for name, count in sorted(self._unknown.items()):
            yield finding("unknown_event", whole, f"{count} × {name}")
        if self._back is not None:
            text = f"by up to {self._back[0]} seconds"
            yield finding("time_goes_back", self._back[1], text)
        if len(facts.servers) > 1:
            ids = ", ".join(map(str, facts.servers))
            yield finding("several_servers", whole, f"transactions of servers {ids}")


def _is_unknown(event: Event) -> bool:
    return isinstance(event.body, OpaqueEvent) and not event.body.reason


def _is_foreign(said: Any) -> bool:
    """Whether a format description, or the type of an event, is MariaDB's."""
    if isinstance(said, (FormatDescription, StartV3)):
        return "mariadb" in said.server_version.lower()
    return bool(said.raw.header.type_code >= _FIRST_FOREIGN)
