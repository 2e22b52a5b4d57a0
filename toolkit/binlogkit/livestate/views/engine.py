"""What a step's changes do to a query's rows before they are grouped: rows removed and rows added.

With the tables one after the other in the query, what changed in one of them is joined with what
those before it are now, and those after it were before (the chain rule of incremental joins, as in
DBSP, "DBSP: Automatic Incremental View Maintenance for Rich Query Languages", VLDB 2023). A table
after LEFT JOIN also decides which rows stay without a partner: rows whose key it changed are taken
as they were and as they are. DuckDB does the work, in process, on Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from binlogkit.constants import TableId
from binlogkit.errors import UndeterminedError
from binlogkit.livestate.copies import duckdb_module
from binlogkit.livestate.views.plan import JoinedTable, QueryPlan
from binlogkit.livestate.views.relations import Relations, Side, TouchedTable, plain, weighted


class QueryEngine:
    """DuckDB, in process, for all queries of one live state. One thread at a time."""

    def __init__(self) -> None:
        duckdb = duckdb_module()
        self._errors = duckdb.Error
        self._session: Any = duckdb.connect(":memory:")
        for setting in (
            "SET threads = 1", "SET enable_external_access = false", "SET TimeZone = 'UTC'",
            "SET autoinstall_known_extensions = false", "SET lock_configuration = true",
        ):  # fmt: skip
            self._session.execute(setting)
        self._relations = Relations(self._session)
        self._rows = ""  # what d is, where it is no table

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query of ``d``. UndeterminedError: they cannot be calculated (too large a
        sum)."""
        try:
            found: list[tuple[Any, ...]] = self._session.execute(self._rows + sql).fetchall()
        except self._errors as exc:
            raise UndeterminedError("the query", (str(exc).splitlines()[0],)) from exc
        return found

    def inner(self, plan: QueryPlan, tables: Mapping[TableId, TouchedTable], *, asked: int) -> bool:
        """Make the relation ``d``: the inner columns of rows that go and come, ``x0`` …, each with
        ``w``, −1 or 1. Whether there may be any. ``asked``: how many queries of it follow; the
        last of a step's :meth:`stepped` is. Errors: UndeterminedError."""

        def relation(i: int, side: Side) -> str:
            joined = plan.tables[i]
            return self._relations.name_of(side, joined, tables[joined.table])

        changed = [i for i, one in enumerate(plan.tables) if tables[one.table].deltas is not None]
        try:
            for i in changed:
                if plan.tables[i].guards:
                    self._check(plan.tables[i], relation(i, "delta"))
            made = " UNION ALL ".join(sql for i in changed for sql in _parts(plan, i, relation))
            if not made:
                return False
            if asked == 1:
                self._rows = f"WITH d AS ({made}) "
                return True
            self._rows = ""
            self._session.execute(f"CREATE OR REPLACE TEMP TABLE d AS {made}")
            return bool(self._session.fetchone()[0])  # how many rows it has
        except self._errors as exc:
            raise UndeterminedError(plan.sql, (str(exc).splitlines()[0],)) from exc

    def stepped(self) -> None:
        """A step is over: what it changed is let go."""
        self._relations.forget()

    def whole(self, plan: QueryPlan, tables: Mapping[TableId, TouchedTable]) -> None:
        """Make the relation ``d`` of all rows. ``tables``: those of subqueries, too. Errors:
        UndeterminedError."""
        registered = [name for db, name in tables if not db]
        self._rows = ""
        try:
            for name in registered:
                rows = tables["", name].after
                self._session.register(
                    name, rows.rename_columns([f"c{i}" for i in range(rows.num_columns)])
                )
            for i, joined in enumerate(plan.tables):
                name = f"s{i}"
                table = tables[joined.table]
                rows = plain(table.after, joined, table.definition)
                self._session.register(name, weighted(rows, 1))
                registered.append(name)
                self._check(joined, name)
            made = f"SELECT {_inner(plan)}t0.w AS w {_from(plan, lambda i: f's{i}')}"
            self._session.execute(f"CREATE OR REPLACE TEMP TABLE d AS {made}")
        except self._errors as exc:
            raise UndeterminedError(plan.sql, (str(exc).splitlines()[0],)) from exc
        finally:
            for name in registered:
                self._session.unregister(name)

    def _check(self, joined: JoinedTable, relation: str) -> None:
        """UndeterminedError: a value is compared otherwise by the server."""
        for column, test in joined.guards:
            condition = test.format(*[f"c{column}"] * test.count("{}"))
            sql = f"SELECT c{column} FROM {relation} WHERE w > 0 AND NOT ({condition}) LIMIT 1"
            found = self._session.execute(sql).fetchall()
            if found:
                name = ".".join((*joined.table, joined.columns[column])).lstrip(".")
                raise UndeterminedError(
                    name, (f"its value {found[0][0]!r} is not compared exactly here, but by "
                           "weights of its collation",)
                )  # fmt: skip


def _parts(plan: QueryPlan, changed: int, relation: Callable[[int, Side], str]) -> Iterator[str]:
    """The queries of what changes in one table do to the rows, with the tables before it as they
    are, and those after it as they were."""

    def made(side: Side, weight: str, also: str = "") -> str:
        def name(i: int) -> str:
            return relation(i, side if i == changed else "new" if i < changed else "old")

        return f"SELECT {_inner(plan)}{weight} AS w {_from(plan, name, also)}"

    joined = plan.tables[changed]
    if not joined.left:
        yield made("delta", f"t{changed}.w")
        return
    left, right = joined.keys
    own = f"SELECT {right} FROM {relation(changed, 'delta')} t{changed}"
    yield made("new", "1", f"{left} IN ({own})")
    yield made("old", "-1", f"{left} IN ({own})")


def _inner(plan: QueryPlan) -> str:
    return "".join(f"{sql} AS x{i}, " for i, sql in enumerate(plan.inner))


def _from(plan: QueryPlan, name: Callable[[int], str], also: str = "") -> str:
    """FROM and WHERE, of the relations that have these names."""
    found = []
    for i, joined in enumerate(plan.tables):
        word = "FROM" if not i else "LEFT JOIN" if joined.left else "JOIN"
        found.append(f"{word} {name(i)} t{i}" + (f" ON {joined.on}" if i else ""))
    conditions = " AND ".join(filter(None, (plan.where, also)))
    return " ".join(found) + (f" WHERE {conditions}" if conditions else "")
