"""A query that can be kept up to date by changes: what its SQL was compiled to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit.constants import TableId
from binlogkit.livestate.views.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """A table of a query.

    ``columns``: those that are needed, which are ``c0``, ``c1`` … of ``t0``, ``t1`` …; ``on``: its
    condition, empty for the first; ``left``: rows before it stay without a partner; ``keys``: the
    two sides of an equality of the condition: of the tables before it, and of its own.
    """

    table: TableId
    columns: tuple[str, ...]
    on: str = ""
    left: bool = False
    keys: tuple[str, str] = ("", "")
    guards: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the result: ``how``: ``value``, the aggregate, or ``made`` of the other outputs;
    ``inner``: which of the plan's inner columns it is made of, -1 for ``COUNT(*)``; ``make``: makes
    it of the others' values (over_groups.py)."""

    name: str
    how: str
    inner: int
    kind: ValueKind
    make: Callable[[Sequence[Any]], Any] | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """A column of the order: ``output``: its number; ``folded``: texts count without case."""

    output: int
    descending: bool
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery: ``name``: of its rows where they are read, ``("", name)`` among tables;
    ``single``: whether it may have one row at most."""

    name: str
    plan: QueryPlan
    single: bool


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query.

    ``inner``: expressions over the tables; ``compared``: of each, how two of its values are the
    same, where it groups; ``where``; ``outputs``; ``group``: the inner columns that make a group,
    None without groups: each row is one of the result; ``one_row``: aggregates without GROUP BY;
    ``having``: which groups are shown, by the outputs' values; ``hidden``: how many outputs at the
    end only others are made of; ``order``, ``limit``, ``offset``: of what is shown; ``parts``: its
    subqueries; ``anew``: why it cannot be kept by changes and is calculated anew, else empty.
    """

    sql: str
    tables: tuple[JoinedTable, ...]
    inner: tuple[str, ...]
    kinds: tuple[ValueKind, ...]
    where: str
    outputs: tuple[ResultColumn, ...]
    group: tuple[int, ...] | None
    compared: tuple[str, ...] = ()
    one_row: bool = False
    having: Callable[[Sequence[Any]], Any] | None = None
    hidden: int = 0
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    parts: tuple[Subquery, ...] = ()
    anew: str = ""

    @property
    def reads(self) -> tuple[TableId, ...]:
        """The tables that it reads, each once."""
        plans = (*(part.plan for part in self.parts), self)
        names = dict.fromkeys(one.table for plan in plans for one in plan.tables)
        return tuple(name for name in names if name[0])

    @property
    def limited(self) -> bool:
        """Whether not all rows are shown; then the order distinguishes all rows."""
        return self.limit is not None or self.offset > 0

    @property
    def columns(self) -> tuple[ResultColumn, ...]:
        """The outputs that are shown."""
        return self.outputs[: len(self.outputs) - self.hidden]

    def names(self) -> list[str]:
        """The result's columns."""
        return [one.name for one in self.columns]
