"""What a batch of a stream reads: the splits between two offsets.

The same two offsets always give the same splits: of each log only what comes before the second one
is used. Spark is not in here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import pyarrow.compute as pc

from binlogkit.errors import InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index import Joined, Part
from binlogkit.log.index.replication import replicated_order
from binlogkit.rows.filter_args import RowFilterArgs
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.ranges import Bytes, Ranges
from binlogkit.spark.splits.decode import decode
from binlogkit.spark.splits.outcomes import Moved
from binlogkit.spark.splits.plan import Scan, Split, scan_of
from binlogkit.spark.stream.beginning import inserts
from binlogkit.spark.stream.columns import Columns
from binlogkit.spark.stream.offsets import Offset, Reached, SnapshotPosition, is_behind, is_log
from binlogkit.spark.stream.reach import Follower

if TYPE_CHECKING:
    import pyarrow as pa

#: What a task reads: the scan with its split, or the base.
Task: TypeAlias = tuple[Scan, Split | SnapshotPosition]


@dataclass(frozen=True, slots=True)
class _Range:
    """Of a log: the transactions from ``first`` to before ``end``, and their bytes."""

    first: int
    end: int
    begin: int
    stop: int | None


class _Between(Ranges):
    """The logs that a stream has read up to an offset.

    ``before``: how many transactions of each came in earlier batches; ``held``: the GTIDs of a
    base.
    """

    def __init__(
        self, parts: Sequence[Part], joined: Joined, names: Mapping[str, str],
        before: Sequence[int], held: GtidSet, *, commits: bool,
    ) -> None:  # fmt: skip
        super().__init__(parts, joined, names, commits=commits)
        self._before, self._held, self._commits = before, held, commits
        self._known: dict[int, GtidSet | None] = {}

    def _seen(self, i: int) -> GtidSet | None:
        """The GTIDs to skip, including those that came in earlier batches from later logs."""
        if i not in self._known:
            found = GtidLedger()
            for k in range(i + 1, len(self._parts)):
                if self._before[k]:
                    found.add_set(self._read(k).intersect(self._parts[i].alone.gtids))
            if (seen := super()._seen(i)) is not None:
                found.add_set(seen)
            if self._held:
                found.add_set(self._held_of(i))
            self._known[i] = found.to_set() or None
        return self._known[i]

    def _held_of(self, i: int) -> GtidSet:
        """The GTIDs of a log whose changes a base has; a prepared XA transaction's only if its
        commit is in it."""
        part = self._parts[i]
        held = self._held.intersect(part.intact)
        first, gtids = self._base(i), part.ledger["transactions"]["gtid"]
        open_then = [
            gtids[number - first].as_py()
            for number, (one, *_) in self._moved(i).items()
            if self._parts[one.part].ledger["transactions"]["gtid"][one.number].as_py()
            not in self._held
        ]
        return held.subtract(GtidSet.of(filter(None, open_then)))

    def _was_read(self, one: Moved) -> bool:
        return one.number < self._before[one.part]

    def _read(self, i: int) -> GtidSet:
        """The GTIDs of a log that came in earlier batches; those of XA transactions come with their
        commit, whichever server's log has it."""
        part, count = self._parts[i], self._before[i]
        table = part.ledger["transactions"].select(["gtid", "outcome", "resolved_file"])
        some, found = table.slice(0, count), part.intact
        if count < table.num_rows:
            found = GtidSet.of(filter(None, some["gtid"].to_pylist()))
        if not self._commits or part.extent.plain:
            return found
        open_ones = pc.equal(some["outcome"], str(Outcome.PREPARED))
        prepared = np.asarray(pc.or_(open_ones, pc.is_valid(some["resolved_file"])))
        base = self._base(i)
        gtids = some["gtid"]
        left = (
            gtids[n].as_py() for n in np.flatnonzero(prepared).tolist() if not self._came(base + n)
        )
        return found.subtract(GtidSet.of(filter(None, left)))

    def _came(self, number: int) -> bool:
        """Whether an XA transaction, or one that it is a copy of, came in an earlier batch."""
        alike = (number, self._joined.copies.get(number, number))
        commits = (self._moved(self._part_with(one)).get(one, ()) for one in alike)
        return any(map(self._was_read, chain.from_iterable(commits)))


