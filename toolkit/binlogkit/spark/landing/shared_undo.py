"""Undo and redo of landed changes on Spark: tasks choose changes, and those that may depend on
them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses._tasks import Batches, packed, row, unpacked
from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.constants import TableId
from binlogkit.frames.log_order import in_log_order
from binlogkit.frames.schema import table_of
from binlogkit.log.undoing.source import Sieve
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.shared import restored_by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A task's result: wanted changes, and what it learned as JSON.
_FOUND = pa.schema([("learned", pa.string()), ("changes", pa.binary())])


class SharedLanding(Landing):
    """A landing with :meth:`undo` and :meth:`redo` for which Spark's tasks read the tables: only
    chosen changes, and those that may depend on them, leave the tasks.

    Workers: see :func:`binlogkit.spark.landing.shared.shared_state`.
    """

    def __init__(self, spark: SparkSession, landing: Landing) -> None:
        self.out, self.ledger = landing.out, landing.ledger
        self._sift = partial(_sifted, spark, landing)


def _sifted(
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
        sifted = tasks.map(_Sifting(changes, sieve), _FOUND).kept()
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
                    yield row(_FOUND, None, packed(part))
        yield row(_FOUND, json.dumps(self.sieve.learned()), None)
