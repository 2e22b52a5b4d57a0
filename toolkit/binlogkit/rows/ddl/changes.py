"""What one statement did to one table."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.rows.schema import TableDefinition

__all__ = ["TableChange"]


@dataclass(frozen=True, slots=True)
class TableChange:
    """What one statement did to one table.

    ``action``: create, drop, truncate, rename, alter, drop_database, statement_write, unknown, or
    incident (no statement: the server says that changes are missing from the log here);
    ``db``, ``table``: its name before (empty where it cannot be told; ``table`` is empty of
    drop_database); ``new_db``, ``new_table``: of rename; ``definition``: after the change, None
    where there is none or it is not known; ``reason``: of unknown, and what else there is to know
    (one sentence).
    """

    action: str
    db: str
    table: str
    new_db: str | None = None
    new_table: str | None = None
    definition: TableDefinition | None = None
    reason: str | None = None
