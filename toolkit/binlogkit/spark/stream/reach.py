"""Logs that are being written, and how far a stream can read them.

A log is read once it exists (log/index), and again when it has grown. A stream reads to the end of
the last whole transaction, and from one log to the next of its series. Spark is not in here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import PurePath
from typing import NoReturn

import numpy as np

from binlogkit.errors import DamageError, EmptyInputError, InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log import open_log
from binlogkit.log.index import Index, Part, parts_of
from binlogkit.log.index.extent import extent_of
from binlogkit.log.index.part import SEGMENT
from binlogkit.log.index.replication import follows
from binlogkit.log.index.stamps import Stamp, stamp_or_none
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.series import split_name
from binlogkit.rows.transactions import Outcome
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.carrier import up_to
from binlogkit.sources.carriers.named import is_empty
from binlogkit.sources.carriers.storage import storage_options
from binlogkit.sources.carriers.urls import natural_key
from binlogkit.spark.options import READING, ScanOptions
from binlogkit.spark.stream.beginning import StreamBase
from binlogkit.spark.stream.offsets import (
    Offset,
    Reached,
    SnapshotPosition,
    base_of,
    is_behind,
    is_log,
    series_of,
)

_LEDGER = ("transactions",)


@dataclass(slots=True)
class Limit:
    """The limits of a batch: ``logs``, ``size`` in bytes; None for everything there is."""

    logs: int | None = None
    size: int | None = None

    @property
    def used(self) -> bool:
        """Whether the limit is reached."""
        return (self.logs is not None and self.logs <= 0) or (
            self.size is not None and self.size <= 0
        )

    def take(self, size: int) -> None:
        """Count a part of a log."""
        if self.logs is not None:
            self.logs -= 1
        if self.size is not None:
            self.size -= size


class Follower:
    """The logs that a scan names, as they are at each moment."""

    def __init__(self, asked: ScanOptions) -> None:
        self._asked = asked
        self._beginning = None if asked.base is None else StreamBase(asked.base)
        self._options: ReadOptions | None = None
        self._ended: dict[str, Part] = {}  # by the name of the first log
        self._exact: dict[str, tuple[str, int, Part]] = {}  # by series, up to an offset
        self._gone: dict[str, tuple[frozenset[str], dict[str, Part]]] = {}
        self._looked: dict[str, tuple[Stamp | None, Reached | None]] = {}  # by name
        self._checked: set[str] = set()  # series that may come to those that were begun

    @property
    def options(self) -> ReadOptions:
        """How the logs are read."""
        return self._options or ReadOptions(on_damage=self._asked.on_damage)

    def carriers(self) -> dict[str, list[Carrier]]:
        """The present logs, by series, in order.

        InputError, but not for an empty folder: logs may come.
        """
        asked = self._asked
        paths = list(asked.paths)
        try:
            if self._options is None:
                log = open_log(paths, **{name: getattr(asked, name) for name in READING})
                begun = self._beginning
                with log.knowing(None if begun is None else begun.catalog):
                    self._options, found = log.options, list(log.carriers)
            else:
                found = resolve(paths, asked.keys, storage_options(asked.storage_options))
        except EmptyInputError:
            return {}
        series: dict[str, list[Carrier]] = {}
        for carrier in found:
            if not is_empty(carrier):
                series.setdefault(series_of(carrier.name), []).append(carrier)
        for logs in series.values():
            logs.sort(key=lambda carrier: natural_key(PurePath(carrier.name)))
        return dict(sorted(series.items(), key=lambda pair: natural_key(PurePath(pair[0]))))

    # ---- how far ------------------------------------------------------------------------------

    def latest(self, start: Offset, limit: Limit | None = None) -> Offset:
        """How far all series can be read from ``start``, within a limit.

        Series take turns, the oldest one first; a base comes before everything else. InputError: a
        log is gone or replaced, cannot be read, or is missing between two; DamageError: damage at
        ``start`` that is not to be skipped. UsageError: another base than that of ``start``.
        """
        if self._beginning is not None and not self._beginning.begun(start):
            return self._based(self._beginning.place)
        limit, begun, reached = limit or Limit(), start.series, dict(start.series)
        found = self.carriers()
        for series, at in begun.items():
            self._check(series, at, found.get(series, []))
        joining = _Joining(self, start, found)
        if not joining.unread <= self._checked:
            joining.check()
            self._checked |= joining.unread
        oldest = sorted(found, key=lambda series: begun[series].begun if series in begun else 0)
        walks = deque((series, _Walk(self, begun.get(series), found[series])) for series in oldest)
        fresh: list[Part] = []
        stamps: dict[str, Stamp | None] = {}
        waiting: list[tuple[str, _Walk]] = []
        while walks and not limit.used:
            series, walk = walks.popleft()
            if joining.waits(series, [one for one, _ in waiting]):
                waiting.append((series, walk))
                continue
            try:
                step = walk.step(limit, stamps)
            except (DamageError, InputError):
                if reached.get(series) == begun.get(series):
                    raise
                continue  # deliver what comes before it first
            if step is not None:
                reached[series], part = step
                fresh.append(part)
                joining.take(series, part, reached[series])
                walks.extend(waiting)
                waiting.clear()
                if reached[series].pos is None:
                    self._ended[part.names[0]] = part
                walks.append((series, walk))
        self._keep(fresh, stamps)
        return replace(start, series=reached)

    def _based(self, place: SnapshotPosition) -> Offset:
        """A base's place among the logs: in the only series with its log, up to its position."""
        found = self.carriers()
        logs = [
            (series, log)
            for series, carriers in found.items()
            for log in carriers
            if place.file is not None and is_log(place.file, log.name)
        ]
        if len(logs) != 1 or place.pos is None:
            if place.gtids is None:
                text = "it has no position in them"
                if place.file is not None:
                    text = f"it is at {place.pos} in {place.file}, which is not one of them"
                raise InputError(str(self._asked.base), f"no base for these logs: {text}")
            firsts = {series: self.first(logs) for series, logs in found.items()}
            self.check_gtids("the base", GtidSet.parse(place.gtids), firsts, found)
            return Offset(base=place)
        series, log = logs[0]
        part = self._up_to(series, log, place.pos)
        if part.head is None or part.unreadable is not None or part.stop != place.pos:
            raise InputError(
                log.name,
                f"the base is at {place.pos} in it, and it ends before, or has no event there",
            )
        ends = part.ledger["transactions"]
        at = Reached(
            base_of(found[series][0].name), base_of(log.name), part.head.server_id,
            part.head.begun, ends.num_rows, place.pos,
        )  # fmt: skip
        return Offset({series: at}, place)

    def first(self, logs: Sequence[Carrier]) -> Part:
        """The part of the first log."""
        return next(self.parts(logs[:1]))

    def check_gtids(
        self, whose: str, held: GtidSet, firsts: Mapping[str, Part],
        found: Mapping[str, Sequence[Carrier]],
    ) -> None:  # fmt: skip
        """Check that series continue what a base or a stream has; ``firsts``: their first logs."""
        for name, part in firsts.items() if self._asked.on_damage == "stop" else ():
            missing = part.previous.subtract(held)
            others = (logs for other, logs in found.items() if missing and other != name)
            for one in chain.from_iterable(map(self.parts, others)):
                missing = missing.subtract(one.intact)
            if missing:
                raise InputError(
                    part.names[-1],
                    f"neither {whose} nor the logs have {missing}: changes between them are "
                    "missing (onDamage=report skips them)",
                )

    def _check(self, series: str, at: Reached, logs: Sequence[Carrier]) -> None:
        """Check that a stream can resume where it was."""
        if not logs or any(is_log(at.log, log.name) for log in logs):
            return
        later = [log for log in logs if is_behind(log.name, at.log)]
        if not later:
            raise InputError(
                f"{series.rpartition('/')[0]}/{at.log}",
                f"is gone, and {base_of(logs[-1].name)} is not after it: the stream has read it, "
                "and cannot resume in logs that begin anew (RESET MASTER); begin another one",
            )
        before = self.gone(series).get(at.log)
        if at.pos is not None and (
            before is None or before.next_name is None or before.transactions > at.transactions
        ):
            raise InputError(
                f"{series.rpartition('/')[0]}/{at.log}",
                f"is gone (purged), and it is not known whether the stream, which had read up to "
                f"offset {at.pos}, had read all of it",
            )
        self.follows(at.log, before, later[0])

    def follows(self, name: str, part: Part | None, log: Carrier) -> None:
        """Check that a log is the next one after another; else InputError."""
        if self._asked.on_damage == "stop" and not _follows(name, part, log.name):
            raise InputError(
                log.name,
                f"is not the log after {base_of(name)}, and those between are gone (purged?): "
                "onDamage=report skips them",
            )

    # ---- parts of logs ------------------------------------------------------------------------

    def parts(
        self, logs: Sequence[Carrier], stamps: dict[str, Stamp | None] | None = None
    ) -> Iterator[Part]:
        """The parts of consecutive logs, from the index if it has them."""
        logs = list(logs)
        while logs and (known := self._ended.get(logs[0].name)) is not None:
            yield known
            del logs[: len(known.names)]
        if self._asked.index is None:
            yield from self._read(logs)
            return
        if stamps is not None:
            stamps |= {log.name: stamp_or_none(log) for log in logs}
        for part in Index(self._asked.index).parts(logs, self.options, list(_LEDGER)):
            read, logs = logs[: len(part.names)], logs[len(part.names) :]
            if part.damages and part.read_at is not None:  # maybe mended, same stamp
                yield from self._read(read)
            else:
                yield part

    def _read(self, logs: Sequence[Carrier]) -> Iterator[Part]:
        segment = min(self._asked.split_bytes, SEGMENT)
        return parts_of(logs, self.options, segment=segment, counting=True)

    def before(self, series: str, at: Reached, logs: Sequence[Carrier]) -> list[Part]:
        """The parts of all logs of a series that a stream has read, up to its place.

        InputError: some are gone, and no index has them.
        """
        logs = [log for log in logs if not is_behind(log.name, at.log)]
        found = [
            _up_to_count(part, at.transactions) if is_log(name, at.log) else part
            for name, part in self.gone(series).items()
            if not is_behind(at.first, name) and not is_behind(name, at.log)
        ]
        last = logs.pop() if logs and at.pos is not None and is_log(at.log, logs[-1].name) else None
        for part in self.parts(logs):
            self._ended[part.names[0]] = part
            found.append(part)
        if last is not None and at.pos is not None:
            found.append(self._up_to(series, last, at.pos))
        found.sort(key=lambda part: natural_key(PurePath(base_of(part.names[0]))))
        if not any(is_log(at.first, name) for part in found for name in part.names):
            self._raise_gone(series, at.first)
        for part, following in pairwise(found) if self._asked.on_damage == "stop" else ():
            if not _follows(part.names[-1], part, following.names[0]):
                _, stem, number = split_name(base_of(part.names[-1]))
                self._raise_gone(series, f"{stem}.{(number or 0) + 1:06}")
        return found

    @staticmethod
    def _raise_gone(series: str, log: str) -> NoReturn:
        raise InputError(
            f"{series.rpartition('/')[0]}/{log}",
            "is gone, and the stream has read it: its tables and transactions are kept only where "
            "the option index names a folder",
        )

    def _keep(self, parts: Sequence[Part], stamps: Mapping[str, Stamp | None]) -> None:
        """Keep parts in the index; for a growing log its present state."""
        fresh = [p for p in parts if p.read_at is None and stamps.keys() >= set(p.names)]
        if self._asked.index is None or not fresh:
            return
        index = Index(self._asked.index)
        entries, _ = index.write(fresh, stamps)
        kept = (stamps.get(name) for part in fresh for name in part.names)
        index.commit(entries, {stamp.place for stamp in kept if stamp is not None})

    def gone(self, series: str) -> dict[str, Part]:
        """The parts of a series' deleted logs that the index has, by name."""
        if self._asked.index is None:
            return {}
        there = [log for logs in self.carriers().values() for log in logs]
        names = frozenset(log.name for log in there)
        if self._gone.get(series, (None,))[0] != names:
            found = {
                base_of(part.names[-1]): part
                for part in Index(self._asked.index).besides(there, list(_LEDGER))
                if part.head is not None and series_of(part.names[-1]) == series
            }
            self._gone[series] = names, found
        return self._gone[series][1]

    def _up_to(self, series: str, log: Carrier, pos: int) -> Part:
        """A log's part as it was when the log ended at an offset."""
        known = self._exact.get(series)
        if known is not None and known[:2] == (log.name, pos):
            return known[2]
        (part,) = self._read([up_to(log, pos)])
        self._exact[series] = log.name, pos, part
        return part

    # ---- unchanged logs -----------------------------------------------------------------------

    def note(self, part: Part, pos: int) -> None:
        """Note the part of a log that now ends at an offset."""
        if part.stop == pos and not part.damages:
            self._exact[series_of(part.names[-1])] = part.names[-1], pos, part

    def looked(self, log: Carrier, at: Reached | None, now: Stamp | None) -> None:
        """Note that the last log of a series had nothing to read from an offset on."""
        self._looked[log.name] = now, at

    def nothing_new(self, log: Carrier, at: Reached | None, now: Stamp | None) -> bool:
        """Whether that is still so."""
        return now is not None and self._looked.get(log.name) == (now, at)


