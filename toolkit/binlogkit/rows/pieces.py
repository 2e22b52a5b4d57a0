"""Logs in pieces that the kernel decodes: stretches of events with their tables' schemas.

A log whose framing, version or events the kernel's scan is not made for is read event by event
(``rows/walk.py``), as a whole or from the first such event on, until the kernel can go on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.index import Index
from binlogkit.constants import EventType
from binlogkit.errors import DamageError
from binlogkit.events.base import Event, parser_of
from binlogkit.events.table_map import TableMap
from binlogkit.rows.boundaries import Boundary, WayBack, last_boundary
from binlogkit.rows.detours import Cause, Detour, counted
from binlogkit.rows.scan_walk import ScanWalk
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.spans import Place
from binlogkit.rows.stretches import ENTRIES, Facts, Obstacle, Stretch
from binlogkit.rows.transactions import Transaction
from binlogkit.rows.walk import SEQ_SHIFT, LogWalk, Step
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.raw import EventHeader, RawEvent
from binlogkit.sources.tasks import Submit

__all__ = ["Piece", "pieces_of", "transactions_ahead"]

# Behind which the kernel may go on.
_PASSING = (Cause.DAMAGE, Cause.TABLE_CHANGE)
_NO_MAP = 8
_ID_WIDTH = 6


@dataclass(slots=True)
class Piece:
    """A stretch of one log; None at the log's end, or where it goes on as steps.

    ``schemas``: by slot, None for a table that is not known; ``transactions``: what began or went
    on since the piece before, as the kernel's TRANSACTION, one that is open last; ``begun``: where
    the scan did, the log's first transaction or a later one; ``whole``: whether no steps follow.
    """

    carrier: Carrier
    first: bool
    last: bool
    server_version: str
    facts: Facts
    transactions: np.ndarray[Any, Any]
    begun: Boundary
    whole: bool
    stretch: Stretch | None
    schemas: list[TableSchema | None]
    damages: list[DamageError] = field(default_factory=list)


class _Tables:
    """The schemas of a log's table maps, by the slots that the scan gave them."""

    def __init__(self, walk: LogWalk, carrier: Carrier, *, again: bool) -> None:
        self._walk = walk
        self._ids = walk.maps if again else {}  # that stood for a table before
        self._carrier = carrier
        self.scan: ScanWalk
        self.schemas: list[TableSchema | None] = []
        self._latest: dict[int, TableSchema] = {}
        self._before: dict[int, TableSchema | None] = {}  # what a slot was before this stretch
        self._older: set[int] = set()  # slots whose schema is one of before the last change
        self._stale = False
        self._seen = 0

    def look(self, event: Event, ordinal: int, index: Index) -> bool:
        """Take an event that changes what is known; tables before it are resolved first."""
        walk, raw = self._walk, event.raw
        known = walk.tables.generation
        entries = np.frombuffer(index.copied(self._seen), ENTRIES)
        if len(entries):  # the event is the last of them
            inside = raw.inner is not None
            self.resolve(entries, raw.pos - int(entries["offset"][-1]), raw.pos if inside else None)
        self._seen = len(index)
        walk.look(Step(event, ordinal << SEQ_SHIFT, False, False))
        self._stale = self._stale or walk.tables.generation != known
        return self._stale

    def resolve(self, entries: np.ndarray[Any, Any], origin: int, outer: int | None) -> None:
        """Resolve the tables of ``entries`` that are not known yet, in their order.

        ``origin``: the log's offset of their buffer, ``outer``: that of the payload they are in.
        """
        slots = entries["slot"]
        most = int(slots.max(initial=-1))
        if most < 0:
            return
        self.schemas += [None] * (most + 1 - len(self.schemas))
        used = np.zeros(most + 1, bool)
        used[slots] = True  # -1 may say so of the last one, which is used
        wanted = [
            slot
            for slot in np.flatnonzero(used).tolist()
            if self.schemas[slot] is None or slot in self._older
        ]
        if not wanted:
            return
        mapped = entries["type"] == EventType.TABLE_MAP_EVENT
        firsts = np.zeros(most + 1, np.int64)
        firsts[slots[::-1]] = np.arange(len(slots))[::-1]
        firsts[most] = np.argmax(slots == most)
        again = np.zeros(most + 1, bool)
        again[slots[mapped]] = True
        for slot in sorted(wanted, key=firsts.__getitem__):
            first = int(firsts[slot])
            pos = origin + int(entries["offset"][first]) if outer is None else outer
            self._resolve(slot, bool(mapped[first]), bool(again[slot]), pos)

    def _resolve(self, slot: int, mapped: bool, again: bool, pos: int) -> None:
        """``mapped``: a table map comes before rows; ``again``: there is one at all."""
        if mapped and slot not in self._older:
            self._take(slot, self._schema(slot, pos))
        elif slot in self._latest:
            # The map stands before a change of tables, of which its rows know nothing.
            if again:
                raise Obstacle(pos, cause=Cause.TABLE_CHANGE)
            self._take(slot, self._latest[slot])
            self._older.add(slot)

    def _take(self, slot: int, schema: TableSchema) -> None:
        self._before.setdefault(slot, self._latest.get(slot))
        self.schemas[slot] = self._latest[slot] = schema

    def delivered(self) -> None:
        """A stretch was handed over."""
        self._seen = 0
        self._before.clear()
        if self._stale:
            self.schemas, self._stale = [], False
            self._older.clear()
        elif self._older:
            self.schemas = [None if i in self._older else s for i, s in enumerate(self.schemas)]
            self._older.clear()

    def by_id(self) -> dict[int, TableSchema]:
        """What table ids stand for behind the last stretch that was handed over."""
        latest = self._latest | self._before
        found = {number: latest.get(slot) for number, slot in self.scan.table_ids().items()}
        known = {number: schema for number, schema in found.items() if schema is not None}
        return self._ids | known

    def _schema(self, slot: int, pos: int) -> TableSchema:
        """Errors: Obstacle at ``pos``; the walk reads the event itself and tells more."""
        body = bytes(_ID_WIDTH) + self.scan.scanner.maps.body(slot)
        header = EventHeader(0, int(EventType.TABLE_MAP_EVENT), 0, len(body), 0, 0)
        raw = RawEvent(self._carrier.name, pos, header, body)
        parser = parser_of(raw.header.type_code)
        assert parser is not None
        try:
            parsed = parser(Cursor(body, raw.file, pos), raw, self.scan.context)
            assert isinstance(parsed, TableMap)
            if parsed.types and not parsed.nullable:  # a server before 5.1.4
                raise Obstacle(pos, cause=Cause.OTHER_FORMAT)
            return self._walk.tables.schema(parsed, raw.file, pos)
        except DamageError:
            raise Obstacle(pos) from None

    def check_unmapped(self, stretch: Stretch) -> None:
        """Read the rows events that the kernel leaves out, whose table is not known.

        Errors: Obstacle: one cannot be read; the walk reads it itself and tells more.
        """
        for i in np.flatnonzero(stretch.entries["notes"] & _NO_MAP).tolist():
            code, body = int(stretch.entries["type"][i]), stretch.body(i)
            raw = RawEvent(self._carrier.name, 0, EventHeader(0, code, 0, len(body), 0, 0), body)
            parser = parser_of(code)
            assert parser is not None
            try:
                parser(Cursor(body), raw, self.scan.context)
            except DamageError:
                raise Obstacle(stretch.place[0]) from None
            if int.from_bytes(body[:_ID_WIDTH], "little") in self._ids:
                raise Obstacle(stretch.place[0])


