"""What a reading must know to begin anywhere in a series of logs."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl import Catalog

__all__ = ["Start"]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a reading begins, as if all that stands before it had been read.

    ``ordinal``, ``number``: of the first event and transaction; ``begin``: offset in the first log
    of the transaction to begin with, 0 for the log's beginning; ``catalog``, ``tracked``: the
    tables as DDL left them, and the names that it touched, None for those of the options;
    ``first``, ``last``: whether the first log read is the first of all, and the last log the last
    one; ``seen``: the GTIDs of the transactions before.
    """

    ordinal: int = 0
    number: int = 0
    begin: int = 0
    catalog: Catalog | None = None
    tracked: frozenset[tuple[str | None, str | None]] = frozenset()
    first: bool = True
    last: bool = True
    seen: GtidSet | None = None
