"""Logs -> splits: what each worker needs to read its file as if it had read all before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, with one light walk; it is plain data. What a file cannot tell by itself is
what stood in the files before: the tables as DDL there left them (:class:`Known`), and the numbers
of events and transactions, so that ``seq`` and ``tx`` are those of a :class:`binlogkit.Log` over
all files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from binlogkit.errors import DamageError, InputError
from binlogkit.events.base import Event
from binlogkit.events.query import Query
from binlogkit.log import open_log
from binlogkit.rows.ddl import Catalog, StatementKind, statement_kind
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.transactions import Outcome, Transaction, track_transactions
from binlogkit.rows.walk import LogWalk, ReadOptions, Step
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.spark.options import ScanOptions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Known", "Plan", "Split", "SplitWalk", "make_plan"]

# An outcome, and the file and position that brought it.
Decision = tuple[Outcome, str, int]


@dataclass(frozen=True, slots=True)
class Known:
    """What DDL told of tables up to some point; ``tracked``: the names that it touched."""

    catalog: Catalog
    tracked: frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Split:
    """One file, and where it stands among those read together.

    ``events``, ``transactions``: how many come before; ``known``: which of the plan's states holds
    what is known at its start, None for nothing; ``stop``: logical offset at which the file ended
    when it was planned, None where it is read to its end, whatever that is by then; ``location``:
    what opens it where that is not its name.
    """

    file: str
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    known: int | None = None
    stop: int | None = None
    location: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """A scan, its splits, and what they share.

    ``options``: how the logs are read, with the catalog of a schema file or a server; ``known``:
    one state for each change between files; ``changes``: the canonical batch schema of the scan's
    table, its versions united by name; None without a table, where the log has no change of it, and
    where it was not asked for; ``columns``: the names of the table's columns over all versions;
    ``decisions``: what became of prepared transactions, by their number.
    """

    scan: ScanOptions
    options: ReadOptions = field(default_factory=ReadOptions)
    splits: tuple[Split, ...] = ()
    known: tuple[Known, ...] = ()
    changes: pa.Schema | None = None
    columns: tuple[str, ...] = ()
    decisions: Mapping[int, Decision] = field(default_factory=dict)

    def walk(self, split: Split) -> SplitWalk:
        """A walk over one split that starts with what is known there."""
        known = None if split.known is None else self.known[split.known]
        carriers = resolve(split.location or split.file, self.scan.keys)
        return SplitWalk(carriers, self.options, split=split, known=known)


class SplitWalk(LogWalk):
    """A walk that can start at any of a series of logs: at ``split``, with what is ``known``."""

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions,
        *,
        ahead: bool = True,
        split: Split | None = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(carriers, options, ahead=ahead)
        self._split = split
        if split is not None:
            self.ordinal, self._transactions = split.events, split.transactions
        if known is not None:
            self._catalog, self._tracked = known.catalog.copy(), set(known.tracked)

    @property
    def events(self) -> int:
        """How many events were walked over, those before the start counted."""
        return self.ordinal

    @property
    def known(self) -> Known:
        """What is known now."""
        return Known(self._catalog.copy(), frozenset(self._tracked))

    def __iter__(self) -> Iterator[Step]:
        if self._split is None:
            yield from super().__iter__()
            return
        for carrier in self.carriers:
            yield from self._walk(carrier, self._split.first, self._split.last)

    def steps(self, carrier: Carrier) -> Iterator[Step]:
        """The steps of one log."""
        return self._walk(carrier, True, True)

    def _events(self, carrier: Carrier, sink: Callable[[DamageError], None]) -> Iterator[Event]:
        """The events before the split's stop; what a live log has got since is left alone."""
        stop = self._split.stop if self._split is not None else None
        if stop is None:
            yield from super()._events(carrier, sink)
            return

        def report(error: DamageError) -> None:
            if error.offset < stop:
                sink(error)

        try:
            for event in super()._events(carrier, report):
                if event.raw.inner is None and event.raw.pos >= stop:
                    return
                yield event
        except DamageError as error:
            if error.offset < stop:
                raise