def between(
    follower: Follower, asked: ScanOptions, start: Offset, end: Offset, columns: Columns
) -> list[Task]:
    """The tasks for everything between two offsets, in order.

    Errors: InputError (a log is gone, replaced, or shorter than it was), SchemaError (also of
    :meth:`Columns.check`).
    """
    if start.base is None and end.base is not None:
        return [(Scan(replace(asked, paths=(), index=None)), end.base)]
    found = follower.carriers()
    there = {log.name for logs in found.values() for log in logs}
    read = list[tuple[Part, _Range]]()
    for series, at in end.series.items():
        begun = False
        for part in follower.before(series, at, found.get(series, [])):
            own, begun = _range(part, start.series.get(series), at, begun=begun)
            read.append((part, own))
    of = {id(part): own for part, own in read}
    parts = replicated_order([part for part, _ in read])
    before = [of[id(part)].first for part in parts]
    # What is gone and was read to its last transaction had a ROTATE left.
    ranges = {
        i: own
        for i, part in enumerate(parts)
        if (own := of[id(part)]).begin != own.stop
        and (own.first < own.end or asked.kind == "events" or part.names[-1] in there)
    }
    sources, size = asked.wanted().sources, asked.split_bytes
    joined = Joined(
        parts, follower.options, sources=sources, size=size, cuts=asked.of_rows,
        happening=bool(asked.mask), forgets=bool(asked.mask),
    )  # fmt: skip
    names = {log.name: log.location or log.name for logs in found.values() for log in logs}
    held = GtidSet.parse(end.base.gtids or "") if end.base is not None else GtidSet()
    logs = _Between(
        parts, joined, names, before, held, commits=asked.kind == "changelog"
    )  # fmt: skip
    scan, versions = scan_of(replace(asked, index=None), follower.options, joined)

    def reads(part: int, pos: int) -> bool:
        own = ranges.get(part)
        return own is not None and own.begin <= pos and (own.stop is None or pos < own.stop)

    columns.check(asked, joined, versions, reads)
    if asked.kind == "changelog":
        wanted = {i: (own.first, own.end) for i, own in ranges.items()}
        for lost in logs.missing(wanted) if asked.on_damage == "stop" else ():
            raise InputError(
                parts[max(wanted)].names[-1],
                f"commits the XA transaction {lost}, and the log that prepared it is gone",
            )
        return [(scan, split) for split in logs.changelog(wanted)]
    offsets: dict[int, Bytes] = {i: (own.begin, own.stop) for i, own in ranges.items()}
    return list(_bounded(scan, logs.in_order(offsets)))


def read(task: Task, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of a task, with the columns of ``schema``; errors as in :func:`decode` and
    :func:`inserts`."""
    scan, split = task
    if isinstance(split, SnapshotPosition):
        return inserts(scan.asked, split, schema)
    return decode(scan, split, schema)


def _range(part: Part, start: Reached | None, end: Reached, *, begun: bool) -> tuple[_Range, bool]:
    """The part of a log between two places in its series; ``begun``: whether the first of them is
    in an earlier log."""
    count = part.ledger["transactions"].num_rows if part.head is not None else 0
    last = any(is_log(name, end.log) for name in part.names)
    stop, after = (end.pos, end.transactions) if last else (None, count)
    if start is None or begun:
        return _Range(0, after, 0, stop), True
    if not any(is_log(name, start.log) for name in part.names):
        if is_behind(part.names[-1], start.log):  # that one is gone
            return _Range(0, after, 0, stop), True
        return _Range(count, count, 0, 0), False
    if start.pos is None:
        return _Range(count, count, 0, 0), True
    return _Range(start.transactions, after, start.pos, stop), True


def _bounded(scan: Scan, splits: Iterator[tuple[Split, int]]) -> Iterator[Task]:
    """Splits that begin reading before their wanted part."""
    for split, begin in splits:
        own = split if begin <= split.start else replace(split, first=True)
        filters = dict(scan.asked.filters)
        if own.first:
            filters["start_position"] = begin
        asked = replace(scan.asked, filters=cast("RowFilterArgs", filters))
        yield replace(scan, asked=asked, files=split.files), own
