"""Logs -> splits: what each worker needs to read its part as if it had read all before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, with one light walk; it is plain data. What a part cannot tell by itself is
what stood before it: the tables as DDL there left them (:class:`Known`), and the numbers of events
and transactions, so that ``seq`` and ``tx`` are those of a :class:`binlogkit.Log` over all files.
A large file whose row changes are asked for is cut at starts of transactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.tables import united
from binlogkit.log import open_log
from binlogkit.rows.ddl import Catalog, StatementKind
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.prepared import Decision, Prepared
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.series import split_name
from binlogkit.rows.soundness import Gap
from binlogkit.rows.window import ROWS_EVENTS, Stretch, Window
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.carrier import can_seek, up_to
from binlogkit.spark.options import READING, ScanOptions

if TYPE_CHECKING:
    import pyarrow as pa

_SLOT_BITS = 32
_SLOTS = (1 << _SLOT_BITS) - 1


@dataclass(frozen=True, slots=True)
class Known:
    """What DDL told of tables up to some point; ``tracked``: the names that it touched."""

    catalog: Catalog
    tracked: frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Split:
    """One file, or a part of it, and where it stands among those read together.

    ``first``, ``last``: whether the file is; ``events``, ``transactions``: how many come before;
    ``known``: which of the plan's states holds what is known at its start, None for nothing;
    ``start``: logical offset of its first transaction, 0 for the file's beginning; ``stop``: of
    its end, or where the file ended when it was planned, None where it is read to its end, whatever
    that is by then; ``location``: what opens it where that is not its name; ``source``: the name of
    its server's logs, None where it alone tells that; ``seen``: the GTIDs of the transactions that
    were read before.
    """

    file: str
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    known: int | None = None
    start: int = 0
    stop: int | None = None
    location: str | None = field(default=None, repr=False)
    source: str | None = None
    seen: GtidSet | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A scan, its splits, and what they share.

    ``options``: how the logs are read, with the catalog of a schema file or a server; ``known``:
    one state for each change between splits; ``changes``: the canonical batch schema of the scan's
    table, its versions united by name; None without a table, where the log has no change of it, and
    where it was not asked for; ``columns``: the names of the table's columns over all versions;
    ``decisions``: what became of prepared transactions, by their number; ``gaps``: where changes
    may be missing.
    """

    scan: ScanOptions
    options: ReadOptions = field(default_factory=ReadOptions)
    splits: tuple[Split, ...] = ()
    known: tuple[Known, ...] = ()
    changes: pa.Schema | None = None
    columns: tuple[str, ...] = ()
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()

    def reading(self, split: Split) -> Reading:
        """A reading of one split that starts with what is known there."""
        known = None if split.known is None else self.known[split.known]
        carriers = resolve(split.location or split.file, self.scan.keys)
        if split.stop is not None:
            carriers = [up_to(carrier, split.stop) for carrier in carriers]
        # Spark gives a task one core.
        source = self.options.source or split.source
        options = replace(self.options, threads=1, source=source)
        start = Start(
            split.events, split.transactions, split.start,
            None if known is None else known.catalog,
            frozenset() if known is None else known.tracked, split.first, split.last, split.seen,
        )  # fmt: skip
        reading = Reading(carriers, options, start=start)
        reading.sources = self.scan.wanted().sources
        return reading


def make_plan(scan: ScanOptions, *, unite: bool = True) -> Plan:
    """The splits of a scan; with a table its columns are learned on the way.

    ``unite``: whether one schema for all versions of the table is wanted. Damage and unreadable
    files are left to whoever reads the split. Errors: InputError, EmptyInputError (nothing is
    there), SchemaError (versions of the table that do not unite), ServerError, UsageError.
    """
    log = open_log(list(scan.paths), **{name: getattr(scan, name) for name in READING})
    last = len(log.files) - 1
    splits = [
        Split(carrier.name, i == 0, i == last, location=carrier.location)
        for i, carrier in enumerate(log.carriers)
    ]
    planner = _Planner(scan, log.carriers, log.reading())
    planned = planner.run(splits)
    versions = planner.versions() if scan.typed else []
    changes = _united(versions, str(scan.table)) if versions and unite else None
    names = dict.fromkeys(column.name for schema in versions for column in schema.columns)
    known, columns = tuple(planner.known), tuple(names)
    decisions, gaps = planner.decisions, tuple(log.gaps)
    return Plan(scan, log.options, planned, known, changes, columns, decisions, gaps)


