"""The front door: a log, or many read together, as frames.

``binlogkit.open(source)`` gives a :class:`Log`; nothing is read before it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.walk import LogWalk, ReadOptions, Step
from binlogkit.sources.carriers import Carrier, Source, resolve
from binlogkit.sources.keyring import key_files

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.audit import Audit
    from binlogkit.log.explain import Explanation
    from binlogkit.log.state import TableState
    from binlogkit.log.verify import Verification
    from binlogkit.rows.ddl import Catalog
    from binlogkit.rows.detours import Detour
    from binlogkit.rows.losses import Loss
    from binlogkit.rows.schema import TableSchema

__all__ = ["Batch", "Log", "open_log"]

_GLANCE = 16 << 20  # bytes of logs that a notebook reads through only to show their tables


@dataclass(frozen=True, slots=True)
class Batch:
    """Row changes of one version of one table.

    ``table``: (db, table); ``schema_version``: 0, 1, … in log order; ``batch``: a
    ``pyarrow.RecordBatch`` as frames/schema.py says.
    """

    table: tuple[str, str]
    schema_version: int
    batch: pa.RecordBatch


def open_log(
    source: Source,
    *,
    schema: str | Path | Catalog | None = None,
    schema_from: str | None = None,
    charset: str | None = None,
    on_damage: str = "stop",
    name: str | None = None,
    keyring: str | Path | None = None,
    key_file: str | Path | None = None,
    threads: int | None = None,
) -> Log:
    """A log, or several in order.

    ``source``: a path, folder, glob, index file, URL, bytes, file object, or a list of them;
    ``schema``: a SQL file with CREATE TABLE statements (the state before the log) or a Catalog;
    ``schema_from``: a live server, ``mysql://user@host:port`` (password from the environment
    variable BINLOGKIT_PASSWORD); ``charset``: of text whose character set nothing tells;
    ``on_damage``: ``stop`` or ``report``; ``name``: the ``source`` column; ``keyring``,
    ``key_file``: names of the server's keyring file, or of a file with one key, for encrypted logs
    (else the environment variables BINLOGKIT_KEYRING and BINLOGKIT_KEY_FILE); ``threads``: that
    decode row changes, 1 for none beside the caller's (else the environment variable
    BINLOGKIT_THREADS, else one per processor up to four): what comes, and in which order, is the
    same with any number.
    Errors: InputError, EmptyInputError, UsageError.
    """
    if on_damage not in ("stop", "report"):
        raise UsageError(f"on_damage is stop or report, not {on_damage!r}")
    carriers = resolve(source, key_files(keyring, key_file))
    options = replace(_options(schema, schema_from, charset, on_damage, name), threads=threads)
    return Log(carriers, options)


def _options(
    schema: str | Path | Catalog | None,
    schema_from: str | None,
    charset: str | None,
    on_damage: str,
    name: str | None,
) -> ReadOptions:
    from binlogkit.rows.schema import Origin

    if schema is not None and schema_from is not None:
        raise UsageError("give a schema file or a server to take the schema from, not both")
    origin = Origin.SCHEMA_FILE
    catalog = schema
    if isinstance(catalog, (str, Path)):
        from binlogkit.rows.ddl import load_schema
        from binlogkit.sources.schema_source import read_schema_text

        path = str(catalog)
        catalog = load_schema(read_schema_text(path))
        if not catalog.tables():
            raise InputError(path, "no table is defined in it")
    if schema_from is not None:
        from binlogkit.rows.ddl import from_server
        from binlogkit.sources.connection import connect

        with connect(schema_from) as connection:
            catalog, origin = from_server(lambda sql: _query(connection, sql)), Origin.SERVER
    return ReadOptions(on_damage, catalog, origin, charset, name)


class Log:
    """One log, or several read together in order.

    ``damages``: what the last read met and, with ``on_damage="report"``, went past; ``losses``:
    what may be missing there; ``problems``: definitions that contradict the log, in sentences;
    ``loose``: texts and the like, how many statements in each have only their rows there;
    ``detours``: where the last read of row changes left the compiled kernel for Python, 50 to 100
    times slower, each with its cause and what was read so (rows/detours.py).
    """

    def __init__(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> None:
        self.carriers = list(carriers)
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.losses: list[Loss] = []
        self.problems: list[str] = []
        self.loose: dict[str, int] = {}
        self.detours: list[Detour] = []
        self.undecodable = 0

    @property
    def files(self) -> list[str]:
        """The logs' names, in the order they are read."""
        return [carrier.name for carrier in self.carriers]

    def walk(self, *, ahead: bool = True) -> LogWalk:
        """A new walk over the log; what it meets is kept in ``damages`` and ``problems``."""
        walk = LogWalk(self.carriers, self.options, ahead=ahead)
        self.damages, self.problems, self.losses = walk.damages, walk.problems, walk.losses
        self.loose, self.detours = walk.loose, walk.detours
        return walk

    # ---- streams of records -------------------------------------------------------------

    def event_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per event, as ``events --format jsonl``; filters as keywords."""
        from binlogkit.frames.event_records import event_records

        wanted = Filters.build(**filters)
        yield from event_records(step for step in self.walk() if wanted.wants_step(step))

    def row_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per row change in log order, as ``rows --format jsonl``."""
        from binlogkit.frames.records import matches, window_records

        wanted = Filters.build(**filters)
        for window in self._windows(self.walk(), wanted, to_sort=True):
            for record in window_records([b.batch for b in window]):
                if matches(record, wanted.where):
                    yield record

    def transaction_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per transaction with its outcome, as ``transactions --format jsonl``."""
        from binlogkit.frames.ledgers import transaction_record
        from binlogkit.rows.ledger import read_transactions, wanted_transactions

        wanted = Filters.build(**filters)
        names = self.files
        walk = self.walk()
        found = read_transactions(walk)
        for transaction in wanted_transactions(found, wanted, names[0], names[-1]):
            yield transaction_record(transaction, self.options.source)
        if walk.unreadable is not None:
            raise walk.unreadable

    # ---- batches ------------------------------------------------------------------------

    def batches(
        self,
        table: str | Iterable[str] | None = None,
        *,
        columns: Iterable[str] | None = None,
        **filters: Any,
    ) -> Iterator[Batch]:
        """Row changes in bounded memory: every table's, in log order per table, or those named.

        ``columns``: names of the tables' columns that the images are to have; others are stepped
        over, not decoded: that their values end inside the row is checked, not what they are.
        UsageError, at the end, for a name that no table read has. What filters leave out is not
        decoded either (rows/filters.py): no damage inside of it is told.

        About 400 MB are held at most with one thread, 80 MB more with each other, beside twice the
        largest row, ten times the largest other event and 1 KB for each column of each version of
        a table, whatever the log's and its transactions' size (docs/performance.md).
        """
        wanted = Filters.build(**_with_table(table, filters))
        asked = _column_names(columns)
        decoded = None if asked is None else asked | {column for column, _ in wanted.where}
        walk = self.walk()
        for window in self._windows(walk, wanted, decoded):
            for batch in window:
                kept = _kept(batch.batch, wanted, asked)
                if kept.num_rows:
                    yield Batch(batch.table, batch.schema_version, kept)
        if asked is not None:
            _no_others(asked, walk, wanted)

    def _windows(
        self,
        walk: LogWalk,
        wanted: Filters,
        columns: frozenset[str] | None = None,
        *,
        to_sort: bool = False,
    ) -> Iterator[Iterable[Batch]]:
        from binlogkit.frames.schema import undecodable_cells
        from binlogkit.frames.windows import read_batches

        self.undecodable = 0

        def counted(window: Iterable[tuple[TableSchema, pa.RecordBatch]]) -> Iterator[Batch]:
            for schema, batch in window:
                self.undecodable += undecodable_cells(batch)
                yield Batch(schema.name, schema.version, batch)

        for window in read_batches(walk, wanted, columns=columns, to_sort=to_sort):
            yield counted(window)

    # ---- frames -------------------------------------------------------------------------

    def events(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The events as a frame: the keys of the record; ``flags`` and ``fields`` as JSON text."""
        from binlogkit.frames.event_records import event_schema
        from binlogkit.frames.tables import nested_as_text, table_of, to_engine

        records = (nested_as_text(r) for r in self.event_records(**filters))
        return to_engine(table_of(records, event_schema()), engine)

    def rows(
        self,
        table: str | None = None,
        *,
        engine: str = "pandas",
        columns: Iterable[str] | None = None,
        **filters: Any,
    ) -> Any:
        """Row changes as a frame.

        Without ``table`` every change, ``before`` and ``after`` as JSON text (contract's values).
        With it typed columns ``before.id``, ``after.id`` …, the versions of the table's schema
        united by name; :class:`SchemaError` names the versions that cannot be. ``columns``: only
        these of the table's, as in :meth:`batches`; they need a ``table``.
        """
        from binlogkit.frames.tables import (
            flat_table,
            generic_schema,
            nested_as_text,
            table_of,
            to_engine,
        )

        if table is None:
            if columns is not None:
                raise UsageError("columns are those of a table: name it")
            records = (nested_as_text(r) for r in self.row_records(**filters))
            return to_engine(table_of(records, generic_schema()), engine)
        return to_engine(flat_table(self.changes(table, columns=columns, **filters)), engine)

    def changes(
        self, table: str, *, columns: Iterable[str] | None = None, **filters: Any
    ) -> pa.Table:
        """One table's changes in the canonical batch schema: what the analyses take.

        ``columns``: as in :meth:`batches`.
        """
        from binlogkit.frames.tables import united

        found = self.batches(table, columns=columns, **filters)
        return united([b.batch for b in found], table)

    def transactions(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The transactions as a frame, one row each, with the outcome."""
        from binlogkit.frames.ledgers import TRANSACTION_KEYS, to_table
        from binlogkit.frames.tables import to_engine

        records = self.transaction_records(**filters)
        return to_engine(to_table(records, TRANSACTION_KEYS), engine)

    def statements(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The statements that the log holds as text, one row each."""
        from binlogkit.frames.ledgers import STATEMENT_KEYS, plain_record, to_table
        from binlogkit.frames.tables import to_engine
        from binlogkit.rows.ledger import statement_of

        wanted = Filters.build(**filters)
        found = (statement_of(s) for s in self.steps() if wanted.wants_step(s))
        records = (plain_record(s, STATEMENT_KEYS, self.options.source) for s in found if s)
        return to_engine(to_table(records, STATEMENT_KEYS), engine)

    def boundaries(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """Where tables are created, dropped, emptied, renamed, altered, written by statements."""
        from binlogkit.frames.ledgers import BOUNDARY_KEYS, plain_record, to_table
        from binlogkit.frames.tables import to_engine
        from binlogkit.rows.ledger import boundaries_of, in_small_letters

        wanted, walk = Filters.build(**filters), self.walk()
        steps = (step for step in self.until_damage(walk) if wanted.wants_step(step))
        found = [boundary for step in steps for boundary in boundaries_of(step)]
        if walk.folded:
            found = [in_small_letters(boundary) for boundary in found]
        records = (plain_record(b, BOUNDARY_KEYS, self.options.source) for b in found)
        return to_engine(to_table(records, BOUNDARY_KEYS), engine)

    def tables(self, *, engine: str = "pandas") -> Any:
        """The columns of every table with row changes: one row per column and schema version."""
        from binlogkit.frames.tables import schema_table, to_engine

        walk = self.walk(ahead=False)
        for _ in self.until_damage(walk):
            pass
        schemas = [schema for versions in walk.schemas.values() for schema in versions]
        return to_engine(schema_table(schemas), engine)

    def table_pairs(self) -> list[tuple[str, str]]:
        """(db, table) of every table with row changes, sorted."""
        walk = self.walk(ahead=False)
        for _ in self.until_damage(walk):
            pass
        return sorted(walk.schemas)

    def table_names(self) -> list[str]:
        """The tables with row changes as the filters want them: ``db.table``, odd ones quoted."""
        return [written_table_name(*pair) for pair in self.table_pairs()]

    def state(self, table: str, **point: Any) -> TableState:
        """A table's rows as of a point: after every transaction that ends at or before it.

        ``at``: ``"FILE:POS"`` or (file, pos); ``until_gtid``: up to the last member of the set in
        log order; ``until_time``: commit time at or before it (``timezone`` for one without an
        offset); by default the end of the log. ``transactional``: whether the table's engine is,
        where the log must not be left to guess; ``key``: columns of a key that nothing tells.
        Errors: UsageError, and those of reading.
        """
        return next(self.states([table], **point))

    def states(self, tables: Iterable[str], **point: Any) -> Iterator[TableState]:
        """Several tables as of one point; see :meth:`state`."""
        from binlogkit.log.state import table_states

        return table_states(self, tables, **point)

    def loaded_files(self, directory: str | Path) -> Iterator[dict[str, object]]:
        """Write the files that LOAD DATA read into ``directory``, one record for each.

        They are called by numbers; see log.loaded_files.write_loaded_files.
        """
        from binlogkit.log.loaded_files import write_loaded_files

        events = (step.event for step in self.walk(ahead=False))
        return write_loaded_files(events, Path(directory))

    def undo(self, **filters: Any) -> list[dict[str, Any]]:
        """Plans that take the chosen changes back, last first: what reports.sql makes a script of.

        A plan is a mapping as analyses.undo.PLANS says; one that is ``refused`` says why.
        """
        from binlogkit.log.undo import plans_of

        return plans_of(self, backwards=True, **filters)

    def redo(self, **filters: Any) -> list[dict[str, Any]]:
        """Plans that make the chosen changes again, first first; see :meth:`undo`."""
        from binlogkit.log.undo import plans_of

        return plans_of(self, backwards=False, **filters)

    def audit(self, **filters: Any) -> Audit:
        """Who changed what and when, and what this log cannot show; see log.audit.SECTIONS.

        Damage ends the reading and is among the findings; it is not raised.
        """
        from binlogkit.log.audit import audit_log

        return audit_log(self, **filters)

    def verify(self, *, rows: bool = False) -> Verification:
        """Whether the logs are whole: structure, checksums, positions, transactions, continuity.

        ``rows``: decode all rows, not only those whose bytes no checksum vouches for. Damage is
        among the findings; with ``on_damage="stop"`` it ends a file's reading. Nothing is raised
        but what concerns the call; ``unreadable`` holds an input that could not be read.
        """
        from binlogkit.log.verify import verify_log

        return verify_log(self, rows=rows)

    def explain(self, at: Any = None) -> Explanation:
        """Events as annotated walks over their bytes; see :func:`binlogkit.explain`."""
        from binlogkit.log.explain import Explanation, explanations

        return Explanation(tuple(explanations(self, at)))

    def steps(self) -> Iterator[Step]:
        """The walk's steps up to damage, which is kept in ``damages``."""
        return self.until_damage(self.walk())

    def until_damage(self, walk: LogWalk) -> Iterator[Step]:
        """The walk's steps; damage ends them and is kept in ``damages``."""
        try:
            yield from walk
        except DamageError as error:
            walk.damages.append(error)

    # ---- notebooks ----------------------------------------------------------------------

    def __getitem__(self, table: str) -> Any:
        """``log["shop.orders"]``: the table's typed row changes, as ``log.rows("shop.orders")``."""
        return self.rows(table)

    def _ipython_key_completions_(self) -> list[str]:
        return self.table_names()

    def _repr_html_(self) -> str:
        from binlogkit.reports.notebook import overview

        facts = [("files", str(len(self.carriers)))]
        size = sum(carrier.size or 0 for carrier in self.carriers)
        if size:
            facts.append(("size", f"{size:,} bytes"))
        if size <= _GLANCE:
            facts.append(("tables", ", ".join(self.table_names()) or "none with row changes"))
        rows = [{"file": c.name, "size": c.size} for c in self.carriers]
        return overview("binary log", facts, rows)

    def __repr__(self) -> str:
        return f"<binlogkit.Log {json.dumps(self.files, ensure_ascii=True)}>"


def _query(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _column_names(columns: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(columns, str):
        raise UsageError(f"columns are a list of names, not {columns!r}")
    return None if columns is None else frozenset(columns)


def _kept(batch: pa.RecordBatch, wanted: Filters, columns: frozenset[str] | None) -> pa.RecordBatch:
    """The rows whose values are wanted, with these columns."""
    if wanted.where:
        from binlogkit.frames.records import matching

        batch = matching(batch, wanted.where)
    if columns is not None:
        from binlogkit.frames.projection import projected

        batch = projected(batch, columns)
    return batch


def _no_others(columns: frozenset[str], walk: LogWalk, wanted: Filters) -> None:
    """UsageError for names that no table that was read has; without such tables none is wrong."""
    found = [s for n, known in walk.schemas.items() if wanted.wants_table(*n) for s in known]
    names = {column.name for schema in found for column in schema.columns}
    others = sorted(columns - names) if found else []
    if others:
        there = ", ".join(sorted(names))
        raise UsageError(f"there is no column {', '.join(others)}; there are {there}")


def _with_table(table: str | Iterable[str] | None, filters: dict[str, Any]) -> dict[str, Any]:
    if table is None:
        return filters
    if "table" in filters:
        raise UsageError("the table is given twice")
    return {**filters, "table": table}
