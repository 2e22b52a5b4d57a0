"""An expression of a query, with what its values are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from binlogkit.errors import UsageError
from binlogkit.livestate.views.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression: ``sql``: DuckDB's; ``literal``: its value where it is one; ``column``: the
    table's number and the column's, where it is one; ``leaves``: of a text that is one of several:
    the columns and constants it comes from."""

    sql: str
    kind: ValueKind
    literal: Any = None
    column: tuple[int, int] | None = None
    leaves: tuple[Typed, ...] = ()


class Makes(Protocol):
    """What functions ask of the expressions that they are among (expressions.py)."""

    def value(self, node: exp.Expr) -> Typed:
        """An expression's value."""

    def condition(self, node: exp.Expr) -> str:
        """A condition, which may be NULL."""

    def ascii_only(self, found: Typed, what: exp.Expr) -> None:
        """Let a text be printable ASCII, or the query stop."""


def refused(what: exp.Expr | str, why: str) -> UsageError:
    """A query that cannot be kept up to date."""
    text = what if isinstance(what, str) else what.sql("mysql")
    return UsageError(f"cannot be kept up to date: {text}: {why}")
