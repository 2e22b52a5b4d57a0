"""Foreign keys between tables, for statements on either side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit.constants import TableId
from binlogkit.rows.ddl.keys import NO_ACTION
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class Reference:
    """Rows of ``child`` refer by ``columns`` to rows of ``parent`` by ``referenced``, as many.

    ``on_delete``, ``on_update``: as of :class:`binlogkit.rows.schema.ForeignKey`.
    """

    child: TableId
    columns: tuple[str, ...]
    parent: TableId
    referenced: tuple[str, ...]
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION

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


def _key(table: TableDefinition | None) -> Sequence[str]:
    return () if table is None else table.primary_key
