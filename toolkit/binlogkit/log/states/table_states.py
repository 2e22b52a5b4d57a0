"""States of several tables, forwards or back from a base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Self, Unpack

from binlogkit.errors import UsageError
from binlogkit.log.filter_warnings import warn_of_unknown
from binlogkit.log.states.backwards import Back
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, PointArgs, TableArgs
from binlogkit.overview import Overview, Overviewed, yes_or_no
from binlogkit.rows.filter_args import texts
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.streams import Streams

_NAMED = 10  # tables in a line


class TableStates(Overviewed, Iterator["TableState"]):
    """States of tables as of one point, each made when it is taken; see :meth:`Log.states`.

    The log is read when the first state is taken: once without rows, and once with the rows of all
    tables; where they are computed backwards, with those of each table by itself. To show what it
    gives, it reads nothing and takes no state. Errors: UsageError.
    """

    def __init__(
        self, log: Streams, tables: Iterable[str] | None, **given: Unpack[PointArgs]
    ) -> None:
        if tables is None and given.get("key") is not None:
            raise UsageError("key is that of a table: name it")
        self._tables = None if tables is None else texts("tables", tables)
        self._done = False
        self._taken: list[dict[str, object]] = []
        self._states = self._made(log, Point(log, given), given)

    def _made(self, log: Streams, point: Point, given: PointArgs) -> Iterator[TableState]:
        states = states_of(log, self._tables, [point], given)
        self._tables = states.tables(point)
        yield from (states.at(point, table) for table in self._tables)

    def __iter__(self) -> Self:
        if self._done:
            raise UsageError("these states have been read already: ask the log for them again")
        return self

    def __next__(self) -> TableState:
        state = next(self._states, None)
        if state is None:
            self._done = True
            raise StopIteration
        warn_of_unknown(state.findings, written_table_name(*state.table), level=4)
        facts = {"rows": state.rows.num_rows, "determined": yes_or_no(state.determined)}
        self._taken.append({"table": written_table_name(*state.table), **facts})
        return state

    def overview(self) -> Overview:
        """Which tables it gives, and of those that were taken how many rows they have."""
        taken, tables = self._taken, self._tables
        if tables is None:
            found = "all tables that the log names and that may exist (not read yet)"
            return Overview("states", [("tables", found)])
        more = [f"and {len(tables) - _NAMED:,} more"] * (len(tables) > _NAMED)
        names = ", ".join([*tables[:_NAMED], *more]) or "none"
        rest = ({"table": name} for name in tables[len(taken) :])
        return Overview("states", [("tables", names), ("taken", len(taken))], chain(taken, rest))


def states_of(
    log: Streams, names: list[str] | None, points: Sequence[Point], given: TableArgs
) -> States | Back:
    """Gives the states of tables as of some points."""
    if given.get("back_from") is None:
        return States(log, names, points, given)
    return Back(log, names, given)
