"""Does a definition agree with a table map? Type codes and metadata decide, exactly.

What a table map says of each type: ``Field::do_save_field_metadata`` in ``sql/field.cc`` (5.7.22,
8.0.31), resolved by ``_kernel.metadata``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binlogkit.constants import ColumnType as T
from binlogkit.errors import printable
from binlogkit.rows.ddl.charsets import CHARSETS, canonical
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.schema import Column, ColumnDefinition, TableDefinition

__all__ = ["fits", "matches"]

_Fits = Callable[[ColumnDefinition, int, int, int], bool]

_MAX_BYTES = 4  # of one character, in any character set


def fits(
    definition: ColumnDefinition,
    type_code: T,
    *,
    length: int = 0,
    precision: int = 0,
    scale: int = 0,
) -> bool:
    """Whether a column defined so can stand as that type in a table map.

    ``type_code``: the real type (ENUM and SET resolved); ``length``: bytes of a CHAR, BINARY,
    VARCHAR, ENUM or SET, bits of a BIT, bytes of the length prefix of a BLOB, JSON, GEOMETRY or
    VECTOR; ``precision``, ``scale``: of a DECIMAL; ``scale`` also the fraction digits of a temporal
    type. Where the definition leaves something open (no length, no character set) any value fits.
    """
    accepted = _ACCEPTED.get(definition.type)
    if accepted is None or type_code not in accepted:
        return False
    rule = _RULES.get(type_code)
    return rule is None or rule(definition, length, precision, scale)


def matches(definition: TableDefinition, columns: Sequence[Column]) -> str | None:
    """The first contradiction between a definition and a table map's columns, None without one."""
    name = printable(f"{definition.db}.{definition.table}")
    if len(definition.columns) != len(columns):
        return (
            f"{name} is defined with {len(definition.columns)} columns, "
            f"the table map has {len(columns)}"
        )
    for defined, column in zip(definition.columns, columns, strict=True):
        if not fits(
            defined,
            column.type,
            length=column.length,
            precision=column.precision,
            scale=column.scale,
        ):
            return (
                f"{name} defines column {column.index + 1}, {printable(defined.name)}, "
                f"as {_spelled(defined)}, the table map has {_told(column)}"
            )
    if len({c.name for c in definition.columns}) < len(columns):
        return f"{name} is defined with two columns of one name"
    return None


def _spelled(column: ColumnDefinition) -> str:
    """The definition's type as far as it decides."""
    numbers = [str(n) for n in (column.length, column.scale) if n is not None]
    if column.labels:
        numbers = [f"{len(column.labels)} labels"]
    charset = f" {column.charset}" if column.charset and column.charset != "binary" else ""
    return column.type + (f"({','.join(numbers)})" if numbers else "") + charset


def _told(column: Column) -> str:
    """The table map's type as far as it decides."""
    facts = [
        f"{name} {value}"
        for name, value in (
            ("length", column.length),
            ("precision", column.precision),
            ("scale", column.scale),
        )
        if value
    ]
    return column.type.name + (f" ({', '.join(facts)})" if facts else "")


def _text(definition: ColumnDefinition, length: int, _: int, __: int) -> bool:
    """CHAR and VARCHAR: characters times the character set's bytes."""
    if definition.length is None:
        return True
    known = CHARSETS.get(canonical(definition.charset or ""))
    if known is not None:
        return length == definition.length * known.max_bytes
    return length in {definition.length * n for n in range(1, _MAX_BYTES + 1)}


def _string(definition: ColumnDefinition, length: int, precision: int, scale: int) -> bool:
    # A table map older than the real type in the metadata tells no length (0).
    return length == 0 or _text(definition, length, precision, scale)


def _decimal(definition: ColumnDefinition, _: int, precision: int, scale: int) -> bool:
    return (definition.length is None or definition.length == precision) and (
        definition.scale is None or definition.scale == scale
    )


def _fraction(definition: ColumnDefinition, _: int, __: int, scale: int) -> bool:
    return definition.scale is None or definition.scale == scale


def _bits(definition: ColumnDefinition, length: int, _: int, __: int) -> bool:
    return definition.length is None or definition.length == length


_PREFIX = {"tiny": 1, "medium": 3, "long": 4}


def _blob(definition: ColumnDefinition, length: int, _: int, __: int) -> bool:
    """The bytes of the length prefix: 1 to 4 (8 is not written to a log)."""
    size = definition.type.removesuffix("blob").removesuffix("text")
    return length == _PREFIX.get(size, 2)


def _enum(definition: ColumnDefinition, length: int, _: int, __: int) -> bool:
    return length == (1 if len(definition.labels) < 256 else 2)


def _set(definition: ColumnDefinition, length: int, _: int, __: int) -> bool:
    size = (len(definition.labels) + 7) // 8
    return length == (8 if size > 4 else size)


def _four(_: ColumnDefinition, length: int, __: int, ___: int) -> bool:
    return length == 4


_SPATIAL = words(
    "geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection "
    "geomcollection"
)
_BLOBS = (T.BLOB, T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB)

_ACCEPTED: dict[str, tuple[T, ...]] = {
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
    "char": (T.STRING,),
    "binary": (T.STRING,),
    "varchar": (T.VARCHAR, T.VAR_STRING),
    "varbinary": (T.VARCHAR, T.VAR_STRING),
    "enum": (T.ENUM,),
    "set": (T.SET,),
    "json": (T.JSON,),
    "vector": (T.VECTOR,),
    **{size + kind: _BLOBS for size in ("tiny", "", "medium", "long") for kind in ("blob", "text")},
    **dict.fromkeys(_SPATIAL, (T.GEOMETRY,)),
}

_RULES: dict[T, _Fits] = {
    T.NEWDECIMAL: _decimal,
    T.BIT: _bits,
    T.TIME2: _fraction,
    T.DATETIME2: _fraction,
    T.TIMESTAMP2: _fraction,
    T.TIME: _fraction,
    T.DATETIME: _fraction,
    T.TIMESTAMP: _fraction,
    T.STRING: _string,
    T.VARCHAR: _text,
    T.VAR_STRING: _text,
    **dict.fromkeys(_BLOBS, _blob),
    T.ENUM: _enum,
    T.SET: _set,
    T.JSON: _four,
    T.VECTOR: _four,
    T.GEOMETRY: _four,
}
