"""States of several tables and points from one reading of a log's ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, TableArgs
from binlogkit.log.states.reading import StateReading
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.log.streams import Streams


class SharedLedger:
    """A ``log`` whose ledger is read once, when a state is wanted; of some ``sources``, of all if
    none is named. The tables' rows are read by each :meth:`states`."""

    def __init__(self, log: Streams, sources: frozenset[str]) -> None:
        self.log, self._sources = log, sources

    @cached_property
    def _reading(self) -> StateReading:
        return StateReading(self.log, None, self._sources)

    def point(self, at: tuple[str, int] | None = None) -> Point:
        """A point of the log, its end if None."""
        return Point(self.log, {"at": at})

    def states(
        self, names: Iterable[TableId], points: Sequence[Point], before: Before | None = None
    ) -> States:
        """The states of tables at some points; ``before``: see :class:`States`."""
        tables = [written_table_name(*name) for name in names]
        given: TableArgs = {"source": sorted(self._sources)}
        return States(self.log, tables, points, given, before=before, reading=self._reading)
