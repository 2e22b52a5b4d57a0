"""Foreign keys between tables, for statements on either side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.constants import TableId
from binlogkit.rows.ddl.keys import NO_ACTION
from binlogkit.rows.schema import ForeignKey, TableDefinition, joined_columns


@dataclass(frozen=True, slots=True)
class Reference:
    """Rows of ``child`` refer by ``columns`` to rows of ``parent`` by ``referenced``, as many.

    ``on_delete``, ``on_update``: as of :class:`binlogkit.rows.schema.ForeignKey`; ``rows``: how
    many rows may refer to one that a statement changes; ``shared``: whether several rows of the
    parent may have the same values there; ``unlike``: whether no value of the child is one of the
    parent, since servers compare the bytes of columns with such types.
    """

    child: TableId
    columns: tuple[str, ...]
    parent: TableId
    referenced: tuple[str, ...]
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION
    rows: int = 0
    shared: bool = False
    unlike: bool = False

    @property
    def cascades(self) -> bool:
        """Whether changes of the parent change the child."""
        return (self.on_delete, self.on_update) != (NO_ACTION, NO_ACTION)

    def spelled_by(self, columns: Iterable[str]) -> Reference:
        """It with the parent's columns in the parent's case, where the definition is not known."""
        spelled = {column.lower(): column for column in columns}
        names = tuple(spelled.get(name.lower(), name) for name in self.referenced)
        return self if names == self.referenced else replace(self, referenced=names)

    @property
    def record(self) -> dict[str, Any]:
        """As in a plan's ``unreferred``."""
        db, table = self.child
        columns, referenced = list(self.columns), list(self.referenced)
        keys = {"db": db, "table": table, "columns": columns, "referenced": referenced}
        return {**keys, "rows": self.rows}


def references(definitions: Iterable[TableDefinition]) -> tuple[Reference, ...]:
    """The foreign keys of tables that exist at one time; for each the known columns."""
    tables = {(table.db, table.table): table for table in definitions}
    found = []
    for name, table in tables.items():
        for key in table.foreign:
            parent = (key.db or table.db, key.table)
            if parent in tables:
                key = key.spelled_by(tables[parent].columns)
            referenced = key.referenced
            if not referenced and parent in tables:
                referenced = tables[parent].primary_key
            if referenced and len(referenced) == len(key.columns):
                shared = _shared(tables.get(parent), referenced)
                unlike = _unlike(table, key.columns, tables.get(parent), referenced)
                found.append(
                    Reference(name, key.columns, parent, referenced, key.on_delete, key.on_update,
                              shared=shared, unlike=unlike)
                )  # fmt: skip
    return tuple(found)


def renamed(
    keys: Iterable[Reference], renames: Iterable[tuple[TableId, TableId]]
) -> list[Reference]:
    """The foreign keys, also under each name that a table of theirs got later; ``renames``: in log
    order, each with the name before and after."""
    found = list(dict.fromkeys(keys))
    for old, new in renames:
        for key in list(found):
            child = new if key.child == old else key.child
            parent = new if key.parent == old else key.parent
            found.append(replace(key, child=child, parent=parent))
    return list(dict.fromkeys(found))


def connected(names: Iterable[TableId], pairs: Collection[tuple[TableId, TableId]]) -> set[TableId]:
    """Tables, and all that the pairs join with them, directly or not."""
    found = {*names}
    while more := {name for pair in pairs if not found.isdisjoint(pair) for name in pair} - found:
        found |= more
    return found


def still_there(boundaries: Iterable[Boundary]) -> Callable[[TableId], bool]:
    """Whether a table of the log is there in the end."""
    last = dict[TableId, bool]()
    for event in boundaries:
        if event.action == "drop_database":
            last = {name: there for name, there in last.items() if name[0] != event.name[0]}
        if event.action in ("drop", "drop_database") or event.new_name:
            last[event.name] = False
        if event.action == "create" or event.new_name:
            last[event.new_name or event.name] = True
    return lambda name: last.get(name, last.get((name[0], ""), True))


def acting(keys: Iterable[Reference]) -> dict[TableId, list[Reference]]:
    """The foreign keys by the table whose changes act on children, with those by which rows that
    follow an update have others follow."""
    found = list(keys)
    for above in found:
        of = dict(zip(map(str.lower, above.columns), above.referenced, strict=True))
        for key in list(found) if above.on_update == "CASCADE" else ():
            pairs = zip(key.columns, map(str.lower, key.referenced), strict=True)
            through = [(column, of[name]) for column, name in pairs if name in of]
            if key.parent == above.child and through:
                columns, referenced = zip(*through, strict=True)
                further = Reference(
                    key.child, columns, above.parent, referenced, on_update=key.on_update
                )
                found += [further] if further not in found else []
    by_parent: dict[TableId, list[Reference]] = {}
    for key in found:
        by_parent.setdefault(key.parent, []).append(key)
    return by_parent


def keys_alone(boundaries: Iterable[Boundary]) -> list[TableDefinition]:
    """Tables that the log does not define, with the foreign keys that ALTER TABLE gave them: in the
    end, and without columns."""
    found: dict[TableId, TableDefinition] = {}
    for event in boundaries:
        done, own = event.alteration, found.get(event.name)
        if event.action in ("create", "drop"):
            found.pop(event.name, None)
        elif event.action == "drop_database":
            found = {name: table for name, table in found.items() if name[0] != event.name[0]}
        elif event.action == "rename" and event.new_name is not None:
            found.pop(event.name, None)
            found |= {} if own is None else {event.new_name: own.renamed(event.new_name)}
        elif done is not None and event.definition is None:
            keys = _left(own, done.unforeign, event.renamed)
            found[event.name] = TableDefinition(*event.name, (), foreign=(*keys, *done.foreign))
        new, columns = event.new_name or event.name, event.renamed
        found = {n: table.referring(event.name, new, columns) for n, table in found.items()}
    return [table for table in found.values() if table.foreign]


def _left(
    table: TableDefinition | None, dropped: Iterable[str], columns: Mapping[str, str]
) -> list[ForeignKey]:
    """A table's foreign keys without some, with the new names of its columns. One without a name
    has InnoDB's: it may be any with such a name."""
    names = set(dropped)
    unnamed = any("_ibfk_" in name for name in names)
    return [
        replace(key, columns=tuple(columns.get(name.lower(), name) for name in key.columns))
        for key in (() if table is None else table.foreign)
        if not (unnamed if key.name is None else key.name.lower() in names)
    ]


def _unlike(
    child: TableDefinition, columns: Iterable[str], parent: TableDefinition | None,
    referenced: Iterable[str],
) -> bool:  # fmt: skip
    """Whether a foreign key joins columns in which equal values have other bytes; of texts, some
    have the same."""
    return any(
        {one.type, other.type} != {"char", "varchar"} and not one.stored_like(other, child.version)
        for one, other in joined_columns(child, columns, parent, referenced)
    )


def _shared(table: TableDefinition | None, columns: Iterable[str]) -> bool:
    """Whether no key keeps several rows of a table from having the same values in some columns."""
    if table is None:
        return False
    partial = dict(table.partial_keys)
    keys = [table.primary_key, *table.unique_keys]
    whole = [set(map(str.lower, key)) for n, key in enumerate(keys, -1) if key and n not in partial]
    return not any(key <= set(map(str.lower, columns)) for key in whole)
