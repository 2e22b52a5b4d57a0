"""All checks together, in the order of the files and of their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from binlogkit.analyses.verify.file_facts import FileChecks, FileFacts
from binlogkit.analyses.verify.finding import Finding, Grade, Place, finding
from binlogkit.analyses.verify.rows_checks import RowsChecks
from binlogkit.analyses.verify.series import Joint, Series, SeriesLedger
from binlogkit.analyses.verify.transaction_checks import TransactionChecks, XaLedger
from binlogkit.errors import (
    ChecksumError,
    DamageError,
    MalformedEventError,
    TruncatedEventError,
    ZeroTailError,
)
from binlogkit.events.base import Event
from binlogkit.rows.losses import Loss, Losses

__all__ = ["MAX_OF_A_CODE", "Verifier"]

# Findings of one code in one file that are given; the others are counted.
MAX_OF_A_CODE = 1000
_MAGIC_LENGTH = 4


class Verifier:
    """Verifies files one after the other: :meth:`begin`, then what they hold, then :meth:`end`.

    Memory depends on what is open (statements, XA transactions, gaps in GTIDs), not on the size.
    """

    def __init__(self) -> None:
        self.files: list[FileFacts] = []
        self._xa = XaLedger()
        self._ledger = SeriesLedger()
        self._series: Series | None = None
        self._transactions: TransactionChecks | None = None
        self._rows = RowsChecks()
        self._carried: tuple[Series | None, TransactionChecks, RowsChecks] | None = None

    def begin(self, name: str, *, encrypted: bool = False) -> Iterator[Finding]:
        """The next file."""
        self.facts = FileFacts(name)
        self.files.append(self.facts)
        self._file = FileChecks(self.facts)
        self._rows = RowsChecks()
        self._transactions = None
        self._losses = Losses()
        self._series = None
        self._given: Counter[str] = Counter()
        self._last_damage: DamageError | None = None
        if encrypted:
            yield finding("encrypted", Place(name), "the log is encrypted")

    def damaged(self, error: DamageError, event: Event | None = None) -> Iterator[Finding]:
        """Damage that reading met; ``event``: the one that follows or has it."""
        own = event is not None and event.raw.pos == error.offset
        if error.end is None and own and event is not None:
            error.end = event.raw.end_pos
        gtid = self._transactions.gtid if self._transactions else None
        self.facts.damages += 1
        self._last_damage = error
        self._losses.damaged(error, event if own else None)
        self._rows.damaged()
        if self._transactions is not None:
            self._transactions.damaged()
        number = self._file.number + 1 if own else None
        kind = event.type if event is not None and own else None
        at = Place(error.file, error.offset, error.end, None, number, kind, gtid)
        where = f"{error.field}: " if error.field else ""
        yield from self._limited(finding(_code(error, event, own), at, where + error.reason))

    def feed(self, event: Event) -> Iterator[Finding]:
        """The file's next event."""
        for found in self._checks(event):
            yield from self._limited(found)

    def _checks(self, event: Event) -> Iterator[Finding]:
        yield from self._file.feed(event)
        if self._series is None:
            self._series = self._ledger.of(self.facts)
        if self._transactions is None:
            self._transactions = self._first_of(self._series)
        for loss in self._losses.feed(event):
            yield _lost(loss)
        if event.raw.checksum == "bad":
            return
        number = self._file.number
        transactions = self._transactions
        if transactions.open is None and not self.facts.relay:
            self._rows.in_statement = False
        yield from transactions.feed(event, number)
        if self.facts.foreign:
            return
        gtid = transactions.ended.gtid if transactions.ended else transactions.gtid
        yield from self._rows.feed(event, number, gtid)
        if transactions.ended is not None:
            yield from self._rows.transaction_ends(event, number, gtid)

    def _first_of(self, series: Series) -> TransactionChecks:
        """The checks of transactions; a relay log may go on inside the one before."""
        if self.facts.relay and self._carried is not None and self._carried[0] is series:
            _, transactions, self._rows = self._carried
            transactions.facts = self.facts
            return transactions
        return TransactionChecks(self.facts, series.seen, self._xa)

    def end_file(self) -> Iterator[Finding]:
        """The file ends."""
        cut = self._ends_in_damage()
        for found in self._ending(cut):
            yield from self._limited(found)
        self._carried = None
        if self._transactions is not None and self._transactions.open is not None and not cut:
            self._carried = (self._series, self._transactions, self._rows)
        for code, count in sorted(self._given.items()):
            if count > MAX_OF_A_CODE:
                text = f"{count - MAX_OF_A_CODE} more findings {code}"
                yield finding("more", Place(self.facts.name), text)

    def _ending(self, cut: bool) -> Iterator[Finding]:
        if self._transactions is not None:
            yield from self._transactions.end(cut=cut)
        for loss in self._losses.end():
            yield _lost(loss)
        yield from self._file.end(cut=cut)

    def _ends_in_damage(self) -> bool:
        error = self._last_damage
        if error is None:
            return False
        return error.end is None or error.end > self.facts.size

    def end(self) -> Iterator[Finding]:
        """All files were read: what is wrong between them, and what stayed open."""
        yield from self._ledger.end()
        yield from self._xa.end()

    def joints(self) -> list[Joint]:
        """All pairs of files that follow each other in a series."""
        return list(self._ledger.joints())

    def _limited(self, found: Finding) -> Iterator[Finding]:
        self._given[found.code] += 1
        if self._given[found.code] <= MAX_OF_A_CODE:
            yield found


def _lost(loss: Loss) -> Finding:
    at = Place(loss.file, loss.pos, loss.end_pos)
    grade = Grade.WARNING if loss.missing == 0 and loss.cut is None else None
    return finding("missing_events", at, loss.sentence, grade=grade)


def _code(error: DamageError, event: Event | None, own: bool) -> str:
    """The code of what reading met."""
    stopped = event is None and error.end is None
    if isinstance(error, ZeroTailError):
        return "zeros_at_end"
    if isinstance(error, ChecksumError):
        return "bad_checksum" if own or stopped else "broken_framing"
    if isinstance(error, TruncatedEventError):
        return "cut_event" if event is None else "broken_framing"
    if error.field == "magic":
        return "bad_magic"
    if own or (stopped and error.field not in (None, "event_size")):
        return "malformed_event"
    if isinstance(error, MalformedEventError):
        return "broken_framing" if event is not None or stopped else "garbage_at_end"
    return "damaged_carrier"
