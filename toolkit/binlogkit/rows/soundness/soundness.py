"""Whether logs are intact and complete, found out while they are read.

Structure, checksums, positions, transactions, continuity: every answer can take the windows of its
reading here, too, and say what its own data stand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from binlogkit.errors import DamageError
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.losses import Loss
from binlogkit.rows.series import Series
from binlogkit.rows.soundness.alone import Alone
from binlogkit.rows.soundness.continuity_checks import Joint, SeriesLedger
from binlogkit.rows.soundness.finding import FileFacts, Finding, Place, finding
from binlogkit.rows.soundness.log_checks import LogChecks
from binlogkit.rows.soundness.transaction_checks import XaLedger
from binlogkit.rows.window import Met, Window
from binlogkit.sources.carriers import Carrier


class Soundness:
    """Takes the windows of a reading, or of several one after the other.

    ``files``: what was learned of each; ``losses``: what damage may have taken; ``keeps``: whether
    a transaction counts as often as it comes. Memory depends on what is open (statements, XA
    transactions, gaps in GTIDs), not on the size.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        self.files: list[FileFacts] = []
        self.losses: list[Loss] = []
        self._ordinal = 0  # of the next event
        self._xa = XaLedger()
        self._ledger = SeriesLedger(keeps=keeps)
        self._carrier: Carrier | None = None
        self._log: LogChecks | None = None
        self._before: LogChecks | None = None
        self._behind: list[DamageError] = []  # damage that no event came after yet

    @property
    def joints(self) -> list[Joint]:
        """All pairs of files that follow each other in a series."""
        return list(self._ledger.joints())

    def copied(self) -> tuple[GtidLedger, list[str]]:
        """The GTIDs that came twice, and the names of the files that have some of them."""
        copied = self._ledger.copied
        gtids = copied.to_set()
        files = [f.name for f in self.files if gtids.subtract(f.gtids.to_set()) != gtids]
        return copied, files

    def feed(self, window: Window, rows: Sequence[Met] = ()) -> list[Finding]:
        """Take the next window: what it shows, in order.

        ``rows``: which of its rows cannot be read, by entry.
        """
        self._next(window.carrier)
        stretch = window.stretch
        count = 0 if stretch is None else len(stretch.entries)
        met = [*((0, error) for error in self._behind), *window.damages]
        self._behind = [error for i, error in met if i >= count]
        found: list[Finding] = []
        if stretch is not None:
            log, found = self._begun(window.carrier)
            found += log.feed(window, stretch, [d for d in met if d[0] < count], rows)
            self._ordinal = stretch.ordinal + count
        if window.ends:
            found += self._end(window.carrier, loose=window.loose)
        return found

    def join(self, part: Alone, series: Series | None) -> tuple[list[Finding], set[Place]]:
        """Take files of a series that were read by themselves; None without an event.

        What they show only among the files before them, and the places of what their findings say
        of XA transactions that those files prepared.
        """
        source, ledger = None if series is None else series.source.name, self._ledger
        found: list[Finding] = []
        for file in part.files:
            own = file.gtids.to_set()
            ledger.awaited.add_set(file.follows)
            copied = ledger.seen.common(own)
            late = ledger.awaited.common(own.subtract(copied))
            facts = replace(file, source=source, copied=GtidLedger(copied), late=GtidLedger(late))
            ledger.copied.add_set(copied)
            ledger.seen.add_set(own)
            if facts.events:
                ledger.add(facts, series)
            self.files.append(facts)
            found += ledger.ended(facts)
        ledger.copied.add_set(part.repeated)
        self.losses += part.losses
        return found, self._xa.join(source, part.prepared, part.decided)

    def alone(self) -> Alone:
        """What was taken, as it can be joined to others, but for its findings."""
        xa = self._xa
        prepared = {xa_id: at for (_, xa_id), at in xa.prepared.items()}
        return Alone(
            tuple(self.files), losses=tuple(self.losses), prepared=prepared,
            decided=dict(xa.unprepared), repeated=self._ledger.copied.to_set(),
        )  # fmt: skip

    def stop(self, carrier: Carrier, error: DamageError, *, loose: bool) -> list[Finding]:
        """Damage ends the reading of a log."""
        self._next(carrier)
        self._behind.append(error)
        return self._end(carrier, loose=loose)

    def end(self) -> list[Finding]:
        """All logs were read: what is wrong between them, and what stayed open."""
        return [*self._beginnings(), *self._ledger.end(), *self._xa.end()]

    def _beginnings(self) -> Iterator[Finding]:
        """Files before which others were, none of which is here."""
        later = {id(joint.after) for joint in self._ledger.joints()}
        for file in self.files:
            if id(file) not in later and not file.relay and file.previous:
                text = f"executed before it: {file.previous}"
                yield finding("begins_later", Place(file.name), text)

    def _next(self, carrier: Carrier) -> None:
        if carrier is not self._carrier:
            self._carrier, self._log, self._behind = carrier, None, []

    def _begun(self, carrier: Carrier) -> tuple[LogChecks, list[Finding]]:
        found = []
        if self._log is None:
            self._log = LogChecks(carrier.name, self._ledger, self._xa, self._before, self.losses)
            self.files.append(self._log.facts)
            if carrier.encrypted:
                found.append(finding("encrypted", Place(carrier.name), "the log is encrypted"))
        return self._log, found

    def _end(self, carrier: Carrier, *, loose: bool) -> list[Finding]:
        log, found = self._begun(carrier)
        found += log.end(self._behind, self._ordinal, loose=loose)
        self._before, self._carrier, self._log = log, None, None
        return found
