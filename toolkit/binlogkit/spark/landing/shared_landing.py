"""A landing whose tables Spark's tasks read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.rows.filter_args import AtArg, FilterArgs
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.shared import shared_difference, sifted_by_tasks, states_by_tasks
from binlogkit.spark.landing.shared_audit import shared_audit
from binlogkit.spark.landing.shared_life import shared_life

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.log.audit import Audit
    from binlogkit.log.states.diff import TableDifference
    from binlogkit.log.states.life.life import RowLife
    from binlogkit.spark.landing.states import LandedStates


class SharedLanding(Landing):
    """A landing with the same answers, for which Spark's tasks read the tables; a state is that of
    :func:`binlogkit.spark.landing.shared.shared_state`.

    Workers: see there. Of :meth:`undo` and :meth:`redo` only chosen changes, and those that may
    depend on them, leave the tasks; of :meth:`unlogged` only changes of rows that were changed
    outside the logs.
    """

    def __init__(self, spark: SparkSession, landing: Landing) -> None:
        self.out, self.ledger = landing.out, landing.ledger
        self._spark = spark
        self._sift = partial(sifted_by_tasks, spark, landing)

    def audit(self, **filters: Unpack[FilterArgs]) -> Audit:
        """See :func:`shared_audit`."""
        return shared_audit(self._spark, self, **filters)

    def diff(self, table: str, a: AtArg, b: AtArg = None) -> TableDifference:
        """See :func:`shared_difference`."""
        return shared_difference(self._spark, self, table, a, b)

    def life(self, table: str, key: Any, *, key_columns: Sequence[str] | None = None) -> RowLife:
        """See :func:`shared_life`."""
        return shared_life(self._spark, self, table, key, key_columns=key_columns)

    def compared_states(self, table: str) -> LandedStates:
        """See :class:`Landing`."""
        return states_by_tasks(self._spark, self, table, None)
