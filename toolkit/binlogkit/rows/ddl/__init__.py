"""Schema tracking: DDL of a log, a schema file or a live server -> table definitions.

What reads schema files and servers loads when it is used: a log alone does without.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.match import fits, matches
from binlogkit.rows.schema import TableChange

if TYPE_CHECKING:
    from binlogkit.rows.ddl.dump import load_schema
    from binlogkit.rows.ddl.server import from_server
    from binlogkit.rows.ddl.written import written_tables

__all__ = [
    "Catalog", "StatementKind", "TableChange", "fits", "from_server", "load_schema", "matches",
    "statement_kind", "written_tables",
]  # fmt: skip

_HOMES = {"from_server": "server", "load_schema": "dump", "written_tables": "written"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
