"""Landed tables on Spark: tasks that read their files restore the changes.

Each Parquet file of a table is restored separately, as one machine restores all of them
(restoring.py), since a transaction's changes are in one file or in overlapping ones. If a state
needs several tables, one task restores them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._tasks import (
    Batches,
    Sieve,
    SparkTasks,
    arriving,
    packed,
    row,
    unpacked,
)
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.counting import Counting, Until
from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.analyses.point_in_time.shared import Shared
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.frames.flat_states import cast_to, flat_schema, flat_states
from binlogkit.frames.generic import state_rows
from binlogkit.frames.log_order import in_log_order
from binlogkit.frames.schema import table_of
from binlogkit.log.index.transactions import Concerned
from binlogkit.log.states.forwards import RESTARTED
from binlogkit.rows.filter_args import AtArg
from binlogkit.spark.landing.file_groups import Group, groups_of
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.numbering import Numbering
from binlogkit.spark.landing.passing import batches as batches_of
from binlogkit.spark.landing.passing import numbered
from binlogkit.spark.landing.reading import LARGEST, lean, schema_of
from binlogkit.spark.landing.restored import Restored
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.states import LandedStates
from binlogkit.spark.masks import Masks
from binlogkit.spark.splits.commits import POSITION_BITS, file_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from binlogkit.log.states.diff import TableDifference
    from binlogkit.log.states.table_state import TableState


@dataclass(frozen=True, slots=True)
class SharedState:
    """A landed table's rows as of a point, held by Spark's tasks.

    ``state``: all but the rows; ``rows``: a frame, in types that Spark carries; ``row_count`` of
    them, with ``unknown_cells`` that the log does not determine; ``texts``: the same as JSON.
    """

    state: TableState
    rows: DataFrame
    row_count: int
    unknown_cells: int
    texts: DataFrame

    @property
    def determined(self) -> bool:
        """Whether the log determines all of it: the rows, and every cell of them."""
        return self.state.rows_determined and not self.unknown_cells

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as ``state`` writes them, some at a time."""
        return arriving(self.texts)

    def typed(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The same with the table's own columns, and their schema with the state's facts."""
        facts = self.state.facts()
        odd = self.rows.where("value_state IS NOT NULL OR size(unknown) > 0").head(1)
        schema = flat_schema(facts.fields, facts.metadata(), cells=bool(odd))
        parts = (_with_types(batch, facts.fields) for batch in arriving(self.rows))
        return schema, flat_states(parts, schema)


def shared_state(
    spark: SparkSession, landing: Landing, table: str, at: AtArg = None
) -> SharedState:
    """Like ``landing.state``, but folded by Spark's tasks, which keep the rows.

    All workers must reach the landing, one in a store with credentials in their environment.
    Errors: those of ``landing.state``.
    """
    states = _states(spark, landing, table, at)
    here = states.state()
    (replayed,) = states.shared.values()
    folded = replayed.folded
    assert folded is not None
    result, rows, texts = folded.result, replayed.rows, folded.made(_texts, _TEXTS)
    if RESTARTED in here.findings["finding"].to_pylist():
        return SharedState(here, rows.limit(0), 0, 0, texts.limit(0))
    here = replace(here, determined_rows=result.rows if here.rows_determined else 0)
    return SharedState(here, rows, result.rows, result.unknown, texts)


def shared_difference(
    spark: SparkSession, landing: Landing, table: str, a: AtArg, b: AtArg = None
) -> TableDifference:
    """Like ``landing.diff``, but both states are folded by Spark's tasks, and compared there by
    their keys: only rows that differ leave them.

    Errors and workers: those of :func:`shared_state`.
    """
    return _states(spark, landing, table, a, b).difference()


def _states(spark: SparkSession, landing: Landing, table: str, *points: AtArg) -> LandedStates:
    landing = landing.concerning(table, *points)
    return states_by_tasks(spark, landing, table, *points)


def states_by_tasks(
    spark: SparkSession, landing: Landing, table: str, *points: AtArg
) -> LandedStates:
    """The states of a landed table, folded by tasks."""
    changes, sift = partial(_changes, spark, landing), partial(sifted_by_tasks, spark, landing)
    return LandedStates(landing.ledger, changes, [table], points, sift=sift)


def _with_types(rows: pa.RecordBatch, fields: Sequence[pa.Field]) -> pa.RecordBatch:
    """Rows of a state in types that Spark carries, in their columns' own."""
    known = {field.name: field for field in fields}
    values = rows["values"]
    own = [known[field.name] for field in values.type]
    pairs = zip(values.flatten(), own, strict=True)
    made = pa.StructArray.from_arrays([cast_to(c, f.type) for c, f in pairs], fields=own)
    return rows.set_column(rows.schema.get_field_index("values"), "values", made)


_TEXTS = pa.schema([("values", pa.string()), ("unknown", pa.string())])


def _texts(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as ``state`` writes them."""
    found = [batch.cast(_TEXTS) for batch in state_rows(pa.Table.from_batches([rows]))]
    return pa.concat_batches(found)


def _changes(
    spark: SparkSession, landing: Landing, names: Sequence[TableId], until: Until | None
) -> Shared:
    """The changes of landed tables at least up to a point, held by tasks."""
    if len(names) != 1:
        ledger = landing.ledger
        whole = _Whole(landing.out, tuple(names), ledger.last_expired, ledger.concerned)
        return Shared(numbers(spark, 1), whole, whole.schema(landing))
    last = _last_version(landing, until)
    tasks, restoring = restored_by_tasks(spark, landing, names, lean, last)
    return Shared(tasks, restoring, _schema(landing, names[0]))


def restored_by_tasks(
    spark: SparkSession,
    landing: Landing,
    names: Sequence[TableId],
    columns: Callable[[pa.Schema], pa.Schema] = lambda schema: schema,
    last: int = LARGEST,
    besides: Iterable[TableId] = (),
) -> tuple[SparkTasks, Callable[[Batches], Batches]]:
    """Tasks that hold the changes of landed tables, and what makes changes of their rows, numbered
    among those of all; the rest as in :func:`groups_of`."""
    ledger = landing.ledger
    own, more = ({name: landing.folders(name) for name in several} for several in (names, besides))
    groups = tuple(groups_of(own, columns, last, more))
    ledger.check_expired()
    boundaries = {name: tuple(ledger.boundaries_of(name)) for name in names}
    restoring = _Restoring(groups, ledger.numbering, ledger.masks, boundaries)
    return numbers(spark, len(groups)), restoring


#: A task's result: wanted changes, and what it learned as JSON.
_SIFTED = pa.schema([("learned", pa.string()), ("changes", pa.binary())])


def sifted_by_tasks(
    spark: SparkSession,
    landing: Landing,
    names: Sequence[TableId],
    besides: Sequence[TableId],
    sieve: Sieve,
) -> Iterator[pa.RecordBatch]:
    """The changes of tables that a sieve wants, in log order per table, numbered among those of
    all."""
    tasks, changes = restored_by_tasks(spark, landing, names, besides=besides)
    while True:
        found: dict[TableId, list[pa.RecordBatch]] = {name: [] for name in names}
        learned: list[Any] = []
        sifted = tasks.map(_Sifting(changes, sieve), _SIFTED).kept()
        for one in sifted.frame.toLocalIterator():
            if one["changes"] is None:
                learned.append(json.loads(one["learned"]))
            else:
                batch = unpacked(one["changes"])
                found[table_of(batch)].append(batch)
        if not sieve.add(learned):
            break
    for own in found.values():
        yield from (batch for _, batch in in_log_order(own))


@dataclass(frozen=True, slots=True)
class _Sifting:
    """A task's work: what a copy of the sieve wants."""

    changes: Callable[[Batches], Batches]
    sieve: Sieve

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in self.changes(batches):
            for part in self.sieve(once(batch)):
                if part.num_rows:
                    yield row(_SIFTED, None, packed(part))
        yield row(_SIFTED, json.dumps(self.sieve.learned()), None)


def numbers(spark: SparkSession, count: int, parts: int = LARGEST) -> SparkTasks:
    """The numbers of so many groups, at least one, each in its own partition, or in so many
    ``parts``."""
    count = max(count, 1)
    return SparkTasks(spark.range(0, count, 1, min(count, parts)))


def _schema(landing: Landing, name: TableId) -> pa.Schema:
    """Of a table's changes; without columns where versions have no types in common, so that one
    task folds them."""
    ledger, none = landing.ledger, pa.schema([pa.field("after", pa.struct([]))])
    schema = none
    for folder, versions in landing.folders(name):
        rows = lean(schema_of(folder)).empty_table()
        try:
            schema = Restored(name, rows, versions, ledger.numbering, ledger.masks).united()
        except SchemaError:
            return none
    return schema


def _last_version(landing: Landing, until: Until | None) -> int:
    """The largest ``_commit_version`` of changes up to a point."""
    transactions = landing.ledger.transactions
    loose = any(file.loose for file in landing.ledger.file_facts)
    if until is None or loose or not len(transactions):
        return (1 << 63) - 1
    counting = Counting(transactions, until)
    # An XA transaction has the version of its commit.
    counted = transactions.filter(pc.is_in(transactions["tx"], pa.array(counting.numbers)))
    resolved = counted.filter(counted["resolved_pos"].is_valid())
    past = transactions.filter(pc.less_equal(transactions["tx"], counting.ended.last))
    places = [*_last_places(past, "file", "pos")]
    places += _last_places(resolved, "resolved_file", "resolved_pos")
    return max(((file_number(file) << POSITION_BITS) + pos for file, pos in places), default=-1)


def _last_places(transactions: pa.Table, file: str, pos: str) -> Iterator[tuple[str, int]]:
    """The last position in each file."""
    found = transactions.group_by(file).aggregate([(pos, "max")])
    return zip(found[file].to_pylist(), found[f"{pos}_max"].to_pylist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Restoring:
    """The tasks' work: the changes of tables in some groups of files; ``boundaries``: what happened
    to each."""

    groups: tuple[Group, ...]
    numbering: Numbering
    masks: Masks
    boundaries: Mapping[TableId, Sequence[Boundary]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist() if self.groups else ():
                restored = self.groups[number].restored(self.numbering, self.masks)
                ordered = numbered(self.numbering, restored)
                own = {name: ordered[name] for name in self.boundaries if name in ordered}
                yield from batches_of(self.boundaries.__getitem__, own)


@dataclass(frozen=True, slots=True)
class _Whole:
    """One task's work: all changes of some tables, as one machine restores them."""

    out: LandingPath
    names: tuple[TableId, ...]
    last_expired: int
    concerned: Concerned | None

    def __call__(self, _: Batches) -> Iterator[pa.RecordBatch]:
        landing = Landing(self.out)
        landing.ledger.last_expired = self.last_expired
        landing.ledger.concerned = self.concerned
        yield from landing.passing(self.names)

    def schema(self, landing: Landing) -> pa.Schema:
        """Of the last table's changes, if there are any."""
        for name in self.names[::-1]:
            for _, versions in landing.folders(name):
                return versions[-1].schema
        return pa.schema([pa.field("after", pa.struct([]))])
