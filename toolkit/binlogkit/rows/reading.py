"""The one loop over logs: their events in windows, with transactions, tables and damage.

The kernel frames, checks and indexes events (``scan.py``); the reading joins what Python read in
between: statements that change tables, table maps, damage and what may be missing around it. All
answers are views of these windows (``frames/``, ``views/``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError, LimitError, printable
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.control import Incident, Rotate
from binlogkit.events.early import EarlyRows
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.load import CreateFile, Load
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.rows.ddl import StatementKind, TableChange
from binlogkit.rows.gtid_ledger import GtidLedger, by_origin
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.scan import LogScan, ScannedPart
from binlogkit.rows.schema import Supposition
from binlogkit.rows.series import AllSeries, Head, Series, SourceTables, beside
from binlogkit.rows.slots import Slots
from binlogkit.rows.soundness import Finding, Gap, Gaps
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.window import ALONE, THREAD, Looked, PythonFacts, Window
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.raw import EventHeader
from binlogkit.sources.tasks import Submit

MOST_EVENTS = 1 << 31  # of a reading: what the place of a row, an int64, can hold


class Reading:
    """Logs in order; ``damages`` and ``problems`` collect what is met, ``schemas`` each
    version of every table.

    ``damages`` hold what is known when a window is handed over, but not yet what the window itself
    has, which what decodes its rows puts between theirs. ``loose``: carriers of events without a
    file around them, and how many statements in each have nothing but their rows there;
    ``sources``: those whose transactions are wanted, empty for all: a GTID in others is none that
    came before; ``unreadable``: logs that cannot be read at all, which is raised after all others;
    ``at``: which log is read; ``series``: which logs belong together, also of readings before;
    ``seen``: the GTIDs of the transactions that were read intact; ``undecodable``: how many cells
    of the rows that were decoded could not be; ``supposed``: by name, what those rows rest on that
    no byte decides.
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions | None = None,
        *,
        start: Start | None = None,
        gaps: Gaps | None = None,
        series: AllSeries | None = None,
    ) -> None:
        self.carriers = carriers
        self.options = options or ReadOptions()
        self.start = start or Start()
        self.damages: list[DamageError] = []
        self._gaps = gaps
        self.loose: dict[str, int] = {}
        self.unreadable: InputError | None = None
        self.at = 0
        self.tables = TableHistory(self.options)
        self.schemas, self.problems = self.tables.schemas, self.tables.problems
        self.texts = self.tables.texts
        catalog = self.start.catalog or self.options.catalog
        # Of those that are there: an iterator may wait for logs that come.
        names = [carriers[i].name for i in range(len(carriers))]
        self.series = series or AllSeries(catalog, self.start.tracked, names=names)
        self.seen = GtidLedger(self.start.seen)
        self.sources: frozenset[str] = frozenset()
        self.threads: set[int] = set()  # of the transactions that were met
        self.undecodable = 0
        self.supposed: dict[str, Supposition] = {}
        self.ordinal = self.start.ordinal
        self.facts = PythonFacts()
        self.scanner = Scanner(self.start.number)
        self._slots = Slots(self.tables, self.scanner)
        self._looked: list[Looked] = []
        self._generation = self.tables.generation
        self._damaged: list[int] = []  # offsets of damage since the last transaction began
        self._fatal: DamageError | None = None  # what ends the reading after a window
        self._server_version = ""
        self._series: Series | None = None  # of the log that is read
        self._source: SourceTables | None = None  # whose tables are known just now
        self._scan: LogScan | None = None
        self._savepoint: int | None = None  # the last transaction with one

    def start_after(self, number: int, seen: GtidSet) -> Start:
        """A start after what was read, as if it had been read there, too; ``number``: of the next
        transaction."""
        tables = self.tables
        return Start(
            ordinal=self.ordinal, number=number, catalog=tables.catalog.copy(),
            tracked=frozenset(tables.tracked), first=False, seen=seen,
        )  # fmt: skip

    @property
    def folded(self) -> bool:
        """Whether names of databases and tables turned out to be compared without case."""
        return self.tables.catalog.folded

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing, up to where it has come; none are sought without Gaps."""
        if self._gaps is None:
            return []
        stops = self.options.on_damage == "stop"
        stopped = self.damages[-1] if stops and self.damages else None
        return self._gaps.found(self.ordinal, stopped)

    @property
    def notes(self) -> list[Finding]:
        """What concerns the whole of what was read and means no gap: clocks, the logs' ends."""
        return [] if self._gaps is None else self._gaps.notes()

    def holds_more(self) -> bool:
        """Whether another window comes without waiting for bytes that are not there yet, as far as
        that is known."""
        return self._scan is not None and self._scan.holds_more()

    def unread_rows(self, window: Window, i: int, error: DamageError) -> None:
        """The rows of entry ``i`` of a window cannot be read."""
        if self._gaps is not None:
            self._gaps.take_rows(window, i, error)

    def windows(self, submit: Submit | None = None) -> Generator[Window, None, None]:
        """The windows of all logs; an unreadable log is raised after the others were read.

        ``submit``: lets bytes be read in another thread.
        """
        for i, carrier in enumerate(self.carriers):
            self.at = i
            try:
                for window in self._log(i, carrier, submit):
                    if self._gaps is not None:
                        self._gaps.feed(window)
                    yield window
            except InputError as error:
                self.unreadable = self.unreadable.and_also(error) if self.unreadable else error
        if self.unreadable is not None:
            raise self.unreadable

    # ---- one log ------------------------------------------------------------------------------

    def _log(self, i: int, carrier: Carrier, submit: Submit | None) -> Iterator[Window]:
        scan = LogScan(
            carrier, self.scanner, self._look, stops=self.options.on_damage == "stop",
            ordinal=self.ordinal, begin=self.start.begin if i == 0 else 0, submit=submit,
            missing=self._missing,
        )  # fmt: skip
        self._scan = scan
        first = i == 0 and self.start.first
        last = i == len(self.carriers) - 1 and self.start.last
        self._series = None
        if i and not self._beside(i - 1):
            self.scanner.lost()
            self._slots.renew()
        self._begin_log()
        self._damaged = []
        try:
            for part in scan:
                yield self._window(scan, part, first, last)
                if self._fatal is not None:
                    raise self._fatal
        finally:
            if scan.loose:
                self.loose.setdefault(carrier.name, 0)
            if not (scan.relay and not last and self._beside(i)):
                self.scanner.finish()
        yield replace(self._window(scan, ScannedPart(None), first, last), ends=True)

    def _beside(self, i: int) -> bool:
        """Whether the log after log ``i`` lies beside it."""
        return beside(*(carrier.name for carrier in self.carriers[i : i + 2]))

    def _begin_log(self) -> None:
        """Table ids are a log's own, but a relay log may end inside a statement."""
        if not self.scanner.in_statement:
            self.scanner.maps.forget_ids()

    def _window(self, scan: LogScan, part: ScannedPart, first: bool, last: bool) -> Window:
        stretch, file = part.stretch, scan.carrier.name
        fatal = None
        looked, self._looked = self._looked, []
        damages = [*part.damages]
        transactions = scan.transactions()
        if stretch is not None:
            if self._series is None:
                self._find_series(scan, stretch.raw(0, file).header)
            self._check_count(stretch.ordinal + len(stretch.entries), file)
            self._slots.resolve(stretch, scan.parser.context, file)
            damages += self._slots.unreadable(stretch, file)
            self.ordinal = stretch.ordinal + len(stretch.entries)
            if scan.loose:
                alone = (transactions["notes"] & ALONE > 0) & (transactions["open"] == 0)
                self.loose[file] = self.loose.get(file, 0) + int(np.count_nonzero(alone))
            errors, self._slots.errors = self._slots.errors, []
            if errors and scan.stops:
                fatal, self._fatal = errors[0]
                errors = []
            damages += errors
        damages.sort(key=itemgetter(0))
        self._damaged += [error.offset for _, error in damages]
        repeated = self._repeated(scan, transactions)
        facts = self._facts_of(transactions)
        self.threads.update(transactions["thread_id"][transactions["has"] & THREAD > 0].tolist())
        window = Window(
            scan.carrier, first, last, self._server_version, facts, transactions, stretch,
            self._slots.schemas, looked, damages, folded=self.folded, loose=scan.loose,
            context=replace(scan.parser.context), series=self._series, repeated=repeated,
        )  # fmt: skip
        if fatal is not None:
            window = window.before(fatal)
        if self._generation != self.tables.generation:
            self._slots.renew()
            self._generation = self.tables.generation
        return window

    def _facts_of(self, transactions: np.ndarray[Any, Any]) -> PythonFacts:
        """What Python knows of a window's transactions; the last one may continue in the next."""
        found = replace(self.facts, gtids={**self.facts.gtids}, xa={**self.facts.xa})
        if len(transactions):
            self.facts.forget(int(transactions["number"][-1]))
        return found

    @staticmethod
    def _check_count(events: int, file: str) -> None:
        """LimitError: the reading has more events than can be numbered."""
        if events > MOST_EVENTS:
            raise LimitError(
                f"{printable(file)}: more than {MOST_EVENTS:,} events in one reading; "
                "read fewer logs at once"
            )

    # ---- what Python looks at -----------------------------------------------------------------

    def _look(self, scan: LogScan, i: int, event: Event) -> bool:
        """Take an event; whether tables have changed. Maps before it are resolved as they were."""
        body, settled = event.body, scan.settled
        if self._series is None:
            begins = isinstance(body, (FormatDescription, StartV3))
            self._find_series(scan, event.raw.header, scan.following() if begins else None)
        elif isinstance(body, Rotate) and event.raw.header.log_pos:
            self._series.next_name, self._series.rotated = body.name, event.raw.header.timestamp
        number, effect, kind = settled if settled is not None else (-1, None, None)
        if isinstance(body, Gtid):
            self.facts.gtids[number] = (body.gtid, body.immediate_commit_timestamp)
        if effect is not None and effect.xa is not None:
            self.facts.xa[number] = effect.xa
        changes = self._changes(scan, i, event)
        if kind is StatementKind.SAVEPOINT:
            self._savepoint = number
        killed = isinstance(body, (Query, ExecuteLoadQuery)) and body.error_code
        if killed or number == self._savepoint:
            # Of a killed one some rows may stay, and what follows a savepoint may be taken back.
            changes = [replace(change, deletes_all=False) for change in changes]
        self._looked.append(Looked(i, event, number, effect, kind, tuple(changes)))
        return self._generation != self.tables.generation

    def _changes(self, scan: LogScan, i: int, event: Event) -> list[TableChange]:
        """What an event does to tables."""
        body, raw = event.body, event.raw
        if isinstance(body, (Query, ExecuteLoadQuery)):
            if not self._slots.complete:
                stretch = scan.indexed()
                self._slots.resolve(stretch, scan.parser.context, raw.file)
            return self.tables.apply(body, raw.file, raw.pos, raw.header.timestamp)
        if isinstance(body, (FormatDescription, StartV3)):
            self._take_format(body.server_version)
        elif isinstance(body, EarlyRows):
            self._slots.early_rows(i, body.table_id)
        elif isinstance(body, (Load, CreateFile)):
            load = body if isinstance(body, Load) else body.load
            return [TableChange("statement_write", load.db, load.table)]
        elif isinstance(body, Incident):
            self._lose(raw.pos)
            text = f"{body.incident}: {body.message}" if body.message else body.incident
            return [TableChange("incident", "", "", reason=text)]
        elif isinstance(body, OpaqueEvent) and raw.header.type_code == EventType.QUERY_EVENT:
            self._lose(raw.pos)  # it cannot be read
        return []

    def _missing(self, offset: int) -> None:
        """Events are missing from an offset of the log on: maps that come are resolved anew."""
        self._lose(offset)
        self._slots.renew()
        self._generation = self.tables.generation

    def _lose(self, offset: int) -> None:
        """A statement may be missing: take what is known of tables after it."""
        known = self.start.lost.get((self.at, offset))
        if known is not None:
            self.tables.know(known)

    # ---- whose logs they are ------------------------------------------------------------------

    def _find_series(
        self, scan: LogScan, header: EventHeader, following: Event | None = None
    ) -> None:
        """A log begins: find out which logs it continues, and take their tables."""
        previous = None
        if following is not None and isinstance(following.body, PreviousGtids):
            previous = GtidSet.parse(following.body.gtid_set)
        head = Head(
            scan.carrier.name, self.options.source or scan.carrier.source, header.server_id,
            bool(scan.relay), header.timestamp, previous,
        )  # fmt: skip
        self._series = self.series.of(head)
        source, before = self._series.source, self._source
        if source is before:
            return
        if before is not None:
            self._slots.resolve_anew()
        self._source = source
        self.tables.take_over(source)
        self.tables.generation += 1

    def _repeated(
        self, scan: LogScan, transactions: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any] | None:
        """The numbers of those that begin after an intact transaction of their GTID has ended."""
        series = self._series
        if series is None or not len(transactions):
            return None
        counts = not self.sources or series.source.name in self.sources
        found = self.facts.gtids_of(transactions)
        gtids = {k: gtid for k, (gtid, _) in found.items() if gtid is not None}
        count = len(transactions)
        whole = (transactions["open"] == 0) & (transactions["outcome"] > 0)
        intact = whole & self._intact(scan, transactions)
        again = np.zeros(count, bool)
        for origin, places, numbers in by_origin(transactions, np.ones(count, bool), gtids):
            ended, first = whole[places], intact[places]
            if ended.any():
                series.gtids.add(origin, numbers[ended])
            if counts and not first.all():
                again[places[~first]] = self.seen.has(origin, numbers[~first])
                again[places[~first]] |= _behind(numbers, first)
            if counts and first.any():
                again[places[first]] = self.seen.add(origin, numbers[first])
        keep = self.options.duplicates == "keep" or not again.any()
        return None if keep else transactions["number"][again]

    def _intact(self, scan: LogScan, transactions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Which have no damage in them, and the length that their GTID events say."""
        starts, ends, length = (transactions[name] for name in ("pos", "end_pos", "length"))
        damaged = np.sort(np.array(self._damaged, np.int64))
        found: np.ndarray[Any, Any] = np.searchsorted(damaged, starts) == np.searchsorted(
            damaged, ends
        )
        if not scan.relay:  # which keeps the length that its source's log has
            found &= (length < 0) | (length == transactions["size"])
        self._damaged = [offset for offset in self._damaged if offset >= starts[-1]]
        return found

    def _take_format(self, server_version: str) -> None:
        self._begin_log()
        self._slots.forget_unread()
        if self._server_version != server_version:
            self.tables.generation += 1  # versions read the same map otherwise
        self._server_version = self.tables.catalog.server_version = server_version


def _behind(numbers: np.ndarray[Any, Any], first: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which of those that are not ``first`` come after a first one of the same number."""
    firsts, others = np.flatnonzero(first), np.flatnonzero(~first)
    known, at = np.unique(numbers[firsts], return_index=True)
    places = dict(zip(known.tolist(), firsts[at].tolist(), strict=True))
    pairs = zip(numbers[others].tolist(), others.tolist(), strict=True)
    return np.array([places.get(n, i) < i for n, i in pairs], bool)
