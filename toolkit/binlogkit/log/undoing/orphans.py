"""What there was before changes by foreign keys: rows to refer to, and rows that refer.

A row that went, and referred to nothing, may do so again. So may one that referred to nothing
before the row came to which it refers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.constants import TableId
from binlogkit.frames.schema import table_of
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, TableArgs
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.references import Reference
    from binlogkit.analyses.undoing.unchecked import Before, Values
    from binlogkit.log.streams import Streams

_PLACES = 32  # events before which rows are asked for
_Place = tuple[str, int]


def rows_before(
    log: Streams,
    changes: Iterable[pa.RecordBatch],
    keys: Sequence[Reference],
    sources: frozenset[str],
) -> Before | None:
    """The values of parents' rows before the changes that removed or changed rows of their
    children, and those of children's rows before the changes that brought values of their parents.
    None is known of either if there are very many such changes."""
    from binlogkit.analyses.undoing.unchecked import Before, came

    goes, comes = set[_Place](), set[_Place]()
    for batch in changes:
        name = table_of(batch) if batch.num_rows else None
        if any(key.child == name for key in keys):
            goes |= _places(batch, np.asarray(batch["before"].is_valid()))
        for columns in {key.referenced for key in keys if key.parent == name}:
            comes |= _places(batch, came(batch, columns))
    parents = {key: (key.parent, key.referenced) for key in keys}
    children = {key: (key.child, key.columns) for key in keys}
    return Before(_values(log, goes, parents, sources), _values(log, comes, children, sources))


def _places(batch: pa.RecordBatch, rows: Any) -> set[_Place]:
    import pyarrow as pa

    some = batch.filter(pa.array(rows, pa.bool_()))
    return {*zip(some["file"].to_pylist(), some["pos"].to_pylist(), strict=True)}


def _values(
    log: Streams,
    places: set[_Place],
    sides: Mapping[Reference, tuple[TableId, Sequence[str]]],
    sources: frozenset[str],
) -> Values:
    """The values of one side of foreign keys before the events at some places."""
    from binlogkit.analyses.undoing.unchecked import values_of

    if not 0 < len(places) <= _PLACES:
        return lambda *_: None
    names = {written_table_name(*name) for name, _ in sides.values()}
    points = {place: Point(log, {"at": place}) for place in sorted(places)}
    given: TableArgs = {"source": sorted(sources)}
    states = States(log, sorted(names), [*points.values()], given)

    @cache
    def there(key: Reference, place: _Place) -> Mapping[tuple[Any, ...], int] | None:
        if place not in points:
            return None
        name, columns = sides[key]
        state = states.at(points[place], written_table_name(*name))
        return values_of(state.rows, columns) if state.rows_determined else None

    return there
