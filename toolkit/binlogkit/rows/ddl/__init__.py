"""Schema tracking: DDL of a log, a schema file or a live server -> table definitions."""

from __future__ import annotations

from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.changes import TableChange
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.match import fits, matches
from binlogkit.rows.ddl.server import from_server
from binlogkit.rows.ddl.written import written_tables

__all__ = [
    "Catalog",
    "StatementKind",
    "TableChange",
    "fits",
    "from_server",
    "load_schema",
    "matches",
    "statement_kind",
    "written_tables",
]
