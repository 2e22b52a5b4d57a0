"""The life of a row of a landed table: the logs' own, from what has landed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.constants import TableId
from binlogkit.frames.schema import supposed_of, table_of
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


def landed_life(rows: LandedRows, **asked: Any) -> RowLife:
    """See :meth:`binlogkit.spark.landing.Landing.life`; ``asked``: as of :class:`Looking`."""
    check_key(asked["key_columns"])
    return Looking(rows.ledger, rows, **asked).life()


class LandedRows(RowSource):
    """A landing as the source of a row's life.

    ``read``: gives the changes of tables with all of their columns; ``states``: of the table;
    ``transactions``: all of the ledger.
    """

    def __init__(
        self, ledger: Ledger, read: Read, states: LandedStates, transactions: pa.Table
    ) -> None:
        self.ledger, self._read, self._states = ledger, read, states
        self.assumes = states.assumes
        self.history, self.given = ledger.history, ledger.given
        self.transactions, self.boundaries = transactions, ledger.boundaries
        self.gaps = ledger.gaps
        self.suppositions: list[Supposition] = []

    @property
    def unchecked(self) -> Callable[[Integers], Flags]:
        """See :class:`Source`."""
        return self.ledger.unchecked

    def rows(self, tables: Iterable[str] | None) -> Iterator[tuple[TableId, pa.RecordBatch]]:
        """See :class:`RowSource`."""
        there = self.there(map(landed_name, tables or ()))
        found: dict[str, Supposition] = {}
        yield from with_names(self._read(there), found)
        self.suppositions = [*found.values()]

    def there(self, names: Iterable[TableId]) -> list[TableId]:
        """Those of some tables that have landed. InputError: rows of one wait."""
        names = [*names]
        self.ledger.refuse_waiting(names)
        return [name for name in names if self.ledger.has(name)]

    def happened(self) -> pa.Table:
        """See :class:`RowSource`."""
        return happened_to_tables(self.ledger)

    def unlogged(
        self,
        gaps: Sequence[Gap],  # noqa: ARG002
        own: Sequence[pa.RecordBatch] | None = None,
    ) -> list[Contradiction]:
        """See :class:`RowSource`."""
        return self._states.shown(own) if self.ledger.has(self._states.name) else []


def with_names(
    batches: Iterable[pa.RecordBatch], supposed: dict[str, Supposition]
) -> Iterator[tuple[TableId, pa.RecordBatch]]:
    """Changes with their table; what is supposed of their values is added to ``supposed``."""
    for batch in batches:
        name = table_of(batch)
        for image in ("before", "after"):
            supposed |= {str(one): one for one in supposed_of(name, batch[image])}
        yield name, batch
