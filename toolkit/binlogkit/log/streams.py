"""What a log gives as streams, in bounded memory: its walk, records, batches of row changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.frames.row_counts import RowCounts
from binlogkit.log.copies import differing
from binlogkit.log.filter_warnings import warn_of_unmet
from binlogkit.rows.filter_args import FilterArgs, RowFilterArgs, check_names
from binlogkit.rows.filters import Filters
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading, Times
from binlogkit.rows.soundness import Finding, Gap, Gaps, Soundness
from binlogkit.rows.window import SEQ_SHIFT
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.frames.matching import Matcher
    from binlogkit.frames.transactions import Transactions
    from binlogkit.rows.losses import Loss
    from binlogkit.rows.schema import TableSchema
    from binlogkit.rows.window import Window

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Row changes of one version of one table.

    ``table``: (db, table); ``schema_version``: 0, 1, … in log order; ``batch``: a
    ``pyarrow.RecordBatch`` as frames/schema.py says.
    """

    table: tuple[str, str]
    schema_version: int
    batch: pa.RecordBatch


class Streams:
    """One log, or several read together in order.

    A stream that has ended warns (UnmetWarning) of filters that name what the log does not have.

    ``damages``: what the last read met and, with ``on_damage="report"``, went past; ``losses``:
    what may be missing there; ``problems``: definitions that contradict the log, in sentences;
    ``loose``: texts and the like, how many statements in each have only their rows there;
    ``met``: the tables whose table maps it came to, also of rows that a filter left out, and their
    versions; ``times``: between which seconds its events lie.
    """

    def __init__(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> None:
        self.carriers = list(carriers)
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.losses: list[Loss] = []
        self.problems: list[str] = []
        self.loose: dict[str, int] = {}
        self.met: Mapping[tuple[str, str], Sequence[TableSchema]] = {}
        self.times = Times()
        self.undecodable = 0
        self.unreadable: InputError | None = None
        self._reading: Reading | None = None
        self._gaps = Gaps()
        self._differing: list[Gap] | None = None

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing, up to where the last read came: damage, files, GTIDs."""
        reading = self._reading
        if reading is None:
            return []
        if self._differing is None:
            copied, seq = self._gaps.soundness.copied(), reading.ordinal << SEQ_SHIFT
            self._differing = [
                Gap(f.code, f.place.file, f.place.pos, seq, tables or None, f.found)
                for f, tables in differing(self.carriers, self.options, *copied)
            ]
        return [*reading.gaps, *self._differing]

    @property
    def notes(self) -> list[Finding]:
        """What the last read showed of the whole and is no gap: clocks, the logs' ends."""
        return [] if self._reading is None else self._reading.notes

    @property
    def files(self) -> list[str]:
        """The logs' names, in the order they are read."""
        return [carrier.name for carrier in self.carriers]

    def file_named(self, file: str) -> str:
        """The log's own name of a file that may be given without its folder; UsageError."""
        found = [f for f in self.files if f == file][:1] or [
            f for f in self.files if f.replace("\\", "/").rsplit("/", 1)[-1] == file
        ]
        if len(found) != 1:
            raise UsageError(f"{file} is not one of the logs read ({', '.join(self.files)})")
        return found[0]

    def reading(self, carriers: Sequence[Carrier] | None = None) -> Reading:
        """A new reading of the log; what it meets is kept in ``damages`` and ``problems``.

        ``carriers``: the log's own, opened otherwise.
        """
        carriers = self.carriers if carriers is None else carriers
        self._gaps = Gaps(Soundness(keeps=self.options.duplicates == "keep"))
        self._differing = None
        reading = self._reading = Reading(carriers, self.options, gaps=self._gaps)
        self.damages, self.problems = reading.damages, reading.problems
        self.losses, self.loose, self.met = reading.losses, reading.loose, reading.schemas
        self.times = reading.times
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

        wanted = Filters.build(**filters).without_where("events")
        return event_batches(self.reading(), wanted, compact=compact)

    def _warning(self, found: Iterator[_T], filters: Mapping[str, Any]) -> Iterator[_T]:
        """What is found, and then a warning of what the filters name and the log does not have."""
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
        windows = self._matching(Filters.build(**filters))
        return (
            batch for window in windows for batch in generic_rows(window, schema, compact=compact)
        )

    def transaction_records(self, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, Any]]:
        """One dict per transaction with its outcome, as ``transactions --format jsonl``.

        With ``where`` those that changed such a row.
        """

        def found() -> Iterator[dict[str, Any]]:
            for batch in self.transaction_table(**filters).to_batches():
                yield from batch.to_pylist()
            if self.unreadable is not None:
                raise self.unreadable

        return self._warning(found(), filters)

    def transaction_table(self, **filters: Unpack[FilterArgs]) -> pa.Table:
        """The transactions in Arrow; a log that cannot be read is in ``unreadable``."""
        from binlogkit.frames.transactions import Transactions, those

        wanted, transactions = Filters.build(**filters), Transactions()
        if not wanted.where:
            self.view(transactions.take, counting=True, sources=wanted.sources)
            return transactions.finish(wanted, self.files)
        touching = self._touching(wanted, transactions)
        return those(transactions.finish(wanted, self.files), touching)

    def _touching(self, wanted: Filters, transactions: Transactions) -> set[int | None]:
        """The numbers of the transactions with row changes that are wanted, of the reading that
        ``transactions`` see."""
        reading, counts = self.reading(), RowCounts(stops=False)

        def take(window: Window) -> None:
            transactions.take(window, counts.of(window)[0])

        found: set[int | None] = set()
        for batch in self.batches_to_damage(reading, wanted, frozenset(), views=(take,)):
            found.update(batch.batch.column("tx").unique().to_pylist())
        return found

    def view(
        self,
        *take: Callable[..., object],
        counting: bool = False,
        sources: frozenset[str] = frozenset(),
    ) -> Reading:
        """Read the log once for views; see :func:`view`."""
        reading = self.reading()
        reading.sources = sources
        self.unreadable = view(reading, *take, counting=counting)
        return reading

    def viewed(
        self, *take: Callable[..., object], sources: frozenset[str] = frozenset()
    ) -> Reading:
        """A reading that views have gone through; a log that cannot be read is raised."""
        reading = self.view(*take, sources=sources)
        if self.unreadable is not None:
            raise self.unreadable
        return reading

    def statement_table(self, wanted: Filters) -> pa.Table:
        """The statements that the log holds as text, in Arrow."""
        from binlogkit.frames.statements import Statements

        statements = Statements(wanted)
        self.viewed(statements.take, sources=wanted.sources)
        return statements.finish()

    def boundary_table(self, wanted: Filters) -> pa.Table:
        """The boundaries in Arrow."""
        from binlogkit.frames.statements import Boundaries

        boundaries = Boundaries(wanted)
        reading = self.viewed(boundaries.take, sources=wanted.sources)
        return boundaries.finish(folded=reading.folded)

    def one_history(self, sources: Iterable[str], what: str) -> None:
        """UsageError: ``what`` stands in the logs of several servers that no GTID joins."""
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

        ``columns``: names of the tables' columns that the images are to have; others are stepped
        over, not decoded: that their values end inside the row is checked, not what they are.
        UsageError, at the end, for a name that no table read has. What filters leave out is not
        decoded either (rows/filters.py): no damage inside of it is reported.

        At most 300 MB are held with one thread, 80 MB more with each other, beside twice the
        largest row, ten times the largest other event and 1 KB for each column of each version of
        a table, whatever the log's and its transactions' size (docs/performance.md).
        """
        found = self._batches(table, columns, filters)
        return self._warning(found, {**filters, "table": table})

    def _batches(
        self,
        table: str | Iterable[str] | None,
        columns: Iterable[str] | None,
        filters: RowFilterArgs,
    ) -> Iterator[Batch]:
        wanted = Filters.build(table=table, **filters)
        return self.read_batches(self.reading(), wanted, _column_names(columns))

    def read_batches(
        self,
        reading: Reading,
        wanted: Filters,
        asked: frozenset[str] | None = None,
        views: Sequence[Callable[[Window], object]] = (),
    ) -> Iterator[Batch]:
        """What :meth:`batches` does with a reading; ``views`` take each of its windows as well."""
        from binlogkit.frames.projection import projected

        matching = _matcher(wanted)
        decoded = None if asked is None else asked | wanted.where.columns
        for window in self._windows(reading, wanted, decoded, views=views):
            for batch in window:
                kept = matching(batch.batch) if matching else batch.batch
                if kept.num_rows:
                    kept = kept if asked is None else projected(kept, asked)
                    yield Batch(batch.table, batch.schema_version, kept)
        if matching:
            matching.complain()
        _no_others(reading, wanted, asked or frozenset())

    def batches_to_damage(
        self,
        reading: Reading,
        wanted: Filters,
        asked: frozenset[str] | None = None,
        views: Sequence[Callable[[Window], object]] = (),
    ) -> Iterator[Batch]:
        """What :meth:`read_batches` gives up to damage, which is kept in ``reading.damages``; a log
        that cannot be read is in ``unreadable``."""
        self.unreadable = None
        try:
            yield from self.read_batches(reading, wanted, asked, views)
        except DamageError as error:
            reading.damages.append(error)
        except InputError as error:
            if reading.unreadable is None:
                raise
            self.unreadable = error

    def _matching(self, wanted: Filters) -> Iterator[list[pa.RecordBatch]]:
        """The batches of each window, rows chosen by their values."""
        matching, reading = _matcher(wanted), self.reading()
        for window in self._windows(reading, wanted, to_sort=True):
            found = [matching(b.batch) if matching else b.batch for b in window]
            yield [batch for batch in found if batch.num_rows]
        if matching:
            matching.complain()
        _no_others(reading, wanted, frozenset())

    def _windows(
        self,
        reading: Reading,
        wanted: Filters,
        columns: frozenset[str] | None = None,
        *,
        to_sort: bool = False,
        views: Sequence[Callable[[Window], object]] = (),
    ) -> Iterator[Iterable[Batch]]:
        from binlogkit.frames.row_batches import read_batches
        from binlogkit.frames.schema import undecodable_cells

        self.undecodable = 0

        def counted(window: Iterable[tuple[TableSchema, pa.RecordBatch]]) -> Iterator[Batch]:
            for schema, batch in window:
                self.undecodable += undecodable_cells(batch)
                yield Batch(schema.name, schema.version, batch)

        found = read_batches(reading, wanted, columns=columns, to_sort=to_sort, views=views)
        for window in found:
            yield counted(window)


def view(
    reading: Reading, *take: Callable[..., object], counting: bool = False
) -> InputError | None:
    """Give the windows of a reading to views; what cannot be read at all.

    ``counting``: rows are counted, and each view is given how many each event has. Damage goes to
    ``reading.damages``, also that which ends the reading.
    """
    stops = reading.options.on_damage == "stop"
    counts = RowCounts(stops=stops) if counting else None
    try:
        for window in reading.windows():
            damages, counted = window.damages, None
            if counts is not None:
                counted, found = counts.of(window)
                for i, error in found:
                    reading.unread_rows(window, i, error)
                if found and stops:
                    window, counted = window.before(found[0][0]), counted[: found[0][0]]
                damages = sorted([*window.damages, *found], key=itemgetter(0))
            for one in take:
                if counts is None:
                    one(window)
                else:
                    one(window, counted)
            reading.damages.extend(error for _, error in damages)
            if counts is not None and stops and found:
                break
    except DamageError as error:
        reading.damages.append(error)
    except InputError as error:
        if reading.unreadable is None:
            raise
        return error
    return None


def _matcher(wanted: Filters) -> Matcher | None:
    """What chooses rows by their values, where that is wanted; it loads ``pyarrow.compute``."""
    if not wanted.where:
        return None
    from binlogkit.frames.matching import Matcher

    return Matcher(wanted.where)


def _column_names(columns: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(columns, str):
        raise UsageError(f"columns are a list of names, not {columns!r}")
    return None if columns is None else frozenset(columns)


def _no_others(reading: Reading, wanted: Filters, asked: frozenset[str]) -> None:
    """UsageError for names that no table that was read has; without such tables none is wrong."""
    found = [s for n, known in reading.schemas.items() if wanted.wants_table(*n) for s in known]
    names = dict.fromkeys(column.name for schema in found for column in schema.columns)
    if found:
        check_names(sorted(asked | wanted.where.columns), names, "column")
