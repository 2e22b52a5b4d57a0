"""What a reading learns of a file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.soundness.gtid_ledger import GtidLedger

__all__ = ["FileFacts", "split_name"]

_NUMBERED = re.compile(r"^(?P<stem>.+)\.(?P<number>\d{6,})$")
_PACKED = (".gz", ".zst")


def split_name(name: str) -> tuple[str, str, int | None]:
    """The folder, stem and number of a log's name: ``/data``, ``binlog``, 12."""
    folder, _, base = name.replace("\\", "/").rpartition("/")
    for ending in _PACKED:
        base = base.removesuffix(ending)
    match = _NUMBERED.match(base)
    return (folder, match["stem"], int(match["number"])) if match else (folder, base, None)


@dataclass(slots=True)
class FileFacts:
    """A file as one walk over it saw it.

    ``server_id``: of the first event; ``gtids``, ``previous``: of the transactions in it and, where
    it says so, before it; ``next_name``: what its ROTATE names; ``ended``: type of the last event
    that ends a log; ``damages``: how many damaged ranges; ``loose``: events without a file around
    them; ``alone``: statements in it that have nothing but their rows there.
    """

    name: str
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
    next_name: str | None = None
    ended: str | None = None
    damages: int = 0
    servers: dict[int, None] = field(default_factory=dict)
    loose: bool = False
    alone: int = 0

    @property
    def has_gtid_events(self) -> bool:
        """Whether its server gives each transaction a GTID event, anonymous ones too (5.7.5+)."""
        return self.previous is not None and not self.foreign
