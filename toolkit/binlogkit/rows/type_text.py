"""A column's type as SQL would write it, as far as it is known."""

from __future__ import annotations

from binlogkit.constants import ColumnType
from binlogkit.rows.ddl.charsets import Collated, canonical
from binlogkit.rows.schema import Column, Origin

_INTEGERS = {
    ColumnType.TINY: "tinyint",
    ColumnType.SHORT: "smallint",
    ColumnType.INT24: "mediumint",
    ColumnType.LONG: "int",
    ColumnType.LONGLONG: "bigint",
}
_TEMPORAL = (
    ColumnType.TIME2, ColumnType.DATETIME2, ColumnType.TIMESTAMP2, ColumnType.TIME,
    ColumnType.DATETIME, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.NEWDATE,
)  # fmt: skip
_PLAIN = (ColumnType.YEAR, ColumnType.JSON, ColumnType.GEOMETRY, ColumnType.VECTOR)
_BLOB_SIZES = {1: "tiny", 2: "", 3: "medium", 4: "long"}


def type_text(column: Column) -> str:
    """``int unsigned``, ``decimal(10,2)``, ``varchar(40)``, ``enum('a','b')`` …

    Without a known character set a string type is the character type with its length in bytes.
    """
    kind = column.type
    sign = " unsigned" if column.unsigned else ""
    if kind in _INTEGERS:
        return _INTEGERS[kind] + sign
    if kind in (ColumnType.FLOAT, ColumnType.DOUBLE):
        return kind.name.lower() + sign
    if kind == ColumnType.NEWDECIMAL:
        return f"decimal({column.precision},{column.scale}){sign}"
    if kind in _TEMPORAL:
        name = kind.name.lower().removeprefix("new").removesuffix("2")
        return name + (f"({column.scale})" if column.scale else "")
    if kind == ColumnType.BIT:
        return f"bit({column.length})"
    if kind in (ColumnType.ENUM, ColumnType.SET):
        return _labelled(column)
    if kind in _PLAIN:
        return kind.name.lower()
    return _string(column)


def _labelled(column: Column) -> str:
    name = column.type.name.lower()
    if column.labels is None:
        return name
    labels = ",".join("'" + label.replace("'", "''") + "'" for label in column.labels)
    return f"{name}({labels})"


def _string(column: Column) -> str:
    binary = column.charset == "binary"
    if column.type in (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING):
        fixed = column.type == ColumnType.STRING
        if binary:
            return f"{'' if fixed else 'var'}binary({column.length})"
        per_character = 1
        if column.charset_origin != Origin.ASSUMED:
            per_character = Collated(canonical(column.charset or "")).max_bytes or 1
        return f"{'' if fixed else 'var'}char({column.length // per_character})"
    size = _BLOB_SIZES.get(column.meta[0] if column.meta else 2, "")
    return f"{size}{'blob' if binary else 'text'}"
