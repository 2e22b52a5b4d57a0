"""The columns of landed tables: of one type in all versions of a table, if possible.

A whole number is a long whatever its width, so that a column that is widened stays the same; a TIME
is microseconds. If the types of two versions have nothing in common, the later one lands in a
folder of its own (:class:`Generations`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.arrow_types import carried_schema, column_field
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.flat_cells import flat_name
from binlogkit.rows.filters import parse_table_name
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.landing.waiting import NAMES
from binlogkit.spark.masks import Masks
from binlogkit.spark.splits.changelog import changelog_schema

#: The partition columns of landed tables: the day of the commit, and the log's source.
PARTITIONS = ("_day", "_source")
#: Its smallest and largest values are kept, so that readers can choose files by them.
BOUNDED = "_commit_version"
_OWN = tuple(field.name for field in CHANGELOG)
_ENCODED = re.compile("@([0-9a-f]{4})?")
#: Column name to type, as text.
Types: TypeAlias = dict[str, str]


def landed_schema(schema: TableSchema, masks: Masks) -> pa.Schema:
    """The columns of one version of a table, as they land.

    SchemaError: the names of its columns are not known, or a masked one may be among them.
    """
    if not schema.named:
        raise SchemaError(": ".join([NAMES, *schema.problems[:1]]))
    masks.check(schema)
    masked = [
        one if one.name in _OWN else masks.of(schema.db, schema.table, one)
        for one in plain_schema(schema)
    ]
    return pa.schema([one for one in masked if one is not None])


def plain_schema(schema: TableSchema) -> pa.Schema:
    """The same, unmasked."""
    flat = changelog_schema([column_field(column) for column in schema.columns])
    return pa.schema([_landed(one) for one in flat])


def _landed(one: pa.Field) -> pa.Field:
    kind, types = one.type, pa.types
    if types.is_integer(kind) or types.is_duration(kind):
        kind = pa.int64()
    return pa.field(one.name, kind)


def table_schema(fields: Iterable[pa.Field]) -> pa.Schema:
    """The whole schema of a landed table with these columns of its own."""
    own = carried_schema(arrow_schema(CHANGELOG))
    return pa.schema([*map(_landed, own), pa.field("_day", pa.date32()), *fields])


def current_schema(fields: Iterable[pa.Field]) -> pa.Schema:
    """The columns of a current-state table whose rows have these fields."""
    own = carried_schema(arrow_schema(CHANGELOG))
    stored = [_landed(one) for one in own if one.name not in ("_change_type", "_query")]
    named = pa.schema([one.with_name(flat_name(one.name)) for one in fields])
    return pa.schema([*stored, *map(_landed, carried_schema(named))])


def own_fields(schema: pa.Schema) -> list[pa.Field]:
    """The table's own columns."""
    return [one for one in schema if one.name not in (*_OWN, "_day")]


def types_of(schema: pa.Schema) -> Types:
    """The types of the table's own columns, by lower-case name: MySQL's column names have no
    case."""
    return {one.name.lower(): str(one.type) for one in own_fields(schema)}


@dataclass(slots=True)
class Generations:
    """For each table the columns of its folders: one folder if all of its versions agree."""

    known: dict[TableId, list[Types]] = field(default_factory=dict)

    def place(self, name: TableId, types: Mapping[str, str]) -> int:
        """The folder, from 0 on, of a version of the table with these columns."""
        for i, known in enumerate(self.known.get(name, ())):
            if all(known.get(column, kind) == kind for column, kind in types.items()):
                return i
        return len(self.known.get(name, ()))

    def add(self, name: TableId, types: Mapping[str, str]) -> int:
        """Find its folder and add these columns to it."""
        i = self.place(name, types)
        folders = self.known.setdefault(name, [])
        if i == len(folders):
            folders.append({})
        folders[i] |= types
        return i


def landed_name(table: str) -> TableId:
    """A table that is given as ``db.table``. UsageError: it names no database."""
    parsed = parse_table_name(table)
    if parsed.db is None:
        raise UsageError(f"{table} names no database: db.table")
    return parsed.db, parsed.table


def folder_of(name: TableId, generation: int = 0) -> str:
    """The folder of a landed table, encoded like the server's file names for tables (``a b`` is
    ``a@0020b``).

    For a later generation the name ends with its number.
    """
    ending = f"-{generation + 1}" if generation else ""
    return f"tables/{_file_name(name[0])}/{_file_name(name[1])}{ending}"


def current_folder(name: TableId) -> str:
    """The folder of a current-state table."""
    return f"current/{_file_name(name[0])}/{_file_name(name[1])}"


def name_of(folder: str) -> TableId:
    """The table of a current-state folder: MySQL's names have no characters of more than 16
    bits."""
    db, table = (_ENCODED.sub(_decoded, one) for one in folder.split("/")[-2:])
    return db, table


def _decoded(met: re.Match[str]) -> str:
    return chr(int(met[1], 16)) if met[1] else ""


def _file_name(text: str) -> str:
    """Keep a path inside its folder, and not hidden."""
    plain = [c if c.isascii() and (c.isalnum() or c == "_") else f"@{ord(c):04x}" for c in text]
    if plain[:1] == ["_"]:
        plain[0] = "@005f"
    return "".join(plain) or "@"
