"""What a statement is read under: the server's version and what the Query event says."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.rows.ddl.charsets import UNKNOWN, Collated, canonical, collated
from binlogkit.rows.ddl.modes import DEFAULT_MODE, SqlMode

__all__ = ["Session"]


@dataclass(frozen=True, slots=True)
class Session:
    """``version``: MYSQL_VERSION_ID; ``explicit_timestamp``: explicit_defaults_for_timestamp.

    ``utf8mb4_collation``: default_collation_for_utf8mb4 (8.0.11), or None for the server's own.
    ``thread``: the connection number, which temporary tables belong to.
    """

    version: int
    mode: SqlMode = DEFAULT_MODE
    default_db: str | None = None
    server: Collated = UNKNOWN
    database: Collated = UNKNOWN
    explicit_timestamp: bool = True
    utf8mb4_collation: str | None = None
    thread: int | None = None

    def collated(self, charset: str | None, collation: str | None) -> Collated:
        """What a CHARACTER SET and a COLLATE of a statement say together."""
        told = collated(charset, collation, self.version)
        if collation is None and told.charset == "utf8mb4" and self.utf8mb4_collation is not None:
            return Collated("utf8mb4", canonical(self.utf8mb4_collation))
        return told
