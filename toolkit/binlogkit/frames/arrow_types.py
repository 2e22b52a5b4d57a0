"""The Arrow field of a column: its type, and what the type cannot say as metadata."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from binlogkit.constants import ColumnType
from binlogkit.rows.schema import Column

DECIMAL128_DIGITS, DECIMAL256_DIGITS = 38, 76
_UINT64_DIGITS = 20
_KEPT = 4096  # fields
_PREFIX = "binlogkit:"
_INTEGER_BITS = {
    ColumnType.TINY: 8,
    ColumnType.SHORT: 16,
    ColumnType.INT24: 32,
    ColumnType.LONG: 32,
    ColumnType.LONGLONG: 64,
}
# Kinds that have the name of a type.
_NAMED = (
    "float", "double", "bit", "year", "date", "time", "datetime", "timestamp", "enum", "set",
    "json", "geometry", "vector",
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(_INTEGER_BITS, "integer"),
    ColumnType.NEWDECIMAL: "decimal",
    ColumnType.NEWDATE: "date",
    ColumnType.TIME2: "time",
    ColumnType.DATETIME2: "datetime",
    ColumnType.TIMESTAMP2: "timestamp",
    **{ColumnType[kind.upper()]: kind for kind in _NAMED},
}
_STORED = {
    **dict.fromkeys(("text", "json"), "string"),
    **dict.fromkeys(("binary", "geometry", "vector"), "binary"),
    "float": "float", "double": "double", "bit": "uint64", "year": "int16", "date": "date32",
    "time": "duration[us]", "datetime": "timestamp[us]",
}  # fmt: skip


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """The narrowest type of decimals with so many digits, ``scale`` of them a fraction."""
    make = pa.decimal256 if precision > DECIMAL128_DIGITS else pa.decimal128
    return make(precision, scale)


def column_kind(column: Column) -> str:
    """How the column's Arrow values read as MySQL values: one of frames.schema.KINDS."""
    kind = _KINDS.get(column.type)
    if kind is not None:
        return kind
    return "binary" if column.charset == "binary" else "text"


@lru_cache(_KEPT)
def _arrow_type(
    kind: str, code: ColumnType, unsigned: bool, precision: int, scale: int, labelled: bool
) -> pa.DataType:
    if kind == "integer":
        return getattr(pa, f"{'u' if unsigned else ''}int{_INTEGER_BITS[code]}")()
    if kind == "decimal":
        return decimal_type(precision, scale)
    if kind == "enum":
        return pa.dictionary(pa.int32(), pa.string()) if labelled else pa.uint16()
    if kind == "set":
        return pa.string() if labelled else pa.uint64()
    return pa.timestamp("us", "UTC") if kind == "timestamp" else pa.type_for_alias(_STORED[kind])


def column_field(column: Column) -> pa.Field:
    """The field of a column in ``before`` and ``after``; metadata as frames/schema.py says."""
    kind = column_kind(column)
    facts = (
        ("kind", kind),
        ("mysql_type", column.mysql_type),
        ("scale", str(column.scale)),
        ("unsigned", "1" if column.unsigned else "0"),
        ("charset", column.charset or ""),
        ("name_origin", column.name_origin),
        ("sign_origin", column.sign_origin),
        ("charset_origin", column.charset_origin),
        ("labels_origin", column.labels_origin),
        ("generated", column.generated or ""),
        ("visible", "1" if column.visible else "0"),
    )
    return (_shared_field if column.small else _field)(
        column.name,
        (kind, column.type, column.unsigned, column.precision, column.scale,
         column.labels is not None),
        facts,
    )  # fmt: skip


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with a type for each field that Spark's Arrow transport carries (docs/spark.md,
    "Types"); metadata is kept."""
    return pa.schema(map(_carried_field, schema), metadata=schema.metadata)


def _carried_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, carried_type(field.type), metadata=field.metadata)


def carried_type(kind: pa.DataType) -> pa.DataType:
    """The same of a type."""
    types = pa.types
    if types.is_dictionary(kind):
        return carried_type(kind.value_type)
    if types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(_UINT64_DIGITS)}
        return wider[kind.bit_width]
    if types.is_decimal256(kind) or types.is_large_string(kind):
        return pa.string()
    if types.is_struct(kind):
        return pa.struct(map(_carried_field, kind))
    return pa.list_(carried_type(kind.value_type)) if types.is_list(kind) else kind


def field_facts(field: pa.Field) -> dict[str, str]:
    """A field's metadata, without ``binlogkit:``."""
    found = ((k.decode(), v.decode()) for k, v in (field.metadata or {}).items())
    return {k.removeprefix(_PREFIX): v for k, v in found if k.startswith(_PREFIX)}


def _field(
    name: str,
    kind: tuple[str, ColumnType, bool, int, int, bool],
    facts: tuple[tuple[str, str], ...],
) -> pa.Field:
    metadata = {f"{_PREFIX}{key}".encode(): str(value).encode() for key, value in facts}
    return pa.field(name, _arrow_type(*kind), metadata=metadata)


#: The same for a column of each of the tables that are alike.
_shared_field = lru_cache(_KEPT)(_field)
