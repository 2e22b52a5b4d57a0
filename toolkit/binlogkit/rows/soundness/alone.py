"""What files show of themselves, read without the others: plain data, which can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.losses import Loss
from binlogkit.rows.soundness.finding import FileFacts, Finding, Place


@dataclass(frozen=True, slots=True)
class Unread:
    """Rows that cannot be read: which event, and of which table, None where that is not known."""

    file: str
    pos: int
    event: int
    table: str | None
    found: str


@dataclass(frozen=True, slots=True)
class Alone:
    """One file, or relay logs that continue a transaction.

    ``files``: what was learned of each; ``starts``: how many events stand before each, None for one
    without any; ``events``: how many there are; ``findings``: those that mean something for other
    answers, with the number of their event; ``prepared``: where XA transactions were prepared that
    nothing here decides, by XA id; ``decided``: the XA ids of decisions for others, by where they
    stand; ``repeated``: the GTIDs that come twice.
    """

    files: tuple[FileFacts, ...] = ()
    starts: tuple[int | None, ...] = ()
    events: int = 0
    findings: tuple[tuple[Finding, int], ...] = ()
    unread: tuple[Unread, ...] = ()
    losses: tuple[Loss, ...] = ()
    prepared: Mapping[str, Place] = field(default_factory=dict)
    decided: Mapping[Place, str] = field(default_factory=dict)
    repeated: GtidSet = field(default_factory=GtidSet)

    @property
    def gtids(self) -> GtidSet:
        """Those of all transactions that the files have anything of."""
        found = GtidLedger()
        for facts in self.files:
            found.add_set(facts.gtids.to_set())
        return found.to_set()
