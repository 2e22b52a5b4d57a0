"""A log's streams, in bounded memory: walk, records, batches of row changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from binlogkit.constants import TableId
from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.frames.row_counts import RowCounts
from binlogkit.log.copies import Differing, differing
from binlogkit.log.filter_warnings import warn_of_unmet
from binlogkit.log.viewing import view
from binlogkit.rows.filter_args import FilterArgs, RowFilterArgs, check_names, place_in
from binlogkit.rows.filters import Filters
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness import Finding, Gap, Gaps, Soundness
from binlogkit.rows.table_history import Problem, Text
from binlogkit.rows.window import SEQ_SHIFT
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from binlogkit.frames.transactions import Transactions
    from binlogkit.log.index import Joined
    from binlogkit.log.index.part import Part
    from binlogkit.rows.ddl import Catalog
    from binlogkit.rows.losses import Loss
    from binlogkit.rows.schema import Supposition, TableSchema
    from binlogkit.rows.soundness.finding import FileFacts
    from binlogkit.rows.window import Window

_T = TypeVar("_T")
_FAR = (1 << 63) - 1  # after a log's end


@dataclass(frozen=True, slots=True)
class Batch:
    """Row changes of one version of one table.

    ``table``: (db, table); ``schema_version``: 0, 1, … in log order; ``batch``: a
    ``pyarrow.RecordBatch`` as frames/schema.py says.
    """

    table: TableId
    schema_version: int
    batch: pa.RecordBatch


class RowWatch(Protocol):
    """A consumer of a reading's windows and of their batches with digests
    (states/images/checks.py)."""

    def take_window(self, window: Window) -> None:
        """Take a window, before its rows."""

    def watched(
        self, window: Iterable[tuple[TableSchema, pa.RecordBatch]]
    ) -> Iterable[tuple[TableSchema, pa.RecordBatch]]:
        """Take a window's batches as they pass."""


