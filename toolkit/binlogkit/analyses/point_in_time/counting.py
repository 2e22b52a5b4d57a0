"""Which transactions and boundaries count for a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from binlogkit.analyses._frames import Lazy, records
from binlogkit.analyses.point_in_time.boundary import Boundary, Name
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.until import Until, ended
from binlogkit.errors import UsageError

__all__ = ["Counting", "counting"]


@dataclass(frozen=True, slots=True)
class Counting:
    """The transactions that count.

    ``rows``: their numbers (``tx``) as a frame; ``committed``, ``rolled_back``: all that have ended
    by the point, and since the base was taken; ``before``: those that had ended then;
    ``transactional``: as the caller told.
    """

    rows: Lazy
    committed: frozenset[int]
    rolled_back: frozenset[int]
    before: frozenset[int]
    transactional: bool | None

    @property
    def numbers(self) -> frozenset[int]:
        """The transactions whose row changes count."""
        return self.committed | (self.rolled_back if self.transactional is False else frozenset())

    def known(self, boundary: Boundary) -> bool:
        """Whether a boundary lies before the point at all, before the base too."""
        return boundary.tx in self.before or self.happened(boundary)

    def happened(self, boundary: Boundary) -> bool:
        """Whether a boundary counts; a rolled back write stays in a non-transactional table."""
        if boundary.tx is None or boundary.tx in self.committed:
            return True
        written = boundary.action == "statement_write" and not self.transactional
        return written and boundary.tx in self.rolled_back


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
    before = frozenset[int]()
    if since is not None:
        rows = records(ended(transactions, since, **how, findings=Findings()))
        before = frozenset(row["tx"] for row in rows)
        found = found.filter(~nw.col("tx").is_in(sorted(before)))
    numbers: dict[str, set[int]] = {"committed": set(), "rolled_back": set()}
    for row in records(found):
        numbers[row["outcome"]].add(row["tx"])
    wanted = ["committed", "rolled_back"] if transactional is False else ["committed"]
    rows_of = found.filter(nw.col("outcome").is_in(wanted)).select("tx")
    committed, rolled_back = (frozenset(numbers[o]) for o in ("committed", "rolled_back"))
    return Counting(rows_of, committed, rolled_back, before, transactional)