def pieces_of(
    walk: LogWalk, ahead: Submit | None, carrier: Carrier, first: bool, last: bool
) -> Iterator[Piece | Step]:
    """The pieces of one log of ``walk``, and its steps where the kernel gives it up."""
    number = walk.next_number
    if number is None:
        detour = Detour(carrier.name, 0, -1, Cause.CONTINUED)
        yield from counted(detour, walk.steps_of(carrier, first, last), walk.detours)
        return
    ends = (carrier, first, last)
    begun: Boundary | None = Boundary(walk.begin, number)
    again = False
    while begun is not None:
        before = walk.ordinal
        left = yield from _scanned(walk, ahead, ends, begun, again)
        if left is None:
            if again and walk.ordinal == before:
                walk.tell_gone(carrier.name, begun.offset)
            return
        behind = max(left.behind, (begun.offset, -1))
        detour = Detour(carrier.name, *behind, left.cause)
        steps = walk.steps_of(*ends, behind, left.start, WayBack() if left.back else None)
        told = len(walk.damages)
        begun = yield from counted(detour, steps, walk.detours)
        gone = begun is None and not detour.events and len(walk.damages) == told
        if gone and left.cause is Cause.DAMAGE and behind[0]:  # at 0: a log without events
            walk.tell_gone(carrier.name, behind[0])
        if begun is not None:
            again, walk.interrupted = True, None


