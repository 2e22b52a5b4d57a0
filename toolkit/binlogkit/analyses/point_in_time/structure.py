"""What an ALTER TABLE does to rows that are there already.

Columns are dropped and renamed, values are kept or converted, new columns get a default. Of a
conversion only those are followed that cannot change a value; what a column had before any other
is not known afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import alter_table
from binlogkit.rows.ddl.session import Session, SqlMode
from binlogkit.rows.ddl.tokens import Lexeme, Reader, read
from binlogkit.rows.schema import ColumnDefinition, TableDefinition

NOT_KNOWN = object()  # the value that a new column has in rows from before


@dataclass(slots=True)
class Alteration:
    """What becomes of the rows' columns, by the names that images use.

    ``renamed``: old name -> new name; ``dropped``; ``lost``: columns, by their new names, whose
    values may have been converted; ``added``: new name -> its value, or :data:`NOT_KNOWN`.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    added: dict[str, Any] = field(default_factory=dict)


def alteration(
    statement: str,
    before: TableDefinition | None,
    after: TableDefinition | None,
    sql_mode: int | None = None,
) -> Alteration | None:
    """What ``statement`` did between two definitions of its table; None where that is not clear.

    A definition is None where the log does not hold it; ``sql_mode``: the session's.
    """
    session = Session(mode=SqlMode(sql_mode or 0))
    try:
        reader = read(statement, session)
        if reader.peek().word in ("CREATE", "DROP"):  # INDEX: no row changes
            return Alteration()
        parsed = alter_table(reader)
    except SchemaError:
        return None
    result = Alteration()
    old_columns, new_columns = _by_name(before), _by_name(after)
    pairs = dict(parsed.renamed) | {c.old: c.spec.name for c in parsed.changes if c.old is not None}
    renamed = {_spelled(old_columns, old): new for old, new in pairs.items()}
    result.renamed = {old: new for old, new in renamed.items() if old != new}
    result.dropped = {_spelled(old_columns, name) for name in parsed.dropped.values()}
    came_from = {new.lower(): old.lower() for old, new in result.renamed.items()}
    for change in parsed.changes:
        name = change.spec.name
        new = new_columns.get(name.lower())
        if change.old is None:
            result.added[name] = _default(statement, name, new, session)
            continue
        old = old_columns.get(change.old.lower())
        if old is None or new is None or not keeps(old, new):
            result.lost.add(name)
    if parsed.convert is not None and after is not None:
        for name, new in new_columns.items():
            old = old_columns.get(came_from.get(name, name))
            if old is not None and not keeps(old, new):
                result.lost.add(new.name)
    return result


def _by_name(definition: TableDefinition | None) -> dict[str, ColumnDefinition]:
    return {} if definition is None else {c.name.lower(): c for c in definition.columns}


def _spelled(columns: Mapping[str, ColumnDefinition], name: str) -> str:
    """A column's name as its definition spells it."""
    column = columns.get(name.lower())
    return name if column is None else column.name


# ---- values that survive ----------------------------------------------------------------

_INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BYTES = ("varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_FRACTIONS = ("time", "datetime", "timestamp")


def keeps(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Whether every value of ``old`` reads the same in ``new``.

    True only where that is certain; a column that becomes generated is computed anew.
    """
    if new.generated is not None and old.generated != new.generated:
        return False
    if old.type == new.type and _same(old, new):
        return True
    rule = next((rule for types, rule in _KEPT if old.type in types and new.type in types), None)
    return rule is not None and rule(old, new)


def _same(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    facts = ("length", "scale", "unsigned", "charset", "labels")
    return all(getattr(old, name) == getattr(new, name) for name in facts)


def _integers(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    def span(column: ColumnDefinition) -> tuple[int, int]:
        bits = _INTEGERS[column.type]
        return (0, 1 << bits) if column.unsigned else (-1 << bits - 1, 1 << bits - 1)

    (low, high), (new_low, new_high) = span(old), span(new)
    return new_low <= low and high <= new_high


def _decimals(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    scale, new_scale = old.scale or 0, new.scale or 0
    digits = (old.length or 10) - scale
    return new_scale >= scale and (new.length or 10) - new_scale >= digits


def _texts(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    if new.type == "char" and old.type != "char":
        return False  # CHAR loses blanks at the end
    if new.charset not in (old.charset, "utf8mb4"):
        return False
    return _longer(old, new, _TEXTS)


def _longer(old: ColumnDefinition, new: ColumnDefinition, order: tuple[str, ...]) -> bool:
    counted = ("char", "varchar", "varbinary")
    if old.type in counted and new.type in counted:
        return (new.length or 1) >= (old.length or 1)
    return order.index(new.type) >= order.index(old.type) and new.type not in counted


def _labels(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    return set(old.labels) <= set(new.labels) and new.charset in (old.charset, "utf8mb4")


def _fractions(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    return old.type == new.type and (new.scale or 0) >= (old.scale or 0)


_Rule = Callable[[ColumnDefinition, ColumnDefinition], bool]
_KEPT: tuple[tuple[tuple[str, ...], _Rule], ...] = (
    (tuple(_INTEGERS), _integers),
    (("decimal",), _decimals),
    (_TEXTS, _texts),
    (_BYTES, lambda old, new: _longer(old, new, _BYTES)),
    (("enum",), _labels),
    (("set",), _labels),
    (_FRACTIONS, _fractions),
    (("bit",), lambda old, new: (new.length or 1) >= (old.length or 1)),
)


# ---- what a new column holds ------------------------------------------------------------


def _default(statement: str, name: str, column: ColumnDefinition | None, session: Session) -> Any:
    """The value that ADD COLUMN gives to rows that are there, as a Python value or NOT_KNOWN."""
    if column is None or column.generated or column.auto_increment:
        return NOT_KNOWN
    found = _default_token(read(statement, session), name)
    if found is NOT_KNOWN:
        return NOT_KNOWN
    if found is None:
        if column.type == "timestamp":
            return NOT_KNOWN  # explicit_defaults_for_timestamp=OFF gives it one of its own
        return None if column.nullable else _IMPLICIT.get(column.type, NOT_KNOWN)
    return _typed(found, column)


# Manual, "Data Type Default Values": the implicit default of a NOT NULL column.
_IMPLICIT: Mapping[str, Any] = {
    **dict.fromkeys((*_INTEGERS, "year", "bit"), 0),
    **dict.fromkeys(_TEXTS, ""),
}


def _default_token(reader: Reader, name: str) -> Any:
    """The literal behind DEFAULT in a column's definition: (sign, token); None without DEFAULT."""
    while not reader.done:
        if reader.take().text.lower() == name.lower() and reader.peek().kind == "word":
            break
    depth = 0
    while not reader.done:
        token = reader.take()
        depth += (token.word == "(") - (token.word == ")")
        if depth < 0 or (depth == 0 and token.word == ","):
            return None
        if token.word == "DEFAULT" and depth == 0:
            sign = reader.take().word if reader.peek().word in ("-", "+") else ""
            literal = reader.take()
            if reader.peek().kind in ("string", "hex", "bits") or reader.sees("("):
                return NOT_KNOWN
            return sign, literal
    return None


def _typed(found: tuple[str, Lexeme], column: ColumnDefinition) -> Any:
    """A default's literal as the column's value; NOT_KNOWN for what is not plain."""
    sign, token = found
    if token.word == "NULL":
        return None
    if token.kind not in ("string", "number"):
        return NOT_KNOWN
    text = sign + token.text
    if column.type in _INTEGERS and text.lstrip("+-").isdecimal():
        return int(text)
    if column.type == "decimal":
        try:
            return Decimal(text).quantize(Decimal(1).scaleb(-(column.scale or 0)))
        except InvalidOperation:
            return NOT_KNOWN
    if column.type in ("varchar", "enum") and token.kind == "string":
        by_label = {label.lower(): label for label in column.labels}
        return by_label.get(text.lower(), NOT_KNOWN) if column.labels else text
    return NOT_KNOWN
