"""The rows of one statement on both sides, put side by side; our events and rows by their keys.

mysqlbinlog prints a statement's rows behind its last rows event and does not say which event each
belongs to; so the rows of all events of the statement are compared in order. Where the two sides
get out of step, a few rows ahead on either side tell which one is missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.cell import Tables
from binlogkit.analyses.conformance.event_fields import our_statement
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.row_pair import Pair, compare_rows
from binlogkit.analyses.conformance.rule import EVENT_RULES, Difference, shown, unexplained

Key = tuple[int, int]
Record = Mapping[str, Any]

_LOOKAHEAD = 64


def key_of(record: Record) -> Key:
    """``(pos, inner)`` of an event or row record; -1 outside a payload."""
    inner = record.get("inner")
    return (int(record["pos"]), -1 if inner is None else int(inner))


class _Stream:
    def __init__(self, records: Iterable[Record]) -> None:
        self._records: Iterator[Record] = iter(records)
        self._ahead: deque[tuple[Key, Record]] = deque()

    def _fill(self, count: int) -> bool:
        """Hold at least ``count`` records; whether there are so many."""
        while len(self._ahead) < count:
            record = next(self._records, None)
            if record is None:
                return False
            self._ahead.append((key_of(record), record))
        return True

    def rest(self) -> Iterator[Record]:
        """Take what is left."""
        while self._fill(1):
            yield self._ahead.popleft()[1]


class OurEvents(_Stream):
    """Our events; also the hints that the text's reader asks for."""

    def statement(self, key: Key) -> bytes | None:
        """The statement of our event at ``key``."""
        found = self._find(key)
        return None if found is None else our_statement(found.get("fields") or {})

    def known_position(self, pos: int) -> bool:
        """Whether we have an event at ``pos``."""
        return self._find((pos, -1)) is not None

    def _find(self, key: Key) -> Record | None:
        at = 0
        while self._fill(at + 1):
            have, record = self._ahead[at]
            if have == key:
                return record
            # Positions that a hostile text invents must not make us read the whole log.
            if have > key or at > _LOOKAHEAD:
                return None
            at += 1
        return None

    def before(self, key: Key) -> Iterator[Record]:
        """Take the events that stand before ``key``."""
        while self._fill(1) and self._ahead[0][0] < key:
            yield self._ahead.popleft()[1]

    def take(self, key: Key) -> Record | None:
        """Take the event at ``key``, None where there is none; call :meth:`before` first."""
        if self._fill(1) and self._ahead[0][0] == key:
            return self._ahead.popleft()[1]
        return None


class OurRows(_Stream):
    """Our rows, taken in order up to a key."""

    def peek(self, last: Key, distance: int = 0) -> Record | None:
        """The row ``distance`` ahead if it stands at or before ``last``."""
        if not self._fill(distance + 1):
            return None
        key, record = self._ahead[distance]
        return record if key <= last else None

    def take(self) -> Record:
        """Take the next row; call :meth:`peek` first."""
        return self._ahead.popleft()[1]


Report = Callable[[Key, int | None, Difference], None]

_AHEAD = 8
_FRUITLESS = 50
_NOWHERE: Key = (-1, -1)


@dataclass(frozen=True, slots=True)
class RowEventFacts:
    """What the text says of a rows event and of the transaction around it.

    ``values``: record key -> value as our row records have it; only what the text tells.
    """

    key: Key
    ends_statement: bool
    values: Mapping[str, Any]


