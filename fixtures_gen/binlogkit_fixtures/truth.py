"""The server's own account of its tables, in the value forms of the manifest.

Each column is selected through an expression that makes the server write the value as text (or as
an integer), so that no client library's idea of a type comes between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures.manifest import Column, Table, Value

__all__ = ["quote_name", "read_tables"]

Reader = Callable[[Any], Value]


@dataclass(frozen=True, slots=True)
class _Form:
    """How to ask for a value: the expression around ``{c}``, and what to make of the answer."""

    expression: str
    read: Reader


def _text(value: Any) -> Value:
    return None if value is None else str(value)


def _integer(value: Any) -> Value:
    return None if value is None else int(value)


def _number(value: Any) -> Value:
    return None if value is None else float(value)


_INTEGER = _Form("CAST({c} + 0 AS CHAR)", _integer)
_TEMPORAL = _Form("CAST({c} AS CHAR)", _text)
_STRING = _Form("CONVERT({c} USING utf8mb4)", _text)
_HEX = _Form("CONCAT('0x', HEX({c}))", _text)
# FLOAT's own text has 6 digits (5.7) or those of its width (8.0): times 1e0 it is a DOUBLE, whose
# text reads back to the same value.
_FLOAT = _Form("CAST({c} * 1e0 AS CHAR)", _number)
# CAST to CHAR gives DOUBLE(M,D) its D digits, which are all that is stored.
_DOUBLE = _Form("CAST({c} AS CHAR)", _number)
_DECIMAL = _Form("CAST(CAST({c} AS DECIMAL{size}) AS CHAR)", _text)

_BY_DATA_TYPE: Mapping[str, _Form] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"), _INTEGER),
    **dict.fromkeys(("date", "time", "datetime", "timestamp", "json"), _TEMPORAL),
    **dict.fromkeys(("char", "varchar", "enum", "set"), _STRING),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), _STRING),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _HEX),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint"), _HEX),
    **dict.fromkeys(("multilinestring", "multipolygon", "geometrycollection"), _HEX),
    **dict.fromkeys(("geomcollection", "vector"), _HEX),  # 8.0's name; 9.0's type
    "float": _FLOAT,
    "double": _DOUBLE,
    "decimal": _DECIMAL,
}

_DECIMAL_SIZE = re.compile(r"decimal(\(\d+,\d+\))")


def quote_name(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _rows(session: Connection[Any], sql: str) -> Sequence[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def read_tables(session: Connection[Any], databases: Sequence[str]) -> dict[str, Table]:
    """Every base table of these databases by ``db.table``.

    ``session``: utf8mb4, time zone +00:00, with a sql_mode without PAD_CHAR_TO_FULL_LENGTH.
    ServerError: a data type that this module does not know.
    """
    found = _rows(
        session,
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE "
        f"TABLE_SCHEMA IN ({', '.join(map(_literal, databases))}) AND TABLE_TYPE = 'BASE TABLE' "
        "ORDER BY 1, 2",
    )
    return {f"{db}.{table}": _read_table(session, db, table, engine) for db, table, engine in found}


def _read_table(session: Connection[Any], db: str, table: str, engine: str) -> Table:
    described = _rows(
        session,
        "SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, "
        "EXTRA, DATA_TYPE FROM information_schema.COLUMNS WHERE "
        f"TABLE_SCHEMA = {_literal(db)} AND TABLE_NAME = {_literal(table)} "
        "ORDER BY ORDINAL_POSITION",
    )
    columns = tuple(_column(line) for line in described)
    key = tuple(
        str(name)
        for (name,) in _rows(
            session,
            "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE INDEX_NAME = 'PRIMARY' "
            f"AND TABLE_SCHEMA = {_literal(db)} AND TABLE_NAME = {_literal(table)} "
            "ORDER BY SEQ_IN_INDEX",
        )
    )
    full_name = f"{quote_name(db)}.{quote_name(table)}"
    create = str(_rows(session, f"SHOW CREATE TABLE {full_name}")[0][1])
    forms = [_form(str(line[6]), str(line[1])) for line in described]
    rows = _select(session, full_name, columns, forms, key)
    return Table(columns, key, engine, create, rows)


def _column(line: tuple[Any, ...]) -> Column:
    name, kind, charset, collation, nullable, extra, _ = (
        part.decode("utf-8") if isinstance(part, bytes) else part for part in line
    )
    words = str(extra).upper()
    generated = next((g for g in ("virtual", "stored") if f"{g.upper()} GENERATED" in words), None)
    return Column(
        name, kind, charset, collation, nullable == "YES", generated, "INVISIBLE" in words.split()
    )


def _form(data_type: str, column_type: str) -> _Form:
    form = _BY_DATA_TYPE.get(data_type)
    if form is None:
        raise ServerError(f"no form is known for values of type '{printable(data_type)}'")
    if form is _DECIMAL:
        size = _DECIMAL_SIZE.match(column_type)
        if size is None:
            raise ServerError(f"'{printable(column_type)}' is not a DECIMAL type")
        return _Form(form.expression.replace("{size}", size.group(1)), form.read)
    return form


def _select(
    session: Connection[Any],
    table: str,
    columns: Sequence[Column],
    forms: Sequence[_Form],
    key: Sequence[str],
) -> tuple[tuple[Value, ...], ...]:
    """All rows, by primary key or else in the order of the scan (insertion, for both engines)."""
    names = [quote_name(column.name) for column in columns]
    wanted = [f.expression.replace("{c}", name) for f, name in zip(forms, names, strict=True)]
    order = f" ORDER BY {', '.join(map(quote_name, key))}" if key else ""
    sql = f"SELECT {', '.join(wanted)} FROM {table}{order}"
    return tuple(
        tuple(form.read(cell) for form, cell in zip(forms, row, strict=True))
        for row in _rows(session, sql)
    )
