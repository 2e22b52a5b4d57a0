"""Which transactions count by a point, and the forms of such a point.

Transactions are numbered in log order (``tx``). A prepared XA transaction counts from its commit on
(docs/traps.md, "XA"); all others from their own end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.typing import IntoFrame

from binlogkit.analyses._frames import lazy
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrays import one_array

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class AtPosition:
    """After every transaction that ends by ``pos`` of ``file`` (named as in the frame); ``number``:
    that of the last one (``tx``), if the frame does not say: it has copies of transactions once."""

    file: str
    pos: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class UpToGtids:
    """After the last transaction, in log order, that is a member of ``gtids`` (a set's text)."""

    gtids: str


@dataclass(frozen=True, slots=True)
class AtTime:
    """After every transaction whose commit time is at or before it; microseconds since 1970 UTC."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class Contained:
    """Only as a base's point: the transactions by number (``tx``) that it holds, and those outside
    any before the place ``seq`` of the log."""

    numbers: TransactionNumbers
    seq: int = -1


Until = AtPosition | UpToGtids | AtTime | Contained

#: The columns of transactions that are needed to count them.
NEEDED = (
    "tx", "file", "pos", "end_file", "end_pos", "gtid", "outcome", "rows", "commit_timestamp",
    "end_timestamp", "resolved_file", "resolved_pos", "tables", "updates", "deletes",
)  # fmt: skip


def touching(transactions: pa.Table, tables: Sequence[str]) -> Flags:
    """Which transactions touch one of the tables, ``db.table``."""
    found = np.zeros(transactions.num_rows, bool)
    lists = one_array(transactions["tables"])
    wanted = pc.is_in(lists.flatten(), pa.array(tables, pa.string()))
    found[np.asarray(pc.list_parent_indices(lists))[np.asarray(wanted)]] = True
    return found


class _Ledger:
    """The transactions; which ones count by a point depends on the one that decides each.

    ``resolved``: XA transactions that another one committed or rolled back; ``same_second``:
    counted ones without a commit timestamp that may have committed after the time.
    """

    def __init__(self, transactions: IntoFrame) -> None:
        rows = lazy(transactions, NEEDED).select(*NEEDED).collect("pyarrow")
        self.rows: pa.Table = rows.to_native()
        self.tx = self.numbers("tx")
        self.same_second = np.zeros(len(self.tx), bool)

    def numbers(self, name: str) -> Integers:
        """A column of numbers, 0 for NULL."""
        return np.asarray(self.rows[name].fill_null(0), dtype=np.int64)

    def came_to(self, outcome: str) -> Flags:
        """Which transactions have this outcome."""
        return np.asarray(pc.fill_null(pc.equal(self.rows["outcome"], outcome), False))

    def touches(self, tables: Sequence[str]) -> Flags:
        """Which transactions touch one of the tables, ``db.table``."""
        return touching(self.rows, tables)

    @property
    def resolved(self) -> Flags:
        return np.asarray(self.rows["resolved_file"].is_valid())

    def note(self, which: Flags, kind: str, findings: StateFindings, *, determined: bool) -> None:
        """A finding for these transactions."""
        if which.any():
            found = np.flatnonzero(which)
            first = self.rows.slice(int(found[np.argmin(self.tx[found])]), 1)
            file, pos = (first[name][0].as_py() for name in ("file", "pos"))
            findings.add(kind, file, pos, determined=determined, times=len(found))

    def until(self, until: Until | None, findings: StateFindings) -> Flags:
        """Which transactions count by then."""
        decider = self._deciders()
        if until is None:
            return np.ones(len(self.tx), bool)
        if isinstance(until, Contained):
            return until.numbers.among(self.tx[decider])
        if isinstance(until, AtTime):
            return self._until_time(until.microseconds, decider, findings)
        if isinstance(until, AtPosition):
            return self.tx[decider] <= self._last_at(until)
        return self.tx[decider] <= self._last_member(until, findings)

    def _deciders(self) -> Integers:
        """The transaction from which on each one counts."""
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

    def _until_time(self, microseconds: int, decider: Integers, findings: StateFindings) -> Flags:
        own = self.rows["commit_timestamp"]
        coarse = np.flatnonzero(own.is_null())
        first = np.isin(np.arange(len(self.tx)), coarse[np.argsort(self.tx[coarse])[:1]])
        self.note(first, "coarse_time", findings, determined=True)
        ends = pc.multiply(self.rows["end_timestamp"], _MICROSECONDS)
        at = pc.coalesce(own, ends)
        second, within = divmod(microseconds, _MICROSECONDS)
        if within < _MICROSECONDS - 1:
            same = np.asarray(pc.equal(self.rows["end_timestamp"], second).fill_null(False))
            self.same_second = (same & np.asarray(own.is_null()))[decider]
        timed = np.asarray(at.is_valid())[decider]
        early = np.asarray(at.fill_null(0))[decider] <= microseconds
        counts = self.tx[decider]
        in_time, late = counts[timed & early], counts[timed & ~early]
        if len(in_time) and len(late) and in_time.max() > late.min():
            findings.add("clock_went_back", determined=True)
        return timed & early

    def _last_at(self, until: AtPosition) -> int:
        """The number of the last transaction that ends at or before the position; -1 for none."""
        if until.number is not None:
            return until.number
        here = np.asarray(pc.fill_null(pc.equal(self.rows["end_file"], until.file), False))
        if not here.any():
            raise UsageError(f"no transaction of this log ends in {until.file}")
        by_then = self.tx[here & (self.numbers("end_pos") <= until.pos)]
        return int(by_then.max()) if len(by_then) else int(self.tx[here].min()) - 1

    def _last_member(self, until: UpToGtids, findings: StateFindings) -> int:
        """The number of the last transaction in the set; missing members are a finding."""
        wanted = GtidSet.parse(until.gtids)
        gtids = self.rows["gtid"].to_pylist()
        seen = [i for i, gtid in enumerate(gtids) if gtid and gtid in wanted]
        if wanted.subtract(GtidSet.of(gtids[i] for i in seen)):
            findings.add("missing_gtids")
        return int(self.tx[seen].max()) if seen else -1


def _pairs(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


class Counting:
    """The transactions that have ended by ``until``, and since the base was taken; by number.

    ``committed``, ``rolled_back``: sorted; ``transactional``: whether the tables' engine is
    transactional, None if not known; ``findings``: of the point itself; ``outside``: the place
    (``seq``) from which changes outside any transaction count. UsageError for a point that the log
    does not know.
    """

    def __init__(
        self,
        transactions: IntoFrame,
        until: Until | None,
        *,
        since: Until | None = None,
        transactional: bool | None = None,
    ) -> None:
        self.transactional = transactional
        self._ledger = ledger = _Ledger(transactions)
        self.findings = StateFindings()
        by_then = ledger.until(until, self.findings)
        earlier = np.zeros(len(ledger.tx), bool)
        if since is not None:
            earlier = ledger.until(since, StateFindings())
        self._between = by_then & ~earlier
        committed, rolled_back = (ledger.came_to(o) for o in ("committed", "rolled_back"))
        self.committed = np.sort(ledger.tx[self._between & committed])
        self.rolled_back = np.sort(ledger.tx[self._between & rolled_back])
        self._before = np.sort(ledger.tx[earlier & (committed | rolled_back)])
        self.outside = since.seq if isinstance(since, Contained) else -1
        self._those: tuple[Sequence[Boundary], Sequence[Boundary]] = ((), ())
        self._end = until if isinstance(until, AtPosition) else None

    @property
    def ended(self) -> TransactionNumbers:
        """All of them."""
        return TransactionNumbers(np.concatenate([self.committed, self.rolled_back]))

    @cached_property
    def numbers(self) -> Integers:
        """The transactions whose row changes count."""
        if self.transactional is False:
            return np.union1d(self.committed, self.rolled_back)
        return self.committed

    def note(self, names: Sequence[TableId], findings: StateFindings) -> None:
        """Findings of what is doubtful about the transactions that touch these tables."""
        ledger, touched = self._ledger, self._touched(names)
        self.note_same_second(names, findings)
        for outcome in ("prepared", "cut", "open"):
            ledger.note(touched & ledger.came_to(outcome), outcome, findings, determined=True)
        # What XA ROLLBACK undoes was prepared: only by transactional engines.
        plain = touched & ledger.came_to("rolled_back") & ~ledger.resolved
        determined = self.transactional is not None
        ledger.note(plain, "rolled_back", findings, determined=determined)

    def note_same_second(self, names: Sequence[TableId], findings: StateFindings) -> None:
        """A finding when some of them may have committed after the time that was asked for."""
        which = self._touched(names) & self._ledger.same_second
        self._ledger.note(which, "same_second", findings, determined=False)

    def _touched(self, names: Sequence[TableId]) -> Flags:
        ledger, tables = self._ledger, [f"{db}.{table}" for db, table in names]
        return self._between & ledger.touches(tables) & (ledger.numbers("rows") > 0)

    def changes_rows(self, tables: Sequence[str]) -> bool:
        """Whether they update or delete rows of a table, ``db.table``."""
        return bool(self._changing(tables).any())

    def note_cascades(self, parents: Sequence[str], findings: StateFindings) -> None:
        """A finding when they update or delete rows of a parent (docs/traps.md)."""
        self._ledger.note(self._changing(parents), "cascades", findings, determined=False)

    def _changing(self, tables: Sequence[str]) -> Flags:
        ledger = self._ledger
        changed = ledger.numbers("updates") + ledger.numbers("deletes") > 0
        return changed & ledger.touches(tables) & np.isin(ledger.tx, self.numbers)

    def known(self, boundary: Boundary) -> bool:
        """Whether a boundary comes before the point at all, even before the base."""
        return _holds(self._before, boundary.tx) or self.happened(boundary)

    def those(self, boundaries: Sequence[Boundary]) -> Sequence[Boundary]:
        """The boundaries that count; for the same ones the same list, which many tables share.

        A rolled back DELETE may have left the rows of a table whose engine is not known.
        """
        if boundaries is not self._those[0]:
            found = [boundary for boundary in boundaries if self.happened(boundary)]
            if self.transactional is not False:
                found = [
                    replace(b, deletes_all=False)
                    if b.deletes_all and _holds(self.rolled_back, b.tx)
                    else b
                    for b in found
                ]
            self._those = boundaries, found
        return self._those[1]

    def happened(self, boundary: Boundary) -> bool:
        """Whether a boundary counts; a rolled back write stays in a non-transactional table."""
        if boundary.tx is None:
            end = self._end
            if end is not None and boundary.file == end.file and boundary.pos >= end.pos:
                return False
            return self.outside < 0 or boundary.seq >= self.outside
        if _holds(self.committed, boundary.tx):
            return True
        written = boundary.action == "statement_write" and not self.transactional
        return written and _holds(self.rolled_back, boundary.tx)


def _holds(numbers: Integers, number: int | None) -> bool:
    """Whether sorted numbers hold one; None is in none."""
    at = len(numbers) if number is None else int(np.searchsorted(numbers, number))
    return at < len(numbers) and int(numbers[at]) == number
