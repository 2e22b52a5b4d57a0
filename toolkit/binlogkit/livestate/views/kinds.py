"""How MySQL compares the values of a column, and what of that holds here exactly.

Texts are compared by their collation. Here those are compared whose order or equality is known
without tables of weights (analyses/collations.py): binary ones, and of the others texts of
printable ASCII. A guard looks whether values are such; where one is not, the view says so and
stops, rather than to differ from the server.
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.analyses.collations import EXACT, FOLDING, PADDED, pads
from binlogkit.rows.schema import ColumnDefinition

#: That of one of several constants, which the session decides: they differ by more than case.
CONSTANTS = "constants"

_INTEGERS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}  # digits
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
_BINARIES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_NAMED = frozenset({"date", "datetime", "timestamp", "double", "enum", "year", "time", "float"})
_ENOUGH = 38  # digits that a DECIMAL may have here

#: Kinds whose values can be distinguished, and those that have an order, as MySQL does.
EQUAL = frozenset({
    "integer", "decimal", "date", "datetime", "timestamp", "text", "binary", "enum", "year", "time",
    "boolean",
})  # fmt: skip
ORDERED = frozenset({
    "integer", "decimal", "date", "datetime", "timestamp", "text", "binary", "year", "double",
    "float", "boolean",
})  # fmt: skip

PRINTABLE, _WORDS = "[ -~]*", "[0-9A-Za-z ]*"


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What values are.

    ``name``: see :data:`EQUAL`, ``null``, ``quotient`` (functions.py), or ``other`` for what is
    only shown; ``scale``, ``digits``: of a number; ``collation``: of a text.
    """

    name: str
    unsigned: bool = False
    scale: int = 0
    digits: int = 20
    collation: str | None = None
    labels: tuple[str, ...] = ()


def kind_of(column: ColumnDefinition) -> ValueKind:
    """What a column's values are."""
    if column.type in _INTEGERS:
        return ValueKind("integer", unsigned=column.unsigned, digits=_INTEGERS[column.type])
    if column.type == "decimal":
        digits = column.length or 10
        name = "decimal" if digits <= _ENOUGH else "other"
        return ValueKind(name, scale=column.scale or 0, digits=digits)
    if column.type in _TEXTS:
        return ValueKind("text", collation=column.collation)
    if column.type in _BINARIES:
        return ValueKind("binary")
    if column.type == "enum":
        return ValueKind("enum", labels=column.labels or ())
    if column.type in _NAMED:
        return ValueKind(column.type)
    return ValueKind("other")


@dataclass(frozen=True, slots=True)
class TextFolding:
    """A text as it is compared: ``sql``, with ``{}`` for the text; ``guard``: a pattern that all
    texts match, None where all do; ``padded``: blanks at the end do not count."""

    sql: str
    guard: str | None
    padded: bool = False


def folded(collation: str | None, *, ordered: bool = False) -> TextFolding | None:
    """How texts of a collation are compared; None where that is not known here."""
    if collation in EXACT:
        return TextFolding("{}", None)
    if collation in FOLDING or collation == CONSTANTS:
        pattern = _WORDS if ordered else PRINTABLE
        return TextFolding("lower({})", pattern, padded=pads(collation))
    if collation in PADDED:
        return TextFolding("{}", PRINTABLE, padded=True)
    return None
