"""Table definitions from a schema file: mysqldump's output, with or without data, or plain DDL."""

from __future__ import annotations

import re

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.scan import Script, plain
from binlogkit.rows.ddl.session import SqlMode, mode_from_names, version_number

_HEADER = 4096  # characters in which mysqldump's own comments stand
_HEADER_VERSION = re.compile(r"^-- Server version\s+(\d+\.\d+\.\d+)", re.MULTILINE)
_HEADER_DATABASE = re.compile(r"^-- Host: .*?\bDatabase: (\S.*?)[ \t\r]*$", re.MULTILINE)
_SQL_MODE = re.compile(r"(?<![@\w])(?:@@(?:session\.)?)?sql_mode\s*:?=\s*(?:'([^']*)'|@)", re.I)
_USE = re.compile(r"use\s+(`(?:[^`]|``)+`|[^\s;`]+)\s*\Z", re.IGNORECASE)


def load_schema(sql_text: str) -> Catalog:
    """The tables that a script makes, as a catalog.

    The server's version, and the database of tables before any USE, are those of mysqldump's
    header. Data, views, triggers and routines are passed over. SchemaError: a table whose database
    nothing names.
    """
    named = [known.search(sql_text[:_HEADER]) for known in (_HEADER_VERSION, _HEADER_DATABASE)]
    server_version, default_db = (None if found is None else found[1] for found in named)
    catalog = Catalog(server_version)
    version = version_number(server_version)
    script = Script(sql_text)
    for statement in script:
        mode = script.mode
        kind = statement_kind(statement, int(mode), version)
        if kind is StatementKind.SET:
            script.mode = _sql_mode(statement, mode, version)
        elif kind is StatementKind.USE:
            default_db = _used(plain(statement, mode, version).strip()) or default_db
        elif kind is StatementKind.DDL:
            for change in catalog.apply(statement, default_db=default_db, sql_mode=int(mode)):
                if not change.db:
                    raise SchemaError(
                        f"{change.reason}; name the database of the schema file's tables"
                    )
    return catalog


def _sql_mode(statement: str, mode: SqlMode, version: int) -> SqlMode:
    """The mode after a SET; mysqldump sets it back from a variable, which means none here."""
    for found in _SQL_MODE.finditer(plain(statement, mode, version)):
        mode = mode_from_names(found.group(1) or "")
    return mode


def _used(statement: str) -> str | None:
    found = _USE.match(statement)
    if found is None:
        return None
    name = found.group(1)
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
