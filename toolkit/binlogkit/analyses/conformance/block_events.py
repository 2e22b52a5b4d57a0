"""Transactions compared with mysqlbinlog's text as bytes, many at once.

A transaction is judged so where each of its events is like one that was judged (event_forms.py):
its record and its text are then what follows from its bytes, and its rows' text is what follows
from the rows. Whatever differs anywhere is read, and judged event by event (compare.py). How many
events are tried at once adapts to how often that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from binlogkit.analyses.conformance.event_forms import (
    CODES,
    ROWS,
    STARTS,
    EventForms,
    EventRole,
    Example,
    Places,
)
from binlogkit.analyses.conformance.event_run import (
    MOST_BYTES,
    UINT32,
    EventRun,
    RunFacts,
    same_texts,
)
from binlogkit.analyses.conformance.our_batches import (
    EventPart,
    OurBatches,
    OurEventBatches,
    RowRun,
)
from binlogkit.analyses.conformance.printed import LineSource, PrintedEvent, TakenEvents
from binlogkit.analyses.conformance.printed_transaction import PrintedTransaction
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.row_groups import RowEventFacts, RowGroups
from binlogkit.analyses.conformance.rule import Kind
from binlogkit.analyses.conformance.stored import SINGLE, StoredBytes, StoredLog
from binlogkit.analyses.conformance.stored_header import header_bytes
from binlogkit.constants import EventType

_FEW, _MOST = 64, 16_384  # events that are tried at once
_LONGEST_PAUSE = 64  # events that are judged one by one before the next are tried
_LESSONS = 200
_ROWS = tuple(ROWS)
_OF_EVENT = ("server_id", "end_pos", "timestamp")  # what rows say of theirs
_TRANSACTION, _STATEMENT = (EventRole.GTID, EventRole.BEGIN), (EventRole.ROWS,)


class BlockEvents:
    """``transaction``: what the text says of the one before; ``stored``: the log's own bytes;
    ``findings``: where differences are counted; ``compared``: how many events were judged here."""

    def __init__(
        self, events: OurEventBatches, rows: OurBatches, groups: RowGroups,
        transaction: PrintedTransaction, stored: StoredLog, findings: Differences,
    ) -> None:  # fmt: skip
        self.compared = 0
        self._ours = events
        self._rows = rows
        self._groups = groups
        self._transaction = transaction
        self._stored = stored
        self._findings = findings
        self._forms = EventForms()
        # By type: events that taught nothing, and after too many of them those not looked at.
        self._fruitless, self._unlearned = Counter[int](), Counter[int]()
        self._transactions, self._statements = _Pace(), _Pace()

    # ---- examples

    def judged(self, printed: PrintedEvent, rules: Mapping[str, int] | None) -> None:
        """Look at an event that was judged, the one that was taken last of ours; ``rules``: how
        many differences each explains, None where it is not right."""
        example = None if rules is None or printed.doubt else self._example(printed, rules)
        if example is None:
            if printed.kind == "Query":
                self._forms.before = -1
            return
        code, is_new = example.data[4], self._forms.learn(example)
        self._fruitless[code] = 0 if is_new else self._fruitless[code] + 1
        if self._fruitless[code] > _LESSONS:
            self._unlearned[code] = _LONGEST_PAUSE

    def _example(self, printed: PrintedEvent, rules: Mapping[str, int]) -> Example | None:
        event, taken = self._stored.find(printed.key), self._ours.taken
        if event is None or taken is None:
            return None
        raw, (part, row) = event.raw, taken
        code = raw.header.type_code
        if self._unlearned[code]:
            self._unlearned[code] -= 1
            return None
        if code not in CODES or raw.extra_header or raw.version < 4:
            return None
        said = {n: part.batch.column(n)[row].as_py() for n in ("type", "flags", "gtid", "fields")}
        return Example(
            header_bytes(raw) + raw.body, raw.inner is not None, printed.pos, printed.end_log_pos,
            printed.checksum or 0, text=printed.text, rules=rules, body=event.body, **said,
        )  # fmt: skip

    # ---- runs

    def take(self, lines: LineSource, after: int) -> TakenEvents | None:
        """Judge the next transactions, or rows events of one statement, and take them, if all of
        them is as it must be and they stand after the position ``after``."""
        found = self._ours.next()
        waits = self._transactions.waits(), self._statements.waits()
        if found is None:
            return None
        part, row = found
        code, pos = (int(part.numbers[name][row]) for name in ("code", "pos"))
        stored = self._stored.bytes
        if pos <= after or stored is None or stored.offset != pos:
            return None
        is_rows = code in ROWS
        if waits[is_rows] or not (is_rows or code in STARTS):
            return None
        self._groups.next_event()
        pace = self._statements if is_rows else self._transactions
        codes = part.numbers["code"][row : row + pace.most]
        if is_rows:
            counts = np.flatnonzero(np.logical_and.accumulate(np.isin(codes, _ROWS)))
        elif self._groups.idle:
            counts = np.flatnonzero(codes == EventType.XID_EVENT)
        else:
            return None
        run = self._run(part, row, counts + 1, pos, stored)
        judge = self._judge_statement if is_rows else self._judge
        return None if run is None else pace.tried(judge(run, lines))

    def _run(
        self, part: EventPart, row: int, counts: Places, pos: int, stored: StoredBytes
    ) -> EventRun | None:
        """Our events from ``row`` on, so many as the last of ``counts`` for which they are not too
        large; None where there is none."""
        ends = part.numbers["end_pos"][row + counts - 1]
        fit = int(np.searchsorted(ends, pos + MOST_BYTES, "right"))
        if not fit or ends[fit - 1] <= pos:
            return None
        data = stored.ahead(int(ends[fit - 1]) - pos)
        return EventRun(part, row, int(counts[fit - 1]), data, stored.checksummed, self._forms)

    def _judge(self, run: EventRun, lines: LineSource) -> TakenEvents | None:
        stop = run.whole(run.without(self._wanted, run.right(_TRANSACTION)))
        if not stop or (run.part_of(0) != EventRole.GTID and not self._transaction.over):
            return None
        rows = self._rows.run(run.key(stop - 1), self._groups.tables)
        if rows is None:
            return None
        at = run.events_of(rows.column("pos", len(rows)), rows.column("inner", len(rows)))
        maps = run.maps(at)
        odd = rows.odd | (at < 0) | (maps < 0)
        for rule, counts in rows.rules.items():
            if self._wanted(rule):
                odd |= counts > 0
        if rows.open or odd.any():
            first = int(at[np.flatnonzero(odd)[0]]) if odd.any() else int(at[-1])
            stop = run.whole(min(max(first, 0), stop))
        beyond = (at < 0) | (at >= stop)
        count = int(np.argmax(beyond)) if beyond.any() else len(at)
        at = at[:count]
        if not stop or not count or (np.diff(at) < 0).any():
            return None
        facts = run.facts(stop)
        if not self._in_place(run, rows, at, facts) or not self._named(maps[:count], rows):
            return None
        if not run.gtids_are(facts.gtids, stop):
            return None
        by_bytes = self._by_bytes(run, rows, at) if rows.singles(count) else 0
        if by_bytes is None:
            return None
        if not lines.take_events(run.text(stop, rows.texts(count), at)):
            return None
        self._apply(run, rows, at, facts, by_bytes)
        return _taken(run, stop)

    def _judge_statement(self, run: EventRun, lines: LineSource) -> TakenEvents | None:
        """Rows events before the last of their statement, whose rows are printed after that."""
        stop = run.leading(EventRole.ROWS, run.without(self._wanted, run.right(_STATEMENT)))
        gtid = self._transaction.values.get("gtid")
        if not stop or not run.gtids_are(pa.array([gtid] * stop, pa.string()), stop):
            return None
        if not lines.take_events(run.text(stop)):
            return None
        self._counted(run, stop)
        keys = [run.key(i) for i in range(stop)]
        bodies = run.bodies(np.arange(stop))
        self._stored.hold(zip(keys, bodies, strict=True), int(run.ends[stop - 1]))
        numbers = [run.numbers[name][:stop].tolist() for name in _OF_EVENT]
        for key, *said in zip(keys, *numbers, strict=True):
            values = {**self._transaction.values, **dict(zip(_OF_EVENT, said, strict=True))}
            names = self._stored.names(key)
            self._groups.event(RowEventFacts(key, False, values, names, self._transaction))
        return _taken(run, stop)

    def _wanted(self, rule: str) -> bool:
        """Whether the frame keeps what a rule explains, as it does the first of each."""
        return self._findings.wants(Kind.REPRESENTATION, rule)

    # ---- rows

    @staticmethod
    def _in_place(run: EventRun, rows: RowRun, at: Places, facts: RunFacts) -> bool:
        """Whether the rows say rightly where they stand, and what their event and its transaction
        are."""
        count = len(at)
        begins = np.append(True, np.diff(at) != 0)
        firsts = np.flatnonzero(begins)
        numbers = np.arange(count) - firsts[np.cumsum(begins) - 1]
        numeric: tuple[tuple[str, npt.NDArray[Any], bool], ...] = (
            ("row", numbers, True),
            ("end_pos", run.ends[at], True),
            ("timestamp", run.numbers["timestamp"][at], True),
            ("server_id", run.numbers["server_id"][at], True),
            ("commit_timestamp", facts.commits[at], False),
            ("thread_id", facts.threads[at], False),
            ("xid", facts.xids[at], True),
        )
        for name, want, there in numeric:
            have = rows.column(name, count)
            null = np.zeros(count, bool) if there else want < 0
            if (np.asarray(have.is_null()) != null).any():
                return False
            values = np.asarray(have.fill_null(0)).astype(want.dtype)
            if (values[~null] != want[~null]).any():
                return False
        if rows.column("xa", count).null_count != count:
            return False
        texts = (("gtid", facts.gtids), ("query", facts.queries))
        return all(
            same_texts(rows.column(name, count), want.take(pa.array(at))) for name, want in texts
        )

    def _named(self, maps: Places, rows: RowRun) -> bool:
        """Whether our columns are called as the rows' table maps, of these forms, call them."""
        pairs = np.unique(np.stack([maps, rows.group[: len(maps)]]), axis=1)
        for form, group in pairs.T.tolist():
            names = self._forms.forms[form].names
            facts = RowEventFacts((0, -1), True, {}, names, self._transaction)
            if self._groups.misnamed(facts, rows.tables[group]):
                return False
        return True

    @staticmethod
    def _by_bytes(run: EventRun, rows: RowRun, at: Places) -> int | None:
        """How many FLOAT cells, of which the text lacks some digits, are what the log stores; None
        if one is not."""
        stored, size = list(run.rows(at)), 0
        if len(stored) != len(at):
            return None
        for image, images in (
            ("before", (r.old for r in stored)),
            ("after", (r.new for r in stored)),
        ):
            digits = b"".join(one.digits for one in images if one is not None)
            if digits != rows.stored_digits(image, len(at)):
                return None
            size += len(digits)
        return size // SINGLE

    # ---- what follows

    def _apply(
        self, run: EventRun, rows: RowRun, at: Places, facts: RunFacts, by_bytes: int
    ) -> None:
        count, stop = len(at), len(facts.gtids)
        last = stop - 1
        for rule, counts in rows.rules.items():
            self._explained(rule, int(counts[:count].sum()))
        self._counted(run, stop)
        self._rows.pass_over(range(count))
        self._groups.passed(count, int(rows.cells[:count].sum()), by_bytes)
        self._stored.pass_to(run.key(last), int(run.ends[last]))
        thread, commit = int(facts.threads[last]), int(facts.commits[last])
        self._transaction.passed(
            gtid=facts.gtids[last].as_py(), commit_timestamp=None if commit < 0 else commit,
            thread_id=thread, query=None,
        )  # fmt: skip

    def _counted(self, run: EventRun, stop: int) -> None:
        """The first events are taken."""
        last = run.last_statement(stop)
        if last is not None:
            self._forms.before = last
        for rule, times in run.rules(stop).items():
            self._explained(rule, times)
        self.compared += stop
        self._ours.pass_over(stop)

    def _explained(self, rule: str, times: int) -> None:
        if times:
            self._findings.count(Kind.REPRESENTATION, rule, times)


class _Pace:
    """``most``: how many events are tried at once, by how many were right before."""

    def __init__(self) -> None:
        self.most = _MOST
        self._pause = 0
        self._next_pause = 1

    def waits(self) -> bool:
        """Whether the next event is judged by itself, since trying was in vain."""
        waits = self._pause > 0
        self._pause -= waits
        return waits

    def tried(self, taken: TakenEvents | None) -> TakenEvents | None:
        """What came of trying."""
        if taken is not None:
            self._next_pause = 1
            self.most = max(_FEW, min(4 * taken.count, _MOST))
        else:
            self.most = max(_FEW, self.most // 8)
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)
        return taken


def _taken(run: EventRun, stop: int) -> TakenEvents:
    first, last = int(run.positions[0]), int(run.positions[stop - 1])
    return TakenEvents(stop, first, last, int(run.ends[stop - 1]) & UINT32)
