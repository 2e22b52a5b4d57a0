"""The audit of a landing on Spark: tasks read the tables, and Spark counts their changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from binlogkit.analyses._frames import from_arrow
from binlogkit.analyses._tasks import Batches
from binlogkit.frames.activity import Activity
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.spark.landing.activity import (
    counted_of,
    others,
    sums_of,
    with_places,
    without_values,
)
from binlogkit.spark.landing.audit import audit_landing, rows_of
from binlogkit.spark.landing.chosen import Chosen
from binlogkit.spark.landing.file_groups import Group, groups_of
from binlogkit.spark.landing.numbering import Numbering
from binlogkit.spark.landing.passing import AT_ONCE
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.shared import numbers
from binlogkit.spark.masks import Masks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.log.audit import Audit
    from binlogkit.spark.landing.ledger import Ledger
    from binlogkit.spark.landing.restoring import Landing


def shared_audit(spark: SparkSession, landing: Landing, **filters: Unpack[FilterArgs]) -> Audit:
    """Like ``landing.audit``, but Spark's tasks read the tables, and Spark counts their changes.

    Workers: see :func:`binlogkit.spark.landing.shared.shared_state`. UsageError.
    """
    changes = partial(_changes, spark)
    return audit_landing(landing.ledger, landing.transactions, filters, changes)


def _changes(
    spark: SparkSession, ledger: Ledger, transactions: pa.Table, chosen: Chosen
) -> tuple[Any, int]:
    """See :data:`binlogkit.spark.landing.audit.Changes`."""
    groups = tuple(
        group
        for name in sorted(filter(ledger.has, ledger.met))
        for group in groups_of(
            {name: [(folder, []) for folder in folders(ledger.out, name)]}, without_values
        )
    )
    ledger.check_expired()
    reading = _Reading(groups, ledger.numbering, ledger.masks)
    parts = sum(group.size for group in groups) // AT_ONCE + 1
    landed = numbers(spark, len(groups), parts).map(reading, _schema()).kept()
    sums = landed.map(_summing, _sums().schema).frame.toArrow()
    more = chosen.changes(others(ledger, transactions, sums.cast(_sums().schema)))
    more = with_places(more, ledger.numbers)
    frame = landed.frame if chosen.all else landed.map(partial(_choosing, chosen), _schema()).frame
    return frame.unionAll(from_arrow(more.cast(_schema()), frame)), rows_of(more)


def _none() -> pa.Table:
    return Activity().finish()


def _schema() -> pa.Schema:
    """Of changes as Spark carries them, with their places."""
    return carried_schema(with_places(_none(), {}).schema)


def _sums() -> pa.Table:
    return sums_of(_none())


@dataclass(frozen=True, slots=True)
class _Reading:
    """The tasks' work: a row for each event of some groups of files."""

    groups: tuple[Group, ...]
    numbering: Numbering
    masks: Masks

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist() if self.groups else ():
                taken, restored = Activity(), self.groups[number].restored
                for several in restored(self.numbering, self.masks).values():
                    for one in several:
                        for each in counted_of(one):
                            taken.feed(each)
                yield from _carried(with_places(taken.finish(), self.numbering.files))


def _summing(batches: Batches) -> Iterator[pa.RecordBatch]:
    """What the changes of a task make together."""
    rows = pa.Table.from_batches([*batches], _schema())
    yield from sums_of(rows).combine_chunks().to_batches()


def _choosing(chosen: Chosen, batches: Batches) -> Iterator[pa.RecordBatch]:
    """The chosen changes."""
    for batch in batches:
        yield from _carried(chosen.changes(pa.Table.from_batches([batch])))


def _carried(changes: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from changes.cast(_schema()).combine_chunks().to_batches()
