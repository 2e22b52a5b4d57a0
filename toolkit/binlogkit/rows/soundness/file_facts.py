"""What a reading learns of a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger

__all__ = ["FileFacts"]


@dataclass(slots=True)
class FileFacts:
    """A file as one walk over it saw it.

    ``server_id``: of the first event; ``gtids``, ``previous``: of the transactions in it and, where
    it says so, before it, ``copied`` those of another file that was read before, ``late`` those
    that such a file says to come after; ``next_name``: what its ROTATE names; ``ended``: type of
    the last event that ends a log; ``damages``: how many damaged ranges; ``loose``: events without
    a file around
    them; ``alone``: statements in it that have nothing but their rows there; ``anonymous``:
    transactions without a GTID; ``ends_in``: what equal files have in common: CRCs of their first
    and their last event, and how many events there are.
    """

    name: str
    source: str | None = None
    server_id: int = 0
    server_version: str | None = None
    relay: bool = False
    foreign: bool = False
    in_use: bool = False
    version: int = 4
    events: int = 0
    size: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    checksums: Counter[str] = field(default_factory=Counter)
    previous: GtidSet | None = None
    gtids: GtidLedger = field(default_factory=GtidLedger)
    copied: GtidLedger = field(default_factory=GtidLedger)
    late: GtidLedger = field(default_factory=GtidLedger)
    next_name: str | None = None
    ended: str | None = None
    damages: int = 0
    servers: dict[int, None] = field(default_factory=dict)
    loose: bool = False
    alone: int = 0
    anonymous: int = 0
    ends_in: tuple[int, ...] = ()

    @property
    def has_gtid_events(self) -> bool:
        """Whether its server gives each transaction a GTID event, anonymous ones too (5.7.5+)."""
        return self.previous is not None and not self.foreign
