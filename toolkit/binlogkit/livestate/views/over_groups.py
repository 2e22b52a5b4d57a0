"""What a query makes of its groups' aggregates: calculations, and HAVING.

A quotient, an average too, is calculated by servers to more digits than it is shown with, and may
have been rounded in a temporary table on its way. It is rounded and compared here where both give
the same, and else there is no answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from binlogkit.errors import UndeterminedError
from binlogkit.livestate.views.functions import MORE_DIGITS
from binlogkit.livestate.views.kinds import ValueKind
from binlogkit.livestate.views.typed import refused

#: A group's values, those of the plan's outputs that are no calculations, to a value.
Make: TypeAlias = Callable[[Sequence[Any]], Any]

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg",
}  # fmt: skip
_NUMBERS = ("integer", "decimal")
_MOST_SCALE, _MOST_DIGITS, _BIGINT = 30, 65, 1 << 63
_EXACT = Context(prec=200)
_SIGNS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul,
}  # fmt: skip
_COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.LTE: operator.le,
    exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A calculation: what its values are, and how they are made."""

    kind: ValueKind
    make: Make


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression has aggregates, those of subqueries apart."""
    return any(
        isinstance(one, exp.AggFunc) for one in node.walk(prune=lambda n: isinstance(n, exp.Query))
    )


def rounded(value: Any, scale: int) -> Any:
    """A quotient as it is shown: half away from zero."""
    if not isinstance(value, Fraction):
        return value
    above, below = abs(value.numerator) * 10**scale, value.denominator
    whole = (2 * above + below) // (2 * below)
    return _EXACT.scaleb(Decimal(whole if value >= 0 else -whole), -scale)


class OverGroups:
    """Compiles calculations; ``base``: of an aggregate, or what is grouped by: the place of its
    value, and what it is."""

    def __init__(self, base: Callable[[exp.Expr], tuple[int, ValueKind]]) -> None:
        self._base = base

    def shown(self, node: exp.Expr) -> Made:
        """A calculation as the result shows it."""
        found = self._value(node)
        if found.kind.name != "quotient":
            return found
        scale, make = found.kind.scale, found.make
        return Made(found.kind, lambda row: rounded(make(row), scale))

    def _value(self, node: exp.Expr) -> Made:
        node = node.unnest()
        if isinstance(node, exp.Avg):
            column = node.this
            return self._value(
                exp.Div(this=exp.Sum(this=column), expression=exp.Count(this=column))
            )
        if isinstance(node, (exp.Literal, exp.Neg)):
            return _literal(node)
        if isinstance(node, exp.Div):
            return self._quotient(node)
        if type(node) in _SIGNS:
            return self._arithmetic(node)
        if isinstance(node, exp.Round):
            return self._round(node)
        if isinstance(node, exp.Coalesce):
            return self._coalesce(node)
        if isinstance(node, (*AGGREGATES, exp.Column)):
            place, kind = self._base(node)
            return Made(kind, lambda row: row[place])
        raise refused(node, "this is not made of aggregates here")

    def _number(self, node: exp.Expr) -> Made:
        found = self._value(node)
        if found.kind.name not in _NUMBERS or found.kind.unsigned:
            raise refused(node, "only signed integers and decimals are calculated with")
        return found

    def _arithmetic(self, node: exp.Expr) -> Made:
        left, right = self._number(node.this), self._number(node.expression)
        calculate, scales = _SIGNS[type(node)], (left.kind.scale, right.kind.scale)
        scale = sum(scales) if isinstance(node, exp.Mul) else max(scales)
        if scale > _MOST_SCALE:
            raise refused(node, "the result has too many digits")
        whole = left.kind.name == right.kind.name == "integer"
        kind = ValueKind("integer") if whole else ValueKind("decimal", scale=scale)

        def make(row: Sequence[Any]) -> Any:
            values = left.make(row), right.make(row)
            if None in values:
                return None
            if whole:
                return _fitting(calculate(*values), _BIGINT, node)
            exact = {operator.add: _EXACT.add, operator.sub: _EXACT.subtract}
            result = exact.get(calculate, _EXACT.multiply)(*map(Decimal, values))
            return _fitting(result, 10 ** (_MOST_DIGITS - scale), node)

        return Made(kind, make)

    def _quotient(self, node: exp.Div) -> Made:
        above, below = self._number(node.this), self._number(node.expression)
        scale = min(above.kind.scale + MORE_DIGITS, _MOST_SCALE)

        def make(row: Sequence[Any]) -> Fraction | None:
            dividend, divisor = above.make(row), below.make(row)
            return (
                None if dividend is None or not divisor else Fraction(dividend) / Fraction(divisor)
            )

        return Made(ValueKind("quotient", scale=scale), make)

    def _round(self, node: exp.Round) -> Made:
        found, given = self._value(node.this), node.args.get("decimals")
        digits = 0 if given is None else _literal(given).make(())
        if found.kind.name not in ("quotient", *_NUMBERS) or not isinstance(digits, int):
            raise refused(node, "only numbers are rounded, to a number of digits")
        if found.kind.name == "integer" or digits < 0 or digits >= found.kind.scale:
            raise refused(node, "this is not rounded")
        most = found.kind.scale

        def make(row: Sequence[Any]) -> Any:
            value = found.make(row)
            if isinstance(value, Fraction):
                result = rounded(value, digits)
                return _certain(result, _round(rounded(value, most), digits), node)
            return None if value is None else _round(value, digits)

        return Made(ValueKind("decimal", scale=digits), make)

    def _coalesce(self, node: exp.Coalesce) -> Made:
        made = [self._value(one) for one in (node.this, *node.expressions)]
        names = {one.kind.name for one in made}
        if not names <= set(_NUMBERS) or any(one.kind.unsigned for one in made):
            raise refused(node, "only signed integers and decimals are united here")
        scale = max(one.kind.scale for one in made)
        whole = names == {"integer"}

        def make(row: Sequence[Any]) -> Any:
            value = next((v for v in (one.make(row) for one in made) if v is not None), None)
            return value if whole or value is None else _round(Decimal(value), scale)

        return Made(ValueKind("integer") if whole else ValueKind("decimal", scale=scale), make)

    # ---- HAVING -------------------------------------------------------------------------------

    def condition(self, node: exp.Expr) -> Make:
        """A condition: True, False or None of a group."""
        node = node.unnest()
        if isinstance(node, (exp.And, exp.Or)):
            left, right = self.condition(node.this), self.condition(node.expression)
            decides = isinstance(node, exp.Or)  # what one of both decides by itself
            return lambda row: _joined(left(row), right(row), decides=decides)
        if isinstance(node, exp.Not):
            inner = self.condition(node.this)
            return lambda row: None if (answer := inner(row)) is None else not answer
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            make = self._value(node.this).make
            return lambda row: make(row) is None
        if isinstance(node, exp.Between):
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this, expression=node.args["high"])
            return self.condition(exp.And(this=low, expression=high))
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            made = [self.condition(exp.EQ(this=node.this, expression=e)) for e in node.expressions]
            return lambda row: _any(one(row) for one in made)
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        raise refused(node, "HAVING is known of comparisons of numbers")

    def _comparison(self, node: exp.Expr) -> Make:
        left, right = self._value(node.this), self._value(node.expression)
        compare, kinds = _COMPARISONS[type(node)], (left.kind, right.kind)
        for one, other in (kinds, kinds[::-1]):
            if one.name not in (*_NUMBERS, "quotient"):
                raise refused(node, "HAVING is known of comparisons of numbers")
            if one.name == "quotient" and (other.name == one.name or other.scale > one.scale):
                raise refused(node, "quotients are compared with numbers of no more digits")

        def make(row: Sequence[Any]) -> bool | None:
            values = left.make(row), right.make(row)
            if None in values:
                return None
            result = compare(*map(Fraction, values))
            shown = (rounded(v, k.scale) for v, k in zip(values, kinds, strict=True))
            return bool(_certain(result, compare(*map(Fraction, shown)), node))

        return make


def _literal(node: exp.Expr) -> Made:
    sign, inner = (-1, node.this.unnest()) if isinstance(node, exp.Neg) else (1, node)
    if not isinstance(inner, exp.Literal) or inner.is_string or "e" in str(inner.this).lower():
        raise refused(node, "only constant numbers are known here")
    value = Decimal(str(inner.this))
    scale = -int(value.as_tuple().exponent)
    if len(str(inner.this)) > 18:
        raise refused(node, "the constant has too many digits")
    made: Any = sign * (value if scale else int(value))
    kind = ValueKind("decimal", scale=scale) if scale else ValueKind("integer")
    return Made(kind, lambda _: made)


def _round(value: Any, scale: int) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)


def _fitting(value: Any, most: int, node: exp.Expr) -> Any:
    if not -most <= value < most:
        raise UndeterminedError(node.sql("mysql"), ("the result has too many digits",))
    return value


def _certain(one: Any, other: Any, node: exp.Expr) -> Any:
    if one != other:
        doubt = "a quotient lies so near that its digits beyond those shown decide"
        raise UndeterminedError(node.sql("mysql"), (doubt,))
    return one


def _joined(left: bool | None, right: bool | None, *, decides: bool) -> bool | None:
    if decides in (left, right):
        return decides
    return None if left is None or right is None else not decides


def _any(found: Any) -> bool | None:
    answers = list(found)
    return None if None in answers and True not in answers else True in answers