@dataclass(frozen=True, slots=True)
class _Left:
    """``behind``: the place at which the scan gave a log up; ``start``: the transaction from which
    it can be read event by event, None: only from its beginning; ``back``: whether the kernel may
    go on with it."""

    behind: Place
    cause: Cause
    start: Boundary | None
    back: bool


def _scanned(
    walk: LogWalk,
    ahead: Submit | None,
    ends: tuple[Carrier, bool, bool],
    begun: Boundary,
    again: bool,
) -> Generator[Piece | Step, None, _Left | None]:
    """The pieces of a log from ``begun`` on, up to its end, or where it is left; ``again``: whether
    it was given up before that."""
    carrier, first, last = ends
    tables = _Tables(walk, carrier, again=again)
    scan = ScanWalk(
        carrier, tables.look, number=begun.number, ordinal=walk.ordinal, facts=walk.facts,
        ahead=ahead, begin=begun.offset, again=again, others=not last,
    )  # fmt: skip
    tables.scan = scan
    start = passed = begun if again else None

    behind: Place | None = None
    cause: Cause | None = None
    told = len(walk.damages)

    def piece(stretch: Stretch | None) -> Piece:
        damages = walk.damages[told:]
        del walk.damages[told:]
        return Piece(
            carrier, first, last, scan.format.server_version, scan.facts, scan.transactions(),
            begun, behind is None, stretch, tables.schemas, damages,
        )  # fmt: skip

    for stretch in scan:
        try:
            outer = stretch.outer[0] if stretch.outer else None
            tables.resolve(stretch.entries, stretch.origin, outer)
            tables.check_unmapped(stretch)
        except Obstacle as obstacle:
            behind, cause = stretch.place, obstacle.cause
            scan.scanner.maps.back_to_mark()
            break
        walk.check_count(stretch.ordinal + len(stretch.entries), carrier.name)
        _tell_unmapped(walk, stretch, carrier.name)
        yield piece(stretch)
        told = len(walk.damages)
        walk.ordinal = stretch.ordinal + len(stretch.entries)
        tables.delivered()
        passed = last_boundary(stretch) or passed
    behind = behind or scan.obstacle
    if behind is None:
        walk.next_number = scan.scanner.transactions.number
    yield piece(None)
    walk.maps = tables.by_id()
    if behind is None:
        return None
    cause, back = cause or scan.cause, False
    if scan.can_begin_again and not walk.begin:
        start, back = passed, cause in _PASSING
    return _Left(behind, cause, start, back)


def _tell_unmapped(walk: LogWalk, stretch: Stretch, file: str) -> None:
    for i in np.flatnonzero(stretch.entries["notes"] & _NO_MAP).tolist():
        entry = stretch.entries[i]
        pos = stretch.outer[0] if stretch.outer else stretch.origin + int(entry["offset"])
        table_id = int.from_bytes(stretch.body(i)[:_ID_WIDTH], "little")
        walk.tell_unmapped(file, pos, table_id)


def transactions_ahead(
    walk: LogWalk, carrier: Carrier, begun: Boundary
) -> Iterator[np.ndarray[Any, Any] | Transaction]:
    """The transactions of a log of ``walk`` from ``begun`` on, read ahead of their rows.

    As the kernel's TRANSACTION, those that are open again when more of them is known; one by one
    where the log cannot be scanned.
    """
    scan = ScanWalk(carrier, None, number=begun.number, begin=begun.offset)
    for _ in scan:
        yield scan.transactions()
    if scan.obstacle is None:
        yield scan.transactions()
    else:
        yield from walk.transactions_of(carrier, begun.number, begun.offset)
