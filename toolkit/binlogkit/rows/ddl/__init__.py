"""Schema tracking: DDL of a log, a schema file or a live server -> table definitions.

What reads schema files (``dump``) and servers (``server``) is no part of it: a log alone does
without.
"""

from __future__ import annotations

from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.schema import TableChange

__all__ = ["Catalog", "StatementKind", "TableChange", "statement_kind"]