class _Joining:
    """The series of which a stream has read nothing, beside others.

    ``unread``: their names. A server's logs may begin where another one's were purged, or where it
    was made from a dump.
    """

    def __init__(
        self, follower: Follower, start: Offset, found: Mapping[str, Sequence[Carrier]]
    ) -> None:
        self._follower, self._found = follower, found
        self.unread = found.keys() - start.series.keys()
        self._start, self._taken = start, list[Part]()
        self._brought, self._after = dict[str, GtidSet](), dict[str, GtidSet]()
        if len(found.keys() | start.series.keys()) < 2:
            self.unread = set()
        self._firsts = {name: follower.first(found[name]) for name in self.unread}

    @cached_property
    def _held(self) -> GtidLedger:
        """What has been read, from what was read before on; most series follow nothing."""
        held = GtidLedger(GtidSet.parse((self._start.base and self._start.base.gtids) or ""))
        begun = (
            self._follower.before(series, at, self._found.get(series, []))
            for series, at in self._start.series.items()
        )
        for part in chain(chain.from_iterable(begun), self._taken):
            _hold(held, part)
        return held

    def check(self) -> None:
        """Check that no transactions are missing before them, as before the logs of a server that
        took over, unless it has no transaction of the others. InputError."""
        for name, part in self._firsts.items() if self.unread else ():
            before, others = GtidLedger(self._held.to_set()), GtidLedger()
            for other in (one for one in self._firsts.values() if one is not part):
                before.add_set(other.previous)
                others.add_set(other.intact)
            others.add_set(before.to_set())
            if any(others.common(gtids) for gtids in (part.previous, part.intact)):
                self._follower.check_gtids("the stream", before.to_set(), {name: part}, self._found)

    def waits(self, name: str, waiting: Collection[str]) -> bool:
        """Whether a series follows transactions that are to be read in another one, which does not
        wait itself."""
        if name not in self.unread:
            return False
        if name not in self._after:
            self._after[name] = self._follows(name)
        missing = self._after[name]
        missing = missing and missing.subtract(self._held.to_set())
        others = (one for one in self._found if one != name and one not in waiting)
        return bool(missing) and any(missing.intersect(self._brings(one)) for one in others)

    def _follows(self, name: str) -> GtidSet:
        """What comes before a series; where its first log says nothing, as others have it."""
        part = self._firsts[name]
        if part.head is None or part.head.previous:
            return part.previous
        others = (
            logs for other, logs in self._found.items()
            if other != name and part.gtids.intersect(self._brings(other))
        )  # fmt: skip
        return follows(part, chain.from_iterable(map(self._follower.parts, others)))

    def take(self, name: str, part: Part, at: Reached) -> None:
        """Note what of a series has been read."""
        self.unread -= {name}
        if self.unread:
            own = part if at.pos is None else _up_to_count(part, at.transactions)
            self._taken.append(own)
            if "_held" in vars(self):
                _hold(self._held, own)

    def _brings(self, name: str) -> GtidSet:
        """What is to be read in a series, or was."""
        if name not in self._brought:
            logs = self._found[name]
            last, first = next(self._follower.parts(logs[-1:])), self._follower.first(logs)
            self._brought[name] = last.gtids.union(last.previous).subtract(first.previous)
        return self._brought[name]


