"""Ranges of transactions of each log, and the splits that read them, for landings and streams.

A range is defined by numbers of transactions in its log, which stay the same while a log grows.
Spark is not in here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeAlias

import numpy as np

from binlogkit.errors import InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index import Joined, Part
from binlogkit.log.index.joined import Position
from binlogkit.rows.prepared import Decision
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.splits.commits import Deciding
from binlogkit.spark.splits.outcomes import Moved, PartOutcomes
from binlogkit.spark.splits.plan import Split

#: Offsets in a log: the first, and the one after the last, None for the log's end.
Bytes: TypeAlias = tuple[int, "int | None"]


class Ranges:
    """Joined logs; ``names``: the locations of existing logs; ``commits``: whether what a range
    commits is wanted, wherever it was prepared.

    Ranges are by part number: the first transaction, and the one after the last.
    """

    def __init__(
        self, parts: Sequence[Part], joined: Joined, names: Mapping[str, str], *,
        commits: bool = True,
    ) -> None:  # fmt: skip
        self._parts, self._joined, self._names = parts, joined, names
        self._positions: dict[int, list[Position]] = {}
        for position in joined.positions:
            self._positions.setdefault(position.part, []).append(position)
        self._order = sorted(self._positions)
        self._instead = dict[int, int]()
        for copy, first in joined.copies.items() if commits else ():
            if not self._is_there(self._part_with(first)) and self._is_there(self._part_with(copy)):
                self._instead.setdefault(first, copy)
        self._take(self._instead)

    def _take(self, instead: dict[int, int]) -> None:
        """Take these copies of XA transactions for those of which they are."""
        self._instead = instead
        self._outcomes = PartOutcomes(self._parts, self._joined, instead)
        self._moved_of = dict[int, dict[int, tuple[Moved, ...]]]()

    def _moved(self, i: int) -> dict[int, tuple[Moved, ...]]:
        """The XA transactions of a part that were committed, and by what."""
        if i not in self._moved_of:
            numbers = range(self._base(i), self._end(i))
            self._moved_of[i] = self._outcomes.moved(i, numbers.start, numbers)
        return self._moved_of[i]

    def changelog(
        self, ranges: Mapping[int, tuple[int, int]], only: Container[int] | None = None
    ) -> Iterator[Split]:
        """The splits with the changes that ranges commit, wherever those were prepared; ``only``:
        in these parts."""
        for i, part in enumerate(self._parts):
            if only is not None and i not in only:
                continue
            if self._is_there(i) and part.head is not None:
                yield from self._changes_of(i, ranges)

    def in_order(self, ranges: Mapping[int, Bytes]) -> Iterator[tuple[Split, int]]:
        """The splits of ranges as they are in their logs, by offsets, each with the offset from
        which on it counts.

        InputError: a log is gone.
        """
        for i, (begin, stop) in sorted(ranges.items()):
            part = self._parts[i]
            if not self._is_there(i):
                raise InputError(part.names[-1], "is gone before all of it has been read")
            seen = self._seen(i)
            for position, following in self._segments(i, seen):
                ends = part.stop if following is None else following.segment.pos
                if stop is not None and (ends is None or stop < ends):
                    ends = stop
                if ends is None or ends > max(begin, position.segment.pos):
                    split = self._split(i, position, seen, ends)
                    yield replace(split, decisions=self._decisions(i)), begin

    def _decisions(self, i: int) -> dict[int, Decision]:
        """The outcomes of the XA transactions that a part prepared, wherever they were decided."""
        part, base = self._parts[i], self._base(i)
        numbers = range(base, base + part.transactions)
        found = {n: how for n, how in self._joined.decisions.items() if n in numbers}
        table = part.ledger["transactions"]
        for at in np.flatnonzero(np.asarray(table["resolved_file"].is_valid())).tolist():
            row = table.slice(at, 1).to_pylist()[0]
            place = row["resolved_file"], row["resolved_pos"]
            found.setdefault(base + at, (Outcome(row["outcome"]), *place))
        return found

    def missing(self, ranges: Mapping[int, tuple[int, int]]) -> Iterator[str]:
        """XA transactions that ranges commit and whose logs are gone, by GTID or id."""
        for i, number in self._apart(ranges):
            table = self._parts[i].ledger["transactions"].slice(number, 1)
            row = table.select(["gtid", "xa"]).to_pylist()[0]
            yield row["gtid"] or row["xa"]

    def _apart(self, ranges: Mapping[int, tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The same, by the part that prepared each, and its number in there."""
        for i in range(len(self._parts)):
            for number, commits in () if self._is_there(i) else self._moved(i).items():
                if self._committed(commits, ranges) is not None:
                    yield i, number - self._base(i)

    def _committed(
        self, commits: Sequence[Moved], ranges: Mapping[int, tuple[int, int]]
    ) -> Moved | None:
        """The first in the ranges of an XA transaction's commits, of which logs of other servers
        have copies; None if one of them was read before."""
        within = (
            one for one in commits
            if one.part in ranges and one.number in range(*ranges[one.part])
        )  # fmt: skip
        found = next(within, None)
        return None if found is None or any(map(self._was_read, commits)) else found

    def _was_read(self, _: Moved) -> bool:
        """Whether a commit was read in an earlier range."""
        return False

    def _came_first(self, _: Sequence[Moved]) -> Moved | None:
        """The commit, read in an earlier range, that counts once what it commits is read."""
        return None

    def _is_there(self, i: int) -> bool:
        return self._names.keys() >= set(self._parts[i].names)

    def _base(self, i: int) -> int:
        """The number of a part's first transaction."""
        return self._positions[i][0].base

    def _seen(self, i: int) -> GtidSet | None:
        """The GTIDs of a log's transactions that earlier logs had, and that count there."""
        seen, instead = self._positions[i][0].seen, self._instead.values()
        return seen and (seen.subtract(self._gtids_of(i, instead)) or None)

    def _copies(self, i: int) -> GtidSet:
        """The GTIDs of a log's XA transactions that count where an earlier log prepared them."""
        return self._gtids_of(i, self._joined.copies.keys() - self._instead.values())

    def _gtids_of(self, i: int, numbers: Iterable[int]) -> GtidSet:
        """The GTIDs of those of a part among some transactions."""
        own = range(self._base(i), self._end(i))
        places = [number - own.start for number in numbers if number in own]
        if not places:
            return GtidSet()
        gtids = self._parts[i].ledger["transactions"]["gtid"]
        return GtidSet.of(filter(None, (gtids[place].as_py() for place in places)))

    def _end(self, i: int) -> int:
        """The number of the transaction after a part's last."""
        return self._base(i) + self._parts[i].transactions

    def _part_with(self, number: int) -> int:
        """The part of a transaction."""
        return self._order[bisect_right(self._order, number, key=self._base) - 1]

    def _skipped(
        self, i: int, _: Mapping[int, tuple[int, int]], __: Mapping[int, Moved]
    ) -> GtidSet | None:
        """The GTIDs of a log's transactions that do not count in ranges, which commit some."""
        return self._seen(i)

    def _segments(self, i: int, seen: GtidSet | None) -> Iterator[tuple[Position, Position | None]]:
        """Where reading of a part can begin, and where the next segment begins."""
        positions = self._positions[i] if seen is None else self._positions[i][:1]
        yield from zip_longest(positions, positions[1:])

    def _split(
        self, i: int, position: Position, seen: GtidSet | None, stop: int | None,
        deciding: Deciding | None = None,
    ) -> Split:  # fmt: skip
        part = self._parts[i]
        position = replace(position, seen=seen)
        locations = tuple(self._names[name] for name in part.names)
        return Split(part.names, position, False, False, stop, locations, deciding=deciding)

    def _changes_of(self, i: int, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Split]:
        part, base = self._parts[i], self._base(i)
        if i not in ranges and part.extent.plain:
            return
        end = base + part.transactions
        own = range(*(base + n for n in ranges.get(i, (0, 0))))
        decided = self._moved(i)
        committed = {n: self._committed(commits, ranges) for n, commits in decided.items()}
        now = {n: one for n, one in committed.items() if one is not None}
        for number in (n for n in decided if n in own and n not in now):
            if (one := self._came_first(decided[number])) is not None:
                now[number] = one
        if not len(own) and not now:
            return
        seen = self._skipped(i, ranges, now)
        for position, following in self._segments(i, seen):
            numbers = range(
                position.transactions, end if following is None else following.transactions
            )
            deciding = self._deciding(i, base, numbers, own, decided.keys(), now)
            if deciding is not None:
                ends = self._stop(i, ranges) if following is None else following.segment.pos
                yield self._split(i, position, seen, ends, deciding)

    def _stop(self, i: int, ranges: Mapping[int, tuple[int, int]]) -> int | None:
        """Where a log's last split ends: after its range, in case of damage there."""
        part = self._parts[i]
        if len(part.names) > 1 or i not in ranges or not ranges[i][1]:
            return part.stop
        end, last = part.extent.end, ranges[i][1]
        if last != part.extent.ended:
            end = int(part.ledger["transactions"]["end_pos"][last - 1].as_py())
        return end if part.damages or part.stop is None else min(end, part.stop)

    def _deciding(
        self, i: int, base: int, numbers: range, wanted: range, decided: Collection[int],
        now: Mapping[int, Moved],
    ) -> Deciding | None:  # fmt: skip
        """The outcomes that a split needs, of transactions ``numbers``; None if nothing of it is
        wanted."""
        head = self._parts[i].head
        own = range(max(wanted.start, numbers.start), min(wanted.stop, numbers.stop))
        commits = {number: one.commit for number, one in now.items() if number in numbers}
        if not commits and not len(own):
            return None
        left = self._outcomes.left(i, base, own).union(n for n in decided if n in numbers)
        bounds = (own.start, own.stop) if len(own) else (0, 0)
        begun, server = (head.begun, head.server_id) if head else (0, 0)
        return Deciding(begun, server, left - commits.keys(), commits, *bounds)
