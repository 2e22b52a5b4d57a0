"""What there was before changes by foreign keys: rows to refer to, and rows that refer; and what
there is in the end.

A row that went, and referred to nothing, may do so again. So may one that referred to nothing
before the row came to which it refers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.undoing._later_ddl import LaterDDL
from binlogkit.analyses.undoing.unchecked import Before, Values, came, values_of
from binlogkit.constants import TableId
from binlogkit.frames.schema import table_of
from binlogkit.log.states.point import Point
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.references import Reference
    from binlogkit.log.states.forwards import States
    from binlogkit.log.undoing.source import UndoSource
    from binlogkit.rows.schema import TableDefinition

_PLACES = 32  # events before which rows are asked for
_Place = tuple[str, int]


def rows_before(
    source: UndoSource,
    changes: Iterable[pa.RecordBatch],
    keys: Sequence[Reference],
    boundaries: Sequence[Boundary],
) -> Before | None:
    """The values of parents' rows before the changes that removed or changed rows of their
    children, and those of children's rows before the changes that brought values of their parents.
    None is known of either if there are very many such changes.

    ``keys``: with the names that tables and columns have in the end; ``boundaries``: all, by which
    they had others.
    """
    goes, comes = dict[_Place, int](), dict[_Place, int]()
    later = LaterDDL(boundaries)
    for batch in (part for one in changes for part, _ in later.parts(one)):
        name = table_of(batch)
        if any(key.child == name for key in keys):
            goes |= _places(batch, np.asarray(batch["before"].is_valid()))
        for columns in {key.referenced for key in keys if key.parent == name}:
            comes |= _places(batch, came(batch, columns))
    parents = {key: (key.parent, key.referenced) for key in keys}
    children = {key: (key.child, key.columns) for key in keys}
    rows = _Rows(source, boundaries)
    many = len(comes) > _PLACES
    return Before(rows.values(goes, parents), rows.values(comes, children), many)


def _places(batch: pa.RecordBatch, rows: Any) -> dict[_Place, int]:
    """The places of some changes, each with its number in the log (``seq``)."""
    some = batch.filter(pa.array(rows, pa.bool_()))
    names = ("file", "pos", "seq")
    return {(f, p): seq for f, p, seq in zip(*(some[n].to_pylist() for n in names), strict=True)}


class _Rows:
    """Rows of tables before the events at some places; the log is read when they are asked for."""

    def __init__(self, source: UndoSource, boundaries: Sequence[Boundary]) -> None:
        self._source, self._boundaries = source, boundaries
        self._tables, self._points = set[TableId](), dict[_Place, Point]()
        self._states: States | None = None
        self._known: dict[tuple[TableId, _Place], pa.Table | None] = {}

    def values(
        self,
        places: Mapping[_Place, int],
        sides: Mapping[Reference, tuple[TableId, Sequence[str]]],
    ) -> Values:
        """The values of one side of foreign keys before the events at the places."""
        if not 0 < len(places) <= _PLACES:
            return lambda *_: None
        self._points |= {place: self._source.point(place) for place in sorted(places)}
        then = {
            (key, place): named_then(*side, self._boundaries, seq)
            for key, side in sides.items()
            for place, seq in places.items()
        }
        self._tables |= {name for name, _ in then.values()}

        @cache
        def there(key: Reference, place: _Place) -> Mapping[tuple[Any, ...], int] | None:
            if (key, place) not in then:
                return None
            name, columns = then[key, place]
            rows = self._before(name, place)
            return None if rows is None else values_of(rows, columns)

        return there

    def _before(self, name: TableId, place: _Place) -> pa.Table | None:
        """A table's rows, None if the log does not determine them."""
        if (name, place) not in self._known:
            if self._states is None:
                points = [*self._points.values()]
                self._states = self._source.states(sorted(self._tables), points)
            state = self._states.at(self._points[place], written_table_name(*name))
            self._known[name, place] = state.rows if state.rows_determined else None
        return self._known[name, place]


def rows_now(
    source: UndoSource, tables: Iterable[TableId]
) -> dict[TableId, tuple[TableDefinition, pa.Table]]:
    """The definitions and rows that tables have in the end, where the log determines them."""
    names = sorted(tables)
    if not names:
        return {}
    point = source.point()
    states = source.states(names, [point])
    found = ((name, states.at(point, written_table_name(*name))) for name in names)
    return {
        name: (state.definition, state.rows)
        for name, state in found
        if state.rows_determined and state.definition is not None
    }


def named_then(
    name: TableId, columns: Sequence[str], boundaries: Sequence[Boundary], seq: int
) -> tuple[TableId, list[str]]:
    """The names that a table and some of its columns had at a place, by those in the end."""
    found = list(columns)
    for boundary in reversed(boundaries):
        if boundary.seq <= seq:
            break
        if boundary.new_name == name:
            name = boundary.name
        if boundary.name == name and boundary.alteration is not None:
            old = {new.lower(): column for column, new in boundary.alteration.renamed.items()}
            found = [old.get(column.lower(), column) for column in found]
    return name, found
