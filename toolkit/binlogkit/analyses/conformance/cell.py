"""One cell of both sides: what is known of its column, and what counts as the same writing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.tokens import Printed, TokenForm
from binlogkit.constants import ColumnType, TableId
from binlogkit.errors import UsageError
from binlogkit.rows.schema import Column, Origin, TableSchema

_TYPES = {
    "INT": "TINY SHORT INT24 LONG LONGLONG",
    "DECIMAL": "NEWDECIMAL",
    "DATE": "DATE NEWDATE",
    "TIME": "TIME TIME2",
    "DATETIME": "DATETIME DATETIME2",
    "TIMESTAMP": "TIMESTAMP TIMESTAMP2",
    "STRING": "VARCHAR VAR_STRING STRING TINY_BLOB MEDIUM_BLOB LONG_BLOB BLOB",
} | {
    name: name
    for name in ("FLOAT", "DOUBLE", "BIT", "YEAR", "ENUM", "SET", "JSON", "VECTOR", "GEOMETRY")
}
_FAMILIES = {ColumnType[n]: family for family, names in _TYPES.items() for n in names.split()}


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
class TableVersion:
    """One version of a table; ``index``: 0-based place of each column name."""

    db: str
    table: str
    columns: tuple[ColumnFacts, ...]
    index: Mapping[str, int]


def table_facts(schema: TableSchema | Mapping[str, Any]) -> TableVersion:
    """From a decoder's schema, or from ``{"db", "table", "columns": [{"name", "type", …}]}``."""
    if isinstance(schema, TableSchema):
        db, table, given = schema.db, schema.table, tuple(schema.columns)
    else:
        db, table, given = str(schema["db"]), str(schema["table"]), tuple(schema["columns"])
    columns = tuple(_from_column(c) if isinstance(c, Column) else _from_mapping(c) for c in given)
    return TableVersion(db, table, columns, {c.name: i for i, c in enumerate(columns)})


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


class TableVersions:
    """The known versions of all tables, and which one a row image fits."""

    def __init__(self, schemas: Iterable[TableSchema | Mapping[str, Any]]) -> None:
        self._versions: dict[TableId, list[TableVersion]] = {}
        for schema in schemas:
            facts = table_facts(schema)
            self._versions.setdefault((facts.db, facts.table), []).append(facts)
        self._last: dict[TableId, int] = {}

    def candidates(self, db: str, table: str, names: Iterable[str]) -> list[TableVersion]:
        """The versions that have all ``names``: the one used last first, then the later ones.

        A log's versions follow one another; names alone do not distinguish them, so the caller
        takes the first that fits the row, and says so with :meth:`use`.
        """
        versions = self._versions.get((db, table))
        if not versions:
            return []
        wanted = list(names)
        start = self._last.get((db, table), 0)
        order = [*range(start, len(versions)), *range(start)]
        return [versions[n] for n in order if all(name in versions[n].index for name in wanted)]

    def current(self, db: str, table: str) -> TableVersion | None:
        """The version that is tried first."""
        versions = self._versions.get((db, table))
        return versions[self._last.get((db, table), 0)] if versions else None

    def use(self, facts: TableVersion) -> None:
        """From here on the rows of this table are of this version."""
        name = (facts.db, facts.table)
        self._last[name] = self._versions[name].index(facts)


_UTF8 = frozenset(("utf8", "utf8mb3", "utf8mb4", "ascii"))
_WORD = re.compile(r"[A-Z]+")
_WORDS = {
    **dict.fromkeys(("TINYINT", "SHORTINT", "MEDIUMINT", "LONGINT"), "INT"),
    **dict.fromkeys(("VARSTRING", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), "STRING"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """``ours``: the value in the contract's form; ``printed``: mysqlbinlog's.

    ``family``: see :class:`ColumnFacts`; ``type``: the whole printed type, empty with ``-v``;
    ``printed_before``: of the same column, for an update's after image;
    ``server``: the version that the log's format description names.
    """

    ours: Any
    printed: Printed
    family: str
    type: str
    column: ColumnFacts
    printed_before: Printed | None = None
    server: str = ""


def family_of(printed_type: str, column: ColumnFacts) -> str:
    """The family by the printed type, else by the column."""
    word = _WORD.match(printed_type)
    if word is None:
        return column.family
    return _WORDS.get(word[0], word[0])


def is_integer(value: Any) -> bool:
    """Whether a JSON value is an integer (``true`` is none)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _integer(cell: Cell) -> bool:
    """The printed number; of two readings the signed one, where the column is not unsigned."""
    if not is_integer(cell.ours) or cell.ours != cell.printed.number:
        return False
    return cell.printed.unsigned is None or cell.column.unsigned is not True


def _text(cell: Cell) -> bool:
    return isinstance(cell.ours, str) and cell.ours == cell.printed.text


def _number(cell: Cell) -> bool:
    """The same digits, or one of an integer's two writings."""
    if not is_number(cell.ours):
        return False
    return cell.printed.text in (repr(cell.ours), repr(float(cell.ours)).removesuffix(".0"))


def _string(cell: Cell) -> bool:
    if not isinstance(cell.ours, str) or cell.printed.form is not TokenForm.STRING:
        return False
    if cell.column.charset is not None and cell.column.charset not in _UTF8:
        # Only ASCII is the same in nearly every character set; the others have a rule.
        return (
            cell.column.charset not in ("binary", "ucs2", "utf16", "utf16le", "utf32")
            and cell.ours.isascii()
            and cell.printed.data == cell.ours.encode("ascii")
        )
    return cell.printed.data == cell.ours.encode("utf-8", "backslashreplace")


def _quoted(cell: Cell) -> bool:
    if cell.printed.form is TokenForm.STRING:
        if not isinstance(cell.ours, str):
            return False
        return cell.printed.data == cell.ours.encode("utf-8", "backslashreplace")
    return _text(cell)


_SAME: dict[str, Callable[[Cell], bool]] = {
    "INT": _integer,
    "YEAR": _integer,
    "ENUM": _integer,
    "DECIMAL": _text,
    "FLOAT": _number,
    "DOUBLE": _number,
    "STRING": _string,
    "JSON": _quoted,
    "TIME": _quoted,
    "DATETIME": _quoted,
}
_BY_FORM: dict[TokenForm, Callable[[Cell], bool]] = {
    TokenForm.INTEGER: _integer,
    TokenForm.NUMBER: lambda cell: _text(cell) or _number(cell),
    TokenForm.STRING: _string,
    TokenForm.PLAIN: _text,
}


def same(cell: Cell) -> bool:
    """Whether both sides write the same value the same way."""
    if cell.printed.form is TokenForm.NULL or cell.ours is None:
        return cell.printed.form is TokenForm.NULL and cell.ours is None
    how = _SAME.get(cell.family) or _BY_FORM.get(cell.printed.form)
    return how is not None and how(cell)
