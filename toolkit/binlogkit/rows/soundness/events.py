"""The events of a window as the checks see them: by the column, and one by one where it is odd."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import Any

import numpy as np

from binlogkit.constants import EventFlag, EventType, TableId, event_type_name
from binlogkit.events.base import Event, ParseContext
from binlogkit.events.gtid import Gtid
from binlogkit.events.reader import EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.rows.gtid_ledger import gtid_of
from binlogkit.rows.soundness.finding import Finding, Place
from binlogkit.rows.window import BAD_CHECKSUM, LOOK, Looked, Stretch, Window
from binlogkit.sources.raw import RawEvent

#: A finding at an entry; the third orders those of one event.
Found = tuple[int, int, Finding]
Array = np.ndarray[Any, Any]

_ARTIFICIAL = int(EventFlag.ARTIFICIAL)
_GTID_TYPES = (EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT)


class WindowEvents:
    """The events of a window that has some.

    ``number``: of the file's last event before them; ``open``: the transaction that is open there;
    ``headless``: one that began in another log, which this one does not continue. ``bad``: which
    have a wrong checksum, None for none; ``artificial``: which a server made up for its replica;
    ``gtids``: the entries that give a GTID, or an anonymous one; ``framed``: which stand in the
    file itself, None for all: those inside a payload count as that one event.
    """

    def __init__(self, window: Window, stretch: Stretch, number: int) -> None:
        self.window = window
        self.stretch = stretch
        self.count = len(stretch.entries)
        self.file = window.carrier.name
        self.looked = [item for item in window.looked if item.i < self.count]
        self._read = [item.i for item in self.looked]
        self.types = np.ascontiguousarray(stretch.entries["type"])
        self.notes = np.ascontiguousarray(stretch.entries["notes"])
        self.tx = np.ascontiguousarray(stretch.entries["tx"])
        self.records = window.transactions
        self.first_record = int(self.records["number"][0]) if len(self.records) else 0
        raws = None if stretch.outer is not None else stretch.raws
        self.raws = None if raws is None else raws[: self.count]
        self.version = self.raws[0].version if self.raws else 4
        self.open = self.headless = -1
        self._number = number
        self._names: dict[int, TableId | None] = {}
        self.ends, self.positions = stretch.ends, stretch.positions
        self.inners = stretch.inners
        self.artificial: Array = stretch.entries["flags"] & _ARTIFICIAL > 0
        bad: Array = self.notes & BAD_CHECKSUM > 0
        self.bad = bad if self.raws is not None and bad.any() else None
        packed = stretch.outer is not None or stretch.spots is not None
        framed = self.inners < 0 if packed else np.ones(1, bool)
        self.framed: Array | None = None if framed.all() else framed
        self._numbers = np.cumsum(framed)
        plain = (self.types == _GTID_TYPES[0]) | (self.types == _GTID_TYPES[1])
        plain &= self.notes & LOOK == 0
        for item in self.looked:
            plain[item.i] |= isinstance(item.event.body, Gtid)
        self.gtids = np.flatnonzero(plain)

    def number(self, i: int) -> int:
        """The number of an event in its file, -1 before the first."""
        if i < 0:
            return self._number
        return self._number + (i + 1 if self.framed is None else int(self._numbers[i]))

    def among(self, a: int, b: int) -> list[Looked]:
        """The events from ``a`` to ``b`` that Python read."""
        return self.looked[bisect_left(self._read, a) : bisect_left(self._read, b)]

    def place(self, i: int, gtid: str | None = None) -> Place:
        """The place of an event."""
        inner = int(self.inners[i])
        return Place(
            self.file, int(self.positions[i]), int(self.ends[i]), None if inner < 0 else inner,
            self.number(i), event_type_name(int(self.types[i])), gtid,
        )  # fmt: skip

    def record(self, number: int) -> np.void:
        """What the kernel knows of a transaction."""
        record: np.void = self.records[number - self.first_record]
        return record

    def gtid(self, number: int) -> str | None:
        """A transaction's GTID; -1: none."""
        if number < 0 or number == self.headless:
            return None
        if number in self.window.facts.gtids:
            return self.window.facts.gtids[number][0]
        return gtid_of(self.record(number))

    def running(self, i: int) -> int:
        """The transaction that is open before entry ``i``, -1 for none."""
        number = int(self.tx[i - 1]) if i else self.open
        if number < 0 or (i < self.count and self.tx[i] == number):
            return number
        return -1 if self.record(number)["outcome"] else number

    def table(self, i: int) -> TableId | None:
        """The table of a map, None for a map that cannot be read."""
        slot, schemas = int(self.stretch.entries["slot"][i]), self.window.schemas
        schema = schemas[slot] if slot < len(schemas) else None
        if schema is not None:
            return schema.name
        if slot not in self._names:
            body = self.body(i)
            self._names[slot] = (body.db, body.table) if isinstance(body, TableMap) else None
        return self._names[slot]

    def tables(self, a: int, b: int) -> dict[TableId, None]:
        """The tables that the events from ``a`` to ``b`` name, in order."""
        maps = (self.types[a:b] == EventType.TABLE_MAP_EVENT) & (self.notes[a:b] & LOOK == 0)
        here = np.flatnonzero(maps) + a
        _, firsts = np.unique(self.stretch.entries["slot"][here], return_index=True)
        found = [(i, self.table(i)) for i in here[firsts].tolist()]
        for item in self.among(a, b):
            if item.transaction is not None:
                found += [(item.i, name) for name in item.transaction.tables]
        found.sort(key=itemgetter(0))
        return dict.fromkeys(name for _, name in found if name is not None)

    def body(self, i: int) -> Any:
        """What an event says; what is wrong with it is reported elsewhere."""
        for item in self.among(i, i + 1):
            return item.event.body
        return parsed(self.stretch.raw(i, self.file), self.window.context).body


def parsed(raw: RawEvent, context: ParseContext) -> Event:
    """An event that the reading has not read; ``context``: of its log, which stays as it is."""
    own = ParseContext(context.version, context.server_version, {**context.post_header_lengths})
    return EventParser(lambda _: None, own).parse(raw)
