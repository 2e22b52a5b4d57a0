"""The rows of one statement on both sides, matched.

mysqlbinlog prints a statement's rows after its last rows event and does not say which event each
belongs to; so the rows of all events of the statement are compared in order. Where the two sides
get out of step, the places of the stored rows and of ours, and some rows ahead on either side, show
which one is missing; rows that are missing next to each other are one difference.

The log's own bytes, where they are at hand, are cut into the same rows and go along: they decide
what the text lacks, and the rows that mysqlbinlog does not print.

Rows that are at hand as batches are first compared as bytes (block_rows.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.cell import TableVersion, TableVersions
from binlogkit.analyses.conformance.one_sided import Neighbours, OneSided
from binlogkit.analyses.conformance.our_records import Key, OurRows, Record, key_of
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.printed_transaction import PrintedTransaction
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.row_pair import Pair, as_printed, compare_rows, fits
from binlogkit.analyses.conformance.rule import (
    EVENT_RULES,
    Difference,
    not_stored,
    shown,
    unexplained,
)
from binlogkit.analyses.conformance.stored import StoredRow
from binlogkit.analyses.conformance.stored_statement import StoredStatement
from binlogkit.constants import TableId

_AHEAD = 64
_FRUITLESS = 50
_EARNED = 16  # compared rows that allow one more fruitless search
_NOWHERE: Key = (-1, -1)
_MISSING = "ours lacks this row"


@dataclass(frozen=True, slots=True)
class RowEventFacts:
    """What is said of a rows event and of the transaction around it.

    ``values``: record key -> value as our row records have it; only what is there; ``names``: the
    table map's names of the columns, None without them; ``transaction``: what its end will show.
    """

    key: Key
    ends_statement: bool
    values: Mapping[str, Any]
    names: tuple[str, ...] | None
    transaction: PrintedTransaction


class RowGroups:
    """Takes rows events and rows as they are printed; reports differences.

    ``stored``: the log's own bytes; ``server``: the version that the log's format description
    names; ``rows``, ``cells``: compared, ``by_bytes`` of the cells with the log's bytes;
    ``not_judged``: our rows that nothing decided; ``last``: the last rows event of the statement.
    """

    def __init__(
        self, ours: OurRows, tables: TableVersions, findings: Differences, stored: StoredStatement
    ) -> None:
        self.ours = ours
        self.tables = tables
        self._findings = findings
        self.stored = stored
        self.rows = self.cells = self.by_bytes = self.not_judged = 0
        self.server = ""
        self._events: dict[Key, RowEventFacts] = {}
        self.last = _NOWHERE
        self._theirs: deque[PrintedRow] = deque()
        self._ended = False
        self._number: tuple[Key, int] = ((-1, -1), 0)
        self._own: tuple[Key, int] = ((-1, -1), 0)  # the same, as our rows come
        self._numbered = True  # whether the last row had the number that it has in the log
        self._fruitless = 0
        self._alone = Neighbours(findings, _alone)
        self._named: tuple[TableVersion, tuple[str, ...]] | None = None
        self._unknown: set[tuple[TableId, str]] = set()

    def report(self, key: Key, row: int | None, difference: Difference) -> None:
        """Report a difference, after the rows that only one side has."""
        self._alone.end()
        self._findings.report(key, row, difference)

    @property
    def idle(self) -> bool:
        """Whether no statement's rows are awaited."""
        return not self._events

    def event(self, facts: RowEventFacts) -> None:
        """A rows event's header; call :meth:`next_event` first."""
        self._events[facts.key] = facts
        self.stored.event(facts.key)
        self.last = max(self.last, facts.key)
        self._ended = facts.ends_statement

    def next_event(self) -> None:
        """An event begins: it ends a statement that has had its last rows event."""
        if self._ended:
            self.close()

    def row(self, row: PrintedRow) -> None:
        """A printed row."""
        self._theirs.append(row)
        if len(self._theirs) > _AHEAD:
            self._step()

    def settled(self) -> bool:
        """Compare what waits as long as it agrees; whether nothing waits in a statement that has
        had its last rows event."""
        while self._theirs and self._theirs[0].fault is None and self._ended:
            ours = self._ours()
            if ours is None:
                return False
            pair = self._compare(ours, self._theirs[0], self._stored_as(self._theirs[0]))
            if not pair.reads_alike:
                return False
            self._both(pair)
        return self._ended and not self._theirs

    def judged(self, last: tuple[Key, int], rows: int, cells: int, by_bytes: int) -> None:
        """So many rows of ours, which are taken, were compared as bytes; the numbers of all are
        what they must be. ``last``: the event and number of the last."""
        self.stored.take(rows)
        self.rows += rows
        self.cells += cells
        self.by_bytes += by_bytes
        self._alone.end()
        self._number = self._own = last

    def passed(self, rows: int, cells: int, by_bytes: int) -> None:
        """So many rows of whole transactions, which are taken, were compared as bytes."""
        self.rows += rows
        self.cells += cells
        self.by_bytes += by_bytes
        self._alone.end()

    def event_at(self, key: Key) -> RowEventFacts | None:
        """The rows event at ``key``, if it is the statement's."""
        return self._events.get(key)

    def next_number(self, key: Key) -> int:
        """The number that the next row has if it is of the event at ``key``."""
        return self._number[1] + 1 if self._number[0] == key else 0

    def close(self) -> None:
        """The statement is over: what is left on our side was not printed."""
        while self._theirs:
            self._step()
        while (ours := self._ours()) is not None and not self._may_follow(ours):
            self._extra()
        self._events.clear()
        self.stored.end(self.last)
        self.last = _NOWHERE
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
        self._alone.end()

    def _may_follow(self, ours: Record) -> bool:
        """Whether our row, which does not say its event's number in the payload, may be of a later
        statement of it."""
        return "inner" not in ours and self.last[1] >= 0 and ours["pos"] == self.last[0]

    def _key(self, ours: Record) -> Key:
        """The rows event of our row; where it says no number in the payload, the one that is
        awaited there."""
        key = key_of(ours)
        if "inner" in ours or key in self._events:
            return key
        stored = self.stored.row
        if stored is not None and stored.key[0] == key[0]:
            return stored.key
        return next((known for known in self._events if known[0] == key[0]), key)

    # One step

    def _ours(self, distance: int = 0) -> Record | None:
        return self.ours.peek(self.last, distance)

    def _step(self) -> None:
        theirs = self._theirs[0]
        ours = self._ours()
        if theirs.fault is not None:
            self._given_up(theirs, ours)
            return
        if ours is None:
            self._missing()
            return
        stored = self._stored_as(theirs)
        pair = self._compare(ours, theirs, stored)
        if not pair.reads_alike and stored is not None and (apart := self._apart(ours, stored.key)):
            if apart > 0:
                self._missing()
            else:
                self._extra()
            return
        if not pair.reads_alike and self._fruitless < _FRUITLESS + self.rows // _EARNED:
            ahead = self._in_step_again(ours, theirs)
            if ahead:
                for _ in range(abs(ahead)):
                    if ahead > 0:
                        self._missing()
                    else:
                        self._extra()
                return
            self._fruitless += 1
        self._both(pair)

    def _both(self, pair: Pair) -> None:
        theirs = self._theirs.popleft()
        ours = self.ours.take_first()
        key = self._key(ours)
        self.stored.take()
        if pair.agrees:
            facts = self.tables.current(str(ours.get("db")), str(ours.get("table")))
            self.ours.learn(theirs, facts)
        self._commit(ours, key, pair)

    def _compare(self, ours: Record, theirs: PrintedRow, stored: StoredRow | None = None) -> Pair:
        return compare_rows(ours, theirs, self.tables, self.server, stored)

    def _stored_as(self, theirs: PrintedRow) -> StoredRow | None:
        """The printed row as it is stored; None, also from here on, where the two do not fit."""
        stored = self.stored.row
        if stored is not None and not fits(theirs, stored):
            self.stored.lose()
            return None
        return stored

    def _apart(self, ours: Record, stored: Key) -> int:
        """By the places of both: 1 where ours lacks the printed row, which is stored in the event
        ``stored``, -1 where ours is no row of the log, 0 where they may be one."""
        key = self._key(ours)
        if key != stored:
            return 0 if key not in self._events else 1 if key > stored else -1
        number = ours.get("row")
        if not self._numbered or not isinstance(number, int):
            return 0
        return int(number > self.next_number(key))

    def _in_step_again(self, ours: Record, theirs: PrintedRow) -> int:
        """How many of theirs (positive) or of ours (negative) to skip; 0: none helps."""
        for distance in range(1, _AHEAD + 1):
            if distance < len(self._theirs):
                later = self._theirs[distance]
                if later.fault is None and self._compare(ours, later).reads_alike:
                    return distance
            mine = self._ours(distance)
            if mine is not None and self._compare(mine, theirs).reads_alike:
                return -distance
        return 0

    def _commit(self, ours: Record, key: Key, pair: Pair) -> None:
        self._alone.end()
        row = ours.get("row")
        self.rows += 1
        self.cells += pair.cells
        self.by_bytes += pair.by_bytes
        for difference in [*self._place(ours, key), *pair.differences, *pair.undecided]:
            self.report(key, row, difference)

    def _place(self, ours: Record, key: Key) -> list[Difference]:
        """Whether our row says rightly where it stands."""
        facts = self._events.get(key)
        if facts is None:
            where = ", ".join(str(k[0]) for k in self._events)
            reason = "no rows event of this statement stands there"
            return [unexplained("pos", key[0], where, reason, f"# at {where}")]
        number, own = self.next_number(key), self._own_number(key)
        self._number = (key, number)
        self._numbered = ours.get("row", number) == number
        found = []
        # Numbers that go on after a lost row are that row's difference, not their own.
        if ours.get("row", number) not in (number, own):
            found.append(_field("row", ours.get("row"), number))
        found.extend(
            _field(name, ours[name], value)
            for name, value in facts.values.items()
            if name in ours and ours[name] != value
        )
        facts.transaction.claimed(ours, key)
        table = str(ours.get("db")), str(ours.get("table"))
        if number == 0:
            found.extend(self.misnamed(facts, table))
        for which in ("before", "after"):
            found.extend(self._unknown_names(facts, table, ours.get(which) or {}))
        return found

    def _unknown_names(
        self, facts: RowEventFacts, table: TableId, image: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """Columns of an image that the table map does not know; each of a table once."""
        names, known = facts.names, self.tables.current(*table)
        if names is None:
            return
        ours = () if known is None else known.index  # misnamed() says which of these are wrong
        for at, name in enumerate(image):
            if name in names or name in ours or name.startswith("@"):
                continue
            if (table, name) in self._unknown:
                continue
            self._unknown.add((table, name))
            right = names[at] if len(image) == len(names) else None
            reason = "the table map has no column of this name"
            yield not_stored(name, name, right, reason)

    def misnamed(self, facts: RowEventFacts, table: TableId) -> list[Difference]:
        """Columns that our schema calls otherwise than the table map of the event."""
        known = self.tables.current(*table)
        if known is None or facts.names is None or (known, facts.names) == self._named:
            return []
        reason = "the table map has another name for this column"
        found = [
            not_stored(column.name, column.name, name, reason)
            for column, name in zip(known.columns, facts.names, strict=False)
            if column.name != name
        ]
        if not found:
            self._named = (known, facts.names)
        return found

    # Rows that only one side has

    def _missing(self) -> None:
        row, stored = self._theirs.popleft(), self.stored.row
        key = self.last if len(self._events) == 1 else self._number[0]
        key = key if stored is None else stored.key
        self.stored.take()
        self._number = (key, self.next_number(key))
        text = f"{row.op} in {shown(row.table[0])}.{shown(row.table[1])}, line {row.line}"
        self._alone.add(OneSided(True, key, self._number[1], text, text))

    def _extra(self) -> None:
        self._report_extra(self.ours.take_first())

    def _report_extra(self, record: Record) -> None:
        self._own_number(key_of(record))
        name = _name(record)
        self._alone.add(OneSided(False, key_of(record), record.get("row"), name, name))

    def _own_number(self, key: Key) -> int:
        """The number that our next row of an event has if ours are counted."""
        self._own = (key, self._own[1] + 1 if self._own[0] == key else 0)
        return self._own[1]

    # Rows that mysqlbinlog does not print

    def _given_up(self, theirs: PrintedRow, ours: Record | None) -> None:
        """mysqlbinlog skips the rest of the row, and of its event."""
        stored = self._stored_as(theirs)
        row = None if ours is None else ours.get("row")
        if stored is not None:
            self._theirs.popleft()
            judged = self._by_bytes(stored.key, theirs)
            rows = f"{judged} rows from this one on"
            self._not_printed("type-not-handled", stored.key, row, rows, theirs.fault)
            return
        key = self.last if ours is None else self._key(ours)
        if ours is None and theirs.op:
            self._missing()
        else:
            self._theirs.popleft()
        if ours is not None and theirs.op:
            pair = self._compare(ours, theirs)
            self.cells += pair.cells
            for difference in [*pair.differences, *pair.undecided]:
                self.report(key, row, difference)
        self.stored.lose()
        rows = f"{self._skip(key)} rows from this one on"
        self._not_printed("type-not-handled", key, row, rows, theirs.fault)
        if ours is not None or theirs.op:
            self._not_printed("rows-not-judged", key, row, rows, theirs.fault)

    def _held_back(self) -> None:
        judged = 0
        last = self.last
        while (stored := self.stored.row) is not None:
            judged += self._by_bytes(stored.key)
        left = self._skip(None)
        self._not_printed("statement-not-ended", last, None, f"{judged + left} rows", None)
        if left or not judged:
            self._not_printed("rows-not-judged", last, None, f"{left} rows", None)

    def _by_bytes(self, key: Key, theirs: PrintedRow | None = None) -> int:
        """Compare the rest of our rows of an event with the log's bytes; how many it stores.

        ``theirs``: what mysqlbinlog printed of the first of them.
        """
        count = 0
        while (stored := self.stored.row) is not None and stored.key == key:
            self._pass_over(before=key)
            ours = self._ours()
            if ours is None or self._key(ours) != key:
                where = f"{stored.op} in {stored.db}.{stored.table}"
                self.report(key, None, not_stored(None, None, b"", f"{_MISSING}: {where}"))
            else:
                pair = self._compare(ours, theirs or as_printed(stored), stored)
                self._commit(self.ours.take_first(), key, pair)
            self.stored.take()
            theirs = None
            count += 1
        if self.stored.lost:
            rows = f"{self._skip(key)} rows"
            self._not_printed("rows-not-judged", key, None, rows, self.stored.lost)
        self._pass_over(before=(key[0], key[1] + 1))
        return count

    def _pass_over(self, *, before: Key) -> None:
        """Report our rows before ``before``: the log stores none there."""
        while (ours := self._ours()) is not None and self._key(ours) < before:
            reason = "the log does not store this row"
            record = self.ours.take_first()
            difference = not_stored(None, _name(record), None, reason)
            self.report(key_of(record), record.get("row"), difference)

    def _skip(self, key: Key | None) -> int:
        """Pass over our rows of an event, of the statement if None; how many there were."""
        skipped = 0
        while (record := self._ours()) is not None and key in (None, self._key(record)):
            self.ours.take_first()
            skipped += 1
        self.not_judged += skipped
        return skipped

    def _not_printed(
        self, rule_id: str, key: Key, row: int | None, ours: str, theirs: str | None
    ) -> None:
        said = theirs or "no row of this statement"
        self.report(key, row, EVENT_RULES[rule_id].difference(None, ours, theirs, said))


def _alone(rows: OneSided) -> Difference:
    """Rows that only one side has."""
    text, many = rows.called("row"), rows.count > 1
    if rows.lacking:
        return unexplained(None, None, text, "ours lacks these rows" if many else _MISSING)
    reason = f"mysqlbinlog does not print {'these rows' if many else 'this row'}"
    return unexplained(None, text, None, reason, "no such row")


def _name(record: Record) -> str:
    return f"{record.get('op')} in {record.get('db')}.{record.get('table')}"


def _field(name: str, ours: Any, theirs: Any) -> Difference:
    return unexplained(name, ours, theirs, f"the row's {name} is not its event's")
