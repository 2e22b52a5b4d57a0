"""What the log leaves of the rows of chosen changes on which later changes depend.

A row is followed through changes of its key. Nothing is said of a row that is gone in the end, nor
of a table without a key, or with changes that are not by its key.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.undoing.dependents.events import TableChanges
from binlogkit.analyses.undoing.dependents.gathered import BELOW, Gathered
from binlogkit.analyses.undoing.dependents.merged import LaterValues
from binlogkit.constants import TableId


def left(
    changes: Gathered, conflicting: Integers, unsure: Container[TableId]
) -> Iterator[tuple[tuple[TableId, str], LaterValues]]:
    """By table and column the last known values, for an update of the columns that it set and the
    key. ``conflicting``: the changes, by ``seq``; ``unsure``: tables of which nothing is said."""
    below = np.asarray(changes.places[BELOW])
    which = np.isin(changes.seq, conflicting) & ~below
    for events in changes.tables.values():
        mine = which[events.first : events.first + events.size]
        if events.key and events.name not in unsure and mine.any() and not events.unplaced.any():
            yield from _of_table(events, mine)


def _of_table(
    events: TableChanges, mine: Flags
) -> Iterator[tuple[tuple[TableId, str], LaterValues]]:
    every = np.arange(events.size)
    last = np.zeros(events.size, np.int64)
    np.maximum.at(last, events.life, every)
    place = last[events.life]
    update = events.was & events.now
    there = mine & events.now[place]
    for name in events.columns:
        wanted = ~update | events.changed(name) | (name in events.key)
        rows = np.flatnonzero(there & wanted)
        if not len(rows):
            continue
        rows = rows[np.argsort(events.seq[rows])]
        cells = events.full(name)[1].take(place[rows])
        known = np.flatnonzero(~cells.missing)
        none = np.zeros(len(known), bool)
        if len(known):
            seqs = events.seq[rows[known]]
            yield (events.name, name), LaterValues(seqs, cells.take(known), none, auto=False)
