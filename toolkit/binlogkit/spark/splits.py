"""What a worker is sent of a plan: files, parts of them, and what was known where they begin."""

from __future__ import annotations

from dataclasses import dataclass, field

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl import Catalog

__all__ = ["Known", "Split"]


@dataclass(frozen=True, slots=True)
class Known:
    """What DDL told of tables up to some point; ``tracked``: the names that it touched."""

    catalog: Catalog
    tracked: frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Split:
    """One file, or a part of it, and where it stands among those read together.

    ``first``, ``last``: whether the file is; ``events``, ``transactions``: how many come before;
    ``known``: which of the plan's states holds what is known at its start, None for nothing;
    ``start``: logical offset of its first transaction, 0 for the file's beginning; ``stop``: of
    its end, or where the file ended when it was planned, None where it is read to its end, whatever
    that is by then; ``location``: what opens it where that is not its name; ``source``: the name of
    its server's logs, None where it alone tells that; ``seen``: the GTIDs of the transactions that
    were read before.
    """

    file: str
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    known: int | None = None
    start: int = 0
    stop: int | None = None
    location: str | None = field(default=None, repr=False)
    source: str | None = None
    seen: GtidSet | None = None
