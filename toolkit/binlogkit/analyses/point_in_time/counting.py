"""Which transactions and boundaries count for a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from binlogkit.analyses.point_in_time.boundary import Boundary, Name
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.until import Until, ended
from binlogkit.errors import UsageError

__all__ = ["Counting", "counting"]


@dataclass(frozen=True, slots=True)
class Counting:
    """The numbers (``tx``) of transactions, rising.

    ``committed``, ``rolled_back``: all that have ended by the point, and since the base was taken;
    ``before``: those that had ended then; ``transactional``: as the caller told.
    """

    committed: Integers
    rolled_back: Integers
    before: Integers
    transactional: bool | None

    @property
    def numbers(self) -> Integers:
        """The transactions whose row changes count."""
        if self.transactional is False:
            return np.union1d(self.committed, self.rolled_back)
        return self.committed

    def known(self, boundary: Boundary) -> bool:
        """Whether a boundary lies before the point at all, before the base too."""
        return _in(boundary.tx, self.before) or self.happened(boundary)

    def happened(self, boundary: Boundary) -> bool:
        """Whether a boundary counts; a rolled back write stays in a non-transactional table."""
        if boundary.tx is None or _in(boundary.tx, self.committed):
            return True
        written = boundary.action == "statement_write" and not self.transactional
        return written and _in(boundary.tx, self.rolled_back)


def counting(
    transactions: Any,
    since: Until | None,
    until: Until | None,
    names: Sequence[Name],
    transactional: bool | None,
    findings: Findings,
) -> Counting | None:
    """The transactions after ``since`` up to ``until``; None without the ledger."""
    if transactions is None:
        if until is not None or since is not None:
            raise UsageError("a point in time needs the transactions")
        findings.add("no_transactions", determined=True)
        return None
    tables = [f"{db}.{table}" for db, table in names]
    how: dict[str, Any] = {"tables": tables, "transactional": transactional}
    found = ended(transactions, until, **how, findings=findings)
    before = np.empty(0, np.int64)
    if since is not None:
        earlier = ended(transactions, since, **how, findings=Findings())
        before = np.union1d(earlier.committed, earlier.rolled_back)
    committed, rolled_back = (
        np.setdiff1d(numbers, before) for numbers in (found.committed, found.rolled_back)
    )
    return Counting(committed, rolled_back, before, transactional)


def _in(number: int | None, numbers: Integers) -> bool:
    at = len(numbers) if number is None else int(np.searchsorted(numbers, number))
    return at < len(numbers) and int(numbers[at]) == number
