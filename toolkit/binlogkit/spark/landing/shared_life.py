"""The life of a row of a landed table on Spark: tasks look for the row's changes.

Which keys the row had is known once all tasks have looked: if they find that it had others, they
look again, also for these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses._tasks import Batches, packed, row, unpacked
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.identity import Identity
from binlogkit.frames.log_order import in_log_order
from binlogkit.frames.schema import table_of
from binlogkit.log.states.life.reading import Candidates, gathered
from binlogkit.rows.schema import Supposition
from binlogkit.spark.landing.life import LandedRows, landed_life, with_names
from binlogkit.spark.landing.shared import restored_by_tasks, states_by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.log.states.life.life import RowLife
    from binlogkit.spark.landing.restoring import Landing
    from binlogkit.spark.landing.states import LandedStates

#: A task's result: facts as JSON first, then the row's changes.
_FOUND = pa.schema([("facts", pa.string()), ("changes", pa.binary())])


def shared_life(
    spark: SparkSession,
    landing: Landing,
    table: str,
    key: Any,
    *,
    key_columns: Sequence[str] | None = None,
) -> RowLife:
    """Like ``landing.life``, but Spark's tasks read the table: only changes of the row leave them.

    Workers: see :func:`binlogkit.spark.landing.shared.shared_state`. Errors: those of
    ``landing.life``.
    """
    rows = _SharedRows(spark, landing, states_by_tasks(spark, landing, table, None))
    asked = {"table": table, "value": key, "key_columns": key_columns}
    return landed_life(rows, **asked, look=rows.candidates)


class _SharedRows(LandedRows):
    """A landing whose tables are read by Spark's tasks."""

    def __init__(self, spark: SparkSession, landing: Landing, states: LandedStates) -> None:
        super().__init__(landing.ledger, landing.passing, states, landing.transactions())
        self._spark, self._landing = spark, landing

    def candidates(self, identity: Identity, given: Any, numbers: Integers) -> Candidates:
        """As :func:`binlogkit.log.states.life.reading.candidates`."""
        there = self.there(dict.fromkeys(identity.names))
        tasks, changes = restored_by_tasks(self._spark, self._landing, there)
        tracked = frozenset[str]()
        while True:
            looking = _Looking(changes, identity, given, tracked)
            results = tasks.map(looking, _FOUND).records()
            facts = [json.loads(one["facts"]) for one in results if one["facts"] is not None]
            found = Candidates(given, set(tracked))
            found.add(facts)
            own = [unpacked(one["changes"]) for one in results if one["changes"] is not None]
            for name in there:
                parts = in_log_order([batch for batch in own if table_of(batch) == name])
                gathered(((name, batch) for _, batch in parts), identity, found)
            keys = found.keys_tracked(numbers, self.undone)
            if all(keys <= tracked.union(one["asked"]) for one in facts):
                break
            tracked |= keys
        supposed = [Supposition(**each) for one in facts for each in one["supposed"]]
        self.suppositions = [*dict.fromkeys(supposed)]
        return found


@dataclass(frozen=True, slots=True)
class _Looking:
    """A task's work: the changes of rows that have the ``given`` key, or one of the ``tracked``."""

    changes: Callable[[Batches], Batches]
    identity: Identity
    given: Any
    tracked: frozenset[str]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        supposed: dict[str, Supposition] = {}
        found = Candidates(self.given, set(self.tracked))
        gathered(with_names(self.changes(batches), supposed), self.identity, found)
        facts = found.facts() | {"supposed": [asdict(one) for one in supposed.values()]}
        yield row(_FOUND, json.dumps(facts), None)
        for batch in found.changes:
            yield row(_FOUND, None, packed(batch))
