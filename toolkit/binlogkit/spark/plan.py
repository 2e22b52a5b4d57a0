"""Logs -> splits: what each worker needs to read its file as if it had read all before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, with one light walk; it is plain data. What a file cannot tell by itself is
what stood in the files before: definitions made by DDL (``Plan.history``, of which a split says how
much is past), and the numbers of events and transactions, so that ``seq`` and ``tx`` are those of a
:class:`binlogkit.Log` over all files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

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

Declaration = FormatDescription | StartV3 | Query


@dataclass(frozen=True, slots=True)
class Split:
    """One file, and where it stands among those read together.

    ``events``, ``transactions``: how many come before; ``history``: how many of the plan's
    declarations do; ``stop``: logical offset at which the file ended when it was planned, None
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
    history: tuple[Declaration, ...] = ()
    changes: pa.Schema | None = None
    columns: tuple[str, ...] = ()


class SplitWalk(LogWalk):
    """A walk that can start anywhere in a series of logs.

    ``history``: the declarations that come before; ``events``, ``transactions``: how many do.
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions,
        *,
        ahead: bool = True,
        history: Sequence[Declaration] = (),
        split: Split | None = None,
    ) -> None:
        super().__init__(carriers, options, ahead=ahead)
        self._split = split
        if split is not None:
            self._ordinal, self._transactions = split.events, split.transactions
        for declaration in history:
            if isinstance(declaration, Query):
                self._apply(declaration)
            else:
                self._catalog.server_version = declaration.server_version

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
        self.history: list[Declaration] = []
        self._transactions = 0
        self._version: str | None = None
        self._end = 0

    def run(self, splits: Sequence[Split]) -> tuple[Split, ...]:
        """The splits with their starts, and the ends of those that were walked to the end."""
        done: list[Split] = []
        damaged = False
        for i, split in enumerate(splits):
            start = replace(
                split,
                events=self.walk.events,
                transactions=self._transactions,
                history=len(self.history),
            )
            # In stop mode nothing behind damage is ever delivered: the worker that meets it fails.
            if i < len(self.walk.carriers) and not damaged:
                damaged = not self._pass(self.walk.carriers[i])
                start = start if damaged else replace(start, stop=self._end)
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

    def _pass(self, carrier: Carrier) -> bool:
        """Walk over one log; whether its end was reached."""
        self._end = 0
        try:
            for transaction in track_transactions(self._events(carrier), self._transactions):
                self._transactions = transaction.number + 1
        except (DamageError, InputError):
            return False
        return True

    def _events(self, carrier: Carrier) -> Iterator[Event]:
        for step in self.walk.steps(carrier):
            event = step.event
            if event.raw.inner is None:
                self._end = event.raw.pos + event.raw.header.size
            self._note(event.body)
            yield event

    def _note(self, body: object) -> None:
        if isinstance(body, (FormatDescription, StartV3)):
            if body.server_version != self._version:
                self._version = body.server_version
                self.history.append(body)
        elif isinstance(body, Query):
            kind = statement_kind(body.query, body.status_vars.sql_mode)
            if kind == StatementKind.DDL:
                self.history.append(body)


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    import pyarrow as pa

    from binlogkit.frames.batches import schema_of
    from binlogkit.frames.tables import united

    empty = [pa.RecordBatch.from_pylist([], schema=schema_of(v)) for v in versions]
    return united(empty, table).schema


class _Limited(io.RawIOBase):
    """The first ``limit`` bytes of a log: what stood in it when it was planned."""

    def __init__(self, carrier: Carrier, limit: int) -> None:
        self._stack = ExitStack()
        self._file = self._stack.enter_context(carrier.open())
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._stack.close()
        super().close()


def carrier_of(split: Split) -> Carrier:
    """The log of a split, up to where it ended when it was planned."""
    (carrier,) = resolve(split.file)
    stop = split.stop
    if stop is None:
        return carrier
    return Carrier(carrier.name, lambda: cast(BinaryIO, _Limited(carrier, stop)), stop)
