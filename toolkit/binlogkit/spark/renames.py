"""Masks as they follow what DDL did to tables and columns.

``RENAME``, ``CHANGE`` and ``CREATE TABLE … LIKE`` give a masked column other names; under each of
them, earlier and later, it is masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


def follow(masks: Masks, joined: Joined) -> Masks:
    """Masks under all names that the logs give to their columns.

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
    return replace(masks, followed=followed, guards=guards)


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
