"""Which rows are wanted by their values: ``COLUMN=VALUE``, a mapping, or an expression.

An expression compares columns of the images (``before.total``, ``after.total``) and fields of the
row (``op``, ``timestamp``, …) with ``= <> < <= > >= <=>``, ``IN``, ``BETWEEN``, ``LIKE`` and ``IS
NULL``, joined by ``AND``, ``OR`` and ``NOT``. As in SQL, what is compared with NULL, or with a cell
that is not there, is neither true nor false. frames/matching.py looks at the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Parsed

__all__ = [
    "ALL",
    "And",
    "Cell",
    "Compare",
    "Equals",
    "Fact",
    "IsNull",
    "Like",
    "Node",
    "Not",
    "Operand",
    "Or",
    "Value",
    "Where",
    "WhereArg",
    "parse_where",
]

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
class Cell:
    """A column of an image, ``before`` or ``after``."""

    image: str
    column: str

    def __str__(self) -> str:
        return f"{self.image}.{self.column}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A field of the row that stands outside of the images."""

    name: str

    def __str__(self) -> str:
        return self.name


Operand: TypeAlias = Cell | Fact


@dataclass(frozen=True, slots=True)
class Compare:
    """``operator``: as pyarrow.compute calls it, or ``same``, which takes NULL for a value;
    ``right``: another operand, or a value."""

    operator: str
    left: Operand
    right: Value


@dataclass(frozen=True, slots=True)
class Like:
    """Whether a text fits a pattern with ``%`` and ``_``."""

    left: Operand
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a cell is NULL; neither, where it is not there."""

    left: Operand


@dataclass(frozen=True, slots=True)
class And:
    """Both."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Or:
    """Either."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    of: Node


Node: TypeAlias = "Compare | Like | IsNull | And | Or | Not"


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions, all of which must hold: each of ``equals`` in the same image."""

    equals: tuple[Equals, ...] = ()
    expressions: tuple[Node, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.equals or self.expressions)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the table's columns that are looked at."""
        cells = (cell for node in self.expressions for cell in _cells(node))
        return frozenset([*(e.column for e in self.equals), *(c.column for c in cells)])


#: Every row.
ALL = Where()


def _cells(node: Any) -> Iterator[Cell]:
    if isinstance(node, Cell):
        yield node
    elif isinstance(node, (Compare, Like, IsNull, And, Or)):
        yield from _cells(node.left)
        yield from _cells(getattr(node, "right", None))
    elif isinstance(node, Not):
        yield from _cells(node.of)


# ---- from what a user gives ----------------------------------------------------------------

_EQUALS = re.compile(r"(?:`((?:[^`]|``)+)`|([^\s=<>!`()]+))=(.*)", re.DOTALL)
_IMAGES = ("before", "after")
_SHOWN = 100  # characters of a condition in a message
_HOW = "write COLUMN=VALUE, or an expression such as after.total > 100"


def parse_where(given: WhereArg) -> Where:
    """UsageError: what is neither ``COLUMN=VALUE`` nor an expression."""
    if given is None:
        return ALL
    several = isinstance(given, Iterable) and not isinstance(given, (str, Mapping))
    items: list[Any] = list(given) if several else [given]
    equals: list[Equals] = []
    expressions: list[Node] = []
    for item in items:
        if isinstance(item, Mapping):
            equals += [Equals(str(column), value) for column, value in item.items()]
            continue
        if not isinstance(item, str):
            raise UsageError(f"not a condition: {item!r} ({_HOW})")
        match = _EQUALS.fullmatch(item)
        if match is None or (match[2] or "").startswith(("before.", "after.")):
            expressions.append(_expression(item))
            continue
        column = match[2] if match[1] is None else match[1].replace("``", "`")
        equals.append(Equals(column, None if match[3] == "NULL" else match[3]))
    return Where(tuple(equals), tuple(expressions))


def _expression(text: str) -> Node:
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


def _node(parsed: Parsed) -> Node:
    from sqlglot import expressions as sql

    if isinstance(parsed, sql.Paren):
        return _node(parsed.this)
    if isinstance(parsed, sql.Not):
        return Not(_node(parsed.this))
    if isinstance(parsed, (sql.And, sql.Or)):
        join = And if isinstance(parsed, sql.And) else Or
        return join(_node(parsed.left), _node(parsed.right))
    if isinstance(parsed, sql.In) and parsed.expressions:
        return _any(parsed)
    if isinstance(parsed, sql.Between):
        left = _operand(parsed.this)
        low, high = (_right(parsed.args[end]) for end in ("low", "high"))
        return And(Compare("greater_equal", left, low), Compare("less_equal", left, high))
    if isinstance(parsed, sql.Is) and isinstance(parsed.expression, sql.Null):
        return IsNull(_operand(parsed.this))
    if isinstance(parsed, sql.Like):
        return _like(parsed)
    return _compare(parsed)


def _any(parsed: Parsed) -> Node:
    """``IN``: one after the other."""
    left = _operand(parsed.this)
    nodes: list[Node] = [Compare("equal", left, _not_null(item)) for item in parsed.expressions]
    found = nodes[0]
    for node in nodes[1:]:
        found = Or(found, node)
    return found


def _like(parsed: Parsed) -> Node:
    pattern = _value(parsed.expression)
    if not isinstance(pattern, str):
        raise UsageError("LIKE takes a text")
    found = Like(_operand(parsed.this), pattern)
    return Not(found) if parsed.args.get("negate") else found


_TURNED = {"less": "greater", "less_equal": "greater_equal"}
_TURNED |= {after: before for before, after in _TURNED.items()}


def _compare(parsed: Parsed) -> Node:
    from sqlglot import expressions as sql

    operators: dict[type[Any], str] = {
        sql.EQ: "equal",
        sql.NEQ: "not_equal",
        sql.LT: "less",
        sql.LTE: "less_equal",
        sql.GT: "greater",
        sql.GTE: "greater_equal",
        sql.NullSafeEQ: "same",
    }
    operator = operators.get(type(parsed))
    if operator is None:
        raise UsageError(
            "there are comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT, and not "
            f"{parsed.sql('mysql')}"
        )
    left, right = parsed.this, parsed.expression
    if not isinstance(left, sql.Column):
        left, right, operator = right, left, _TURNED.get(operator, operator)
    value = _value(right) if operator == "same" and isinstance(right, sql.Null) else _right(right)
    return Compare(operator, _operand(left), value)


def _operand(parsed: Parsed) -> Operand:
    from sqlglot import expressions as sql

    if not isinstance(parsed, sql.Column) or parsed.args.get("db"):
        raise UsageError(f"{parsed.sql('mysql')} is no column of an image and no field of a row")
    name, image = parsed.this, parsed.table
    if isinstance(name, sql.Parameter):  # after.@1
        return _cell(image, f"@{name.this.this}")
    return _cell(image, parsed.name) if image else Fact(parsed.name)


def _cell(image: str, column: str) -> Cell:
    if image not in _IMAGES:
        raise UsageError(f"{image} is no image: write before.{column} or after.{column}")
    return Cell(image, column)


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
