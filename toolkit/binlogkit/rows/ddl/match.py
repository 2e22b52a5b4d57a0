"""Does a definition agree with a table map? Type codes and metadata decide, exactly.

What a table map says of each type: ``Field::do_save_field_metadata`` in ``sql/field.cc`` (5.7.22,
8.0.31), resolved by ``_kernel.metadata``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from binlogkit.constants import ColumnType as T
from binlogkit.errors import printable
from binlogkit.rows.ddl.charsets import CHARSETS, canonical
from binlogkit.rows.ddl.types import SPATIAL, TEXT_CAPACITY
from binlogkit.rows.schema import Column, ColumnDefinition, TableDefinition

_MAX_BYTES = 4  # of one character, in any character set


def fits(definition: ColumnDefinition, column: Column) -> bool:
    """Whether a column defined so can be the ``column`` of a table map.

    Where the definition leaves something open (no length, no character set) any value fits.
    """
    rule = _RULES.get(column.type)
    accepted = column.type in ACCEPTED.get(definition.type, ())
    return accepted and (rule is None or rule(definition, column))


def matches(definition: TableDefinition, columns: Sequence[Column]) -> str | None:
    """The first contradiction between a definition and a table map's columns, None without one."""
    name = printable(f"{definition.db}.{definition.table}")
    if len(definition.columns) != len(columns):
        return (
            f"{name} is defined with {len(definition.columns)} columns, "
            f"the table map has {len(columns)}"
        )
    for defined, column in zip(definition.columns, columns, strict=True):
        if not fits(without_charset(defined), column):
            return (
                f"{name} defines column {column.index + 1}, {printable(defined.name)}, "
                f"as {_spelled(defined)}, the table map has {_described(column)}"
            )
    if len({c.name for c in definition.columns}) < len(columns):
        return f"{name} is defined with two columns of one name"
    return None


def without_charset(definition: ColumnDefinition) -> ColumnDefinition:
    """The column without its character set where that is only its database's.

    What the log says of a database may be wrong of its tables: they were made under another
    default, or copied.
    """
    if not definition.charset_of_database:
        return definition
    return replace(definition, charset=None, collation=None)


def _spelled(column: ColumnDefinition) -> str:
    """The definition's type as far as it decides."""
    numbers = [str(n) for n in (column.length, column.scale) if n is not None]
    if column.labels:
        numbers = [f"{len(column.labels)} labels"]
    charset = f" {column.charset}" if column.charset and column.charset != "binary" else ""
    return column.type + (f"({','.join(numbers)})" if numbers else "") + charset


def _described(column: Column) -> str:
    """The table map's type as far as it decides."""
    known = {name: getattr(column, name) for name in ("length", "precision", "scale")}
    facts = [f"{name} {value}" for name, value in known.items() if value]
    return column.type.name + (f" ({', '.join(facts)})" if facts else "")


# ---- by type -------------------------------------------------------------------------------


def _text(definition: ColumnDefinition, column: Column) -> bool:
    """CHAR and VARCHAR: characters times the character set's bytes."""
    if definition.length is None:
        return True
    known = CHARSETS.get(canonical(definition.charset or ""))
    sizes = range(1, _MAX_BYTES + 1) if known is None else [known.max_bytes]
    return column.length in {definition.length * size for size in sizes}


def _string(definition: ColumnDefinition, column: Column) -> bool:
    # A table map older than the real type in the metadata has no length (0).
    return column.length == 0 or _text(definition, column)


def _decimal(definition: ColumnDefinition, column: Column) -> bool:
    return definition.length in (None, column.precision) and _fraction(definition, column)


def _fraction(definition: ColumnDefinition, column: Column) -> bool:
    return definition.scale in (None, column.scale)


def _blob(definition: ColumnDefinition, column: Column) -> bool:
    """The bytes of the length prefix: 1 to 4 (8 is not written to a log)."""
    size = definition.type.removesuffix("blob").removesuffix("text")
    return column.length == {"tiny": 1, "medium": 3, "long": 4}.get(size, 2)


def _enum(definition: ColumnDefinition, column: Column) -> bool:
    return column.length == (1 if len(definition.labels) < 256 else 2)


def _set(definition: ColumnDefinition, column: Column) -> bool:
    size = (len(definition.labels) + 7) // 8
    return column.length == (8 if size > 4 else size)


_BLOBS = (T.BLOB, T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB)

ACCEPTED: dict[str, tuple[T, ...]] = {
    "tinyint": (T.TINY,),
    "smallint": (T.SHORT,),
    "mediumint": (T.INT24,),
    "int": (T.LONG,),
    "bigint": (T.LONGLONG,),
    "decimal": (T.NEWDECIMAL, T.DECIMAL),
    "float": (T.FLOAT,),
    "double": (T.DOUBLE,),
    "bit": (T.BIT,),
    "year": (T.YEAR,),
    "date": (T.DATE, T.NEWDATE),
    # The types without a fraction are those of tables made before 5.6.4.
    "time": (T.TIME2, T.TIME),
    "datetime": (T.DATETIME2, T.DATETIME),
    "timestamp": (T.TIMESTAMP2, T.TIMESTAMP),
    **dict.fromkeys(("char", "binary"), (T.STRING,)),
    **dict.fromkeys(("varchar", "varbinary"), (T.VARCHAR, T.VAR_STRING)),
    "enum": (T.ENUM,),
    "set": (T.SET,),
    "json": (T.JSON,),
    "vector": (T.VECTOR,),
    **dict.fromkeys(TEXT_CAPACITY, _BLOBS),
    **dict.fromkeys((*SPATIAL, "geometrycollection", "geomcollection"), (T.GEOMETRY,)),
}

_TIMES = (T.TIME2, T.DATETIME2, T.TIMESTAMP2, T.TIME, T.DATETIME, T.TIMESTAMP)
_RULES: dict[T, Callable[[ColumnDefinition, Column], bool]] = {
    T.NEWDECIMAL: _decimal,
    T.BIT: lambda definition, column: definition.length in (None, column.length),
    **dict.fromkeys(_TIMES, _fraction),
    T.STRING: _string,
    T.VARCHAR: _text,
    T.VAR_STRING: _text,
    **dict.fromkeys(_BLOBS, _blob),
    T.ENUM: _enum,
    T.SET: _set,
    **dict.fromkeys((T.JSON, T.VECTOR, T.GEOMETRY), lambda _, column: column.length == 4),
}
