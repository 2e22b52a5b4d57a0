"""The columns that landed tables have: of one type in all versions of a table where that can be.

A whole number is a long whatever its width, so that a column that is widened stays what it was; a
TIME is microseconds. Where the types of two versions have nothing in common, the later one lands in
a folder of its own (:class:`Generations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from binlogkit.errors import SchemaError
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.carried import carried_schema
from binlogkit.spark.landing.masks import Masks
from binlogkit.spark.splits.changelog import changelog_schema

#: By which landed tables are partitioned: the day of the commit, and whose log.
PARTITIONS = ("_day", "_source")
#: Its smallest and largest values are kept for those who choose files by them.
BOUNDED = "_commit_version"
_OWN = tuple(field.name for field in CHANGELOG)
Name: TypeAlias = tuple[str, str]
#: By the name of each column its type, as text.
Types: TypeAlias = dict[str, str]


def landed_schema(schema: TableSchema, masks: Masks) -> pa.Schema:
    """The columns of one version of a table, as they land; SchemaError: one is called as ours."""
    masked = [
        one if one.name in _OWN else masks.of(schema.db, schema.table, one)
        for one in plain_schema(schema)
    ]
    return pa.schema([one for one in masked if one is not None])


def plain_schema(schema: TableSchema) -> pa.Schema:
    """The same before anything is masked."""
    flat = changelog_schema([column_field(column) for column in schema.columns])
    if "_day" in {name.lower() for name in flat.names}:
        raise SchemaError("the table has a column _day, as landed tables themselves have")
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
    return pa.schema([*stored, *map(_landed, carried_schema(pa.schema(list(fields))))])


def own_fields(schema: pa.Schema) -> list[pa.Field]:
    """The table's own columns."""
    return [one for one in schema if one.name not in (*_OWN, "_day")]


def types_of(schema: pa.Schema) -> Types:
    """The types of the table's own columns, by small letters: MySQL's names have no case."""
    return {one.name.lower(): str(one.type) for one in own_fields(schema)}


@dataclass(slots=True)
class Generations:
    """For each table the columns of its folders, one where all of its versions agree."""

    known: dict[Name, list[Types]] = field(default_factory=dict)

    def place(self, name: Name, types: Mapping[str, str]) -> int:
        """In which folder, from 0 on, a version of the table with these columns is."""
        for i, known in enumerate(self.known.get(name, ())):
            if all(known.get(column, kind) == kind for column, kind in types.items()):
                return i
        return len(self.known.get(name, ()))

    def add(self, name: Name, types: Mapping[str, str]) -> int:
        """Find its folder, which then has these columns, too."""
        i = self.place(name, types)
        folders = self.known.setdefault(name, [])
        if i == len(folders):
            folders.append({})
        folders[i] |= types
        return i


def folder_of(name: Name, generation: int = 0) -> str:
    """The folder of a landed table, in the server's way of naming files after tables (``a b`` is
    ``a@0020b``); that of another generation ends with its number."""
    ending = f"-{generation + 1}" if generation else ""
    return f"tables/{_file_name(name[0])}/{_file_name(name[1])}{ending}"


def current_folder(name: Name) -> str:
    """The folder of a current-state table."""
    return f"current/{_file_name(name[0])}/{_file_name(name[1])}"


def _file_name(text: str) -> str:
    """No path leads out of its folder, and none is taken for hidden."""
    plain = [c if c.isascii() and (c.isalnum() or c == "_") else f"@{ord(c):04x}" for c in text]
    if plain[:1] == ["_"]:
        plain[0] = "@005f"
    return "".join(plain) or "@"
