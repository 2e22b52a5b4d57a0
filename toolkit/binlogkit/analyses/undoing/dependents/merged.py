"""Which columns of chosen updates later changes set, so that only the others are undone.

For the mode ``merge``. A chosen update *keeps* a column if a later change that stays set it, or
depends on its value by a key (see the package); columns of one key are kept together. A column with
ON UPDATE CURRENT_TIMESTAMP is kept if any later update of the row stays: it is no conflict. What
cannot be undone by the column is refused: inserts and deletes on which later changes depend,
updates of rows that were deleted later, or that changed other rows by unlogged cascades, or a key
with a computed column, and what may depend on a value that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from binlogkit.analyses._cells import Cells
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.chains import SAME_ROW, UNKNOWN, Chain, Links
from binlogkit.analyses.undoing.dependents.events import TableChanges, changed_unit
from binlogkit.analyses.undoing.dependents.gathered import Gathered
from binlogkit.analyses.undoing.dependents.links import units_of
from binlogkit.analyses.undoing.dependents.values import ValueColumn
from binlogkit.constants import TableId
from binlogkit.frames.text_columns import Mask


@dataclass(frozen=True, slots=True)
class LaterValues:
    """A column's values that later changes left in the rows of chosen updates.

    ``seqs``: these updates, sorted; ``cells``: the values; ``kept``: which updates keep the column
    (the others find their rows by it); ``auto``: the server sets it with every update.
    """

    seqs: Integers
    cells: ValueColumn
    kept: Flags
    auto: bool

    def over(self, cells: Cells, seqs: Integers) -> tuple[Cells, Mask, Mask]:
        """The cells of changes with these values in place of their own; which ones these are, and
        which of them are kept."""
        at = np.searchsorted(self.seqs, seqs)
        at[at == len(self.seqs)] = 0
        there = self.seqs[at] == seqs
        if not there.any():
            return cells, there, there
        own = self.cells.take(np.where(there, at, -1))
        array, special = own.of_type(cells.array.type)
        now = Cells(cells.field, array, own.missing, special)
        return now.over(cells), there, there & self.kept[at]


def merged(
    changes: Gathered,
    links: Sequence[Links],
    references: Iterable[Reference],
    unit: Integers,
    wanted: Flags,
) -> tuple[Chain, dict[tuple[TableId, str], LaterValues]]:
    """The refused units, and by table and column what later changes left.

    ``unit``: of each change; ``wanted``: the chosen units.
    """
    keys = list(references)
    found = _Merge(changes, unit, wanted)
    own = [
        extra for events in changes.tables.values() if events.key for extra in _own_links(events)
    ]
    units = {name: units_of(e, keys) for name, e in changes.tables.items() if e.key}
    while found.spread([*links, *own], units) or found.refuse_lost():
        pass
    return found.refused, dict(found.later())


def _auto(events: TableChanges) -> set[str]:
    """The columns that the server sets with every update."""
    columns = events.definitions[-1].columns if events.definitions else ()
    return {column.name for column in columns if column.on_update_now}


def _own_links(events: TableChanges) -> Iterator[Links]:
    """Later updates set what the server sets by itself."""
    every, update = np.arange(events.size), events.was & events.now
    for name in sorted(_auto(events) & set(events.columns)):
        yield Links.of(
            SAME_ROW, events.life, every, events.first + every, events.changed(name), update,
            (name,),
        )  # fmt: skip


class _Merge:
    """What is kept and refused so far; ``refused``: by unit."""

    def __init__(self, changes: Gathered, unit: Integers, wanted: Flags) -> None:
        none = np.full(len(wanted), -1)
        self.refused = Chain(np.zeros(len(wanted), bool), none, none.copy())
        self._changes, self._unit, self._chosen = changes, unit, wanted[unit]
        size = len(unit)
        self._update = np.zeros(size, bool)
        self._sets: dict[str, Flags] = {}
        self._computed: dict[str, Flags] = {}
        for events in changes.tables.values():
            mine = slice(events.first, events.first + events.size)
            self._update[mine] = events.was & events.now & bool(events.key)
            for name in {name for part in events.parts for name in part.after}:
                which = self._computed if name in events.generated else self._sets
                sets = which.setdefault(name, np.zeros(size, bool))
                # A column that is gone in the end has no value that a statement could keep.
                sets[mine] = events.changed(name) & (name in events.columns)
        self._update &= np.bincount(unit)[unit] == 1  # alone in its unit: without cascades
        self._kept = {name: np.zeros(size, bool) for name in self._sets}

    @property
    def _stays(self) -> Flags:
        return ~self._chosen | self.refused.there[self._unit]

    def spread(self, links: Iterable[Links], units: Mapping[TableId, Sequence[Sequence[str]]]
               ) -> bool:  # fmt: skip
        """Keep and refuse what follows from what stays; whether there was more."""
        more = False
        for link in links:
            own, gone = link.change, self._stays[link.change]
            by = self._kept if link.by is None else link.by  # what keeps any column stays in part
            for name in self._kept.keys() & by:
                gone = gone | self._kept[name][own]
            source = link.ahead(link.after & gone)
            hit = np.flatnonzero(link.before & ~self._stays[own] & (source >= 0))
            by_column = self._update[own[hit]] & (link.columns is not None)
            for name in self._computed.keys() & (link.columns or ()):
                by_column &= ~self._computed[name][own[hit]]
            whole = hit[~by_column]
            more |= self._refuse(own[whole], link.change[source[whole]], link.kind)
            for name in self._kept.keys() & (link.columns or ()):
                more |= self._keep(name, own[hit])
        for events in self._changes.tables.values():
            every = np.arange(events.first, events.first + events.size)
            for unit in units.get(events.name, ()):  # earlier definitions had other names
                names = self._kept.keys() & unit
                kept = [self._kept[name][every] for name in names]
                together = every[np.any([np.zeros(events.size, bool), *kept], axis=0)]
                for name in names:
                    more |= self._keep(name, together)
        return more

    def _keep(self, name: str, which: Integers) -> bool:
        fresh = which[self._sets[name][which] & self._update[which] & ~self._kept[name][which]]
        self._kept[name][fresh] = True
        return bool(len(fresh))

    def _refuse(self, which: Integers, root: Integers, kind: int) -> bool:
        units, first = np.unique(self._unit[which], return_index=True)
        self.refused.there[units] = True
        self.refused.root[units], self.refused.kind[units] = root[first], kind
        return bool(len(units))

    def refuse_lost(self) -> bool:
        """Refuse updates whose row's present key is not known; whether there were any."""
        more = False
        for (name, column), later in self.later():
            if column in self._changes.tables[name].key and later.cells.missing.any():
                lost = later.seqs[later.cells.missing]
                which = np.flatnonzero(np.isin(self._changes.seq, lost))
                more |= self._refuse(which, which, UNKNOWN)
        return more

    def later(self) -> Iterator[tuple[tuple[TableId, str], LaterValues]]:
        """By table and column what later changes left."""
        for events in self._changes.tables.values():
            mine = slice(events.first, events.first + events.size)
            every, stays, auto = np.arange(events.size), self._stays[mine], _auto(events)
            live = self._update[mine] & ~stays
            if not events.key or not live.any():
                continue
            whole_key = changed_unit(events, events.key) & (
                stays | np.any([self._kept[n][mine] for n in events.key if n in self._kept], axis=0)
            )
            for name in (column for column in events.columns if column in self._sets):
                kept = self._kept[name][mine]
                sets = self._sets[name][mine] & (stays | kept)
                if name in events.key:
                    sets, wanted = whole_key, live
                else:
                    wanted = live & kept
                last = np.full(events.size, -1)
                np.maximum.at(last, events.life[sets], every[sets])
                place = np.maximum(last[events.life], every)
                rows = np.flatnonzero(wanted & ((place > every) | kept))
                if len(rows):
                    rows = rows[np.argsort(events.seq[rows])]
                    cells = events.full(name)[1].take(place[rows])
                    yield (
                        (events.name, name),
                        LaterValues(events.seq[rows], cells, kept[rows], name in auto),
                    )
