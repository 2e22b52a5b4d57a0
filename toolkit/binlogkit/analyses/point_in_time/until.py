"""Up to where a state is asked for, and which transactions count until there.

Transactions are numbered in log order (``tx``). A prepared XA transaction counts from the one that
commits it (docs/traps.md, "XA"); all others from their own end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.typing import IntoFrame

from binlogkit.analyses._frames import lazy
from binlogkit.analyses.point_in_time.boundary import Boundary, Name
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class AtPosition:
    """After every transaction that ends by ``pos`` of ``file`` (named as in the frame)."""

    file: str
    pos: int


@dataclass(frozen=True, slots=True)
class UpToGtids:
    """After the last transaction, in log order, that is a member of ``gtids`` (a set's text)."""

    gtids: str


@dataclass(frozen=True, slots=True)
class AtTime:
    """After every transaction whose commit time is at or before it; microseconds since 1970 UTC."""

    microseconds: int


Until = AtPosition | UpToGtids | AtTime

_NEEDED = (
    "tx", "file", "pos", "end_file", "end_pos", "gtid", "outcome", "rows", "commit_timestamp",
    "end_timestamp", "resolved_file", "resolved_pos", "tables",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """The numbers (``tx``) of transactions that have ended by a point, rising, by their outcome."""

    committed: Integers
    rolled_back: Integers


def ended(
    transactions: IntoFrame,
    until: Until | None,
    *,
    tables: Sequence[str],
    transactional: bool | None,
    findings: Findings,
) -> Ended:
    """The transactions that have ended by then.

    ``tables``: those that matter, ``db.table``: what is doubtful about the transactions that touch
    them goes to ``findings``; ``transactional``: whether their engine is, None when nothing tells.
    """
    ledger = _Ledger(_read(transactions, _NEEDED))
    by_then = ledger.until(until, findings)
    touched = by_then & _touching(ledger.rows, tables) & (ledger.numbers("rows") > 0)
    for outcome in ("prepared", "cut", "open"):
        ledger.note(touched & ledger.came_to(outcome), outcome, findings, determined=True)
    # What XA ROLLBACK takes back was prepared: by engines with transactions only.
    plain = touched & ledger.came_to("rolled_back") & ~ledger.resolved
    ledger.note(plain, "rolled_back", findings, determined=transactional is not None)
    return Ended(
        *(np.sort(ledger.tx[by_then & ledger.came_to(o)]) for o in ("committed", "rolled_back"))
    )


def note_cascades(
    transactions: IntoFrame, counting: Integers, parents: Sequence[str], findings: Findings
) -> None:
    """A finding when transactions that count update or delete rows of a parent (docs/traps.md).

    ``counting``: their numbers.
    """
    if parents:
        needed = ("tx", "file", "pos", "tables", "updates", "deletes")
        ledger = _Ledger(_read(transactions, needed))
        changed = ledger.numbers("updates") + ledger.numbers("deletes") > 0
        touched = changed & _touching(ledger.rows, parents) & np.isin(ledger.tx, counting)
        ledger.note(touched, "cascades", findings, determined=False)


def _read(transactions: IntoFrame, needed: Sequence[str]) -> pa.Table:
    table: pa.Table = lazy(transactions, needed).select(*needed).collect("pyarrow").to_native()
    return table


def _touching(rows: pa.Table, tables: Sequence[str]) -> Flags:
    """Which transactions touch one of the tables."""
    found = np.zeros(rows.num_rows, bool)
    lists = pa.chunked_array(rows["tables"]).combine_chunks()
    wanted = pc.is_in(lists.flatten(), pa.array(tables, pa.string()))
    found[np.asarray(pc.list_parent_indices(lists))[np.asarray(wanted)]] = True
    return found


class _Ledger:
    """The transactions; which ones count by a point depends on the one that decides each.

    ``resolved``: XA transactions that another one committed or rolled back.
    """

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.tx = self.numbers("tx")

    def numbers(self, name: str) -> Integers:
        """A column of numbers, 0 for NULL."""
        return np.asarray(self.rows[name].fill_null(0), dtype=np.int64)

    def came_to(self, outcome: str) -> Flags:
        """Which transactions have this outcome."""
        return np.asarray(pc.fill_null(pc.equal(self.rows["outcome"], outcome), False))

    @property
    def resolved(self) -> Flags:
        return np.asarray(self.rows["resolved_file"].is_valid())

    def note(self, which: Flags, kind: str, findings: Findings, *, determined: bool) -> None:
        """A finding for these transactions."""
        if which.any():
            found = np.flatnonzero(which)
            first = self.rows.slice(int(found[np.argmin(self.tx[found])]), 1)
            file, pos = (first[name][0].as_py() for name in ("file", "pos"))
            findings.add(kind, file, pos, determined=determined, times=len(found))

    def until(self, until: Until | None, findings: Findings) -> Flags:
        """Which transactions count by then."""
        decider = self._deciders()
        if until is None:
            return np.ones(len(self.tx), bool)
        if isinstance(until, AtTime):
            return self._until_time(until.microseconds, decider, findings)
        if isinstance(until, AtPosition):
            return self.tx[decider] <= self._last_at(until)
        return self.tx[decider] <= self._last_member(until, findings)

    def _deciders(self) -> Integers:
        """The transaction that makes each one count."""
        deciders = np.arange(len(self.tx))
        resolved = np.flatnonzero(self.resolved)
        if len(resolved):
            wanted = self.rows.select(["resolved_file", "resolved_pos"]).take(resolved)
            near = np.flatnonzero(np.asarray(pc.is_in(self.rows["pos"], wanted["resolved_pos"])))
            there = self.rows.select(["file", "pos"]).take(near)
            by_place = dict(zip(_pairs(there), near.tolist(), strict=True))
            for at, place in zip(resolved.tolist(), _pairs(wanted), strict=True):
                deciders[at] = by_place.get(place, at)
        return deciders

    def _until_time(self, microseconds: int, decider: Integers, findings: Findings) -> Flags:
        own = self.rows["commit_timestamp"]
        coarse = np.flatnonzero(own.is_null())
        first = np.isin(np.arange(len(self.tx)), coarse[np.argsort(self.tx[coarse])[:1]])
        self.note(first, "coarse_time", findings, determined=True)
        ends = pc.multiply(self.rows["end_timestamp"], _MICROSECONDS)
        at = pc.coalesce(own, ends)
        timed = np.asarray(at.is_valid())[decider]
        early = np.asarray(at.fill_null(0))[decider] <= microseconds
        counts = self.tx[decider]
        in_time, late = counts[timed & early], counts[timed & ~early]
        if len(in_time) and len(late) and in_time.max() > late.min():
            findings.add("clock_went_back", determined=True)
        return timed & early

    def _last_at(self, until: AtPosition) -> int:
        """The number of the last transaction that ends at or before the position; -1 for none."""
        here = np.asarray(pc.fill_null(pc.equal(self.rows["end_file"], until.file), False))
        if not here.any():
            raise UsageError(f"no transaction of this log ends in {until.file}")
        by_then = self.tx[here & (self.numbers("end_pos") <= until.pos)]
        return int(by_then.max()) if len(by_then) else int(self.tx[here].min()) - 1

    def _last_member(self, until: UpToGtids, findings: Findings) -> int:
        """The number of the last transaction in the set; what the log lacks of it is a finding."""
        wanted = GtidSet.parse(until.gtids)
        gtids = self.rows["gtid"].to_pylist()
        seen = [i for i, gtid in enumerate(gtids) if gtid and gtid in wanted]
        if wanted.subtract(GtidSet.of(gtids[i] for i in seen)):
            findings.add("missing_gtids")
        return int(self.tx[seen].max()) if seen else -1


def _pairs(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


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
