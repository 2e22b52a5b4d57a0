"""What rows that come back could refer to before they went.

Those that referred to nothing may do so again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from binlogkit.frames.schema import table_of
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point, TableArgs
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.references import Reference
    from binlogkit.analyses.undoing.unchecked import Parents
    from binlogkit.log.streams import Streams

_PLACES = 32  # events before which the parents' rows are asked for


def parents_before(
    log: Streams,
    changes: Iterable[pa.RecordBatch],
    keys: Sequence[Reference],
    sources: frozenset[str],
) -> Parents | None:
    """The values of parents' rows before the changes that removed or changed rows of their
    children; None if there are none, or very many."""
    from binlogkit.analyses.undoing.unchecked import values_of

    children = {key.child for key in keys}
    mine = [batch for batch in changes if batch.num_rows and table_of(batch) in children]
    places = set[tuple[str, int]]()
    for batch in mine:
        gone = batch.filter(batch["before"].is_valid())
        places |= {*zip(gone["file"].to_pylist(), gone["pos"].to_pylist(), strict=True)}
    if not 0 < len(places) <= _PLACES:
        return None
    names = {key.parent: written_table_name(*key.parent) for key in keys}
    points = {place: Point(log, {"at": place}) for place in sorted(places)}
    given: TableArgs = {"source": sorted(sources)}
    states = States(log, sorted(names.values()), [*points.values()], given)
    known: dict[tuple[Reference, tuple[str, int]], AbstractSet[tuple[Any, ...]] | None] = {}

    def there(key: Reference, place: tuple[str, int]) -> AbstractSet[tuple[Any, ...]] | None:
        if place not in points:
            return None
        if (key, place) not in known:
            state = states.at(points[place], names[key.parent])
            sure = state.rows_determined
            known[key, place] = values_of(state.rows, key.referenced) if sure else None
        return known[key, place]

    return there
