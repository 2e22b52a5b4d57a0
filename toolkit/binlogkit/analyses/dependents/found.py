"""Which changes depend on chosen ones, and which chosen ones others depend on that stay."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.dependents.chains import (
    KINDS,
    Links,
    Reached,
    conflicting,
    dependents,
)
from binlogkit.analyses.dependents.gathered import BELOW, PLACE, Gathered
from binlogkit.analyses.dependents.links import all_links, of_equal_rows
from binlogkit.analyses.plans import CHANGE
from binlogkit.analyses.point_in_time.boundary import Name
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.references import Reference
from binlogkit.frames.fields.field import arrow_schema, fields

#: A change that depends on a chosen one; of conflicts a chosen one on which one depends that stays.
DEPENDENCES = fields(
    *CHANGE,
    ("thread_id", "int64?", "the connection's number"),
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("op", "string", "insert, update or delete"),
    ("reason", "string", "same_row, deleted, unique, child, parent or unknown: the last step"),
    ("other_file", "string", "file of the change that it depends on, by way of others too"),
    ("other_pos", "int64", "position of that change's event; of conflicts: that depends on it"),
    ("other_inner", "int64?", "that event's number inside a payload, null outside"),
    ("other_row", "int64", "that change's number in its event"),
    ("other_gtid", "string?", "GTID of that change's transaction, null when anonymous"),
)
_OTHER = ("file", "pos", "inner", "row", "gtid")


def dependences(
    changes: Gathered,
    references: Iterable[Reference],
    chosen: Integers,
    *,
    struck: bool,
    complete: frozenset[Name],
) -> tuple[pa.Table, pa.Table]:
    """What depends on chosen changes and is not chosen, and the chosen ones on which such depend
    (:data:`DEPENDENCES`), in the log's order; see the package.

    ``chosen``: by ``seq``; ``struck``: foreign keys act below the log; ``complete``: tables whose
    rows are known from the beginning.
    """
    units, unit = np.unique(changes.seq, return_inverse=True)
    wanted = np.isin(units, chosen)
    fixed = all_links(changes.tables, references, struck=struck)
    there = wanted
    while True:
        links = [*fixed, *_of_equal_rows(changes, there[unit], complete)]
        reached = dependents(links, unit, wanted)
        if np.array_equal(reached.there, there):
            break
        there = reached.there
    stays = there & ~wanted
    blocked = conflicting(links, unit, stays, wanted)
    return _table(changes, unit, reached, stays), _table(changes, unit, blocked, wanted)


def _of_equal_rows(changes: Gathered, back: Flags, complete: frozenset[Name]) -> list[Links]:
    found = list[Links]()
    for name, events in changes.tables.items():
        if not events.key:
            mine = back[events.first : events.first + events.size]
            found += of_equal_rows(events, mine, complete=name in complete)
    return found


def _table(changes: Gathered, unit: Integers, reached: Reached, which: Flags) -> pa.Table:
    places, schema = changes.places, arrow_schema(DEPENDENCES)
    wanted = np.flatnonzero(which & reached.there)
    below = np.asarray(places[BELOW])
    order = np.lexsort((below, unit))  # of each unit the change that was logged, if one was
    own = order[np.searchsorted(unit[order], wanted)]
    other = order[np.searchsorted(unit[order], unit[reached.root[wanted]])]
    columns = {name: places[name].take(pa.array(own)) for name in PLACE}
    columns["reason"] = pc.take(pa.array(KINDS), pa.array(reached.kind[wanted]))
    columns |= {f"other_{name}": places[name].take(pa.array(other)) for name in _OTHER}
    return pa.table({name: columns[name] for name in schema.names}).cast(schema)
