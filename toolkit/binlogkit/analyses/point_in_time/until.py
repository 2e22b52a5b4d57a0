"""Up to where a state is asked for, and which transactions count until there.

Transactions are numbered in log order (``tx``). A prepared XA transaction counts from the one that
commits it (TRAPS.md 14); all others from their own end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from binlogkit.analyses._frames import Lazy, lazy, records
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

__all__ = ["AtPosition", "AtTime", "Until", "UpToGtids", "ended", "note_cascades"]

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


def ended(
    transactions: IntoFrame,
    until: Until | None,
    *,
    tables: Sequence[str],
    transactional: bool | None,
    findings: Findings,
) -> Lazy:
    """The transactions that have ended by then: ``tx`` and ``outcome``, committed or rolled_back.

    ``tables``: those that matter, ``db.table``: what is doubtful about the transactions that touch
    them goes to ``findings``; ``transactional``: whether their engine is, None when nothing tells.
    """
    touching = nw.any_horizontal(
        *(nw.col("tables").list.contains(name) for name in tables), ignore_nulls=True
    )
    needed = lazy(transactions, _NEEDED).select(*_NEEDED).with_columns(_touching=touching)
    # Arrow joins no frame with a column of lists.
    rows = _resolved(needed.drop("tables"))
    if until is not None:
        rows = rows.filter(_until(rows, until, findings))
    touched = rows.filter(nw.col("_touching"))
    for outcome in ("prepared", "cut", "open"):
        _note(touched, outcome, findings, determined=True)
    # What XA ROLLBACK takes back was prepared: by engines with transactions only.
    plain = touched.filter(nw.col("resolved_file").is_null())
    _note(plain, "rolled_back", findings, determined=transactional is not None)
    return rows.filter(nw.col("outcome").is_in(["committed", "rolled_back"])).select(
        "tx", "outcome"
    )


def note_cascades(
    transactions: IntoFrame, counting: Lazy, parents: Sequence[str], findings: Findings
) -> None:
    """A finding when transactions that count update or delete rows of a parent (TRAPS.md 12)."""
    if not parents:
        return
    touching = nw.any_horizontal(
        *(nw.col("tables").list.contains(name) for name in parents), ignore_nulls=True
    )
    needed = ("tx", "file", "pos", "tables", "updates", "deletes")
    rows = lazy(transactions, needed).select(*needed).with_columns(_touching=touching)
    changed = nw.col("_touching") & (nw.col("updates") + nw.col("deletes") > 0)
    rows = rows.filter(changed).drop("tables").join(counting, on="tx", how="semi")
    first = _first(rows)
    if first is not None:
        number = records(rows.select(nw.len().alias("n")))[0]["n"]
        findings.add("cascades", first["file"], first["pos"], times=number)


def _resolved(rows: Lazy) -> Lazy:
    """With ``counts_tx`` and ``counts_at`` (µs): which transaction makes it count, and when."""
    own = nw.col("commit_timestamp")
    timed = rows.with_columns(
        _at=nw.when(~own.is_null()).then(own).otherwise(nw.col("end_timestamp") * _MICROSECONDS)
    )
    deciders = timed.select(
        nw.col("file").alias("resolved_file"),
        nw.col("pos").alias("resolved_pos"),
        nw.col("tx").alias("_decider"),
        nw.col("_at").alias("_decided_at"),
    )
    joined = timed.join(deciders, on=["resolved_file", "resolved_pos"], how="left")
    decided = ~nw.col("_decider").is_null()
    return joined.with_columns(
        counts_tx=nw.when(decided).then(nw.col("_decider")).otherwise(nw.col("tx")),
        counts_at=nw.when(decided).then(nw.col("_decided_at")).otherwise(nw.col("_at")),
    )


def _until(rows: Lazy, until: Until, findings: Findings) -> nw.Expr:
    if isinstance(until, AtTime):
        return _until_time(rows, until.microseconds, findings)
    if isinstance(until, AtPosition):
        return nw.col("counts_tx") <= _last_at(rows, until)
    return nw.col("counts_tx") <= _last_member(rows, until, findings)


def _until_time(rows: Lazy, microseconds: int, findings: Findings) -> nw.Expr:
    coarse = rows.filter(nw.col("commit_timestamp").is_null())
    first = _first(coarse)
    if first is not None:
        findings.add("coarse_time", first["file"], first["pos"], determined=True)
    until = nw.col("counts_at") <= microseconds
    edges = records(
        rows.with_columns(_in=until)
        .group_by("_in")
        .agg(nw.col("counts_tx").min().alias("low"), nw.col("counts_tx").max().alias("high"))
    )
    ends = {edge["_in"]: edge for edge in edges}
    if True in ends and False in ends and ends[True]["high"] > ends[False]["low"]:
        findings.add("clock_went_back", determined=True)
    return until


def _last_at(rows: Lazy, until: AtPosition) -> int:
    """The number of the last transaction that ends at or before the position; -1 for none."""
    files = records(
        rows.group_by("end_file").agg(
            nw.col("tx").min().alias("low"), nw.col("tx").max().alias("high")
        )
    )
    known = {row["end_file"]: row for row in files}
    if until.file not in known:
        raise UsageError(f"no transaction of this log ends in {until.file}")
    here = rows.filter((nw.col("end_file") == until.file) & (nw.col("end_pos") <= until.pos))
    last = records(here.select(nw.col("tx").max().alias("last")))[0]["last"]
    return int(known[until.file]["low"]) - 1 if last is None else int(last)


def _last_member(rows: Lazy, until: UpToGtids, findings: Findings) -> int:
    """The number of the last transaction in the set; what the log lacks of it is a finding."""
    wanted = GtidSet.parse(until.gtids)
    seen = [
        row for row in records(rows.select("tx", "gtid")) if row["gtid"] and row["gtid"] in wanted
    ]
    missing = wanted.subtract(GtidSet.of(row["gtid"] for row in seen))
    if missing:
        findings.add("missing_gtids")
    return max((int(row["tx"]) for row in seen), default=-1)


def _note(rows: Lazy, outcome: str, findings: Findings, *, determined: bool) -> None:
    """A finding for transactions with row changes that ended like this."""
    found = rows.filter((nw.col("outcome") == outcome) & (nw.col("rows") > 0))
    first = _first(found)
    if first is not None:
        number = records(found.select(nw.len().alias("n")))[0]["n"]
        findings.add(outcome, first["file"], first["pos"], determined=determined, times=number)


def _first(rows: Lazy) -> dict[str, Any] | None:
    found = records(rows.sort("tx").head(1).select("file", "pos"))
    return found[0] if found else None
