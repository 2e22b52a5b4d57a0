"""The moment that is shown: the end of a transaction."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.events.gtid_set import GtidSet


@dataclass(frozen=True, slots=True)
class Moment:
    """The end of a transaction: everything that is shown is as of then.

    ``file``, ``pos``: the place after it; ``gtids``: all transactions up to it; ``committed``: when
    it was committed, in microseconds by the server's clock, None before the first one; ``count``:
    how many transactions were applied.
    """

    file: str
    pos: int
    gtids: GtidSet
    committed: int | None = None
    count: int = 0