def _hold(held: GtidLedger, part: Part) -> None:
    held.add_set(part.previous)
    held.add_set(part.gtids)


class _Walk:
    """A series, from a stream's place in it on."""

    def __init__(self, follower: Follower, at: Reached | None, logs: Sequence[Carrier]) -> None:
        self._follower, self._at = follower, at
        if at is not None:
            logs = [
                log
                for log in logs
                if is_behind(log.name, at.log) or (at.pos is not None and is_log(at.log, log.name))
            ]
        self._logs = deque(logs)
        self._before: Part | None = None
        self._parts: Iterator[Part] | None = None
        self._part: Part | None = None
        self._next: Part | None = None
        self._now: Stamp | None = None  # of the first log

    def step(self, limit: Limit, stamps: dict[str, Stamp | None]) -> tuple[Reached, Part] | None:
        """Read on in one log, or to the next.

        Returns how far that is, and the log's part; None: there is no more.
        """
        if not self._logs:
            return None
        log, at, follower = self._logs[0], self._at, self._follower
        if at is not None and not is_log(at.log, log.name):
            follower.follows(at.log, self._before, log)
        if self._parts is None:
            self._now = stamp_or_none(log)
            if len(self._logs) == 1 and follower.nothing_new(log, at, self._now):
                return None
            self._parts = follower.parts(list(self._logs), stamps)
        if self._part is None:
            self._part, self._next = self._next or next(self._parts), None
        part = self._part
        ended = len(part.names) < len(self._logs)
        lacking = None
        stops = follower.options.on_damage == "stop"
        if (
            ended and stops and part.next_name is None
        ):  # no ROTATE: a shutdown, a crash, or half a copy
            self._next = next(self._parts)
            lacking = _lacking(part, self._next)
        reached = _reached(part, at, ended and not lacking, follower.options, limit.size)
        if reached is None or reached == at:
            if lacking:
                raise InputError(
                    part.names[-1],
                    f"is not whole (still copied?): the log after it says that {lacking} came "
                    "before, which are not there",
                )
            if len(self._logs) == 1:
                follower.looked(log, at, self._now)
            return None
        own = at if at is not None and any(is_log(at.log, name) for name in part.names) else None
        limit.take(_size(part, own, reached))
        self._at = reached
        if reached.pos is not None:
            follower.note(part, reached.pos)
            self._logs.clear()
            return reached, part
        for _ in part.names:
            self._logs.popleft()
        self._part, self._before = None, part
        return reached, part


