"""Table definitions from a schema file: mysqldump's output, with or without data, or plain DDL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.scan import ScriptStatements, plain
from binlogkit.rows.ddl.session import SqlMode, mode_from_names, version_number

HEADER = 4096  # characters in which mysqldump's own comments stand
_HEADER_VERSION = re.compile(r"^-- Server version\s+(\d+\.\d+\.\d+)", re.MULTILINE)
_HEADER_DATABASE = re.compile(r"^-- Host: .*?\bDatabase: (\S.*?)[ \t\r]*$", re.MULTILINE)
_SQL_MODE = re.compile(r"(?<![@\w])(?:@@(?:session\.)?)?sql_mode\s*:?=\s*(?:'([^']*)'|@)", re.I)
_USE = re.compile(r"use\s+(`(?:[^`]|``)+`|[^\s;`]+)\s*\Z", re.IGNORECASE)


def load_schema(sql_text: str) -> Catalog:
    """The tables that a script makes, as a catalog.

    The server's version, and the database of tables before any USE, are those of mysqldump's
    header. Data, views, triggers and routines are skipped. SchemaError: a table whose database
    nothing names.
    """
    server_version, default_db = header_facts(sql_text[:HEADER])
    catalog = Catalog(server_version)
    version = version_number(server_version)
    for kind, statement, mode, db in script_statements(sql_text, version, default_db):
        if kind is not StatementKind.DDL:
            continue
        for change in catalog.apply(statement, default_db=db, sql_mode=int(mode)):
            if not change.db:
                raise SchemaError(f"{change.reason}; name the database of the schema file's tables")
    return catalog


def script_statements(
    sql_text: str, version: int, default_db: str | None
) -> Iterator[tuple[StatementKind, str, SqlMode, str | None]]:
    """A script's statements but SET and USE, each with its kind, and the SQL mode and the database
    there."""
    script = ScriptStatements(sql_text)
    for statement in script:
        mode = script.mode
        kind = statement_kind(statement, int(mode), version)
        if kind is StatementKind.SET:
            script.mode = mode_after(statement, mode, version)
        elif kind is StatementKind.USE:
            default_db = used_database(plain(statement, mode, version)) or default_db
        else:
            yield kind, statement, mode, default_db


def header_facts(head: str) -> tuple[str | None, str | None]:
    """The server's version and the database, where mysqldump's header says them."""
    found = [known.search(head) for known in (_HEADER_VERSION, _HEADER_DATABASE)]
    version, database = (None if match is None else match[1] for match in found)
    return version, database


def mode_after(statement: str, mode: SqlMode, version: int) -> SqlMode:
    """The mode after a SET; mysqldump sets it back from a variable, which means none here."""
    for found in _SQL_MODE.finditer(plain(statement, mode, version)):
        mode = mode_from_names(found.group(1) or "")
    return mode


def used_database(statement: str) -> str | None:
    """The database of a USE, without comments."""
    found = _USE.match(statement.strip())
    if found is None:
        return None
    name = found.group(1)
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
