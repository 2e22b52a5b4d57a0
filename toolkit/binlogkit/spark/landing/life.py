"""The life of a row of a landed table: the logs' own, from what has landed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.constants import TableId
from binlogkit.frames.schema import supposed_of
from binlogkit.log.states.life.life import Looking, RowLife, check_key
from binlogkit.log.states.reading import RowSource
from binlogkit.spark.landing.happened import happened_to_tables
from binlogkit.spark.landing.shape import landed_name

if TYPE_CHECKING:
    from binlogkit.log.states.images.contradictions import Contradiction
    from binlogkit.rows.schema import Supposition
    from binlogkit.rows.soundness import Gap
    from binlogkit.spark.landing.ledger import Ledger
    from binlogkit.spark.landing.states import LandedStates

    Read: TypeAlias = Callable[[Iterable[TableId]], Iterable[pa.RecordBatch]]


def landed_life(
    ledger: Ledger, read: Read, states: LandedStates, transactions: pa.Table, **asked: Any
) -> RowLife:
    """See :meth:`binlogkit.spark.landing.Landing.life`.

    ``read``: gives the changes of tables with all of their columns; ``states``: of the table;
    ``transactions``: all of the ledger; ``asked``: the table, the key's value, and its columns.
    """
    check_key(asked["key_columns"])
    return Looking(ledger, _LandedRows(ledger, read, states, transactions), **asked).life()


class _LandedRows(RowSource):
    """A landing as the source of a row's life."""

    def __init__(
        self, ledger: Ledger, read: Read, states: LandedStates, transactions: pa.Table
    ) -> None:
        self._ledger, self._read, self._states = ledger, read, states
        self.assumes = states.assumes
        self.history, self.given = ledger.history, ledger.given
        self.transactions, self.boundaries = transactions, ledger.boundaries
        self.gaps = ledger.gaps
        self.suppositions: list[Supposition] = []

    @property
    def unchecked(self) -> Callable[[Integers], Flags]:
        """See :class:`Source`."""
        return self._ledger.unchecked

    def rows(self, tables: Iterable[str] | None) -> Iterator[tuple[TableId, pa.RecordBatch]]:
        """See :class:`RowSource`."""
        names = [landed_name(table) for table in tables or ()]
        ledger = self._ledger
        ledger.refuse_waiting(names)
        there = [name for name in names if ledger.has(name)]
        found: dict[str, Supposition] = {}
        for batch in self._read(there):
            name = batch["db"][0].as_py(), batch["table"][0].as_py()
            for image in ("before", "after"):
                found |= {str(one): one for one in supposed_of(name, batch[image])}
            yield name, batch
        self.suppositions = [*found.values()]

    def happened(self) -> pa.Table:
        """See :class:`RowSource`."""
        return happened_to_tables(self._ledger)

    def unlogged(
        self,
        gaps: Sequence[Gap],  # noqa: ARG002
        own: Sequence[pa.RecordBatch] | None = None,
    ) -> list[Contradiction]:
        """See :class:`RowSource`."""
        return self._states.shown(own) if self._ledger.has(self._states.name) else []
