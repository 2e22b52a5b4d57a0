"""All checks of one log together, in the order of its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from zlib import crc32

from binlogkit.constants import EventFlag, EventType, event_type_name
from binlogkit.errors import (
    ChecksumError,
    DamageError,
    MalformedEventError,
    TruncatedEventError,
    ZeroTailError,
)
from binlogkit.events.early import EarlyRows
from binlogkit.rows.losses import Loss
from binlogkit.rows.series import Series
from binlogkit.rows.soundness.continuity_checks import SeriesLedger
from binlogkit.rows.soundness.events import Found, WindowEvents
from binlogkit.rows.soundness.file_checks import FileChecks
from binlogkit.rows.soundness.finding import FileFacts, Finding, Grade, Place, finding
from binlogkit.rows.soundness.statement_checks import StatementChecks
from binlogkit.rows.soundness.transaction_checks import TransactionChecks, XaLedger
from binlogkit.rows.soundness.watch import Watch
from binlogkit.rows.window import LOOK, ROWS_EVENTS, Met, Stretch, Window
from binlogkit.sources.raw import EventHeader

# Findings of one code in one file that are given; the others are counted.
MAX_OF_A_CODE = 1000
_DAMAGE, _LOSS, _OF_ROWS = 0, 2, 50  # in the order of an event's findings


class LogChecks:
    """Takes the windows of one log; ``before``: the checks of the log before it, with whose open
    transaction a relay log may continue; ``losses`` are added to."""

    def __init__(
        self, name: str, ledger: SeriesLedger, xa: XaLedger, before: LogChecks | None,
        losses: list[Loss],
    ) -> None:  # fmt: skip
        self.facts = FileFacts(name)
        self._losses = losses
        self._ledger, self._xa, self._before = ledger, xa, before
        self._file = FileChecks(self.facts)
        self._series: Series | None = None  # of logs that may continue with this one
        self._transactions: TransactionChecks | None = None
        self._statements = StatementChecks(self.facts)
        self._watch = Watch()
        self._given: Counter[str] = Counter()
        self._damaged_to: int | None = 0  # where the last damage ends

    def feed(
        self, window: Window, stretch: Stretch, met: Sequence[Met], rows: Sequence[Met]
    ) -> list[Finding]:
        """Take a window; ``rows``: what decoding of its rows met."""
        events = WindowEvents(window, stretch, self._file.number)
        if self._transactions is not None:
            events.open, events.headless = self._transactions.open, self._transactions.headless
        elif self._before is not None:
            running = self._before._watch.open
            if running is not None and int(events.tx[0]) == running.number:
                self._watch.open = running
        met = [(i, error) for i, error in met if not _found_elsewhere(error, events, i)]
        found = [self._damaged(events, i, error) for i, error in met]
        found += [self._damaged(events, i, error, rows=True) for i, error in rows]
        for i, loss in self._watch.feed(events, met, rows):
            self._losses.append(loss)
            found.append((i, _LOSS, _lost(loss)))
        first = self._transactions is None
        self._mark(stretch)
        moments = [(i, 2 * i - 1) for i, _ in met if i or not first]
        moments = sorted([*moments, *((i, 2 * i + 1) for i, _ in rows)])
        for a, b in self._segments(events):
            damages = [moment for i, moment in moments if a <= i < b]
            found += self._checked(events, a, b, damages)
        found.sort(key=itemgetter(0, 1))
        return list(self._limited(finding for _, _, finding in found))

    def _mark(self, stretch: Stretch) -> None:
        """Note what distinguishes the file from others."""
        raws = [stretch.raw(i, self.facts.name) for i in (0, len(stretch.entries) - 1)]
        begin, end = (crc32(raw.body, crc32(repr(_closed(raw.header)).encode())) for raw in raws)
        known = self.facts.ends_in
        self.facts.ends_in = (
            known[0] if known else begin, end, len(stretch.entries) + (known[2] if known else 0)
        )  # fmt: skip

    def _segments(self, events: WindowEvents) -> Iterator[tuple[int, int]]:
        """Ranges of events; one that changes how others are checked is alone."""
        start = 0
        for item in events.looked:
            if self._file.turns(item):
                if item.i > start:
                    yield start, item.i
                yield item.i, item.i + 1
                start = item.i + 1
        if start < events.count:
            yield start, events.count

    def _checked(self, events: WindowEvents, a: int, b: int, damages: list[int]) -> list[Found]:
        previous = self.facts.previous
        found = list(self._file.feed(events, a, b))
        if previous is None and self.facts.previous is not None:
            self._ledger.awaited.add_set(self.facts.previous)
        transactions = self._transactions
        if transactions is None:
            transactions = self._transactions = self._first_of(events)
        if not self.facts.foreign:
            runs, more = transactions.feed(events, a, b, damages)
            found += more
            found += self._statements.feed(events, a, b, runs, damages)
        return found

    def _first_of(self, events: WindowEvents) -> TransactionChecks:
        """The checks of transactions; a relay log may continue one of the log before."""
        before, self._before, self._series = self._before, None, events.window.series
        self.facts.source = events.window.source
        self._ledger.add(self.facts, self._series)
        left = None if before is None else before._transactions
        if before is None or left is None or left.open < 0:
            transactions = TransactionChecks(self.facts, self._ledger, self._xa)
        elif self.facts.relay and before._series is self._series:
            transactions, self._statements = left, before._statements
            transactions.facts = self.facts
        else:
            headless = left.open if int(events.tx[0]) == left.open else -1
            transactions = TransactionChecks(self.facts, self._ledger, self._xa, headless)
        events.open, events.headless = transactions.open, transactions.headless
        return transactions

    # ---- damage -------------------------------------------------------------------------------

    def _damaged(
        self, events: WindowEvents, i: int, error: DamageError, *, rows: bool = False
    ) -> Found:
        """Damage before or in the event at entry i; ``rows``: its rows cannot be read."""
        own, end = rows or int(events.positions[i]) == error.offset, error.end
        kind, number = None, None
        if own:
            end = int(events.ends[i]) if end is None else end
            kind, number = event_type_name(int(events.types[i])), events.number(i)
        known = rows or not self.facts.foreign
        gtid = events.gtid(events.running(i + rows)) if known else None
        at = Place(error.file, error.offset, end, None, number, kind, gtid)
        return i, _OF_ROWS if rows else _DAMAGE, self._damage(error, at, _code(error, own, True))

    def _damage(self, error: DamageError, at: Place, code: str) -> Finding:
        self.facts.damages += 1
        self._damaged_to = at.end_pos
        where = f"{error.field}: " if error.field else ""
        return finding(code, at, where + error.reason)

    # ---- the end ------------------------------------------------------------------------------

    def end(self, errors: Sequence[DamageError], ordinal: int, *, loose: bool) -> list[Finding]:
        """The log ends, with damage after its last event; ``ordinal``: of the next one."""
        self.facts.loose = loose
        gtid = self._transactions.gtid if self._transactions is not None else None
        found = [
            self._damage(e, Place(e.file, e.offset, e.end, gtid=gtid), _code(e, False, False))
            for e in errors
        ]
        cut = self._damaged_to is None or self._damaged_to > self.facts.size
        transactions = self._transactions
        if transactions is not None:
            if errors:
                transactions.damaged()
                self._statements.damaged()
            found += transactions.end(cut=cut)
        for loss in self._watch.end(errors, ordinal):
            self._losses.append(loss)
            found.append(_lost(loss))
        found += self._file.end(cut=cut)
        found += self._ledger.ended(self.facts)
        if cut:
            self._series = None
        given = list(self._limited(found))
        for code, count in sorted(self._given.items()):
            if count > MAX_OF_A_CODE:
                text = f"{count - MAX_OF_A_CODE} more findings {code}"
                given.append(finding("more", Place(self.facts.name), text))
        return given

    def _limited(self, found: Iterable[Finding]) -> Iterator[Finding]:
        for one in found:
            self._given[one.code] += 1
            if self._given[one.code] <= MAX_OF_A_CODE:
                yield one


def _lost(loss: Loss) -> Finding:
    at = Place(loss.file, loss.pos, loss.end_pos)
    grade = Grade.WARNING if loss.missing == 0 and loss.cut is None else None
    return finding("missing_events", at, loss.sentence, grade=grade)


def _found_elsewhere(error: DamageError, events: WindowEvents, i: int) -> bool:
    """Whether the checks of statements report it: rows without a table map, or too old."""
    if not isinstance(error, MalformedEventError) or error.field != "table_id":
        return False
    code, plain = events.types[i], not events.notes[i] & LOOK
    mapped = plain and (ROWS_EVENTS[code] or code == EventType.TABLE_MAP_EVENT)
    early = any(isinstance(item.event.body, EarlyRows) for item in events.among(i, i + 1))
    return bool(mapped or early) and error.offset == int(events.positions[i])


def _code(error: DamageError, own: bool, followed: bool) -> str:
    """The code of damage; ``own``: an event has it; ``followed``: one stands after it."""
    stopped = not followed and error.end is None
    if isinstance(error, ZeroTailError):
        return "zeros_at_end"
    if isinstance(error, ChecksumError):
        return "bad_checksum" if own or stopped else "broken_framing"
    if isinstance(error, TruncatedEventError):
        return "broken_framing" if followed else "cut_event"
    if error.field == "magic":
        return "bad_magic"
    if own or (stopped and error.field not in (None, "event_size")):
        return "malformed_event"
    if isinstance(error, MalformedEventError):
        return "broken_framing" if followed or stopped else "garbage_at_end"
    return "damaged_carrier"


def _closed(header: EventHeader) -> EventHeader:
    """A header without the flag that a server clears once it closes the log."""
    if header.type_code != EventType.FORMAT_DESCRIPTION_EVENT:
        return header
    return replace(header, flags=header.flags & ~EventFlag.IN_USE)
