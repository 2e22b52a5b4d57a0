"""Masks as they follow what DDL did to tables and columns.

``RENAME``, ``CHANGE`` and ``CREATE TABLE … LIKE`` give a masked column other names; under each of
them, earlier and later, it is masked. Where statements are missing, a table that comes after them
may be one with a masked column.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import TypeAlias

from binlogkit.analyses.point_in_time.boundary import Boundary, boundary_of
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.statements import Record, boundary_records
from binlogkit.log.index import Joined
from binlogkit.log.index.joined import Happened
from binlogkit.rows.schema import TableChange, small_name
from binlogkit.spark.masks import Guard, Mask, MaskedColumn, Masks, applies

#: A table before and after, and the new names of columns by their old ones, all in small letters.
_Step: TypeAlias = tuple[TableId, TableId, dict[str, str]]


def happened(joined: Joined) -> Iterator[tuple[Happened, TableChange, Boundary]]:
    """What happened to tables, change by change, in log order."""
    for one in joined.happened or ():
        origin: Record = {"tx": one.tx, "file": one.file, "pos": one.pos, "inner": one.inner}
        changes = [c.in_small_letters() if joined.folded else c for c in one.changes]
        records = boundary_records(origin, 0, changes, one.statement, one.sql_mode)
        for record, change in zip(records, changes, strict=True):
            yield one, change, boundary_of(record, change)


def follow(masks: Masks, joined: Joined, landed: Callable[[TableId], bool] | None = None) -> Masks:
    """Masks under all names that the logs give to their columns; ``landed``: if given, tables but
    these may be others that statements which are missing renamed (:attr:`Masks.unsure`).

    UsageError: a mask is for no column that the logs know.
    """
    if not masks.masks:
        return masks
    lineage = _Lineage(joined)
    followed: dict[MaskedColumn, Mask] = {}
    guards: dict[TableId, list[Guard]] = {}
    for mask in masks.masks:
        found = lineage.names_of(mask)
        followed |= dict.fromkeys(found, mask)
        for table in {one[:2] for one in found}:
            own = frozenset(one[2] for one in found if one[:2] == table)
            lacks = any(own.isdisjoint(columns) for columns in lineage.defined.get(table, ()))
            guards.setdefault(table, []).append(Guard(mask.column, own, lacks))
    names = _unsure(joined) if landed is not None else ()
    unsure = frozenset(name for name in names if landed is not None and not landed(name))
    return replace(masks, followed=followed, guards=guards, unsure=unsure)


def _unsure(joined: Joined) -> set[TableId]:
    """The tables that come first after missing statements of their server, and that no statement
    creates there."""
    sources = {position.part: position.source for position in joined.positions}
    holes = dict[str | None, int]()
    for part in sorted(joined.broken | joined.damaged):
        holes.setdefault(sources.get(part), part)
    if not holes:
        return set()
    begun = {position.events: position.part for position in reversed(joined.positions)}
    events, mentions = sorted(begun), list[tuple[int, int, TableId, TableId | None]]()
    for one, change, boundary in happened(joined):
        origin: TableId | None = boundary.name if change.like is None else change.like
        if boundary.action == "create" and change.like is None and not boundary.conditional:
            origin = None
        part = begun[events[bisect_right(events, one.event) - 1]]
        mentions.append((part, one.pos, boundary.new_name or boundary.name, origin))
    for name, versions in joined.schemas.items():
        shown = (joined.shown[id(one)] for one in versions if id(one) in joined.shown)
        mentions += [(part, pos, name, name) for part, _, pos in shown]
    found = dict[TableId, bool]()
    for part, _, name, known in sorted(mentions, key=itemgetter(0, 1)):
        unknown = part >= holes.get(sources.get(part), part + 1)
        found[name] = known is not None and found.setdefault(known, unknown)
    return {name for name, unknown in found.items() if unknown}


class _Lineage:
    """What the logs' DDL and table maps say of the names of columns.

    ``defined``: the columns of each table after each of its statements.
    """

    def __init__(self, joined: Joined) -> None:
        self._steps: list[_Step] = []
        self.defined: dict[TableId, list[frozenset[str]]] = {}
        for _, change, boundary in happened(joined):
            name = small_name(boundary.name)
            new = name if boundary.new_name is None else small_name(boundary.new_name)
            renamed = {old: column.lower() for old, column in boundary.renamed.items()}
            if renamed or new != name:
                self._steps.append((name, new, renamed))
            if change.like is not None:
                self._steps.append((small_name(change.like), name, {}))
            for definition in (boundary.definition, boundary.before):
                if definition is not None:
                    columns = frozenset(column.name.lower() for column in definition.columns)
                    self.defined.setdefault(
                        small_name((definition.db, definition.table)), []
                    ).append(columns)
        self._known = {name: list(of) for name, of in self.defined.items()}
        self._unnamed: set[TableId] = set()
        for table, versions in joined.schemas.items():
            for version in versions:
                columns = frozenset(column.name.lower() for column in version.columns)
                self._known.setdefault(small_name(table), []).append(columns)
                if not version.named:
                    self._unnamed.add(small_name(table))

    def names_of(self, mask: Mask) -> set[MaskedColumn]:
        """All names of a masked column; empty if its table's columns have no known names.

        UsageError: there is no such table or column.
        """
        tables = [table for table in self._known if applies(mask.table, *table)]
        found = {
            (*table, mask.column)
            for table in tables
            if any(mask.column in columns for columns in self._known[table])
        }
        if not found and self._unnamed.isdisjoint(tables):
            what = "column" if tables else "table"
            raise UsageError(f"the mask {mask.text} is for no {what} in these logs")
        before = 0
        while before < len(found):
            before = len(found)
            for old, new, renamed in self._steps:
                origins = {column: was for was, column in renamed.items()}
                for *table, column in [*found]:
                    if tuple(table) == old:
                        found.add((*new, renamed.get(column, column)))
                    if tuple(table) == new:
                        found.add((*old, origins.get(column, column)))
        return found
