"""States of several tables, forwards or back from a base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Unpack

from binlogkit.errors import UsageError
from binlogkit.log.states.backwards import Back
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, PointArgs, TableArgs
from binlogkit.rows.filter_args import texts

if TYPE_CHECKING:
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.streams import Streams


def table_states(
    log: Streams, tables: Iterable[str] | None, **given: Unpack[PointArgs]
) -> Iterator[TableState]:
    """See :meth:`Log.states`.

    The log is read once for all tables; again for a table whose first reading shows that it was
    another table, had another key, or must be computed backwards.
    """
    if tables is None and given.get("key") is not None:
        raise UsageError("key is that of a table: name it")
    (point,) = points = [Point(log, given)]
    asked = None if tables is None else texts("tables", tables)
    states = states_of(log, asked, points, given)
    yield from (states.at(point, table) for table in states.tables(point))


def states_of(
    log: Streams, names: list[str] | None, points: Sequence[Point], given: TableArgs
) -> States | Back:
    """Gives the states of tables as of some points."""
    if given.get("back_from") is None:
        return States(log, names, points, given)
    return Back(log, names, given)