def make_plan(scan: ScanOptions, *, unite: bool = True) -> Plan:
    """The splits of a scan; with a table its columns are learned on the way.

    ``unite``: whether one schema for all versions of the table is wanted. Damage and unreadable
    files are left to whoever reads the split. Errors: InputError, EmptyInputError (nothing is
    there), SchemaError (versions of the table that do not unite), ServerError, UsageError.
    """
    log = open_log(
        list(scan.paths),
        schema=scan.schema,
        schema_from=scan.schema_from,
        charset=scan.charset,
        on_damage=scan.on_damage,
        name=scan.name,
        keyring=scan.keyring,
        key_file=scan.key_file,
    )
    last = len(log.files) - 1
    splits = [
        Split(carrier.name, i == 0, i == last, location=carrier.location)
        for i, carrier in enumerate(log.carriers)
    ]
    # The last file matters to none behind it; but a table's schema, or what became of a prepared
    # transaction, may be in it.
    needed = log.carriers if scan.typed or scan.kind == "transactions" else log.carriers[:-1]
    planner = _Planner(scan, log.options, needed)
    walked = planner.run(splits)
    versions = planner.versions() if scan.typed else []
    changes = _united(versions, str(scan.table)) if versions and unite else None
    names = dict.fromkeys(column.name for schema in versions for column in schema.columns)
    return Plan(
        scan,
        log.options,
        walked,
        tuple(planner.known),
        changes,
        tuple(names),
        planner.decisions,
    )


class _Planner:
    """Walks over the logs once and notes where each one starts."""

    def __init__(
        self, scan: ScanOptions, options: ReadOptions, carriers: Sequence[Carrier]
    ) -> None:
        self._scan = scan
        self.walk = SplitWalk(carriers, options, ahead=False)
        self.known: list[Known] = []
        self.decisions: dict[int, Decision] = {}
        self._prepared: dict[str, int] = {}
        self._transactions = 0
        self._declared = False
        self._ordered = True
        self._end = 0

    def run(self, splits: Sequence[Split]) -> tuple[Split, ...]:
        """The splits with their starts, and the ends of those that were walked to the end."""
        done: list[Split] = []
        ended = False
        for i, split in enumerate(splits):
            start = self._start(split)
            if i < len(self.walk.carriers) and not ended:
                try:
                    # The worker tells of an unreadable file; the others go on, as in a Log.
                    with suppress(InputError):
                        start = replace(start, stop=self._pass(self.walk.carriers[i]))
                except DamageError:
                    ended = True  # the worker tells; nothing behind is delivered, as in a Log
            done.append(start)
        return tuple(done)

    def _start(self, split: Split) -> Split:
        if self._declared:
            self.known.append(self.walk.known)
            self._declared = False
        return replace(
            split,
            events=self.walk.events,
            transactions=self._transactions,
            known=len(self.known) - 1 if self.known else None,
        )

    def versions(self) -> list[TableSchema]:
        """The versions of the wanted table, in log order."""
        wanted = self._scan.wanted()
        return [
            schema
            for name, schemas in self.walk.schemas.items()
            if wanted.wants_table(*name)
            for schema in schemas
        ]

    def _pass(self, carrier: Carrier) -> int | None:
        """Walk over one log; the offset of its end, None where damage or disorder hides it."""
        self._end, self._ordered, before = 0, True, len(self.walk.damages)
        for transaction in track_transactions(self._events(carrier), self._transactions):
            self._transactions = transaction.number + 1
            self._decide(transaction)
        hidden = any(damage.offset >= self._end for damage in self.walk.damages[before:])
        return self._end if self._ordered and not hidden else None

    def _decide(self, transaction: Transaction) -> None:
        """Note what XA COMMIT and XA ROLLBACK decide (rows/ledger.py, _resolve)."""
        if transaction.outcome == Outcome.PREPARED and transaction.xa is not None:
            self._prepared[transaction.xa] = transaction.number
        elif transaction.resolves is not None:
            decided = self._prepared.pop(transaction.resolves, None)
            if decided is not None:
                where = (transaction.file, transaction.pos)
                self.decisions[decided] = (transaction.outcome, *where)

    def _events(self, carrier: Carrier) -> Iterator[Event]:
        for step in self.walk.steps(carrier):
            event = step.event
            if event.raw.inner is None:  # events pasted into a text may stand in any order
                self._ordered = self._ordered and event.raw.pos >= self._end
                self._end = max(self._end, event.raw.end_pos)
            body = event.body
            if isinstance(body, Query):
                kind = statement_kind(body.query, body.status_vars.sql_mode)
                self._declared = self._declared or kind == StatementKind.DDL
            yield event


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    import pyarrow as pa

    from binlogkit.frames.batches import schema_of
    from binlogkit.frames.tables import united

    empty = [pa.RecordBatch.from_pylist([], schema=schema_of(v)) for v in versions]
    return united(empty, table).schema