class Streams:
    """One log, or several read together in order.

    After its end a stream warns (UnmetWarning) of filters that name what the log does not have.

    ``damages``: damage that the last read met and, with ``on_damage="report"``, skipped;
    ``problems``: definitions that contradict the log, as sentences; ``loose``: for inputs such as
    texts, how many statements of each appear only as rows; ``met``: the tables whose table maps it
    read, and their versions, including those whose rows were filtered out; ``index``: the index
    folder; ``read_before``: when the logs of the last indexed answer were last read in full
    (µs).
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions | None = None,
        index: str | Path | None = None,
    ) -> None:
        self.carriers = list(carriers)
        self.index = index
        self.read_before: list[int] = []
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.problems: list[Problem] = []
        self.loose: dict[str, int] = {}
        self.met: Mapping[TableId, Sequence[TableSchema]] = {}
        self.unreadable: InputError | None = None
        self._reading: Reading | Joined | None = None
        self._gaps = Gaps()
        self._copies: list[Differing] | None = None

    @property
    def losses(self) -> list[Loss]:
        """What may be missing where the last read skipped damage."""
        return self._gaps.soundness.losses

    @property
    def file_facts(self) -> list[FileFacts]:
        """What the last read learned of each log."""
        return self._gaps.soundness.files

    @property
    def has_gtids(self) -> bool:
        """Whether any transaction of the last read has a GTID."""
        return any(file.gtids or file.copied for file in self.file_facts)

    @contextmanager
    def knowing(
        self, catalog: Catalog | None, place: tuple[int, int] | None = None
    ) -> Iterator[None]:
        """Read with a base's definitions where no other source has them; ``place``: a log's number
        and a position, if they are those of the tables there."""
        options = self.options
        if catalog is not None and options.catalog is None:
            number, pos = place or (-1, 0)
            files = enumerate(self.files[: number + 1])
            taken = [(name, pos if i == number else _FAR) for i, name in files]
            self.options = replace(options, catalog=catalog, taken_at=tuple(taken))
        try:
            yield
        finally:
            self.options = options

    @property
    def threads(self) -> Collection[int]:
        """The connections of the transactions of the last read."""
        return () if self._reading is None else self._reading.threads

    @property
    def times(self) -> tuple[int, int] | None:
        """The earliest and latest second of the events of the last read; None: none has a time."""
        files = self._gaps.soundness.files
        stamps = [s for f in files for s in (f.first_timestamp, f.last_timestamp) if s is not None]
        return (min(stamps), max(stamps)) if stamps else None

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing, up to where the last read came: damage, files, GTIDs."""
        reading = self._reading
        if reading is None:
            return []
        seq = reading.ordinal << SEQ_SHIFT
        return reading.gaps + [
            Gap(f.code, f.place.file, f.place.pos, seq, tables or None, f.found)
            for f, tables in self.copies()
        ]

    def copies(self) -> list[Differing]:
        """How the copies of transactions that the last read met differ; they are read again."""
        if self._copies is None:
            copied = self._gaps.soundness.copied()
            self._copies = list(differing(self.carriers, self.options, *copied))
        return self._copies

    @property
    def undecodable(self) -> int:
        """How many cells of the rows of the last read could not be decoded."""
        return 0 if self._reading is None else self._reading.undecodable

    @property
    def texts(self) -> Mapping[Text, tuple[int, str]]:
        """Statements of the last read that changed rows without row events: how many, and where the
        first is, by kind and table."""
        return {} if self._reading is None else self._reading.texts

    @property
    def suppositions(self) -> list[Supposition]:
        """Suppositions of the last read's rows: facts that the log does not decide."""
        return [] if self._reading is None else [*self._reading.supposed.values()]

    @property
    def notes(self) -> list[Finding]:
        """What the last read showed of the logs as a whole and is no gap: clocks, the logs'
        ends."""
        return [] if self._reading is None else self._reading.notes

    @property
    def files(self) -> list[str]:
        """The logs' names, in reading order."""
        return [carrier.name for carrier in self.carriers]

    def wanted(self, **filters: Unpack[FilterArgs]) -> Filters:
        """The filters; ``at`` becomes the position where the transaction begins that begins there
        or has an event there."""
        wanted, at = Filters.build(**filters), filters.get("at")
        if at is None:
            return wanted
        file, pos = place_in(self.files, at)
        return replace(wanted, at=(file, self.begin_of(file, pos) or pos))

    def begin_of(self, file: str, pos: int) -> int | None:
        """Where the transaction begins that begins at a position or contains it; None: there is
        none. The log is read up to there."""
        carriers = [carrier for carrier in self.carriers if carrier.name == file]
        with suppress(DamageError, InputError):  # the next reading reports them
            for window in Reading(carriers, self.options).windows():
                known = window.transactions
                found = known["pos"][(known["pos"] <= pos) & (pos < known["end_pos"])]
                if len(found):
                    return int(found[-1])
                if len(known) and known["pos"][-1] > pos:
                    break
        return None

    def reading(
        self, carriers: Sequence[Carrier] | None = None, gaps: Gaps | None = None
    ) -> Reading:
        """A new reading of the log; what it finds is kept in ``damages`` and ``problems``.

        ``carriers``: the log's own, opened differently; ``gaps``: what collects missing changes.
        """
        carriers = self.carriers if carriers is None else carriers
        self._gaps = gaps or Gaps(Soundness(keeps=self.options.duplicates == "keep"))
        self._copies, self.read_before = None, []
        reading = self._reading = Reading(carriers, self.options, gaps=self._gaps)
        self.damages, self.problems = reading.damages, reading.problems
        self.loose, self.met = reading.loose, reading.schemas
        return reading

    def reading_of(self, wanted: Filters, *, statements: bool = False) -> Reading:
        """A new reading of the row changes that may be wanted: of all logs, or with an index only
        of the relevant parts.

        ``statements``: also read what may have affected tables otherwise.
        """
        if self.index is None:
            return self.reading()
        from binlogkit.log.index.choosing import choose

        reading = choose(self.index, self.carriers, self.options, wanted, statements=statements)
        if reading is None:
            return self.reading()
        self._reading, self._gaps, self._copies = reading, reading.joined.found, None
        self.damages, self.problems, self.loose = reading.damages, reading.problems, reading.loose
        self.met, self.read_before = reading.schemas, reading.read_before
        return reading

    # ---- streams of records -------------------------------------------------------------

    def event_records(self, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, Any]]:
        """One dict per event, as ``events --format jsonl``; filters as keywords."""
        from binlogkit.frames.fields.ledger import EVENT
        from binlogkit.frames.records import records_of

        return self._warning(records_of(self._events(filters, True), EVENT), filters)

    def event_batches(
        self, *, compact: bool = False, **filters: Unpack[FilterArgs]
    ) -> Iterator[pa.RecordBatch]:
        """The records of :meth:`event_records` as Arrow, ``flags`` and ``fields`` as JSON text
        (``compact``: without blanks): ``events()`` and what ``events`` writes."""
        return self._warning(self._events(filters, compact), filters)

    def _events(self, filters: FilterArgs, compact: bool) -> Iterator[pa.RecordBatch]:
        from binlogkit.frames.events import event_batches

        wanted = self.wanted(**filters).without_where("events")
        return event_batches(self.reading(), wanted, compact=compact)

    def _warning(self, found: Iterator[_T], filters: Mapping[str, Any]) -> Iterator[_T]:
        """The records, then a warning about what the filters name and the log does not have."""
        nothing = True
        for one in found:
            nothing = False
            yield one
        warn_of_unmet(self, filters, nothing=nothing)

    def row_records(self, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, Any]]:
        """One dict per row change in log order, as ``rows --format jsonl``."""
        from binlogkit.frames.fields.rows import ROW
        from binlogkit.frames.records import records_of

        return self._warning(records_of(self._rows(filters, True), ROW), filters)

    def generic_batches(
        self, *, compact: bool = False, **filters: Unpack[FilterArgs]
    ) -> Iterator[pa.RecordBatch]:
        """The records of :meth:`row_records` as Arrow, images as JSON text (``compact``: without
        blanks): ``rows()`` and what ``rows`` writes."""
        return self._warning(self._rows(filters, compact), filters)

    def _rows(self, filters: RowFilterArgs, compact: bool) -> Iterator[pa.RecordBatch]:
        from binlogkit.frames.generic import generic_rows
        from binlogkit.frames.tables import generic_schema

        schema = generic_schema()
        windows = self.row_windows(**filters)
        return (
            batch for window in windows for batch in generic_rows(window, schema, compact=compact)
        )

    def row_windows(self, **filters: Unpack[RowFilterArgs]) -> Iterator[list[pa.RecordBatch]]:
        """Row changes as batches (frames/schema.py), in the log's order from one list to the next;
        within a list by ``seq``."""
        return self._windows(self.wanted(**filters))

    def _windows(self, wanted: Filters) -> Iterator[list[pa.RecordBatch]]:
        from binlogkit.frames.row_batches import read_batches

        reading = self.reading_of(wanted)
        for window in read_batches(reading, wanted, to_sort=True):
            yield [batch for _, batch in window]
        _no_others(reading, wanted, frozenset())

    def transaction_records(self, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, Any]]:
        """One dict per transaction with its outcome, as ``transactions --format jsonl``.

        With ``where``: only those that changed such a row.
        """

        def found() -> Iterator[dict[str, Any]]:
            for batch in self.transaction_table(**filters).to_batches():
                yield from batch.to_pylist()
            if self.unreadable is not None:
                raise self.unreadable

        return self._warning(found(), filters)

    def transaction_table(self, **filters: Unpack[FilterArgs]) -> pa.Table:
        """The transactions in Arrow. ``unreadable`` holds a log that cannot be read."""
        from binlogkit.frames.transactions import Transactions, those

        wanted, transactions = self.wanted(**filters), Transactions()
        kept = None if wanted.where else self._kept(wanted.sources, "transactions")
        if kept is not None:
            from binlogkit.log.index.transactions import joined_transactions

            return joined_transactions(*kept, wanted, self.files)
        if not wanted.where:
            view_log(self, transactions.feed, counting=True, sources=wanted.sources)
            return transactions.finish(wanted, self.files)
        touching = self._touching(wanted, transactions)
        return those(transactions.finish(wanted, self.files), touching)

    def copied(self, file: str) -> pa.Table | None:
        """Where the transactions of a log end, ``end_pos``, and their numbers, ``tx``, if earlier
        logs have some of them, too; else None."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not any(facts.copied for facts in self.file_facts if facts.name == file):
            return None
        own = [carrier for carrier in self.carriers if carrier.name == file]
        alone = Streams(own, self.options).transaction_table()
        every = Streams(self.carriers, self.options, self.index).transaction_table()
        at = pc.index_in(alone["gtid"], every["gtid"].drop_null())
        known = every.filter(every["gtid"].is_valid())["tx"].take(at.drop_null())
        return pa.table({"end_pos": alone["end_pos"].filter(at.is_valid()), "tx": known})

    def _kept(
        self, sources: frozenset[str], *ledger: str, happening: bool = False
    ) -> tuple[list[Part], Joined] | None:
        """The index's data of the logs, with these tables.

        None if there is no index, or damage requires reading the logs. What is reported about the
        reading then covers all of it.
        """
        from binlogkit.log.index import Index, Joined

        if self.index is None:
            return None
        parts = list(Index(self.index).parts(self.carriers, self.options, ledger))
        if any(part.damages or part.unreadable is not None for part in parts):
            return None
        joined = Joined(parts, self.options, sources=sources, reads=False, happening=happening)
        self._reading, self._gaps, self._copies = joined, joined.found, None
        self.damages, self.problems, self.loose = [], joined.problems, {}
        self.met, self.unreadable = joined.schemas, None
        self.read_before = [part.read_at for part in parts if part.read_at is not None]
        return parts, joined

    def _touching(self, wanted: Filters, transactions: Transactions) -> set[int | None]:
        """The numbers of the transactions with wanted row changes, in the reading that
        ``transactions`` see."""
        reading, counts = self.reading(), RowCounts(stops=False)

        def feed(window: Window) -> None:
            transactions.feed(window, counts.of(window)[0])

        found: set[int | None] = set()
        for batch in self.batches_to_damage(reading, wanted, frozenset(), views=(feed,)):
            found.update(batch.batch.column("tx").unique().to_pylist())
        return found

    def statement_table(self, wanted: Filters) -> pa.Table:
        """The statements that the log holds as text, in Arrow."""
        from binlogkit.frames.statements import Statements

        if self.index is not None and wanted == Filters(sources=wanted.sources):
            from binlogkit.log.index.transactions import joined_statements

            kept = self._kept(wanted.sources, "statements")
            found = None if kept is None else joined_statements(*kept, wanted.sources)
            if found is not None:
                return found
        made = Statements(wanted)
        viewed(self, made.feed, sources=wanted.sources)
        return made.finish()

    def boundary_table(self, wanted: Filters) -> pa.Table:
        """The boundaries in Arrow."""
        from binlogkit.frames.statements import Boundaries

        if self.index is not None and wanted == Filters(sources=wanted.sources):
            from binlogkit.log.index.transactions import joined_boundaries, joined_statements

            kept = self._kept(wanted.sources, "transactions", "statements", happening=True)
            texts = None if kept is None else joined_statements(*kept, frozenset())
            if kept is not None and texts is not None:
                return joined_boundaries(*kept, wanted.sources, self.files, texts)
        made = Boundaries(wanted)
        viewed(self, made.feed, sources=wanted.sources)
        return made.finish()

    def one_history(self, sources: Iterable[str], what: str) -> None:
        """UsageError: ``what`` is in the logs of several servers that no GTID joins."""
        series = None if self._reading is None else self._reading.series
        names = sorted(sources)
        if len(names) > 1 and series is not None and not series.joined(names):
            listed = ", ".join(names)
            raise UsageError(
                f"{what} in the logs of several servers: name one as source ({listed})"
            )

    # ---- batches ------------------------------------------------------------------------

    def batches(
        self,
        table: str | Iterable[str] | None = None,
        *,
        columns: Iterable[str] | None = None,
        **filters: Unpack[RowFilterArgs],
    ) -> Iterator[Batch]:
        """Row changes in bounded memory: every table's, in log order per table, or those named.

        ``columns``: names of the tables' columns to decode; others are skipped: only that their
        values end inside the row is checked. UsageError, at the end, for a name that no table has.
        Filtered rows are not decoded either (rows/filters.py): damage inside them is not reported.

        Memory: at most 300 MB with one thread, 80 MB more for each further one; plus twice the
        largest row, ten times the largest other event, and 1 KB for each column of each version of
        a table. It does not depend on the size of the log or its transactions
        (docs/performance.md).
        """
        found = self._batches(table, columns, filters)
        return self._warning(found, {**filters, "table": table})

    def _batches(
        self,
        table: str | Iterable[str] | None,
        columns: Iterable[str] | None,
        filters: RowFilterArgs,
    ) -> Iterator[Batch]:
        wanted = self.wanted(table=table, **filters)
        return self.read_batches(self.reading_of(wanted), wanted, _column_names(columns))

    def read_batches(
        self,
        reading: Reading,
        wanted: Filters,
        asked: frozenset[str] | None = None,
        views: Sequence[Callable[[Window], object]] = (),
        images: RowWatch | None = None,
    ) -> Iterator[Batch]:
        """The work of :meth:`batches` on a reading; ``views`` take each of its windows as well.

        ``images`` take windows and batches; the batches then have digests.
        """
        from binlogkit.frames.projection import projected
        from binlogkit.frames.row_batches import read_batches

        decoded = None if asked is None else asked | wanted.where.columns
        if images is not None:
            views = (*views, images.take_window)
        how: dict[str, Any] = {"digests": images is not None, "views": views}
        for window in read_batches(reading, wanted, columns=decoded, **how):
            for schema, batch in window if images is None else images.watched(window):
                kept = batch if asked is None else projected(batch, asked)
                yield Batch(schema.name, schema.version, kept)
        _no_others(reading, wanted, asked or frozenset())

    def batches_to_damage(
        self,
        reading: Reading,
        wanted: Filters,
        asked: frozenset[str] | None = None,
        views: Sequence[Callable[[Window], object]] = (),
        images: RowWatch | None = None,
    ) -> Iterator[Batch]:
        """The output of :meth:`read_batches` up to damage, which is kept in ``reading.damages``.

        ``unreadable`` holds a log that cannot be read.
        """
        self.unreadable = None
        try:
            yield from self.read_batches(reading, wanted, asked, views, images)
        except DamageError as error:
            reading.damages.append(error)
        except InputError as error:
            if reading.unreadable is None:
                raise
            self.unreadable = error


def view_log(
    log: Streams,
    *take: Callable[..., object],
    counting: bool = False,
    sources: frozenset[str] = frozenset(),
) -> Reading:
    """Read a log once for views; a log that cannot be read is its ``unreadable``."""
    reading = log.reading()
    reading.sources = sources
    log.unreadable = view(reading, *take, counting=counting)
    return reading


def viewed(
    log: Streams, *take: Callable[..., object], sources: frozenset[str] = frozenset()
) -> Reading:
    """A reading that views have taken; raises for a log that cannot be read."""
    reading = view_log(log, *take, sources=sources)
    if log.unreadable is not None:
        raise log.unreadable
    return reading


def _column_names(columns: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(columns, str):
        raise UsageError(f"columns are a list of names, not {columns!r}")
    return None if columns is None else frozenset(columns)


def _no_others(reading: Reading, wanted: Filters, asked: frozenset[str]) -> None:
    """UsageError for names that no table that was read has; if none was read, no error."""
    found = [s for n, known in reading.schemas.items() if wanted.wants_table(*n) for s in known]
    names = dict.fromkeys(column.name for schema in found for column in schema.columns)
    if found:
        check_names(sorted(asked | wanted.where.columns), names, "column")