class _Planner:
    """Reads the logs once and notes where each one starts, and where it can be cut."""

    def __init__(self, scan: ScanOptions, carriers: Sequence[Carrier], reading: Reading) -> None:
        self._scan = scan
        self._split_bytes = scan.split_bytes
        self._carriers = carriers
        self.reading = reading
        self.known: list[Known] = []
        self.decisions: dict[int, Decision] = {}
        self._splits: list[Split] = []
        self._prepared = Prepared()
        self._declared = self._noted = 0  # statements that may have changed what is known
        self._declared_at = -1
        self._end = 0
        self._ordered = self._cuts = False
        self._uncut = 0  # splits before those of the log
        self._alone = _Alone()
        self._going_on = -1  # the latest transaction that has begun
        self._seen = GtidSet()
        self._source: str | None = None  # of the log before

    def run(self, splits: Sequence[Split]) -> tuple[Split, ...]:
        """The splits with their starts, and the ends of those that were read to the end."""
        needed = [self._needed(*pair) for pair in zip(splits, self._carriers, strict=True)]
        self.reading.sources = self._scan.wanted().sources
        windows = self.reading.windows()
        behind: Window | None = None  # of a log behind one that cannot be read
        for split, carrier, read in zip(splits, self._carriers, needed, strict=True):
            self._begin(split, carrier, behind)
            whole = True
            while read:
                self._seen = self.reading.seen.to_set()
                window = behind or self._next(windows)
                behind = None
                if isinstance(window, Window) and window.carrier is carrier:
                    self._take(window)
                    if window.ends:
                        break
                    continue
                behind = window if isinstance(window, Window) else None
                whole = False
                break
            self._finish(whole=whole and read)
        while self._next(windows):
            pass  # a log that matters to none behind it has gaps all the same
        return tuple(self._splits)

    def _next(self, windows: Iterator[Window]) -> Window | None:
        """The next window; the workers tell of damage, and of files that cannot be read."""
        try:
            return next(windows, None)
        except DamageError as error:
            self.reading.damages.append(error)
        except InputError:
            pass
        return None

    def _needed(self, split: Split, carrier: Carrier) -> bool:
        """Whether a log must be read. The last one matters to none behind it; but a table's schema,
        or what became of a prepared transaction, may be in it, it may be large, or another's."""
        places = [split_name(carrier.name)[:2] for carrier in self._carriers[-2:]]
        if not split.last or self._scan.typed or self._scan.kind == "transactions":
            return True
        if places[0] != places[-1]:
            return True
        return self._scan.of_rows and (carrier.size or 0) > self._split_bytes

    def _from(self, split: Split, start: int, events: int, transactions: int) -> Split:
        """``split`` from an offset on, with what is known now."""
        if self._noted != self._declared:
            tables = self.reading.tables
            self.known.append(Known(tables.catalog.copy(), frozenset(tables.tracked)))
            self._noted = self._declared
        known = len(self.known) - 1 if self.known else None
        return replace(split, start=start, events=events, transactions=transactions, known=known)

    def versions(self) -> list[TableSchema]:
        """The versions of the wanted table, in log order."""
        wanted = self._scan.wanted()
        return [
            schema
            for name, schemas in self.reading.schemas.items()
            if wanted.wants_table(*name)
            for schema in schemas
        ]

    # ---- one log --------------------------------------------------------------------------

    def _begin(self, split: Split, carrier: Carrier, window: Window | None) -> None:
        """The next log; ``window``: its first, where that was read already."""
        ordinal, number = self.reading.ordinal, self.reading.scanner.transactions.number
        if window is not None and window.stretch is not None:
            ordinal = window.stretch.ordinal
            number = int(window.transactions["number"].min(initial=number))
        self._uncut = len(self._splits) + 1
        split = replace(split, source=self._source, seen=self._seen or None)
        self._splits.append(self._from(split, 0, ordinal, number))
        self._end, self._ordered, self._alone, self._going_on = 0, False, _Alone(), -1
        large = (carrier.size or 0) > self._split_bytes
        self._cuts = self._scan.of_rows and large and can_seek(carrier)

    def _finish(self, *, whole: bool) -> None:
        """The log was read to its end, unless damage ended that."""
        if not self._cuts:
            del self._splits[self._uncut :]
        elif whole and len(self._splits) > self._uncut and self._splits[-1].start == self._end:
            self._splits.pop()
        self._splits[-1] = self._ended(self._end if whole and self._ordered else None)

    def _ended(self, stop: int | None) -> Split:
        """The split that goes on to the log's end."""
        return replace(self._splits[-1], stop=stop)

    def _take(self, window: Window) -> None:
        stretch, split = window.stretch, self._splits[-1]
        if window.series is not None and window.source != self._source:
            # Behind the first log, this window is a format description alone.
            self._noted = self._noted if self._source is None else -1
            self._source = window.source
            split = replace(split, source=self._source)
            self._splits[-1] = self._from(split, split.start, split.events, split.transactions)
        if window.repeated is not None:
            self._cuts = False
        self.decisions |= {n: decision for n, _, decision in self._prepared.take(window)}
        for item in window.looked:
            if item.kind is StatementKind.DDL:
                self._declared += 1
                self._declared_at = 0 if stretch is None else stretch.ordinal + item.i
        if window.damages:
            self._ordered = False
        if stretch is None or not len(stretch.entries):
            return
        plain = stretch.spots is None
        self._ordered = plain if not self._end else self._ordered and plain
        self._cuts = self._cuts and plain and self._alone.still(stretch)
        if stretch.outer is None:
            self._end = int(stretch.ends[-1])
            if self._cuts:
                self._cut(stretch)

    def _cut(self, stretch: Stretch) -> None:
        """Begin other splits at transactions of a stretch, or behind its end, before which enough
        lies, and behind which it declares nothing."""
        offsets = stretch.positions
        numbers, events = np.unique(stretch.entries["tx"], return_index=True)
        for number, event in zip(numbers.tolist(), events.tolist(), strict=True):
            if number > self._going_on:
                self._cut_at(int(offsets[event]), stretch.ordinal + event, number)
        if stretch.scanner.open_transaction is None:
            behind = stretch.ordinal + len(offsets)
            self._cut_at(self._end, behind, stretch.scanner.transactions.number)
        self._going_on = max(self._going_on, int(numbers[-1]))

    def _cut_at(self, pos: int, ordinal: int, number: int) -> None:
        near = pos < self._splits[-1].start + self._split_bytes
        if near or ordinal <= self._declared_at:
            return
        following = self._from(self._splits[-1], pos, ordinal, number)
        self._splits[-1] = self._ended(pos)
        self._splits.append(following)