def _follows(name: str, part: Part | None, log: str) -> bool:
    """Whether a log may be the next one after another: its ``part`` names it, or their numbers
    do."""
    if part is not None and part.next_name is not None and is_log(base_of(part.next_name), log):
        return True
    number, following = split_name(name)[2], split_name(log)[2]
    return number is None or following is None or following == number + 1


def _lacking(part: Part, following: Part) -> GtidSet | None:
    """The GTIDs that the following log lists as earlier, and that a log lacks."""
    heads = part.head, following.head
    before, after = (None if head is None else head.previous for head in heads)
    if before is None or after is None:
        return None
    return after.subtract(before).subtract(part.gtids) or None


def _reached(
    part: Part, at: Reached | None, ended: bool, options: ReadOptions, size: int | None
) -> Reached | None:
    """How far a log can be read, whether or not it has ended; None if no part of it yet."""
    name, head = part.names[-1], part.head
    own = at if at is not None and any(is_log(at.log, one) for one in part.names) else None
    if own is not None and head is not None:
        _check_head(part, own)
    if part.unreadable is not None:
        raise part.unreadable
    if head is None:
        if not ended:
            return None
        first = base_of(name) if at is None else at.first
        return Reached(first, base_of(name), 0, 0, 0, None)
    table = part.ledger["transactions"]
    count = table.num_rows
    ends = np.asarray(table["end_pos"])
    cut = count > 0 and table["outcome"][-1].as_py() == Outcome.CUT
    packed = part.stop is None and not part.damages and not head.relay
    whole, pos = ended or (packed and not cut), part.stop
    if not whole:
        if len(part.names) > 1:  # relay logs that share a transaction
            return None
        if cut:
            count, pos = count - 1, table["pos"][-1].as_py()
        elif pos is None:
            pos = int(ends[-1]) if count else 0
    if part.damages and options.on_damage == "stop":
        error = min(part.damages, key=lambda one: one.offset)
        intact = int(np.searchsorted(ends, error.offset, "right"))
        if whole or intact < count:
            count, pos, whole = intact, int(ends[intact - 1]) if intact else 0, False
            if (0 if own is None else own.transactions) >= count:
                raise error
    if size is not None and len(part.names) == 1 and not packed:
        count, pos, whole = _within(part, own, (count, pos, whole), size)
    if not whole and not pos:
        return None
    first = base_of(part.names[0]) if at is None else at.first
    reached = Reached(
        first, base_of(name), head.server_id, head.begun, count, None if whole else pos
    )
    if own is not None and reached.pos is not None and (own.pos or 0) > reached.pos:
        return own  # the next transaction is not whole yet
    return reached


