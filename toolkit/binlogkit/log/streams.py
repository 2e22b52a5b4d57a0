"""What a log gives as streams, in bounded memory: its walk, records, batches of row changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.log.views import view
from binlogkit.rows.filters import Filters
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading
from binlogkit.rows.steps import Step, steps_of
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.losses import Loss
    from binlogkit.rows.schema import TableSchema
    from binlogkit.rows.window import Window

__all__ = ["Batch", "Streams"]


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

    ``damages``: what the last read met and, with ``on_damage="report"``, went past; ``losses``:
    what may be missing there; ``problems``: definitions that contradict the log, in sentences;
    ``loose``: texts and the like, how many statements in each have only their rows there;
    ``met``: the tables whose table maps it came to, also of rows that a filter left out, and their
    versions.
    """

    def __init__(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> None:
        self.carriers = list(carriers)
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.losses: list[Loss] = []
        self.problems: list[str] = []
        self.loose: dict[str, int] = {}
        self.met: Mapping[tuple[str, str], Sequence[TableSchema]] = {}
        self.undecodable = 0
        self.unreadable: InputError | None = None

    @property
    def files(self) -> list[str]:
        """The logs' names, in the order they are read."""
        return [carrier.name for carrier in self.carriers]

    def reading(self, carriers: Sequence[Carrier] | None = None) -> Reading:
        """A new reading of the log; what it meets is kept in ``damages`` and ``problems``.

        ``carriers``: the log's own, opened otherwise.
        """
        reading = Reading(self.carriers if carriers is None else carriers, self.options)
        self.damages, self.problems = reading.damages, reading.problems
        self.losses, self.loose, self.met = reading.losses, reading.loose, reading.schemas
        return reading

    def steps(self) -> Iterator[Step]:
        """The events up to damage, which is kept in ``damages``."""
        return self.until_damage(self.reading())

    def until_damage(self, reading: Reading) -> Iterator[Step]:
        """The events of a reading; damage ends them and is kept in ``damages``."""
        try:
            yield from steps_of(reading)
        except DamageError as error:
            reading.damages.append(error)

    # ---- streams of records -------------------------------------------------------------

    def event_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per event, as ``events --format jsonl``; filters as keywords."""
        from binlogkit.frames.event_records import event_records

        wanted = Filters.build(**filters)
        steps = steps_of(self.reading())
        yield from event_records(step for step in steps if wanted.wants_step(step))

    def row_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per row change in log order, as ``rows --format jsonl``."""
        from binlogkit.frames.records import matches, window_records

        wanted = Filters.build(**filters)
        for window in self._windows(self.reading(), wanted, to_sort=True):
            for record in window_records([b.batch for b in window]):
                if matches(record, wanted.where):
                    yield record

    def generic_batches(self, *, compact: bool = False, **filters: Any) -> Iterator[pa.RecordBatch]:
        """The records of :meth:`row_records` as Arrow, images as JSON text (``compact``: without
        blanks): ``rows()`` and what ``rows`` writes."""
        from binlogkit.frames.generic import generic_rows
        from binlogkit.frames.records import matching
        from binlogkit.frames.tables import generic_schema

        wanted = Filters.build(**filters)
        schema = generic_schema()
        for window in self._windows(self.reading(), wanted, to_sort=True):
            found = [matching(b.batch, wanted.where) for b in window]
            yield from generic_rows([b for b in found if b.num_rows], schema, compact=compact)

    def transaction_records(self, **filters: Any) -> Iterator[dict[str, object]]:
        """One dict per transaction with its outcome, as ``transactions --format jsonl``."""
        table = self.transaction_table(**filters)
        for batch in table.to_batches():
            yield from batch.to_pylist()
        if self.unreadable is not None:
            raise self.unreadable

    def transaction_table(self, **filters: Any) -> pa.Table:
        """The transactions in Arrow; a log that cannot be read is in ``unreadable``."""
        from binlogkit.frames.transactions import Transactions

        wanted, transactions = Filters.build(**filters), Transactions(self.options.source)
        self.view(transactions.take, counting=True)
        return transactions.finish(wanted, self.files)

    def view(self, *take: Callable[..., object], counting: bool = False) -> Reading:
        """Read the log once for views; see :func:`binlogkit.log.views.view`."""
        reading = self.reading()
        self.unreadable = view(reading, *take, counting=counting)
        return reading

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

        At most 300 MB are held with one thread, 80 MB more with each other, beside twice the
        largest row, ten times the largest other event and 1 KB for each column of each version of
        a table, whatever the log's and its transactions' size (docs/performance.md).
        """
        wanted = Filters.build(**_with_table(table, filters))
        asked, reading = _column_names(columns), self.reading()
        yield from self.read_batches(reading, wanted, asked)
        if asked is not None:
            _no_others(asked, reading, wanted)

    def read_batches(
        self,
        reading: Reading,
        wanted: Filters,
        asked: frozenset[str] | None = None,
        views: Sequence[Callable[[Window], object]] = (),
    ) -> Iterator[Batch]:
        """What :meth:`batches` does with a reading; ``views`` take each of its windows as well."""
        decoded = None if asked is None else asked | {column for column, _ in wanted.where}
        for window in self._windows(reading, wanted, decoded, views=views):
            for batch in window:
                kept = _kept(batch.batch, wanted, asked)
                if kept.num_rows:
                    yield Batch(batch.table, batch.schema_version, kept)

    def _windows(
        self,
        reading: Reading,
        wanted: Filters,
        columns: frozenset[str] | None = None,
        *,
        to_sort: bool = False,
        views: Sequence[Callable[[Window], object]] = (),
    ) -> Iterator[Iterable[Batch]]:
        from binlogkit.frames.schema import undecodable_cells
        from binlogkit.frames.windows import read_batches

        self.undecodable = 0

        def counted(window: Iterable[tuple[TableSchema, pa.RecordBatch]]) -> Iterator[Batch]:
            for schema, batch in window:
                self.undecodable += undecodable_cells(batch)
                yield Batch(schema.name, schema.version, batch)

        found = read_batches(reading, wanted, columns=columns, to_sort=to_sort, views=views)
        for window in found:
            yield counted(window)


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


def _no_others(columns: frozenset[str], reading: Reading, wanted: Filters) -> None:
    """UsageError for names that no table that was read has; without such tables none is wrong."""
    found = [s for n, known in reading.schemas.items() if wanted.wants_table(*n) for s in known]
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
