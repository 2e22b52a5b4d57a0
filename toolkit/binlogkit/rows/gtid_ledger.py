"""A set of GTIDs that grows, in memory that depends on its gaps, not on its size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from binlogkit.events.gtid_set import GtidSet, format_uuid

Array = np.ndarray[Any, Any]

_HAS_GTID, _FEW = 1, 8
_Ranges = list[tuple[int, int]]
_NOTHING = GtidSet()


class GtidLedger:
    """GTIDs seen so far; it is the set that it began with until something is added."""

    __slots__ = ("_known", "_own")

    def __init__(self, known: GtidSet | None = None) -> None:
        self._known = known or _NOTHING
        self._own: dict[str, _Ranges] | None = None  # sorted, in place of those of the set

    @property
    def _ranges(self) -> dict[str, _Ranges]:
        return self._known.intervals if self._own is None else self._own

    def _growing(self) -> dict[str, _Ranges]:
        """Ranges that may be changed."""
        if self._own is None:
            known = self._known.intervals
            self._own = {origin: [*ranges] for origin, ranges in known.items()}
            self._known = _NOTHING
        return self._own

    def has(self, origin: str, numbers: Array) -> Array:
        """Which GTIDs of an origin are in it."""
        ranges = self._ranges.get(origin, [])
        if ranges and len(numbers) > _FEW:
            return _within(ranges, numbers)
        places = [bisect_right(ranges, n, key=lambda r: r[0]) - 1 for n in numbers.tolist()]
        return np.array(
            [i >= 0 and n <= ranges[i][1] for i, n in zip(places, numbers.tolist(), strict=True)],
            bool,
        )

    def add(self, origin: str, numbers: Array) -> Array:
        """Add GTIDs of an origin (``uuid`` or ``uuid:tag``) in their order; which were known."""
        ranges = self._growing().setdefault(origin, [])
        known = np.zeros(len(numbers), bool)
        if int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1 and (np.diff(numbers) == 1).all():
            met = _add(ranges, int(numbers[0]), int(numbers[-1]))
        else:
            order = np.argsort(numbers, kind="stable")
            rising = numbers[order]
            again = np.append(False, rising[1:] == rising[:-1])
            known[order[again]] = True
            rising = rising[~again]
            breaks = np.flatnonzero(np.diff(rising) != 1)
            firsts = rising[np.append(0, breaks + 1)].tolist()
            lasts = rising[np.append(breaks, -1)].tolist()
            met = [part for a, b in zip(firsts, lasts, strict=True) for part in _add(ranges, a, b)]
        return known | _within(met, numbers) if met else known

    def add_set(self, other: GtidSet) -> None:
        """Add the GTIDs of a set."""
        if not self._ranges:
            self._known, self._own = other, None
            return
        for origin, ranges in other.intervals.items():
            for first, last in ranges:
                _add(self._growing().setdefault(origin, []), first, last)

    def __bool__(self) -> bool:
        return any(self._ranges.values())

    def common(self, gtids: GtidSet) -> GtidSet:
        """Those of a set that are here, too."""
        origins = gtids.intervals.keys() & self._ranges.keys()
        return gtids.intersect(GtidSet.merged({origin: self._ranges[origin] for origin in origins}))

    def to_set(self) -> GtidSet:
        """The GTIDs as a set."""
        if self._own is None:
            return self._known
        return GtidSet.merged({origin: [*ranges] for origin, ranges in self._ranges.items()})


def executed_before(previous: GtidSet | None, own: GtidSet, *, damaged: bool) -> GtidSet:
    """The GTIDs that a log follows: its PREVIOUS_GTIDS, None if it has none, and those with lower
    numbers than it and its own transactions have, if none of these may be ``damaged``.

    PREVIOUS_GTIDS lacks what its server has in mysql.gtid_executed alone, as a replica that was
    made from a dump (RESET MASTER, SET gtid_purged) has all of that (5.7.22, 8.0.31).
    """
    if previous is None or damaged:
        return previous or _NOTHING
    return previous.union(previous.union(own).lower())


def gtid_of(record: Any) -> str | None:
    """The GTID of one of the kernel's records, None where it has none."""
    if not record["has"] & _HAS_GTID:
        return None
    return f"{format_uuid(record['sid'].tobytes())}:{int(record['gno'])}"


def by_origin(
    records: Array, given: Array, gtids: Mapping[int, str]
) -> Iterator[tuple[str, Array, Array]]:
    """Each origin, where its GTIDs stand among the kernel's ``records``, and their numbers.

    ``given``: which records are asked for; ``gtids``: the GTIDs that Python read, by place.
    """
    given = given & (records["has"] & _HAS_GTID > 0)
    groups: dict[str, list[tuple[int, int]]] = {}
    if gtids:
        given[list(gtids)] = False
        for k, gtid in gtids.items():
            origin, _, number = gtid.rpartition(":")
            groups.setdefault(origin, []).append((k, int(number)))
    places = np.flatnonzero(given)
    if len(places):
        sids, numbers = records["sid"], records["gno"]
        if len(places) < len(sids):
            sids, numbers = sids[places], numbers[places]
        sids = np.ascontiguousarray(sids)
        alike = not (sids != sids[0]).any()
        if alike and not groups:
            yield format_uuid(sids[0].tobytes()), places, numbers
            return
        firsts, of = np.zeros(1, np.int64), np.zeros(len(places), np.int64)
        if not alike:
            _, firsts, of = np.unique(sids.view("S16"), return_index=True, return_inverse=True)
        for n, first in enumerate(firsts.tolist()):
            own = of == n
            origin = format_uuid(sids[first].tobytes())
            more = np.array(groups.pop(origin, []), np.int64).reshape(-1, 2)
            there = np.append(places[own], more[:, 0])
            order = np.argsort(there, kind="stable")
            yield origin, there[order], np.append(numbers[own], more[:, 1])[order]
    for origin, pairs in groups.items():
        there, numbers = np.array(pairs, np.int64).T
        yield origin, there, numbers


def _within(ranges: _Ranges, numbers: Array) -> Array:
    """Which numbers lie in one of sorted ranges."""
    starts, ends = np.array(ranges, np.int64).T
    at = np.searchsorted(starts, numbers, side="right") - 1
    found: Array = (at >= 0) & (numbers <= ends[at])
    return found


def _add(ranges: _Ranges, first: int, last: int) -> _Ranges:
    """Add a range to sorted ones; what of it was there."""
    begin = bisect_left(ranges, first - 1, key=lambda r: r[1])
    end = bisect_right(ranges, last + 1, key=lambda r: r[0])
    near = ranges[begin:end]
    ranges[begin:end] = (
        [(min(first, *(a for a, _ in near)), max(last, *(b for _, b in near)))]
        if near
        else [(first, last)]
    )
    return [(max(a, first), min(b, last)) for a, b in near if a <= last and b >= first]