def _within(
    part: Part, own: Reached | None, found: tuple[int, int | None, bool], size: int
) -> tuple[int, int | None, bool]:
    """The same, limited to so many bytes, but at least one transaction."""
    count, pos, whole = found
    begin, first = (0, 0) if own is None else (own.pos or 0, own.transactions)
    end = part.stop if whole or pos is None else pos
    if end is None or end - begin <= size or count <= first + 1:
        return found
    ends = np.asarray(part.ledger["transactions"]["end_pos"])
    fits = max(int(np.searchsorted(ends, begin + size, "right")), first + 1)
    if fits >= count:
        return found
    return fits, int(ends[fits - 1]), False


def _up_to_count(part: Part, count: int) -> Part:
    """The part of a deleted log, up to one of its transactions."""
    transactions = part.ledger["transactions"].slice(0, count)
    gtids = GtidSet.of(filter(None, transactions["gtid"].to_pylist()))
    return replace(
        part,
        ledger={**part.ledger, "transactions": transactions},
        extent=extent_of(transactions),
        transactions=min(part.transactions, count),
        gtids=gtids,
        intact=gtids,
        prepared={xa: number for xa, number in part.prepared.items() if number < count},
    )


def _size(part: Part, own: Reached | None, reached: Reached) -> int:
    """The size of a step in bytes."""
    end = part.stop if reached.pos is None else reached.pos
    return (end or 0) - (0 if own is None else own.pos or 0)


def _check_head(part: Part, at: Reached) -> None:
    head, name = part.head, part.names[-1]
    if head is not None and (head.server_id, head.begun) != (at.server_id, at.begun):
        raise InputError(name, "is another log than the one of this name that the stream has read")
    if part.ledger["transactions"].num_rows < at.transactions:
        raise InputError(name, f"has become shorter: the stream has read it up to offset {at.pos}")
