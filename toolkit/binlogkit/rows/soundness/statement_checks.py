"""Whether every rows event has its table map, in its own statement, and statements end.

The server writes the maps of a statement's tables before its first rows event, and sets STMT_END
in its last. A rows event for the id 0xFFFFFF carries no rows and only ends a statement. The kernel
notes what is odd; only where it did, or something is damaged, are events checked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from binlogkit.constants import EventType, TableId
from binlogkit.events.early import EarlyRows
from binlogkit.events.rows import RowsFlag
from binlogkit.rows.slots import DUMMY_TABLE_ID
from binlogkit.rows.soundness.events import Found, WindowEvents
from binlogkit.rows.soundness.finding import FileFacts, Place, finding
from binlogkit.rows.soundness.runs import EventRuns
from binlogkit.rows.window import IN_STATEMENT, LOOK, MAP_CHANGED, ROWS_EVENTS, STATEMENT_END, STRAY

_Map = tuple[TableId, bytes]  # its table, and its body after the table id

_MAP, _EARLY, _ROWS, _OPEN = 40, 41, 42, 43  # in the order of an event's findings


class StatementChecks:
    """Takes the events of a file in order."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        self._maps: dict[int, _Map] = {}  # of the statement that is open, by table id
        self._earlier: dict[int, TableId] = {}
        self._unmapped: set[int] = set()
        self._early = False
        self._in_statement = self._begun = False  # begun: rows of it came, not only table maps
        self._odd = False  # damage in the statement: the kernel may not know of it

    def feed(
        self, events: WindowEvents, a: int, b: int, runs: EventRuns | None, damages: list[int]
    ) -> Iterator[Found]:
        """Take the events from ``a`` to ``b``; ``damages``: moments of it (see ``Moments``)."""
        odd = bool(self._odd or self._unmapped or damages)
        odd = odd or (self._in_statement and runs is not None and bool(runs.new[0]))
        odd = odd or bool((events.notes[a:b] & (STRAY | MAP_CHANGED)).any())
        odd = odd or (runs is not None and bool((runs.records["notes"] & IN_STATEMENT).any()))
        odd = odd or any(isinstance(i.event.body, EarlyRows) for i in events.among(a, b))
        if odd:
            yield from self._walk(events, a, b, runs, damages)
        else:
            self._skip(events, a, b, runs)

    def _skip(self, events: WindowEvents, a: int, b: int, runs: EventRuns | None) -> None:
        """Note the statement that is open after events that are as they should be."""
        ends = np.flatnonzero(events.notes[a:b] & STATEMENT_END)
        last = a + int(ends[-1]) if len(ends) else a - 1
        if runs is not None and runs.ended.any():
            last = max(last, int(runs.lasts[runs.ended][-1]))
        if last >= a:
            self._maps.clear()
            self._in_statement = self._begun = False
        types, plain = events.types[a:b], events.notes[a:b] & LOOK == 0
        self._begun |= bool((ROWS_EVENTS[types] & plain)[max(last + 1 - a, 0) :].any())
        here = np.flatnonzero((types == EventType.TABLE_MAP_EVENT) & plain) + a
        if not len(here):
            return
        slots = events.stretch.entries["slot"][here]
        latest = np.full(int(slots.max()) + 1, -1)
        latest[slots] = here
        for i in latest[latest >= 0].tolist():
            name = events.table(i)
            if name is not None:
                self._earlier[events.stretch.table_id(i)] = name
        for i in here[np.searchsorted(here, last, side="right") :].tolist():
            self._map(events, i)

    def _walk(
        self, events: WindowEvents, a: int, b: int, runs: EventRuns | None, damages: list[int]
    ) -> Iterator[Found]:
        types, plain = events.types[a:b], events.notes[a:b] & LOOK == 0
        here = plain & (ROWS_EVENTS[types] | (types == EventType.TABLE_MAP_EVENT))
        early = {
            item.i: item.event.body
            for item in events.among(a, b)
            if isinstance(item.event.body, EarlyRows)
        }
        ended = set() if runs is None else set(runs.lasts[runs.ended].tolist())
        places = sorted({*(np.flatnonzero(here) + a).tolist(), *early, *ended})
        at = 0
        for i in places:
            while at < len(damages) and damages[at] < 2 * i:
                self.damaged()
                at += 1
            if i in early:
                yield from self._early_rows(events, i, early[i])
            elif here[i - a] and events.types[i] == EventType.TABLE_MAP_EVENT:
                yield from self._map(events, i)
            elif here[i - a]:
                ends = bool(events.notes[i] & STATEMENT_END)
                yield from self._rows(events, i, events.stretch.table_id(i), ends)
            if i in ended:
                yield from self._transaction_ends(events, i)
        if at < len(damages):
            self.damaged()
        self._odd |= self._in_statement

    def damaged(self) -> None:
        """Forget the open statement: a part of it is lost."""
        self._maps.clear()
        self._in_statement = self._begun = False
        self._odd = True

    def _map(self, events: WindowEvents, i: int) -> list[Found]:
        name = events.table(i)
        if name is None:
            return []
        body = events.stretch.body(i)
        table_id, body = events.stretch.table_id(i), body[6:]
        known = self._maps.get(table_id)
        self._maps[table_id] = name, body
        self._earlier[table_id] = name
        self._unmapped.discard(table_id)
        self._in_statement = True
        if known is None or known[1] == body:
            return []
        text = f"table id {table_id}: {'.'.join(known[0])}, then {'.'.join(name)}"
        return [(i, _MAP, finding("map_changed", self._place(events, i), text))]

    @staticmethod
    def _place(events: WindowEvents, i: int) -> Place:
        return events.place(i, events.gtid(int(events.tx[i])))

    def _early_rows(self, events: WindowEvents, i: int, body: EarlyRows) -> Iterator[Found]:
        if not self._early:
            self._early = True
            at = self._place(events, i)
            yield i, _EARLY, finding("unread_rows", at, str(at.type))
        yield from self._rows(events, i, body.table_id, bool(body.flags & RowsFlag.STMT_END))

    def _rows(self, events: WindowEvents, i: int, table_id: int, ends: bool) -> Iterator[Found]:
        mapped = table_id in self._maps or table_id == DUMMY_TABLE_ID
        if not mapped and table_id not in self._unmapped:
            self._unmapped.add(table_id)
            text = f"no TABLE_MAP_EVENT for table id {table_id} in the statement"
            slot, schemas = int(events.stretch.entries["slot"][i]), events.window.schemas
            known = schemas[slot] if 0 <= slot < len(schemas) else None
            earlier = self._earlier.get(table_id) if known is None else known.name
            if earlier is not None:
                text += f"; an earlier one of that id was {'.'.join(earlier)}"
            without_map = finding("rows_without_map", self._place(events, i), text)
            if earlier is not None and not self._facts.relay:  # whose server may have restarted
                without_map = replace(without_map, tables=frozenset([".".join(earlier)]))
            yield i, _ROWS, without_map
        self._in_statement = self._begun = not ends
        if ends:
            self._maps.clear()
            self._unmapped.clear()
            self._odd = False

    def _transaction_ends(self, events: WindowEvents, i: int) -> Iterator[Found]:
        """A transaction ended with this event: no statement may be open.

        Table maps without rows are none: a statement that failed leaves them behind where it had
        written tables of an engine without transactions (8.0.31, 9.7.4).
        """
        if self._begun:
            tables = ", ".join(".".join(name) for name, _ in self._maps.values())
            text = f"the transaction ends inside a statement over {tables}"
            yield i, _OPEN, finding("statement_not_ended", self._place(events, i), text)
        self._maps.clear()
        self._in_statement = self._begun = self._odd = False