class _Alone:
    """Whether each transaction of a log can be read without those before it.

    A server's can; but rows for a table id whose map stands in an earlier transaction are read, and
    a second format description may change how. What stands behind damage needs what is before it.
    """

    def __init__(self) -> None:
        self._formats = 0
        self._tx = -1
        self._mapped: set[int] = set()

    def still(self, stretch: Stretch) -> bool:
        """Whether that holds up to the stretch's end."""
        entries = stretch.entries
        self._formats += int((entries["type"] == EventType.FORMAT_DESCRIPTION_EVENT).sum())
        rows = entries[ROWS_EVENTS[entries["type"]]]
        maps = entries[entries["type"] == EventType.TABLE_MAP_EVENT]
        going_on = entries["tx"] == self._tx
        mapped = np.unique(_table_in_transaction(maps))
        needed = np.setdiff1d(_table_in_transaction(rows), mapped)
        known = self._mapped if going_on.any() else set()
        last = int(entries["tx"][-1])
        own = set(mapped[mapped >> _SLOT_BITS == last].tolist())
        self._mapped = own | known if last == self._tx else own
        self._tx = last
        return self._formats == 1 and known.issuperset(needed.tolist())


def _table_in_transaction(entries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A number for each slot in each transaction."""
    slots = entries["slot"].astype(np.int64)
    return entries["tx"].astype(np.int64) << _SLOT_BITS | slots & _SLOTS


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    return united([empty_batch(version) for version in versions], table).schema
