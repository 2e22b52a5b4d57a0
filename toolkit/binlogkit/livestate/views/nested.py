"""Subqueries of a query that is calculated anew: each is calculated before the query around it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from binlogkit.livestate.views.kinds import ValueKind
from binlogkit.livestate.views.plan import QueryPlan, ResultColumn, Subquery
from binlogkit.livestate.views.typed import refused

#: What the values of a subquery's columns may be.
CARRIED = frozenset({
    "integer", "decimal", "quotient", "text", "binary", "date", "datetime", "double", "enum",
    "year", "boolean",
})  # fmt: skip


class Nested:
    """Compiles subqueries; ``parts``: those so far, in the order in which they are calculated."""

    def __init__(self, compile_query: Callable[[exp.Select], QueryPlan]) -> None:
        self._compile = compile_query
        self.parts: list[Subquery] = []

    def part(self, node: exp.Expr, *, single: bool = False) -> Subquery:
        """A subquery; ``single``: it may have one row at most. UsageError."""
        query = node.unnest() if isinstance(node, exp.Subquery) else node
        if not isinstance(query, exp.Select):
            raise refused(node, "only one SELECT is known here")
        plan = self._compile(query)
        for output in plan.columns:
            if carried(output).name not in CARRIED:
                raise refused(node, f"values of this type ({output.kind.name}) are only shown here")
        self.parts.append(Subquery(f"q{len(self.parts)}", plan, single))
        return self.parts[-1]


def carried(output: ResultColumn) -> ValueKind:
    """What the values of a subquery's column are outside of it.

    An average is a quotient: a server may move the outer condition inside, where it has more digits
    (condition pushdown of 8.0.22).
    """
    kind = output.kind
    if output.how == "avg":
        return ValueKind("quotient", scale=kind.scale)
    return ValueKind("integer") if kind.name == "boolean" else kind
