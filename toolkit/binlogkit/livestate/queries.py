"""The registered queries of one live state: begun, stepped, restarted after DDL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from binlogkit.constants import TableId
from binlogkit.errors import BinlogKitError, UndeterminedError, UsageError

if TYPE_CHECKING:
    from binlogkit.livestate.tables import LiveTables, TableStep
    from binlogkit.livestate.views.engine import QueryEngine
    from binlogkit.livestate.views.plan import QueryPlan
    from binlogkit.livestate.views.relations import TouchedTable
    from binlogkit.livestate.views.view import View
    from binlogkit.rows.schema import TableDefinition

#: Where changes of a table may be missing, a sentence each.
Missing = Callable[["TableId"], list[str]]


class Queries:
    """The queries over tables. One thread at a time."""

    def __init__(self, tables: LiveTables) -> None:
        self._tables = tables
        self._views: dict[str, View] = {}
        self._engine: QueryEngine | None = None
        self._doubts: dict[TableId, list[str]] = {}  # as of the last step

    def __len__(self) -> int:
        return len(self._views)

    @property
    def engine(self) -> QueryEngine:
        """What calculates, loaded when it is first needed. UsageError: it is not installed."""
        from binlogkit.livestate.views.engine import QueryEngine

        if self._engine is None:
            self._engine = QueryEngine()
        return self._engine

    def add(self, view: View, moment: Any, missing: Missing) -> None:
        """Begin with a query; only what can be kept is. Errors: UsageError (also: the name is
        taken), UndeterminedError."""
        if view.name in self._views:
            raise UsageError(f"a query {view.name!r} is registered already")
        self.begin(view, moment, missing)
        self._views[view.name] = view

    def drop(self, name: str) -> None:
        """Keep a query no more."""
        self._views.pop(name, None)

    def _definitions(self) -> dict[TableId, TableDefinition | str]:
        """The tables' definitions, or why one has none."""
        there = {*self._tables.shown()}
        found: dict[TableId, TableDefinition | str] = {}
        for name in self._tables.wanted:
            definition = self._tables.fold(name).definition if name in there else None
            found[name] = definition or self._tables.why_not(name)
        return found

    def begin(self, view: View, moment: Any, missing: Missing) -> None:
        """Calculate a query from all rows. Errors: UsageError, UndeterminedError."""
        from binlogkit.livestate.views.compile import compiled

        plan = compiled(view.sql, self._definitions(), recompute=view.recompute)
        if view.name not in self._views:
            self._doubts = {}
        self._check(view, plan, missing)
        view.begin(plan, self.engine, self._touched(plan, {}), moment)

    def _check(self, view: View, plan: QueryPlan, missing: Missing) -> None:
        """UndeterminedError: the rows of its tables are not certain."""
        for name in plan.reads:
            doubts = self._doubts.get(name)
            if doubts is None:
                doubts = self._doubts_of(name, missing)
            if doubts:
                raise UndeterminedError(view.sql, tuple(doubts))

    def _doubts_of(self, name: TableId, missing: Missing) -> list[str]:
        return [*self._tables.doubts(name), *missing(name)]

    def _touched(
        self, plan: QueryPlan, changes: Mapping[TableId, TableStep]
    ) -> dict[TableId, TouchedTable]:
        from binlogkit.livestate.views.relations import TouchedTable

        found = {}
        for name in plan.reads:
            change, fold = changes.get(name), self._tables.fold(name)
            if change is None:
                rows = fold.settled().table
                found[name] = TouchedTable(rows, rows, None, fold.definition)
            else:
                images = change.before, change.after, change.deltas
                found[name] = TouchedTable(*images, fold.definition)
        return found

    def take(self, changes: Mapping[TableId, TableStep], moment: Any, missing: Missing) -> None:
        """Carry what a step did to tables on into the queries."""
        if self._views:
            self._doubts = {name: self._doubts_of(name, missing) for name in self._tables.shown()}
        for view in self._views.values():
            plan = view.plan
            assert plan is not None
            mine = [changes[name] for name in plan.reads if name in changes]
            if not mine:
                continue
            anew = any(change.anew for change in mine)
            if view.error is not None and not anew and not plan.anew:
                continue
            try:
                if anew:
                    self.begin(view, moment, missing)
                    continue
                self._check(view, plan, missing)
                view.step(self.engine, self._touched(plan, changes), moment)
            except BinlogKitError as error:
                view.fail(error)
        if self._engine is not None:
            self._engine.stepped()

    def explain(self, sql: str | None) -> list[str]:
        """How queries are kept, or why not; ``sql``: a registered one's name, or another one."""
        from binlogkit.livestate.views.compile import compiled

        if sql is not None and sql not in self._views:
            try:
                plan = compiled(sql, self._definitions(), recompute=True)
            except UsageError as error:
                return [str(error)]
            text = described(plan)
            return [f"{text} (with recompute=True)" if plan.anew else text]
        found = []
        for view in self._views.values() if sql is None else [self._views[sql]]:
            assert view.plan is not None
            text = described(view.plan) if view.error is None else f"not kept: {view.error}"
            found.append(f"{view.name}: {text}")
        return found


def described(plan: QueryPlan) -> str:
    """How a query is kept up to date."""
    names = ", ".join(".".join(name) for name in plan.reads)
    if plan.anew:
        return f"{plan.anew}; calculated anew from {names} when it is read after a change"
    texts = [f"kept by changes of {names}"]
    if len(plan.tables) > 1:
        texts.append("each joined with the others' rows before or after the step")
    if plan.group is not None:
        kinds = sorted({o.how for o in plan.outputs} - {"value", "made"})
        each = f"; of each group {', '.join(kinds)} are kept" if kinds else ""
        texts.append(f"folded into {'one row' if plan.one_row else 'groups'}{each}")
    if plan.limit is not None:
        texts.append("all rows are kept, and the first ones shown")
    guards = sum(len(joined.guards) for joined in plan.tables)
    if guards:
        texts.append("it stops at a text that its collation compares by more than letters")
    return "; ".join(texts)
