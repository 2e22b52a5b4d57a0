"""XA transactions that were prepared, over all files read together."""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit.rows.soundness.finding import Finding, Place, finding
from binlogkit.rows.transactions import Outcome, Transaction

__all__ = ["XaLedger"]


class XaLedger:
    """Takes what ends a transaction."""

    def __init__(self) -> None:
        self._prepared: dict[tuple[str | None, str], Place] = {}

    def take(self, source: str | None, told: Transaction, at: Place) -> Iterator[Finding]:
        """Take what an event of a source's logs tells of the transaction that it ended."""
        if told.outcome == Outcome.PREPARED and told.xa is not None:
            self._prepared[source, told.xa] = at
        elif told.resolves is not None and not self._prepared.pop((source, told.resolves), None):
            yield finding("xa_unprepared", at, f"XA {told.resolves}")

    def end(self) -> Iterator[Finding]:
        """Those that nothing decided."""
        for (_, xa), at in self._prepared.items():
            yield finding("xa_unresolved", at, f"XA {xa} was prepared")