class RowGroups:
    """Takes rows events and rows as they are printed; reports differences.

    ``server``: the version that the log's format description names; ``rows``, ``cells``: compared;
    ``not_judged``: ours that mysqlbinlog did not print.
    """

    def __init__(self, ours: OurRows, tables: Tables, report: Report) -> None:
        self.ours = ours
        self.tables = tables
        self.report = report
        self.rows = self.cells = self.not_judged = 0
        self.server = ""
        self._events: dict[Key, RowEventFacts] = {}
        self._last = _NOWHERE
        self._theirs: deque[PrintedRow] = deque()
        self._ended = False
        self._number: tuple[Key, int] = ((-1, -1), 0)
        self._fruitless = 0

    def event(self, facts: RowEventFacts) -> None:
        """A rows event's header."""
        if self._ended:
            self.close()
        self._events[facts.key] = facts
        self._last = max(self._last, facts.key)
        self._ended = facts.ends_statement

    def other_event(self) -> None:
        """Any other event: it ends a statement that has had its last rows event."""
        if self._ended:
            self.close()

    def row(self, row: PrintedRow) -> None:
        """A printed row."""
        self._theirs.append(row)
        if len(self._theirs) > _AHEAD:
            self._step()

    def close(self) -> None:
        """The statement is over: what is left on our side was not printed."""
        while self._theirs:
            self._step()
        while self._ours() is not None:
            self._extra()
        self._events.clear()
        self._last = _NOWHERE
        self._ended = False

    def finish(self, *, complete: bool) -> None:
        """The text is over; ``complete``: mysqlbinlog did not give up."""
        if self._events and not self._ended and not self._theirs:
            self._held_back()
        self.close()
        for record in self.ours.rest():
            self.not_judged += not complete
            if complete:
                self._report_extra(record)

    # One step

    def _ours(self, distance: int = 0) -> Record | None:
        return self.ours.peek(self._last, distance)

    def _step(self) -> None:
        theirs = self._theirs[0]
        ours = self._ours()
        if theirs.fault is not None:
            self._given_up(theirs, ours)
            return
        if ours is None:
            self._missing()
            return
        pair = self._compare(ours, theirs)
        if not pair.agrees and self._fruitless < _FRUITLESS:
            ahead = self._in_step_again(ours, theirs)
            if ahead:
                for _ in range(abs(ahead)):
                    if ahead > 0:
                        self._missing()
                    else:
                        self._extra()
                return
            self._fruitless += 1
        self._theirs.popleft()
        self._commit(self.ours.take(), pair)

    def _compare(self, ours: Record, theirs: PrintedRow) -> Pair:
        return compare_rows(ours, theirs, self.tables, self.server)

    def _in_step_again(self, ours: Record, theirs: PrintedRow) -> int:
        """How many of theirs (positive) or of ours (negative) to pass over; 0: none helps."""
        for distance in range(1, _AHEAD + 1):
            if distance < len(self._theirs):
                later = self._theirs[distance]
                if later.fault is None and self._compare(ours, later).agrees:
                    return distance
            mine = self._ours(distance)
            if mine is not None and self._compare(mine, theirs).agrees:
                return -distance
        return 0

    def _commit(self, ours: Record, pair: Pair) -> None:
        key = key_of(ours)
        row = ours.get("row")
        self.rows += 1
        self.cells += pair.cells
        for difference in [*self._place(ours, key), *pair.differences]:
            self.report(key, row, difference)

    def _place(self, ours: Record, key: Key) -> list[Difference]:
        """Whether our row says rightly where it stands."""
        facts = self._events.get(key)
        if facts is None:
            where = ", ".join(str(k[0]) for k in self._events)
            reason = "no rows event of this statement stands there"
            return [unexplained("pos", key[0], where, reason, f"# at {where}")]
        number = self._number[1] + 1 if self._number[0] == key else 0
        self._number = (key, number)
        found = []
        if ours.get("row", number) != number:
            found.append(_field("row", ours.get("row"), number))
        if number == 0:
            found.extend(
                _field(name, ours[name], value)
                for name, value in facts.values.items()
                if name in ours and ours[name] != value
            )
        return found

    # Rows that only one side has

    def _missing(self) -> None:
        row = self._theirs.popleft()
        key = self._last if len(self._events) == 1 else self._number[0]
        text = f"{row.op} in {shown(row.table[0])}.{shown(row.table[1])}, line {row.line}"
        self.report(key, None, unexplained(None, None, text, "ours does not have this row"))

    def _extra(self) -> None:
        self._report_extra(self.ours.take())

    def _report_extra(self, record: Record) -> None:
        ours = f"{record.get('op')} in {record.get('db')}.{record.get('table')}"
        reason = "mysqlbinlog does not print this row"
        difference = unexplained(None, ours, None, reason, "no such row")
        self.report(key_of(record), record.get("row"), difference)

    def _given_up(self, theirs: PrintedRow, ours: Record | None) -> None:
        """mysqlbinlog skips the rest of the row, and of its event."""
        self._theirs.popleft()
        key = self._last if ours is None else key_of(ours)
        row = None if ours is None else ours.get("row")
        if ours is not None and theirs.op:
            pair = self._compare(ours, theirs)
            self.cells += pair.cells
            for difference in pair.differences:
                self.report(key, row, difference)
        rows = f"{self._skip(key)} rows from this one on"
        self._not_judged("type-not-handled", key, row, rows, theirs.fault)

    def _held_back(self) -> None:
        rows = f"{self._skip(None)} rows"
        self._not_judged("statement-not-ended", self._last, None, rows, None)

    def _skip(self, key: Key | None) -> int:
        """Pass over our rows of an event, of the statement if None; how many there were."""
        skipped = 0
        while (record := self._ours()) is not None and key in (None, key_of(record)):
            self.ours.take()
            skipped += 1
        self.not_judged += skipped
        return skipped

    def _not_judged(
        self, rule_id: str, key: Key, row: int | None, ours: str, theirs: str | None
    ) -> None:
        rule = EVENT_RULES[rule_id]
        reason = f"{ours.partition(' from')[0]} of ours are not judged: {rule.text}"
        said = theirs or "no row of this statement"
        self.report(key, row, rule.difference(None, ours, theirs, said, reason))


def _field(name: str, ours: Any, theirs: Any) -> Difference:
    return unexplained(name, ours, theirs, f"the row's {name} is not its event's")
