"""XA transactions that were prepared, and what decides them, maybe files later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from binlogkit.rows.transactions import Outcome
from binlogkit.rows.window import Window

#: An outcome, and the file and position of the transaction that brought it.
Decision: TypeAlias = tuple[Outcome, str, int]


class Prepared:
    """A view of windows.

    ``open``: what was prepared and not decided yet, by source of the logs and XA id; ``others``:
    decisions for what none of these logs prepared, by XA id; ``carried``: what another server's
    logs prepared, which these continue, by XA id.
    """

    def __init__(self) -> None:
        self.carried: dict[str, int] = {}
        self.open: dict[tuple[str | None, str], int] = {}
        self.others: dict[str, Decision] = {}

    def feed(self, window: Window) -> Iterator[tuple[int, int, Decision]]:
        """Take the next window; the numbers of the transactions that it decides, of those that do,
        and how.

        One whose GTID came before, in another source's log, is decided with that transaction.
        """
        for item in window.looked:
            effect, again = item.transaction, window.repeats(item.number)
            if effect is None:
                continue
            if effect.outcome == Outcome.PREPARED and effect.xa is not None:
                same = (n for (_, known), n in self.open.items() if known == effect.xa)
                number = next(same, item.number) if again else item.number
                self.open[window.source, effect.xa] = number
            elif effect.resolves is not None:
                decided = self.open.pop((window.source, effect.resolves), None)
                if decided is None:
                    decided = self.carried.pop(effect.resolves, None)
                if again:
                    continue
                records = window.transactions
                pos = int(records["pos"][records["number"] == item.number][0])
                decision = effect.outcome, window.carrier.name, pos
                if decided is None:
                    self.others.setdefault(effect.resolves, decision)
                else:
                    yield decided, item.number, decision
