"""XA transactions that were prepared, and what decides them, maybe files later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from binlogkit.rows.gtid_ledger import gtid_of
from binlogkit.rows.transactions import Outcome
from binlogkit.rows.window import Window

#: An outcome, and the file and position of the transaction that brought it.
Decision: TypeAlias = tuple[Outcome, str, int]


class Prepared:
    """A view of windows.

    ``open``: what was prepared and not decided yet, by source of the logs and XA id; ``gtids``: its
    GTIDs, by number; ``others``: decisions for what none of these logs prepared, by XA id;
    ``carried``: what another server's logs prepared, which these continue, by XA id.
    """

    def __init__(self) -> None:
        self.carried: dict[str, int] = {}
        self.open: dict[tuple[str | None, str], int] = {}
        self.gtids: dict[int, str | None] = {}
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
                self.gtids[number] = _gtid(window, item.number)
            elif effect.resolves is not None:
                decided = self.open.pop((window.source, effect.resolves), None)
                if decided is None:
                    decided = self.carried.pop(effect.resolves, None)
                if decided is None and not again:
                    decided = self._elsewhere(window, effect.resolves)
                if decided is not None and decided not in self.open.values():
                    self.gtids.pop(decided, None)
                if again:
                    continue
                records = window.transactions
                pos = int(records["pos"][records["number"] == item.number][0])
                decision = effect.outcome, window.carrier.name, pos
                if decided is None:
                    self.others.setdefault(effect.resolves, decision)
                else:
                    yield decided, item.number, decision

    def _elsewhere(self, window: Window, xa: str) -> int | None:
        """What logs of another server prepared that this one replicated from."""
        others = [key for key in self.open if key[1] == xa and self.gtids.get(self.open[key])]
        if not others or window.series is None:
            return None
        before = window.series.gtids.to_set()
        found = (key for key in others if (self.gtids[self.open[key]] or "") in before)
        key = next(found, None)
        return None if key is None else self.open.pop(key)


def _gtid(window: Window, number: int) -> str | None:
    """The GTID of one of a window's transactions."""
    records = window.transactions
    place = number - int(records["number"][0])
    known, _ = window.facts.gtids_of(records).get(place, (None, None))
    return known or gtid_of(records[place])
