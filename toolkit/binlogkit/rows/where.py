"""Which rows are wanted by their values: ``COLUMN=VALUE``, a mapping, or an expression.

An expression compares columns of the images (``before.total``, ``after.total``) and fields of the
row (``op``, ``timestamp``, …) with ``= <> < <= > >= <=>``, ``IN``, ``BETWEEN``, ``LIKE`` and ``IS
NULL``, and asks ``changed(total)``, joined by ``AND``, ``OR`` and ``NOT``. As in SQL, what is
compared with NULL, or with a cell that is not there, is neither true nor false. frames/matching.py
looks at the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Parsed

#: What a value may be: that of a text, or any Python value that a cell of a frame may be.
Value: TypeAlias = Any
WhereArg: TypeAlias = "str | Mapping[str, Value] | Iterable[str | Mapping[str, Value]] | None"


@dataclass(frozen=True, slots=True)
class Equals:
    """A column that holds a value, None for NULL."""

    column: str
    value: Value

    def __str__(self) -> str:
        return f"{self.column}={'NULL' if self.value is None else self.value}"


@dataclass(frozen=True, slots=True)
class Operand:
    """A column of an image, ``before`` or ``after``, or a field of the row outside of them."""

    image: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.image is None else f"{self.image}.{self.name}"


@dataclass(frozen=True, slots=True)
class Condition:
    """What an expression says of a row.

    ``operator``: ``and``, ``or`` of two conditions; ``not`` of one; else of an operand: ``null``
    (neither true nor false where the cell is not there), ``changed`` (an update wrote another value
    than was there; or any, where the image before does not hold the column), ``like`` a pattern
    with ``%`` and ``_``, ``same`` (which takes NULL for a value) or as pyarrow.compute calls it,
    with another operand or a value.
    """

    operator: str
    left: Condition | Operand
    right: Any = None

    def operands(self) -> Iterator[Operand]:
        """The columns and fields in it, from left to right."""
        for part in (self.left, self.right):
            if isinstance(part, Condition):
                yield from part.operands()
            elif isinstance(part, Operand):
                yield part


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions, all of which must hold: each of ``equals`` in the same image."""

    equals: tuple[Equals, ...] = ()
    expressions: tuple[Condition, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.equals or self.expressions)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the table's columns that are looked at."""
        operands = (operand for one in self.expressions for operand in one.operands())
        named = (operand.name for operand in operands if operand.image is not None)
        return frozenset([*(e.column for e in self.equals), *named])


#: Every row.
ALL = Where()


# ---- from what a user gives ----------------------------------------------------------------

_EQUALS = re.compile(r"(?:`((?:[^`]|``)+)`|([^\s=<>!`()]+))=(.*)", re.DOTALL)
#: A text that begins as COLUMN=VALUE and continues as an expression.
_GOES_ON = re.compile(r"\b(?:and|or)\b.*(?:\b(?:before|after)\.|\bchanged\()", re.DOTALL | re.I)
_SHOWN = 100  # characters of a condition in a message
_HOW = "write COLUMN=VALUE, or an expression such as after.total > 100"


def parse_where(given: WhereArg) -> Where:
    """UsageError: what is neither ``COLUMN=VALUE`` nor an expression."""
    if given is None:
        return ALL
    several = isinstance(given, Iterable) and not isinstance(given, (str, Mapping))
    items: list[Any] = list(given) if several else [given]
    equals: list[Equals] = []
    expressions: list[Condition] = []
    for item in items:
        if isinstance(item, Mapping):
            equals += [Equals(str(column), value) for column, value in item.items()]
            continue
        if not isinstance(item, str):
            raise UsageError(f"not a condition: {item!r} ({_HOW})")
        match = _EQUALS.fullmatch(item)
        plain = match is not None and match[2] is None  # a name in backquotes
        if match is None or not (plain or _is_equality(match[2], match[3])):
            expressions.append(_expression(item))
            continue
        equals.append(equals_of(match))
    return Where(tuple(equals), tuple(expressions))


def equals_of(match: re.Match[str]) -> Equals:
    """``COLUMN=VALUE``, as its name (:func:`unquoted`) and value were matched; NULL is NULL."""
    return Equals(unquoted(match), None if match[3] == "NULL" else match[3])


def unquoted(match: re.Match[str]) -> str:
    """A name that was matched in backquotes, or as it stands."""
    return match[2] if match[1] is None else match[1].replace("``", "`")


def _is_equality(column: str, value: str) -> bool:
    """Whether a text is COLUMN=VALUE; what continues with a column of an image is not."""
    return not (column.startswith(("before.", "after.")) or _GOES_ON.search(value))


