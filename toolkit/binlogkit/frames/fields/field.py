"""A column, declared once: its name, type, whether it may be null, and what it means.

Types: those of Arrow by their names, and

``seconds``, ``microseconds``
    a time as an integer since 1970 UTC; pandas has it as ``datetime64`` with UTC, tables for
    people as text
``image``, ``json``
    an object (of a row, a struct in its batch) or a value of any kind in a record; JSON text in a
    frame
``timestamp``
    a time with its zone, UTC, in microseconds
``raw``, ``cells``
    the cells of a row that have no plain value; see frames/schema.py, spark/splits/changelog.py
``as given``
    the type of a column that the user names

A ``?`` after the type says that the column may be null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Field:
    """A column of records and frames."""

    name: str
    type: str
    meaning: str
    nullable: bool = False


Fields = tuple[Field, ...]

#: The types of times, and their units.
TIMES = {"seconds": "s", "microseconds": "us"}


def fields(*rows: tuple[str, str, str]) -> Fields:
    """Fields from rows of name, type and meaning."""
    return tuple(
        Field(name, kind.removesuffix("?"), meaning, kind.endswith("?"))
        for name, kind, meaning in rows
    )


_DECLARED = json.loads(Path(__file__).with_name("fields.json").read_text("utf-8"))


def fields_of(record: str) -> Fields:
    """The fields of a record as ``fields.json`` has them: name, type and meaning.

    Where it has null, the field is the one of that name under ``shared``.
    """
    shared, own = _DECLARED["shared"], _DECLARED[record]
    return fields(*((name, *(own_field or shared[name])) for name, own_field in own.items()))


def chosen(declared: Fields, *wanted: str) -> Fields:
    """Some of the fields, by name and in this order."""
    known = {field.name: field for field in declared}
    return tuple(known[name] for name in wanted)


def names(declared: Iterable[Field]) -> tuple[str, ...]:
    """The names, in order."""
    return tuple(field.name for field in declared)


def arrow_schema(declared: Iterable[Field], *, encoded: bool = False) -> pa.Schema:
    """The Arrow schema of a frame; ``encoded``: text is dictionary-encoded, as in batches."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string()) if encoded else pa.string()
    return pa.schema(
        [(f.name, text if f.type == "string" else arrow_type(f.type)) for f in declared]
    )


def to_table(records: Iterable[dict[str, Any]], declared: Iterable[Field]) -> pa.Table:
    """Records as an Arrow table with the declared columns."""
    import pyarrow as pa

    schema, found = arrow_schema(declared), list(records)
    return pa.Table.from_pylist(found, schema=schema) if found else schema.empty_table()


def written_type(field: Field) -> str:
    """The type in which records are written to Parquet and Arrow: what is nested is JSON text."""
    nested = field.type in ("image", "json", "raw") or field.type.startswith("list<")
    return "string" if nested else field.type


def written_schema(declared: Iterable[Field]) -> pa.Schema:
    """The schema in which records are written to Parquet and Arrow."""
    import pyarrow as pa

    return pa.schema([(field.name, arrow_type(written_type(field))) for field in declared])


@lru_cache
def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of a declared type."""
    import pyarrow as pa

    if kind.startswith("list<"):
        return pa.list_(arrow_type(kind[len("list<") : -1]))
    stored = {"bytes": pa.binary(), "text": pa.string()}
    known = {
        "boolean": pa.bool_(),
        "float64": pa.float64(),
        "seconds": pa.int64(),
        "microseconds": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "json": pa.string(),
        "image": pa.string(),
        "raw": pa.list_(pa.struct({"image": pa.uint8(), "column": pa.uint16(), **stored})),
        "cells": pa.list_(pa.struct({"column": pa.string(), "state": pa.string(), **stored})),
    }
    return known.get(kind) or pa.type_for_alias(kind)
