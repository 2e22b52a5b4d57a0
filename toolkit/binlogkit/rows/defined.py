"""A column as SQL defines it -> the column that a table map of it would give, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.match import ACCEPTED
from binlogkit.rows.ddl.session import Session, SqlMode
from binlogkit.rows.ddl.tokens import read
from binlogkit.rows.ddl.types import TEXT_CAPACITY, data_type
from binlogkit.rows.resolve import completed, defined
from binlogkit.rows.schema import Column, ColumnDefinition, Origin


def column_of(definition: ColumnDefinition) -> Column:
    """The column, with what its table map would say of its type, but for the metadata bytes.

    KeyError: no type of MySQL.
    """
    kind, scale, length = definition.type, definition.scale or 0, definition.length or 0
    precision, meta = 0, b""
    if kind == "decimal":
        precision, length = length or 10, 0
    elif kind in ("char", "varchar"):
        length *= Collated(definition.charset).max_bytes or 1
    elif kind in TEXT_CAPACITY:
        length = (TEXT_CAPACITY[kind].bit_length() + 7) // 8
        meta = bytes([length])
    column = Column(
        0, definition.name, ACCEPTED[kind][0], meta, "", definition.nullable,
        length=length, precision=precision, scale=scale,
    )  # fmt: skip
    return completed(defined(column, definition, Origin.DDL), None)


def described(name: str, facts: Mapping[str, str]) -> ColumnDefinition | None:
    """What the metadata of an image's field (without ``binlogkit:``) say of its column; None for
    one that no log gave, and for labels that are not known."""
    text, charset = facts.get("mysql_type"), facts.get("charset") or None
    if text is None:
        return None
    try:
        kind = data_type(read(text, Session(mode=SqlMode.NO_BACKSLASH_ESCAPES)))
    except SchemaError:
        return None
    return ColumnDefinition(
        name, kind.type, kind.length, kind.scale, kind.unsigned, charset,
        labels=tuple(str(label) for label in kind.labels),
        generated=facts.get("generated") or None,
    )  # fmt: skip
