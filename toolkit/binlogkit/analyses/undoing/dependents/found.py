"""Which changes depend on chosen ones, and which chosen ones have dependents that stay."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._change import CHANGE
from binlogkit.analyses.point_in_time.codes import Flags, Integers, runs
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.chains import (
    KINDS,
    Chain,
    Links,
    conflicting,
    dependents,
)
from binlogkit.analyses.undoing.dependents.gathered import BELOW, PLACE, Gathered
from binlogkit.analyses.undoing.dependents.left import left
from binlogkit.analyses.undoing.dependents.links import (
    all_links,
    of_equal_rows,
    of_expression,
    of_moves,
)
from binlogkit.analyses.undoing.dependents.merged import LaterValues, merged
from binlogkit.constants import TableId
from binlogkit.frames.arrays import one_array
from binlogkit.frames.fields.field import arrow_schema, fields

#: A change that depends on a chosen one; for conflicts, a chosen one with a dependent that stays.
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


@dataclass(frozen=True, slots=True)
class Dependences:
    """What depends on chosen changes and is not chosen, and the chosen ones with such dependents.

    Both as :data:`DEPENDENCES`, in log order, each with the ``seq`` of its rows. ``overwritten``:
    by ``seq``, chosen changes whose only dependents are changes of the same row that left its key,
    or what may be such: with a key, nothing else prevents undoing them. ``later``: of the mode
    merge, by table and column, what later changes left in rows of chosen ones; its conflicts are
    only those that are not undone at all. ``left``: by table and column, what the log leaves of the
    rows of the conflicts, where that is certain.
    """

    dependents: pa.Table
    dependent: Integers
    conflicts: pa.Table
    conflicting: Integers
    overwritten: Integers
    later: Mapping[tuple[TableId, str], LaterValues] = field(default_factory=dict)
    left: Mapping[tuple[TableId, str], LaterValues] = field(default_factory=dict)

    @classmethod
    def none(cls) -> Dependences:
        """Nothing depends on them."""
        table, seqs = arrow_schema(DEPENDENCES).empty_table(), np.zeros(0, np.int64)
        return cls(table, seqs, table, seqs, seqs)


def dependences(
    changes: Gathered,
    references: Iterable[Reference],
    chosen: Integers,
    *,
    struck: bool,
    complete: frozenset[TableId],
    by_transaction: bool = False,
    merge: bool = False,
    unsure: Container[TableId] = (),
) -> Dependences:
    """What depends on chosen changes; see the package.

    ``chosen``: by ``seq``; ``struck``: whether foreign keys cascade without logging; ``complete``:
    tables whose rows are known from the beginning; ``by_transaction``: whole transactions are
    undone, and depend on each other; ``merge``: updates are undone in the columns that no later
    change set (merged.py); ``unsure``: tables whose rows may have changed in other ways.
    """
    unit_of = changes.seq
    if by_transaction:  # a change outside any is a unit by itself
        alone = pa.array(-1 - changes.seq)
        unit_of = np.asarray(pc.coalesce(one_array(changes.places["tx"]), alone))
    units, unit = np.unique(unit_of, return_inverse=True)
    wanted = np.zeros(len(units), bool)
    wanted[unit[np.isin(changes.seq, chosen)]] = True
    met = changes.tables
    keys = [
        key.spelled_by(met[key.parent].columns if key.parent in met else ()) for key in references
    ]
    fixed = all_links(changes.tables, keys, struck=struck)
    there = wanted
    while True:
        equal = _of_equal_rows(changes, there[unit], complete)
        links = [*fixed, *equal]
        reached = dependents(links, unit, wanted)
        if np.array_equal(reached.there, there):
            break
        there = reached.there
    stays = there & ~wanted
    blocked = conflicting(links, unit, stays, wanted)
    if merge:
        refused, later = merged(changes, links, keys, unit, wanted)
        conflicts, seqs = _table(changes, unit, refused, wanted)
        return Dependences(
            *_table(changes, unit, reached, stays), conflicts, seqs, np.zeros(0, np.int64), later,
            dict(left(changes, seqs, unsure)),
        )  # fmt: skip
    hard = [*equal, *(link for link in fixed if not link.same_row)]
    for events in (one for one in changes.tables.values() if one.key):
        hard += of_moves(events)
        hard += [of_expression(events, read, elsewhere=True) for read in events.expressions]
    barred = conflicting(hard, unit, stays, wanted)
    only = (blocked.there & wanted & ~barred.there)[unit]
    conflicts, seqs = _table(changes, unit, blocked, wanted)
    return Dependences(
        *_table(changes, unit, reached, stays), conflicts, seqs, np.unique(changes.seq[only]),
        left=dict(left(changes, seqs, unsure)),
    )  # fmt: skip


def _of_equal_rows(changes: Gathered, back: Flags, complete: frozenset[TableId]) -> list[Links]:
    found = list[Links]()
    for name, events in changes.tables.items():
        if not events.key:
            mine = back[events.first : events.first + events.size]
            found += of_equal_rows(events, mine, complete=name in complete)
    return found


def _table(
    changes: Gathered, unit: Integers, reached: Chain, which: Flags
) -> tuple[pa.Table, Integers]:
    """The changes of units that are reached, and the ``seq`` of each."""
    places, schema, seq = changes.places, arrow_schema(DEPENDENCES), changes.seq
    order = np.lexsort((np.asarray(places[BELOW]), seq))
    logged = order[runs(seq[order])]  # for each seq the logged change, if there was one
    own = logged[(which & reached.there)[unit[logged]]]
    root = reached.root[unit[own]]
    other = logged[np.searchsorted(seq[logged], seq[root])]
    columns = {name: places[name].take(pa.array(own)) for name in PLACE}
    columns["reason"] = pc.take(pa.array(KINDS), pa.array(reached.kind[unit[own]]))
    columns |= {f"other_{name}": places[name].take(pa.array(other)) for name in _OTHER}
    return pa.table({name: columns[name] for name in schema.names}).cast(schema), seq[own]
