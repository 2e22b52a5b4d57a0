"""What one reading learns of a file, and the findings that concern it as a whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from binlogkit.analyses.verify.finding import Finding, Grade, Place, finding, place_of
from binlogkit.analyses.verify.gtid_ledger import GtidLedger
from binlogkit.constants import EventFlag, EventType
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.control import Rotate, Stop
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.log_format import version_tuple
from binlogkit.sources.plausible import shift_of

__all__ = ["FileChecks", "FileFacts", "split_name"]

_FORMATS = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.START_EVENT_V3)
_NUMBERED = re.compile(r"^(?P<stem>.+)\.(?P<number>\d{6,})$")
_PACKED = (".gz", ".zst")
_OLD = (5, 3, 0)  # 5.2 was an alpha of what became 6.0 and then nothing
_ARTIFICIAL = int(EventFlag.ARTIFICIAL)
_FIRST_FOREIGN = 160  # MariaDB's own types begin here


def split_name(name: str) -> tuple[str, str, int | None]:
    """The folder, stem and number of a log's name: ``/data``, ``binlog``, 12."""
    folder, _, base = name.replace("\\", "/").rpartition("/")
    for ending in _PACKED:
        base = base.removesuffix(ending)
    match = _NUMBERED.match(base)
    return (folder, match["stem"], int(match["number"])) if match else (folder, base, None)


@dataclass(slots=True)
class FileFacts:
    """A file as one walk over it saw it.

    ``server_id``: of the first event; ``gtids``, ``previous``: of the transactions in it and, where
    it says so, before it; ``next_name``: what its ROTATE names; ``ended``: type of the last event
    that ends a log; ``damages``: how many damaged ranges; ``loose``: events without a file around
    them; ``alone``: statements in it that have nothing but their rows there.
    """

    name: str
    server_id: int = 0
    server_version: str | None = None
    relay: bool = False
    foreign: bool = False
    in_use: bool = False
    version: int = 4
    events: int = 0
    size: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    checksums: Counter[str] = field(default_factory=Counter)
    previous: GtidSet | None = None
    gtids: GtidLedger = field(default_factory=GtidLedger)
    next_name: str | None = None
    ended: str | None = None
    damages: int = 0
    servers: dict[int, None] = field(default_factory=dict)
    loose: bool = False
    alone: int = 0

    @property
    def has_gtid_events(self) -> bool:
        """Whether its server gives each transaction a GTID event, anonymous ones too (5.7.5+)."""
        return self.previous is not None and not self.foreign


class FileChecks:
    """Fed with every event of a file, in order."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.number = -1
        self._shift = 0
        self._unknown: Counter[str] = Counter()
        self._back: tuple[int, Place] | None = None
        self._latest = 0
        self._cache_positions = False

    def feed(self, event: Event) -> Iterator[Finding]:
        """Take the next event; what it shows."""
        facts, raw = self.facts, event.raw
        if raw.inner is None:
            self.number += 1
            yield from self._framed(event)
        self._note_time(event)
        body = event.body
        if isinstance(body, (FormatDescription, StartV3)):
            facts.server_version = facts.server_version or body.server_version
            facts.foreign |= "mariadb" in body.server_version.lower()
        elif isinstance(body, PreviousGtids) and facts.previous is None:
            facts.previous = GtidSet.parse(body.gtid_set)
        elif isinstance(body, Gtid):
            facts.servers.setdefault(raw.header.server_id)
        elif isinstance(body, OpaqueEvent) and not body.reason:
            self._unknown[event.type] += 1
            facts.foreign |= raw.header.type_code >= _FIRST_FOREIGN

    def _framed(self, event: Event) -> Iterator[Finding]:
        facts, raw = self.facts, event.raw
        header = raw.header
        facts.events += 1
        facts.checksums[raw.checksum] += 1
        facts.size = raw.end_pos
        made_up = bool(header.flags & _ARTIFICIAL) or not header.log_pos
        if self.number == 0:
            yield from self._first(event, place_of(event, self.number))
        elif header.type_code in _FORMATS and not facts.relay:
            at = place_of(event, self.number)
            yield finding("format_repeated", at, "a second format description")
        if facts.ended and not facts.relay and header.type_code not in _FORMATS:
            at = place_of(event, self.number)
            yield finding("events_after_end", at, f"it stands behind {facts.ended}")
            facts.ended = None
        if raw.version == 1:
            made_up = False
        if isinstance(event.body, Rotate) and not made_up:
            facts.next_name, facts.ended = event.body.name, event.type
        elif isinstance(event.body, Stop):
            facts.ended = event.type
        elif isinstance(event.body, Rotate):
            facts.relay = True  # up to 5.5 relay logs have no flag, but the source's made-up ROTATE
        elif not made_up:
            facts.ended = None
        if raw.checksum != "bad":
            yield from self._position(event)

    def _first(self, event: Event, at: Place) -> Iterator[Finding]:
        facts, header = self.facts, event.raw.header
        facts.server_id, facts.version = header.server_id, event.raw.version
        if header.type_code not in _FORMATS:
            yield finding("no_format_description", at, f"the first event is {event.type}")
        facts.relay = bool(header.flags & EventFlag.RELAY_LOG)
        if header.flags & EventFlag.IN_USE and event.raw.checksum != "bad":
            facts.in_use = True
            yield finding("in_use", at, "the flag IN_USE is set")

    def _position(self, event: Event) -> Iterator[Finding]:
        """An event that does not stand where its header says; told where the distance changes.

        Relay logs keep the source's positions, and up to 4.1 a transaction's cache had its own.
        """
        raw = event.raw
        shift = shift_of(raw.header, raw.pos, raw.version)
        if shift is None or shift == self._shift:
            return
        self._shift = shift
        at = place_of(event, self.number)
        if self.facts.relay or not shift:
            return
        if (
            shift == raw.pos
            and raw.version == 4
            and version_tuple(self.facts.server_version or "") < _OLD
        ):
            if not self._cache_positions:
                self._cache_positions = True
                yield finding("cache_positions", at, f"log_pos {raw.header.log_pos} at {raw.pos}")
            return
        grade = Grade.NOTE if raw.version < 4 else None
        distance = shift - (1 << 32) if shift >> 31 else shift
        text = f"log_pos {raw.header.log_pos} at {raw.pos} to {raw.end_pos}"
        yield finding("position_mismatch", at, f"{text}: {distance:+} bytes off", grade=grade)

    def _note_time(self, event: Event) -> None:
        facts, header = self.facts, event.raw.header
        stamp = header.timestamp
        if not stamp or event.raw.checksum == "bad" or header.flags & _ARTIFICIAL:
            return
        facts.first_timestamp = min(facts.first_timestamp or stamp, stamp)
        facts.last_timestamp = max(facts.last_timestamp or stamp, stamp)
        back = self._latest - stamp
        if back > (self._back[0] if self._back else 0):
            self._back = (back, place_of(event, self.number))
        self._latest = max(self._latest, stamp)

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
