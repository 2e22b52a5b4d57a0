"""Logs -> splits: what each worker needs to read its file as if it had read all before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, with one light walk; it is plain data. What a file cannot tell by itself is
what stood in the files before: definitions made by DDL (its events are ``Plan.history``, of which a
split says how many are past), and the numbers of events and transactions, so that ``seq`` and
``tx`` are those of a :class:`binlogkit.Log` over all files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError, InputError
from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.query import Query
from binlogkit.rows.ddl import Catalog, StatementKind, statement_kind
from binlogkit.rows.schema import Origin, TableSchema
from binlogkit.rows.transactions import track_transactions
from binlogkit.rows.walk import LogWalk, ReadOptions, Step
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.spark.options import ScanOptions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Base", "Plan", "Split", "SplitWalk", "carrier_of", "make_plan"]


@dataclass(frozen=True, slots=True)
class Split:
    """One file, and where it stands among those read together.

    ``events``, ``transactions``: how many come before; ``history``: how many of the plan's events
    to know of do; ``stop``: logical offset at which the file ended when it was planned, None
    where it is read to its end, whatever that is by then.
    """

    file: str
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    history: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """What is known of tables before the log: a schema file's text or a server's answers."""

    text: str | None = None
    answers: tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...] | None = None

    @classmethod
    def read(cls, scan: ScanOptions) -> Base:
        """Read the schema file, or ask the server. Errors: InputError, ServerError, UsageError."""
        from binlogkit.sources.schema_source import connect, read_schema_text

        if scan.schema is not None:
            return cls(text=read_schema_text(scan.schema))
        if scan.schema_from is None:
            return cls()
        from binlogkit.rows.ddl import from_server

        answers: list[tuple[str, tuple[tuple[Any, ...], ...]]] = []
        with connect(scan.schema_from) as connection, connection.cursor() as cursor:

            def ask(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql)
                rows = [tuple(row) for row in cursor.fetchall()]
                answers.append((sql, tuple(rows)))
                return rows

            from_server(ask)
        return cls(answers=tuple(answers))

    def read_options(self, scan: ScanOptions) -> ReadOptions:
        """How the scan's logs are to be read, with the catalog that this makes."""
        catalog: Catalog | None = None
        origin = Origin.SCHEMA_FILE
        if self.text is not None:
            from binlogkit.rows.ddl import load_schema

            catalog = load_schema(self.text)
        elif self.answers is not None:
            from binlogkit.rows.ddl import from_server

            known = dict(self.answers)
            catalog, origin = from_server(lambda sql: list(known[sql])), Origin.SERVER
        return ReadOptions(scan.on_damage, catalog, origin, scan.charset, scan.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """A scan, its splits, and what they share.

    ``changes``: the canonical batch schema of the scan's table, its versions united by name; None
    without a table, where the log has no change of it, and where it was not asked for; ``columns``:
    the names of the table's columns over all versions.
    """

    scan: ScanOptions
    base: Base = field(default_factory=Base)
    splits: tuple[Split, ...] = ()
    history: tuple[Event, ...] = ()
    changes: pa.Schema | None = None
    columns: tuple[str, ...] = ()


class SplitWalk(LogWalk):
    """A walk that can start anywhere in a series of logs.

    ``split``: where that is; ``history``: the events before it that say something of tables.
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions,
        *,
        ahead: bool = True,
        history: Sequence[Event] = (),
        split: Split | None = None,
    ) -> None:
        super().__init__(carriers, options, ahead=ahead)
        self._split = split
        if split is not None:
            self._ordinal, self._transactions = split.events, split.transactions
        for event in history:
            self._take(Step(event, 0, False, False), event.body)

    @property
    def events(self) -> int:
        """How many events were walked over, those before the start counted."""
        return self._ordinal

    def __iter__(self) -> Iterator[Step]:
        if self._split is None:
            yield from super().__iter__()
            return
        for carrier in self.carriers:
            yield from self._walk(carrier, self._split.first, self._split.last)

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

    def steps(self, carrier: Carrier) -> Iterator[Step]:
        """The steps of one log."""
        return self._walk(carrier, True, True)


def make_plan(scan: ScanOptions, *, unite: bool = True) -> Plan:
    """The splits of a scan; with a table its columns are learned on the way.

    ``unite``: whether one schema for all versions of the table is wanted. Damage and unreadable
    files are left to whoever reads the split. Errors: InputError, EmptyInputError (nothing is
    there), SchemaError (versions of the table that do not unite).
    """
    carriers = [carrier for path in scan.paths for carrier in resolve(path)]
    last = len(carriers) - 1
    splits = tuple(Split(c.name, i == 0, i == last) for i, c in enumerate(carriers))
    base = Base.read(scan)
    needed = carriers if scan.table is not None else carriers[:-1]
    planner = _Planner(scan, base, needed)
    walked = planner.run(splits)
    versions = planner.versions() if scan.table is not None else []
    changes = _united(versions, str(scan.table)) if versions and unite else None
    names = dict.fromkeys(column.name for schema in versions for column in schema.columns)
    return Plan(scan, base, walked, tuple(planner.history), changes, tuple(names))


class _Planner:
    """Walks over the logs once and notes where each one starts."""

    def __init__(self, scan: ScanOptions, base: Base, carriers: Sequence[Carrier]) -> None:
        self._scan = scan
        options = base.read_options(scan)
        self.walk = SplitWalk(carriers, options, ahead=False)
        self.history: list[Event] = []
        self._transactions = 0
        self._version: str | None = None
        self._end = 0

    def run(self, splits: Sequence[Split]) -> tuple[Split, ...]:
        """The splits with their starts, and the ends of those that were walked to the end."""
        done: list[Split] = []
        ended = False
        for i, split in enumerate(splits):
            start = replace(
                split,
                events=self.walk.events,
                transactions=self._transactions,
                history=len(self.history),
            )
            if i < len(self.walk.carriers) and not ended:
                try:
                    start = replace(start, stop=self._pass(self.walk.carriers[i]))
                except InputError:
                    pass  # the worker says so; the others go on, as in a Log
                except DamageError:
                    ended = True  # the worker says so; nothing behind is delivered, as in a Log
            done.append(start)
        return tuple(done)

    def versions(self) -> list[TableSchema]:
        """The versions of the wanted table, in log order."""
        wanted = self._scan.wanted()
        return [
            schema
            for name, schemas in self.walk.schemas.items()
            if wanted.wants_table(*name)
            for schema in schemas
        ]

    def _pass(self, carrier: Carrier) -> int:
        """Walk over one log; the offset of its end."""
        self._end = 0
        for transaction in track_transactions(self._events(carrier), self._transactions):
            self._transactions = transaction.number + 1
        return self._end

    def _events(self, carrier: Carrier) -> Iterator[Event]:
        for step in self.walk.steps(carrier):
            event = step.event
            if event.raw.inner is None:
                self._end = event.raw.pos + event.raw.header.size
            self._note(event)
            yield event

    def _note(self, event: Event) -> None:
        body = event.body
        if isinstance(body, (FormatDescription, StartV3)):
            if body.server_version != self._version:
                self._version = body.server_version
                self.history.append(event)
        elif isinstance(body, Query):
            kind = statement_kind(body.query, body.status_vars.sql_mode)
            if kind == StatementKind.DDL:
                self.history.append(event)


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    import pyarrow as pa

    from binlogkit.frames.batches import schema_of
    from binlogkit.frames.tables import united

    empty = [pa.RecordBatch.from_pylist([], schema=schema_of(v)) for v in versions]
    return united(empty, table).schema


def carrier_of(split: Split) -> Carrier:
    """The log of a split."""
    (carrier,) = resolve(split.file)
    return carrier
