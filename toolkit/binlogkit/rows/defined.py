"""A column as SQL defines it -> the column that a table map of it would give."""

from __future__ import annotations

from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.match import ACCEPTED
from binlogkit.rows.ddl.types import TEXT_CAPACITY
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