def _expression(text: str) -> Condition:
    from sqlglot import errors, parse
    from sqlglot import expressions as sql

    try:
        (parsed,) = parse(text, dialect="mysql")
    except (ValueError, errors.SqlglotError, RecursionError):
        parsed = None
    if parsed is None or not isinstance(parsed, sql.Condition) or isinstance(parsed, sql.Column):
        raise UsageError(f"not a condition: {_shown(text)} ({_HOW})")
    try:
        return _node(parsed)
    except RecursionError:
        raise UsageError(f"nested too deep: {_shown(text)}") from None
    except UsageError as exc:
        raise UsageError(f"{exc}, in the condition {_shown(text)}") from exc


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _node(parsed: Parsed) -> Condition:
    from sqlglot import expressions as sql

    if isinstance(parsed, sql.Paren):
        return _node(parsed.this)
    if isinstance(parsed, sql.Not):
        return Condition("not", _node(parsed.this))
    if isinstance(parsed, (sql.And, sql.Or)):
        join = "and" if isinstance(parsed, sql.And) else "or"
        return Condition(join, _node(parsed.left), _node(parsed.right))
    if isinstance(parsed, sql.In) and parsed.expressions:
        left = _operand(parsed.this)
        each = (Condition("equal", left, _not_null(item)) for item in parsed.expressions)
        return reduce(partial(Condition, "or"), each)
    if isinstance(parsed, sql.Between):
        left = _operand(parsed.this)
        low, high = (_right(parsed.args[end]) for end in ("low", "high"))
        least, most = Condition("greater_equal", left, low), Condition("less_equal", left, high)
        return Condition("and", least, most)
    if isinstance(parsed, sql.Is) and isinstance(parsed.expression, sql.Null):
        return Condition("null", _operand(parsed.this))
    if isinstance(parsed, sql.Like):
        pattern = _value(parsed.expression)
        if not isinstance(pattern, str):
            raise UsageError("LIKE takes a text")
        found = Condition("like", _operand(parsed.this), pattern)
        return Condition("not", found) if parsed.args.get("negate") else found
    if isinstance(parsed, sql.Anonymous) and parsed.name.lower() == "changed":
        return Condition("changed", _changed(parsed.expressions))
    return _compare(parsed)


def _changed(arguments: list[Parsed]) -> Operand:
    from sqlglot import expressions as sql

    column = arguments[0] if len(arguments) == 1 else None
    if isinstance(column, sql.Parameter):
        return Operand("after", f"@{column.name}")
    if not isinstance(column, sql.Column) or column.table:
        raise UsageError("changed takes the name of a column, as in changed(total)")
    return Operand("after", column.name)


#: sqlglot's names of comparisons, ours, and ours with the sides changed.
_OPERATORS = {
    "eq": ("equal", "equal"),
    "neq": ("not_equal", "not_equal"),
    "lt": ("less", "greater"),
    "lte": ("less_equal", "greater_equal"),
    "gt": ("greater", "less"),
    "gte": ("greater_equal", "less_equal"),
    "nullsafeeq": ("same", "same"),
}


def _compare(parsed: Parsed) -> Condition:
    from sqlglot import expressions as sql

    operators = _OPERATORS.get(parsed.key)
    if operators is None:
        raise UsageError(
            "there are comparisons, IN, BETWEEN, LIKE, IS NULL, changed, AND, OR and NOT, and not "
            f"{parsed.sql('mysql')}"
        )
    left, right, operator = parsed.this, parsed.expression, operators[0]
    if not isinstance(left, sql.Column):
        left, right, operator = right, left, operators[1]
    value = _value(right) if operator == "same" and isinstance(right, sql.Null) else _right(right)
    return Condition(operator, _operand(left), value)


def _operand(parsed: Parsed) -> Operand:
    from sqlglot import expressions as sql

    if not isinstance(parsed, sql.Column) or parsed.args.get("db"):
        raise UsageError(f"{parsed.sql('mysql')} is no column of an image and no field of a row")
    name, image, column = parsed.this, parsed.table, parsed.name
    position = isinstance(name, sql.Parameter)  # after.@1
    if position:
        column = f"@{name.this.this}"
    if not image and not position:
        return Operand(None, column)
    if image not in ("before", "after"):
        raise UsageError(f"{image} is no image: write before.{column} or after.{column}")
    return Operand(image, column)


def _right(parsed: Parsed) -> Value:
    from sqlglot import expressions as sql

    return _operand(parsed) if isinstance(parsed, sql.Column) else _not_null(parsed)


def _not_null(parsed: Parsed) -> Value:
    value = _value(parsed)
    if value is None:
        raise UsageError("nothing is equal to NULL: write IS NULL")
    return value


def _value(parsed: Parsed) -> Value:
    from sqlglot import expressions as sql

    if isinstance(parsed, sql.Literal):
        return parsed.this if parsed.is_string else Decimal(parsed.this)
    if isinstance(parsed, sql.Neg) and isinstance(parsed.this, sql.Literal):
        return -Decimal(parsed.this.this)
    if isinstance(parsed, sql.HexString):
        return bytes.fromhex(parsed.this if len(parsed.this) % 2 == 0 else f"0{parsed.this}")
    if isinstance(parsed, sql.Boolean):
        return int(parsed.this)
    if isinstance(parsed, sql.Null):
        return None
    raise UsageError(f"{parsed.sql('mysql')} is no value")
