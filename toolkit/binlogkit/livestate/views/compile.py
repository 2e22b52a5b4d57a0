"""From a query's SQL to its plan. UsageError: it cannot be kept up to date by changes, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.livestate.views.kinds import ORDERED, ValueKind
from binlogkit.livestate.views.nested import Nested
from binlogkit.livestate.views.over_groups import AGGREGATES, OverGroups, has_aggregate
from binlogkit.livestate.views.plan import Ordering, QueryPlan, ResultColumn
from binlogkit.livestate.views.sources import Sources
from binlogkit.livestate.views.typed import Typed, refused
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.schema import TableDefinition

_PARTS = frozenset({
    "expressions", "from_", "from", "joins", "where", "group", "order", "limit", "offset",
    "distinct", "having", "kind",
})  # fmt: skip


def compiled(
    sql: str, tables: Mapping[TableId, TableDefinition | str], *, recompute: bool = False
) -> QueryPlan:
    """A query over tables that are kept, or why one of them is not there; ``recompute``: one that
    is calculated anew, if need be."""
    statements = _parsed(sql)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise UsageError("cannot be kept up to date: it is not one SELECT")
    try:
        return _Compiler(sql, statements[0], tables, None).plan()
    except UsageError as error:
        if not recompute:
            raise
        nested = Nested(lambda query: _Compiler(sql, query, tables, nested).plan())
        plan = _Compiler(sql, statements[0], tables, nested).plan()
        return replace(plan, parts=tuple(nested.parts), anew=str(error))


def tables_of(sql: str) -> list[str]:
    """The tables that a query names, as ``db.table`` where it says so. UsageError: no query."""
    found = (one for one in _parsed(sql) if one is not None)
    tables = [table for one in found for table in one.find_all(exp.Table)]
    names = [written_table_name(t.db, t.name) if t.db else t.name for t in tables]
    return list(dict.fromkeys(names))


def _parsed(sql: str) -> list[Any]:
    try:
        return sqlglot.parse(sql, read="mysql")
    except SqlglotError as exc:
        raise UsageError(f"cannot be read: {str(exc).splitlines()[0]}") from exc


class _Compiler:
    def __init__(
        self,
        sql: str,
        query: exp.Select,
        tables: Mapping[TableId, TableDefinition | str],
        nested: Nested | None,
    ) -> None:
        self._sql, self._query, self._nested = sql, query, nested
        self._sources = Sources(tables, nested)
        self._inner: list[str] = []
        self._kinds: list[ValueKind] = []
        self._made: list[Typed] = []
        self._grouped: tuple[int, ...] = ()
        self._make = self._sources.make
        others = [name for name, value in query.args.items() if value and name not in _PARTS]
        if others:
            raise UsageError(f"cannot be kept up to date: {others[0].rstrip('_')} is not known")

    def plan(self) -> QueryPlan:
        query = self._query
        self._sources.read(query)
        where = query.args.get("where")
        condition = "" if where is None else self._make.condition(where.this)
        items = [one for item in query.expressions for one in self._sources.expanded(item)]
        group, distinct = query.args.get("group"), query.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise refused(distinct, "this form of DISTINCT is not known")
        aggregated = any(map(has_aggregate, items))
        outputs = [self._output(item) for item in items]
        shown = len(outputs)
        grouped, compared = self._grouping(group, distinct, items, outputs, aggregated)
        self._grouped = grouped or ()
        outputs = self._calculated(items, outputs)
        having = self._having(items, outputs, grouped, distinct)
        order = self._ordering(items, outputs[:shown])
        limit, offset = (_number(query.args.get(name)) for name in ("limit", "offset"))
        plan = QueryPlan(
            self._sql, self._sources.joined(),
            tuple(self._inner), tuple(self._kinds), condition, tuple(outputs), grouped, compared,
            grouped == () and aggregated, having, len(outputs) - shown, order, limit, offset or 0,
        )  # fmt: skip
        if limit is not None and self._nested is None:
            self._check_total(plan)
        return plan

    # ---- columns ------------------------------------------------------------------------------

    def _inner_of(self, found: Typed) -> int:
        if found.sql not in self._inner:
            self._inner.append(found.sql)
            self._kinds.append(found.kind)
            self._made.append(found)
        return self._inner.index(found.sql)

    def _output(self, item: exp.Expr) -> ResultColumn:
        node = item.unalias()
        name = item.alias_or_name or item.sql("mysql")
        how = AGGREGATES.get(type(node))
        if how is None and has_aggregate(node):
            return ResultColumn(name, "made", -1, ValueKind("other"))
        if how is None:
            found = self._make.value(node)
            if found.kind.name == "null":
                raise refused(node, "a column of NULL")
            return ResultColumn(name, "value", self._inner_of(found), found.kind)
        return self._aggregate(name, how, node)

    def _aggregate(self, name: str, how: str, node: exp.Expr) -> ResultColumn:
        argument = node.this
        if node.args.get("expressions"):
            raise refused(node, "one column is aggregated")
        if how == "count" and isinstance(argument, exp.Star):
            return ResultColumn(name, "count", -1, ValueKind("integer"))
        distinct = isinstance(argument, exp.Distinct)
        if distinct:
            if len(argument.expressions) != 1 or how != "count":
                raise refused(node, "DISTINCT is known in COUNT of one column")
            argument = argument.expressions[0]
        found = self._make.value(argument)
        kind = found.kind.name
        if distinct:
            text = self._make.same(found, node)
            same = Typed(text, found.kind)
            return ResultColumn(name, "count distinct", self._inner_of(same), ValueKind("integer"))
        if how == "count":
            return ResultColumn(name, how, self._inner_of(found), ValueKind("integer"))
        if how in ("sum", "avg"):
            if kind not in ("integer", "decimal", "year"):
                raise refused(node, f"values of this type ({kind}) are not added exactly")
            scale = found.kind.scale + (4 if how == "avg" else 0)
            return ResultColumn(
                name, how, self._inner_of(found), ValueKind("decimal", scale=min(scale, 30))
            )
        if kind == "date" and found.column is None:  # 5.7 gives a text
            raise refused(node, "a calculated date has another type there")
        exact = kind != "text" or self._make.ordered(found, node) == found.sql
        if kind not in ORDERED or not exact:
            raise refused(node, "the least of equal texts is not determined" if not exact else
                          f"values of this type ({kind}) have another order here")  # fmt: skip
        return ResultColumn(name, how, self._inner_of(found), found.kind)

    def _calculated(self, items: list[exp.Expr], outputs: list[ResultColumn]) -> list[ResultColumn]:
        """The outputs with those made of others, followed by what those need."""
        found = list(outputs)
        over = OverGroups(lambda node: self._base(node, found))
        for i, item in enumerate(items):
            if outputs[i].how == "made":
                made = over.shown(item.unalias())
                found[i] = replace(outputs[i], kind=made.kind, make=made.make)
        return found

    def _having(
        self,
        items: list[exp.Expr],
        outputs: list[ResultColumn],
        grouped: tuple[int, ...] | None,
        distinct: Any,
    ) -> Any:
        having = self._query.args.get("having")
        if having is None:
            return None
        if grouped is None or distinct is not None:
            raise refused(having, "it is over no groups")
        over = OverGroups(lambda node: self._base(node, outputs))
        node = having.this.copy()
        for column in list(node.find_all(exp.Column)):
            meant = self._referred(column, items, column_first=False)
            if meant is not column and column.find_ancestor(exp.AggFunc) is None:
                if column is node:
                    raise refused(having, "HAVING is known of comparisons of numbers")
                column.replace(exp.paren(meant.copy(), copy=False))
        return over.condition(node)

    def _base(self, node: exp.Expr, outputs: list[ResultColumn]) -> tuple[int, ValueKind]:
        """The place of an aggregate's value or of a grouped column's; it is added if need be."""
        if isinstance(node, exp.Column):
            made = self._make.value(node)
            inner = self._inner_of(made)
            if inner not in self._grouped:
                raise refused(node, "it is neither grouped by nor aggregated")
            found = ResultColumn(node.name, "value", inner, made.kind)
        else:
            found = self._output(node)
        same = [i for i, o in enumerate(outputs) if (o.how, o.inner) == (found.how, found.inner)]
        if not same:
            outputs.append(found)
        return (same or [len(outputs) - 1])[0], found.kind

    # ---- groups and order ---------------------------------------------------------------------

    def _grouping(
        self,
        group: Any,
        distinct: Any,
        items: list[exp.Expr],
        outputs: list[ResultColumn],
        aggregated: bool,
    ) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
        if group is None and not aggregated and distinct is None:
            return None, ()
        if distinct is not None and (group is not None or aggregated):
            raise UsageError("cannot be kept up to date: DISTINCT over groups")
        nodes: list[exp.Expr] = []
        if group is not None:
            if [n for n, v in group.args.items() if v and n != "expressions"]:
                raise refused(group, "only columns are grouped by")
            nodes = [self._referred(node, items, column_first=True) for node in group.expressions]
        elif distinct is not None:
            nodes = [item.unalias() for item in items]
        made = [self._make.value(node) for node in nodes]
        numbers = tuple(self._inner_of(one) for one in made)
        for item, output in zip(items, outputs, strict=True):
            if output.how == "value" and output.inner not in numbers:
                raise refused(item, "it is neither grouped by nor aggregated")
        same = tuple(self._make.same(one, node) for one, node in zip(made, nodes, strict=True))
        return numbers, same

    def _referred(self, node: exp.Expr, items: list[exp.Expr], *, column_first: bool) -> exp.Expr:
        """What a column of GROUP BY or ORDER BY means: a place, an alias, or an expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            at = int(node.this) - 1 if str(node.this).isdigit() else -1
            if not 0 <= at < len(items):
                raise refused(node, "no such column")
            return items[at].unalias()
        if isinstance(node, exp.Column) and not node.table:
            named = [i for i in items if i.alias and i.alias.lower() == node.name.lower()]
            columns = self._sources.names()
            if named and node.name.lower() in columns:
                raw = named[0].unalias()
                if not (isinstance(raw, exp.Column) and raw.name.lower() == node.name.lower()):
                    raise refused(node, "an alias has the name of a column")
            if named and not (column_first and node.name.lower() in columns):
                return named[0].unalias()
        return node

    def _ordering(self, items: list[exp.Expr], outputs: list[ResultColumn]) -> tuple[Ordering, ...]:
        order = self._query.args.get("order")
        found = []
        for one in order.expressions if order is not None else ():
            node = self._referred(one.this, items, column_first=False)
            places = [i for i, item in enumerate(items) if self._means(item.unalias(), node)]
            if not places:
                raise refused(one, "the result is ordered by columns that it has")
            at = places[0]
            folded = False
            if outputs[at].how == "made" and outputs[at].kind.name not in ("integer", "decimal"):
                raise refused(one, "this has another order here")
            if outputs[at].how == "value":
                made = self._make.value(node)
                folded = self._make.ordered(made, node) != made.sql
            elif outputs[at].kind.name not in ORDERED:
                raise refused(one, "this has another order here")
            found.append(Ordering(at, bool(one.args.get("desc")), folded))
        return tuple(found)

    def _means(self, item: exp.Expr, node: exp.Expr) -> bool:
        if item == node:
            return True
        plain = isinstance(item, exp.Column) and isinstance(node, exp.Column)
        return plain and self._make.value(item).sql == self._make.value(node).sql

    def _check_total(self, plan: QueryPlan) -> None:
        """With LIMIT, nothing may be left to chance: the order distinguishes all rows."""
        ordered = {plan.outputs[one.output].inner for one in plan.order
                   if plan.outputs[one.output].how == "value"}  # fmt: skip
        if plan.group is not None:
            if set(plan.group) <= ordered:
                return
            raise UsageError("cannot be kept up to date: LIMIT without an order of all groups")
        for source in self._sources.found:
            names = [
                self._make.value(exp.column(n, table=source.alias, quoted=True)).sql
                for n in source.key
            ]
            unique = all(n in plan.inner and plan.inner.index(n) in ordered for n in names)
            if not names or not unique:
                raise UsageError(
                    "cannot be kept up to date: LIMIT needs an ORDER BY that has the primary key "
                    f"of {source.alias}, or equal rows are left to chance"
                )


def _number(node: Any) -> int | None:
    if node is None:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or value.is_string or not str(value.this).isdigit():
        raise refused(node, "only a number of rows is known")
    return int(value.this)
