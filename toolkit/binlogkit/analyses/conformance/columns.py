"""What the judge needs to know of a table's columns, from any of the forms it may be given in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.constants import ColumnType
from binlogkit.errors import UsageError
from binlogkit.rows.schema import Column, Origin, TableSchema

__all__ = ["ColumnFacts", "TableFacts", "Tables", "table_facts"]

_FAMILIES = {
    ColumnType.TINY: "INT",
    ColumnType.SHORT: "INT",
    ColumnType.INT24: "INT",
    ColumnType.LONG: "INT",
    ColumnType.LONGLONG: "INT",
    ColumnType.NEWDECIMAL: "DECIMAL",
    ColumnType.FLOAT: "FLOAT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.BIT: "BIT",
    ColumnType.YEAR: "YEAR",
    ColumnType.DATE: "DATE",
    ColumnType.NEWDATE: "DATE",
    ColumnType.TIME: "TIME",
    ColumnType.TIME2: "TIME",
    ColumnType.DATETIME: "DATETIME",
    ColumnType.DATETIME2: "DATETIME",
    ColumnType.TIMESTAMP: "TIMESTAMP",
    ColumnType.TIMESTAMP2: "TIMESTAMP",
    ColumnType.ENUM: "ENUM",
    ColumnType.SET: "SET",
    ColumnType.JSON: "JSON",
    ColumnType.VARCHAR: "STRING",
    ColumnType.VAR_STRING: "STRING",
    ColumnType.STRING: "STRING",
    ColumnType.TINY_BLOB: "STRING",
    ColumnType.MEDIUM_BLOB: "STRING",
    ColumnType.LONG_BLOB: "STRING",
    ColumnType.BLOB: "STRING",
    ColumnType.VECTOR: "VECTOR",
    ColumnType.GEOMETRY: "GEOMETRY",
}


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column as the rules see it.

    ``family``: the group of types that mysqlbinlog prints alike (``INT``, ``STRING`` …), empty
    when the type is not known; ``charset``: None where not known; ``length``: bytes of a
    BINARY(n), 0 where not known; ``unsigned``: None where nothing says so.
    """

    name: str
    family: str = ""
    unsigned: bool | None = None
    charset: str | None = None
    labels: tuple[str, ...] | None = None
    length: int = 0
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One version of a table; ``index``: 0-based place of each column name."""

    db: str
    table: str
    columns: tuple[ColumnFacts, ...]
    index: Mapping[str, int]


def table_facts(schema: TableSchema | Mapping[str, Any]) -> TableFacts:
    """From a decoder's schema, or from ``{"db", "table", "columns": [{"name", "type", …}]}``."""
    if isinstance(schema, TableSchema):
        db, table, given = schema.db, schema.table, tuple(schema.columns)
    else:
        db, table, given = str(schema["db"]), str(schema["table"]), tuple(schema["columns"])
    columns = tuple(_from_column(c) if isinstance(c, Column) else _from_mapping(c) for c in given)
    return TableFacts(db, table, columns, {c.name: i for i, c in enumerate(columns)})


def _from_column(column: Column) -> ColumnFacts:
    return ColumnFacts(
        column.name,
        _FAMILIES.get(column.type, ""),
        None if column.sign_origin == Origin.ASSUMED else column.unsigned,
        column.charset,
        column.labels,
        column.length,
        column.type == ColumnType.STRING,
    )


def _from_mapping(column: Mapping[str, Any]) -> ColumnFacts:
    given = column.get("type")
    try:
        kind = ColumnType[given.upper()] if isinstance(given, str) else ColumnType(int(given or 0))
    except (KeyError, ValueError, TypeError) as exc:
        raise UsageError(
            f"column {column.get('name')!r}: {given!r} is no column type of the log "
            "(VARCHAR, LONG, DATETIME2 …)"
        ) from exc
    labels = column.get("labels")
    return ColumnFacts(
        str(column["name"]),
        _FAMILIES.get(kind, "") if given is not None else "",
        column.get("unsigned"),
        column.get("charset"),
        None if labels is None else tuple(labels),
        int(column.get("length") or 0),
        kind == ColumnType.STRING,
    )


class Tables:
    """The known versions of all tables, and which one a row image fits."""

    def __init__(self, schemas: Iterable[TableSchema | Mapping[str, Any]]) -> None:
        self._versions: dict[tuple[str, str], list[TableFacts]] = {}
        for schema in schemas:
            facts = table_facts(schema)
            self._versions.setdefault((facts.db, facts.table), []).append(facts)
        self._last: dict[tuple[str, str], int] = {}

    def candidates(self, db: str, table: str, names: Iterable[str]) -> list[TableFacts]:
        """The versions that have all ``names``: the one used last first, then the later ones.

        A log's versions follow one another; names alone do not tell each apart, so the caller
        takes the first that fits the row, and says so with :meth:`use`.
        """
        versions = self._versions.get((db, table))
        if not versions:
            return []
        wanted = list(names)
        start = self._last.get((db, table), 0)
        order = [*range(start, len(versions)), *range(start)]
        return [versions[n] for n in order if all(name in versions[n].index for name in wanted)]

    def use(self, facts: TableFacts) -> None:
        """From here on the rows of this table are of this version."""
        name = (facts.db, facts.table)
        self._last[name] = self._versions[name].index(facts)
