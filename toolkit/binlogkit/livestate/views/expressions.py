"""MySQL's expressions over columns as DuckDB's, where both mean the same.

Whatever is not known to mean the same is refused: functions that functions.py does not have,
comparisons of texts with numbers, collations that are not known here (kinds.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime

from sqlglot import exp

from binlogkit.livestate.views.functions import as_decimal, function, like
from binlogkit.livestate.views.kinds import CONSTANTS, EQUAL, ORDERED, PRINTABLE, ValueKind, folded
from binlogkit.livestate.views.nested import Nested, carried
from binlogkit.livestate.views.plan import Subquery
from binlogkit.livestate.views.typed import Typed, refused

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_NUMBERS = ("integer", "decimal", "year", "boolean")
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
}  # fmt: skip
_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ)
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


class Expressions:
    """Translates expressions.

    ``column``: finds a column; ``guard``: takes a condition that the values of a column must meet,
    ``{}`` being the column, for the comparisons to be exact; ``nested``: compiles subqueries, None
    where there must be none.
    """

    def __init__(
        self,
        column: Callable[[exp.Column], Typed],
        guard: Callable[[tuple[int, int], str], None],
        nested: Nested | None = None,
    ) -> None:
        self._column, self._guard, self._nested = column, guard, nested

    def value(self, node: exp.Expr) -> Typed:
        """An expression's value."""
        if isinstance(node, exp.Paren):
            found = self.value(node.this)
            return replace(found, sql=f"({found.sql})")
        if isinstance(node, exp.Column):
            return self._column(node)
        negative = isinstance(node, exp.Neg) and isinstance(node.this.unnest(), exp.Literal)
        if negative or isinstance(node, (exp.Literal, exp.Null, exp.Boolean)):
            return self._literal(node)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(node)
        if isinstance(node, exp.Subquery):
            part = self._part(node, single=True)
            return Typed(f"(SELECT c0 FROM {part.name})", carried(part.plan.columns[0]))
        made = function(node, self)
        if made is not None:
            return made
        if isinstance(node, (exp.Predicate, exp.And, exp.Or, exp.Not)):
            return Typed(self.condition(node), ValueKind("boolean"))
        raise refused(node, "this expression is not known to mean the same here")

    def condition(self, node: exp.Expr) -> str:
        """A condition, which may be NULL."""
        if isinstance(node, exp.Paren):
            return f"({self.condition(node.this)})"
        if isinstance(node, (exp.And, exp.Or)):
            word = "AND" if isinstance(node, exp.And) else "OR"
            return f"({self.condition(node.this)} {word} {self.condition(node.expression)})"
        if isinstance(node, exp.Not):
            return f"(NOT {self.condition(node.this)})"
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.Like):
            return like(node, self)
        if node.args.get("negate"):
            raise refused(node, "this form is not known")
        if isinstance(node, exp.Between):
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this, expression=node.args["high"])
            return f"({self._comparison(low)} AND {self._comparison(high)})"
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            equal = (exp.EQ(this=node.this, expression=one) for one in node.expressions)
            return "(" + " OR ".join(map(self._comparison, equal)) + ")"
        if isinstance(node, exp.In) and node.args.get("query"):
            return self._within(node)
        if isinstance(node, exp.Exists):
            return f"EXISTS (SELECT 1 FROM {self._part(node.this).name})"
        found = self.value(node)
        if found.kind.name in ("integer", "decimal", "boolean", "year"):
            return f"({found.sql} <> 0)" if found.kind.name != "boolean" else found.sql
        raise refused(node, "it is no condition of a kind that is known to mean the same here")

    def same(self, found: Typed, what: exp.Expr) -> str:
        """An expression's value such that two are equal where MySQL says so."""
        if found.kind.name not in EQUAL:
            raise refused(what, f"values of this type ({found.kind.name}) are not compared here")
        return self._folded(found, what, ordered=False)

    def ordered(self, found: Typed, what: exp.Expr) -> str:
        """The same in MySQL's order."""
        if found.kind.name not in ORDERED:
            raise refused(what, f"values of this type ({found.kind.name}) have another order here")
        return self._folded(found, what, ordered=True)

    def _folded(self, found: Typed, what: exp.Expr, *, ordered: bool) -> str:
        if found.kind.name != "text":
            return found.sql
        how = folded(found.kind.collation, ordered=ordered)
        if how is None:
            raise refused(what, f"the collation {found.kind.collation} is not known here")
        if how.guard is not None:
            self._guarded(found, how.guard, what, padded=how.padded)
        return how.sql.format(found.sql)

    def ascii_only(self, found: Typed, what: exp.Expr) -> None:
        """Let a text be printable ASCII, or the query stop."""
        if folded(found.kind.collation) is None:
            raise refused(what, f"the collation {found.kind.collation} is not known here")
        self._guarded(found, PRINTABLE, what, padded=False)

    def _guarded(self, found: Typed, guard: str, what: exp.Expr, *, padded: bool) -> None:
        for one in found.leaves or (found,):
            if one.literal is not None:
                text = str(one.literal)
                if not re.fullmatch(guard, text) or (padded and text.endswith(" ")):
                    raise refused(what, "a text beyond printable ASCII is not compared exactly")
            elif one.column is not None:
                test = f"regexp_full_match({{}}, '{guard}')"
                test += " AND NOT ends_with({}, ' ')" if padded else ""
                self._guard(one.column, test)
            else:
                raise refused(what, "only columns and constants are compared as texts")

    # ---- subqueries ---------------------------------------------------------------------------

    def _part(self, node: exp.Expr, *, single: bool = False) -> Subquery:
        if self._nested is None:
            raise refused(node, "a subquery is not kept by changes")
        part = self._nested.part(node, single=single)
        if len(part.plan.columns) != 1 and not isinstance(node.parent, exp.Exists):
            raise refused(node, "a subquery has one column here")
        return part

    def _within(self, node: exp.In) -> str:
        """IN (SELECT …)."""
        part, left = self._part(node.args["query"]), self.value(node.this)
        right = Typed("c0", carried(part.plan.columns[0]))
        names, wide = {left.kind.name, right.kind.name}, max(left.kind.scale, right.kind.scale)
        if names <= {"integer", "decimal"} and wide + 20 <= 38:
            kind = f"DECIMAL(38, {wide})" if wide else "HUGEINT"
            sides = [f"CAST({one.sql} AS {kind})" for one in (left, right)]
        elif len(names) == 1 and names <= {"date", "datetime", "binary"}:
            sides = [left.sql, right.sql]
        else:
            raise refused(node, f"{' and '.join(sorted(names))} are not looked up here")
        return f"({sides[0]} IN (SELECT {sides[1]} FROM {part.name}))"

    # ---- values -------------------------------------------------------------------------------

    def _literal(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Null):
            return Typed("NULL", ValueKind("null"))
        if isinstance(node, exp.Boolean):
            return Typed(str(int(node.this)), ValueKind("integer"), int(node.this))
        if isinstance(node, exp.Neg):
            found = self.value(node.this)
            if found.literal is None or found.kind.name not in ("integer", "decimal"):
                raise refused(node, "only constants are negated")
            return Typed(f"(-{found.sql})", found.kind, -found.literal)
        if node.is_string:
            text = str(node.this)
            quoted = text.replace("'", "''")
            if "\0" in text:
                raise refused(node, "a constant with a zero byte")
            return Typed(f"'{quoted}'", ValueKind("text"), text)
        text = str(node.this)
        if re.fullmatch(r"\d{1,18}", text):
            return Typed(text, ValueKind("integer", digits=len(text)), int(text))
        if re.fullmatch(r"\d{0,18}\.\d{1,18}", text):
            scale = len(text.partition(".")[2])
            sql = f"CAST('{text}' AS DECIMAL(38, {scale}))"
            return Typed(sql, ValueKind("decimal", scale=scale, digits=len(text)), 1)
        raise refused(node, "a constant of this form is not known here")

    def _arithmetic(self, node: exp.Expr) -> Typed:
        left, right = self.value(node.this), self.value(node.expression)
        for one in (left, right):
            if one.kind.name not in ("integer", "decimal") or one.kind.unsigned:
                raise refused(node, "only signed integers and decimals are calculated with")
        sign = _ARITHMETIC[type(node)]
        if left.kind.name == right.kind.name == "integer":
            sql = f"CAST((CAST({left.sql} AS HUGEINT) {sign} {right.sql}) AS BIGINT)"
            return Typed(sql, ValueKind("integer"))
        a, b = left.kind, right.kind
        scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
        digits = a.digits + b.digits + (sign != "*") + abs(a.scale - b.scale)
        if digits > 36:
            raise refused(node, "the result has too many digits")
        parts = [as_decimal(one) for one in (left, right)]
        sql = f"CAST(({parts[0]} {sign} {parts[1]}) AS DECIMAL(38, {scale}))"
        return Typed(sql, ValueKind("decimal", scale=scale, digits=digits))

    # ---- comparisons --------------------------------------------------------------------------

    def _is(self, node: exp.Expr) -> str:
        if isinstance(node.expression, exp.Null):
            return f"({self.value(node.this).sql} IS NULL)"
        if isinstance(node.expression, exp.Boolean):
            word = "TRUE" if node.expression.this else "FALSE"
            return f"({self.condition(node.this)} IS {word})"
        raise refused(node, "only IS NULL, TRUE and FALSE are known")

    def _comparison(self, node: exp.Expr) -> str:
        left, right = self.value(node.this), self.value(node.expression)
        sign = _COMPARISONS[type(node)]
        if "null" in (left.kind.name, right.kind.name):
            return f"({left.sql} {sign} {right.sql})"
        left, right = self._matched(left, right, node), self._matched(right, left, node)
        ordered = not isinstance(node, _EQUALITIES)
        names = {left.kind.name, right.kind.name}
        if names <= set(_NUMBERS):
            wide = max(left.kind.scale, right.kind.scale)
            if wide + 20 > 38:
                raise refused(node, "numbers of so many digits are not compared here")
            kind = f"DECIMAL(38, {wide})" if wide else "HUGEINT"
            return f"(CAST({left.sql} AS {kind}) {sign} CAST({right.sql} AS {kind}))"
        if names <= {"double", "integer"} and not isinstance(node, _EQUALITIES):
            return f"(CAST({left.sql} AS DOUBLE) {sign} CAST({right.sql} AS DOUBLE))"
        if len(names) > 1:
            raise refused(node, f"{' and '.join(sorted(names))} are not compared here")
        if CONSTANTS in (left.kind.collation, right.kind.collation):
            raise refused(node, "the session's collation decides this")
        if "text" in names and left.kind.collation != right.kind.collation:
            raise refused(node, "texts of two collations are not compared here")
        if names == {"enum"} and (ordered or (left.literal is None and right.literal is None)):
            raise refused(node, "an ENUM is compared with one of its labels only")
        make = self.ordered if ordered else self.same
        return f"({make(left, node)} {sign} {make(right, node)})"

    def _matched(self, one: Typed, other: Typed, node: exp.Expr) -> Typed:
        """A constant as a value of what it is compared with."""
        if one.literal is None or one.kind.name != "text":
            return one
        kind, text = other.kind, str(one.literal)
        if kind.name == "text" and other.literal is None:
            return replace(one, kind=kind)
        if kind.name == "enum" and text in kind.labels:
            return replace(one, kind=kind)
        try:
            if kind.name == "date" and _DATE.fullmatch(text):
                return Typed(f"DATE '{date.fromisoformat(text)}'", kind, text)
            if kind.name == "datetime" and _DATE.fullmatch(text):
                return Typed(f"TIMESTAMP '{date.fromisoformat(text)} 00:00:00'", kind, text)
            if kind.name == "datetime" and _DATETIME.fullmatch(text):
                return Typed(f"TIMESTAMP '{datetime.fromisoformat(text)}'", kind, text)
        except ValueError:
            pass
        if kind.name == "binary":
            return Typed(f"'{_escaped(text)}'::BLOB", kind, text)
        raise refused(node, f"a text is not compared with a value of this type ({kind.name}) here")


def _escaped(text: str) -> str:
    """A text's bytes as DuckDB writes a BLOB."""
    return "".join(f"\\x{byte:02X}" for byte in text.encode("utf-8"))
