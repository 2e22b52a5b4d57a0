"""What a verification says: findings, what each means for the data, and the facts of files."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger, executed_before


class Grade(StrEnum):
    """How bad it is; notes are observations and no findings in the sense of the exit status."""

    NOTE = "note"
    WARNING = "warning"
    DAMAGE = "damage"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is; ``pos`` None: it concerns the whole file.

    ``end_pos``: of damage, where reading resumes; ``inner``: number inside a compressed payload;
    ``event``: number in the file, from 0, payloads counted as one; ``gtid``: of the transaction
    that it stands in.
    """

    file: str
    pos: int | None = None
    end_pos: int | None = None
    inner: int | None = None
    event: int | None = None
    type: str | None = None
    gtid: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; ``code``: a key of :data:`CODES`; ``tables``: ``db.table`` of those that it
    concerns, None for any."""

    grade: Grade
    code: str
    place: Place
    found: str
    meaning: str
    tables: frozenset[str] | None = None

    def record(self) -> dict[str, object]:
        """The finding as a record."""
        graded: dict[str, object] = {"grade": str(self.grade), "code": self.code}
        return graded | asdict(self.place) | {"found": self.found, "meaning": self.meaning}


def finding(code: str, place: Place, found: str, *, grade: Grade | None = None) -> Finding:
    """A finding of a code, with its usual grade and its meaning."""
    known = CODES[code]
    return Finding(grade or known.grade, code, place, found, known.meaning)


class Role(StrEnum):
    """What a finding means for other answers, where it means something."""

    GAP = "gap"  # changes may be missing there, or stand where they do not belong
    ORDER = "order"  # the same, and nothing can be said to come later
    NOTE = "note"  # how far the answer can be trusted: checksums, clocks, the logs' two ends


class Code(NamedTuple):
    """The usual grade of a code, its role, None for none, and what it means for the data.

    What damage takes is reported by losses, more exactly: its findings have no role.
    """

    grade: Grade
    role: Role | None
    meaning: str


_DATA = json.loads(Path(__file__).with_name("codes.json").read_text("utf-8"))
CODES = {
    code: Code(Grade(grade), role and Role(role), meaning)
    for code, (grade, role, meaning) in _DATA.items()
}


@dataclass(slots=True)
class FileFacts:
    """A file as one walk over it saw it.

    ``server_id``: of the first event; ``gtids``, ``previous``: of the transactions in it and, where
    it says so, before it, ``copied`` those of another file that was read before, ``late`` those
    that such a file says to come after; ``next_name``: what its ROTATE names; ``ended``: type of
    the last event that ends a log; ``damages``: how many damaged ranges; ``loose``: events without
    a file around them; ``alone``: statements in it that have nothing but their rows there;
    ``anonymous``: transactions without a GTID; ``ends_in``: what equal files have in common: CRCs
    of their first and their last event, and how many events there are; ``server_started``: its
    server began it when it started, or its logs anew.
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
    server_started: bool = False

    @property
    def follows(self) -> GtidSet:
        """The GTIDs before it, as far as it shows them."""
        return executed_before(self.previous, self.gtids.to_set(), damaged=bool(self.damages))

    @property
    def has_gtid_events(self) -> bool:
        """Whether its server gives each transaction a GTID event, anonymous ones too (5.7.5+)."""
        return self.previous is not None and not self.foreign
