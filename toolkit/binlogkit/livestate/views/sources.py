"""The tables that a query reads, how it joins them, and their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from binlogkit.constants import TableId
from binlogkit.livestate.views.expressions import Expressions
from binlogkit.livestate.views.kinds import ValueKind, kind_of
from binlogkit.livestate.views.nested import Nested, carried
from binlogkit.livestate.views.plan import JoinedTable
from binlogkit.livestate.views.typed import Typed, refused
from binlogkit.rows.filters import TableName
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column of what is read; ``shown``: whether ``*`` means it as well."""

    name: str
    kind: ValueKind
    shown: bool = True


@dataclass(slots=True)
class QuerySource:
    """A table, or a subquery in FROM; ``key``: its primary key; the rest as in
    :class:`JoinedTable`."""

    name: TableId
    alias: str
    known: tuple[KnownColumn, ...]
    key: tuple[str, ...] = ()
    columns: list[str] = field(default_factory=list)
    guards: list[tuple[int, str]] = field(default_factory=list)
    on: str = ""
    left: bool = False
    keys: tuple[str, str] = ("", "")


class Sources:
    """What a query reads; ``make``: its expressions; ``nested``: None where it has no subqueries,
    and only joins that can be kept."""

    def __init__(
        self, tables: Mapping[TableId, TableDefinition | str], nested: Nested | None
    ) -> None:
        self._tables, self._nested = tables, nested
        self.found: list[QuerySource] = []
        self.make = Expressions(self._column, self._guard, nested)

    def read(self, query: exp.Select) -> None:
        """Take FROM and the joins. UsageError."""
        first = query.args.get("from_") or query.args.get("from")
        if first is None:
            raise refused(query, "it reads no table")
        self._add(first.this)
        for join in query.args.get("joins") or ():
            self._join(join)

    def _join(self, join: exp.Join) -> None:
        side, kind = str(join.side).upper(), str(join.kind).upper()
        on, free = join.args.get("on"), self._nested is not None
        odd = [n for n in ("using", "method", "hint") if join.args.get(n)]
        kinds = ("", "INNER", "OUTER", "CROSS") if free else ("", "INNER", "OUTER")
        lacking = on is None and (side or not free)
        if side not in ("", "LEFT") or kind not in kinds or odd or lacking:
            raise refused(join, "joins are INNER or LEFT JOIN … ON with an equality")
        source = self._add(join.this)
        source.left = side == "LEFT"
        source.on = "TRUE" if on is None else self.make.condition(on)
        if not free and on is not None:
            source.keys = self._join_keys(on)

    def _add(self, table: exp.Expr) -> QuerySource:
        source = self._derived(table) if isinstance(table, exp.Subquery) else self._table(table)
        if any(one.alias.lower() == source.alias.lower() for one in self.found):
            raise refused(table, "two tables have this name: give them aliases")
        self.found.append(source)
        return source

    def _table(self, table: exp.Expr) -> QuerySource:
        odd = [k for k, v in table.args.items() if v and k not in ("this", "db", "alias")]
        if not isinstance(table, exp.Table) or odd:
            raise refused(table, "only tables are read, not partitions")
        wanted = TableName(table.db or None, table.name)
        found = [name for name in self._tables if wanted(*name)]
        if len(found) != 1:
            listed = ", ".join(".".join(n) for n in sorted(self._tables))
            raise refused(table, f"it is not one of the tables kept ({listed})")
        definition = self._tables[found[0]]
        if isinstance(definition, str):
            raise refused(table, definition)
        known = tuple(KnownColumn(c.name, kind_of(c), not c.invisible) for c in definition.columns)
        return QuerySource(found[0], table.alias or table.name, known, tuple(key_of(definition)[0]))

    def _derived(self, table: exp.Subquery) -> QuerySource:
        odd = [k for k, v in table.args.items() if v and k not in ("this", "alias")]
        if self._nested is None or odd or not table.alias or table.alias_column_names:
            raise refused(table, "a subquery is not kept by changes")
        part = self._nested.part(table.this)
        known = tuple(KnownColumn(o.name, carried(o)) for o in part.plan.columns)
        if len({one.name.lower() for one in known}) < len(known):
            raise refused(table, "two of its columns have one name")
        return QuerySource(("", part.name), table.alias, known)

    def _join_keys(self, on: exp.Expr) -> tuple[str, str]:
        """An equality of the last table with those before it."""
        last = len(self.found) - 1
        parts = list(on.flatten()) if isinstance(on, exp.And) else [on]
        for part in parts:
            part = part.unnest()
            if not isinstance(part, exp.EQ):
                continue
            sides = [self._numbers(side) for side in (part.this, part.expression)]
            for mine, other in ((0, 1), (1, 0)):
                if sides[mine] == {last} and sides[other] and last not in sides[other]:
                    texts = self.make.condition(part)[1:-1].split(" = ", 1)
                    return texts[other], texts[mine]
        raise refused(on, "a join needs an equality between its table and those before")

    def _numbers(self, node: exp.Expr) -> set[int]:
        found = set()
        for column in node.find_all(exp.Column):
            place = self._column(column).column
            assert place is not None
            found.add(place[0])
        return found

    def joined(self) -> tuple[JoinedTable, ...]:
        """All of it, with the columns that were met."""
        return tuple(
            JoinedTable(
                one.name, tuple(one.columns), one.on, one.left, one.keys,
                tuple(dict.fromkeys(one.guards)),
            )
            for one in self.found
        )  # fmt: skip

    # ---- columns ------------------------------------------------------------------------------

    def names(self) -> set[str]:
        """The names of all columns, in small letters."""
        return {one.name.lower() for source in self.found for one in source.known}

    def _column(self, node: exp.Column) -> Typed:
        name, table = node.name.lower(), node.table.lower()
        found = [
            (i, column)
            for i, source in enumerate(self.found)
            if table in ("", source.alias.lower())
            for column in source.known
            if column.name.lower() == name
        ]
        if len(found) != 1:
            raise refused(node, "there are several such columns" if found else "no such column")
        number, column = found[0]
        columns = self.found[number].columns
        if column.name not in columns:
            columns.append(column.name)
        at = columns.index(column.name)
        return Typed(f"t{number}.c{at}", column.kind, column=(number, at))

    def _guard(self, column: tuple[int, int], test: str) -> None:
        self.found[column[0]].guards.append((column[1], test))

    def expanded(self, item: exp.Expr) -> list[exp.Expr]:
        """``*`` as its columns."""
        star = item.is_star and not isinstance(item.unalias(), exp.Count)
        if not star:
            return [item]
        table = item.table.lower() if isinstance(item, exp.Column) else ""
        found: list[exp.Expr] = [
            exp.column(column.name, table=source.alias, quoted=True)
            for source in self.found
            if table in ("", source.alias.lower())
            for column in source.known
            if column.shown
        ]
        if not found:
            raise refused(item, "no such table")
        return found
