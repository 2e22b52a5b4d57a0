"""Foreign keys between tables, for statements on either side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from binlogkit.analyses.point_in_time.boundary import Boundary, lineage
from binlogkit.constants import TableId
from binlogkit.rows.ddl.keys import NO_ACTION
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class Reference:
    """Rows of ``child`` refer by ``columns`` to rows of ``parent`` by ``referenced``, as many.

    ``on_delete``, ``on_update``: as of :class:`binlogkit.rows.schema.ForeignKey`; ``since``: the
    place (``seq``) of the statement that added the key, -1 if no log shows it.
    """

    child: TableId
    columns: tuple[str, ...]
    parent: TableId
    referenced: tuple[str, ...]
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION
    since: int = -1

    @property
    def cascades(self) -> bool:
        """Whether changes of the parent change the child."""
        return (self.on_delete, self.on_update) != (NO_ACTION, NO_ACTION)

    @property
    def record(self) -> dict[str, Any]:
        """As in a plan's ``unreferred``."""
        db, table = self.child
        columns, referenced = list(self.columns), list(self.referenced)
        return {"db": db, "table": table, "columns": columns, "referenced": referenced}


def references(definitions: Iterable[TableDefinition]) -> tuple[Reference, ...]:
    """The foreign keys of tables that exist at one time; for each the known columns."""
    tables = {(table.db, table.table): table for table in definitions}
    found = []
    for name, table in tables.items():
        for key in table.foreign:
            parent = (key.db or table.db, key.table)
            referenced = key.referenced or tuple(_key(tables.get(parent)))
            if referenced and len(referenced) == len(key.columns):
                actions = key.on_delete, key.on_update
                found.append(Reference(name, key.columns, parent, referenced, *actions))
    return tuple(found)


def added_at(keys: Iterable[Reference], boundaries: Sequence[Boundary]) -> Iterator[Reference]:
    """The keys, each with the place from which on it was there."""
    for key in keys:
        yield replace(key, since=_added(key, boundaries))


def _added(key: Reference, boundaries: Sequence[Boundary]) -> int:
    """The place of the statement that added a key, -1 if there is none."""
    names, columns = lineage(boundaries, key.child), key.columns
    for boundary in reversed(boundaries):
        if boundary.name not in names or boundary.conditional:
            continue
        made = _has(boundary.definition, columns, key)
        if boundary.action == "create" and made:
            return boundary.seq
        if boundary.action == "alter" and boundary.alteration is not None:
            old = {new: name for name, new in boundary.alteration.renamed.items()}
            columns = tuple(old.get(column, column) for column in columns)
            if made and boundary.before and not _has(boundary.before, columns, key):
                return boundary.seq
    return -1


def _has(definition: TableDefinition | None, columns: tuple[str, ...], key: Reference) -> bool:
    own = () if definition is None else definition.foreign
    return any((k.columns, k.on_update) == (columns, key.on_update) for k in own)


def _key(table: TableDefinition | None) -> Sequence[str]:
    return () if table is None else table.primary_key
