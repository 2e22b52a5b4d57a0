"""Dependences as chains: of changes in the log's order, some depend on all that come before them.

One chain stands for as many dependences as the square of its length, and what follows from one is
found for all chains at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers, runs

#: Why a change depends on another; ``same_row`` alone can be overwritten.
KINDS = ("same_row", "deleted", "unique", "child", "parent", "unknown")
SAME_ROW, DELETED, UNIQUE, CHILD, PARENT, UNKNOWN = range(len(KINDS))
#: A table without a key: a row that is no longer there cannot be told from others.
EQUAL = len(KINDS)
KIND_NAMES = (*KINDS, "same_row")


@dataclass(frozen=True, slots=True)
class Links:
    """Chains of one kind: places in chains, sorted by chain and order.

    ``chain``: its number; ``change``: the number of the change; ``before``: whether later ones of
    the chain depend on it; ``after``: whether it depends on earlier ones.
    """

    kind: int
    chain: Integers
    change: Integers
    before: Flags
    after: Flags

    @classmethod
    def of(
        cls, kind: int, chain: Integers, order: Integers, change: Integers, before: Flags,
        after: Flags,
    ) -> Links:  # fmt: skip
        """Places in any order; a chain of which nothing follows is left out."""
        size = int(chain.max(initial=-1)) + 1
        alive = (np.bincount(chain, before, size) > 0) & (np.bincount(chain, after, size) > 0)
        keep = alive[chain] if len(chain) else np.zeros(0, bool)
        chain, order, change = chain[keep], order[keep], change[keep]
        before, after = before[keep], after[keep]
        sort = np.lexsort((order, chain))
        return cls(kind, chain[sort], change[sort], before[sort], after[sort])

    def ahead(self, marked: Flags) -> Integers:
        """Of each place the next one behind it in its chain that is marked; -1 for none."""
        size = len(self.chain)
        at = np.where(marked, np.arange(size), size)
        following = np.append(np.minimum.accumulate(at[::-1])[::-1][1:], size) if size else at
        known = following < size
        found = np.full(size, -1)
        found[known] = following[known]
        other = known & (self.chain[np.where(known, following, 0)] != self.chain)
        found[other] = -1
        return found

    def behind(self, marked: Flags) -> Integers:
        """Of each place the last one before it in its chain that is marked; -1 for none."""
        size = len(self.chain)
        if not size:
            return np.zeros(0, np.int64)
        at = np.where(marked, np.arange(size), -1)
        found = np.concatenate([[-1], np.maximum.accumulate(at)[:-1]])
        first = np.maximum.accumulate(np.where(runs(self.chain), np.arange(size), 0))
        found[found < first] = -1
        return found


@dataclass(frozen=True, slots=True)
class Reached:
    """What depends on some units (changes, or transactions), or what units depend on.

    By unit: ``there``: whether it is reached; ``root``: the change from which it is, ``by``: its
    own change that is, and ``kind``: why; -1 where there is none.
    """

    there: Flags
    root: Integers
    by: Integers
    kind: Integers


def dependents(links: Iterable[Links], unit: Integers, chosen: Flags) -> Reached:
    """The units that depend on chosen ones, and on those that do; ``unit``: of each change."""
    reached = _start(chosen)
    links, more = list(links), True
    while more:
        more = False
        for one in links:
            own = unit[one.change]
            source = one.behind(one.before & reached.there[own])
            hit = np.flatnonzero(one.after & ~reached.there[own] & (source >= 0))
            more |= _mark(reached, one, own, hit, source[hit], chosen)
    return reached


def conflicting(links: Iterable[Links], unit: Integers, stays: Flags, chosen: Flags) -> Reached:
    """The chosen units on which units depend that stay, and on which such ones do, and so on.

    ``root``: the change that stays and depends on it.
    """
    reached = _start(stays)
    links, more = list(links), True
    while more:
        more = False
        for one in links:
            own = unit[one.change]
            source = one.ahead(one.after & reached.there[own])
            hit = np.flatnonzero(one.before & ~reached.there[own] & chosen[own] & (source >= 0))
            more |= _mark(reached, one, own, hit, source[hit], stays)
    return reached


def _start(there: Flags) -> Reached:
    none = np.full(len(there), -1)
    return Reached(there.copy(), none, none.copy(), none.copy())


def _mark(
    reached: Reached, links: Links, own: Integers, hit: Integers, source: Integers, begun: Flags
) -> bool:
    """Mark the units of places that were hit from others; whether there are any."""
    if not len(hit):
        return False
    units, first = np.unique(own[hit], return_index=True)
    origin = source[first]
    reached.there[units] = True
    inherits = ~begun[own[origin]]
    root = links.change[origin].copy()
    root[inherits] = reached.root[own[origin]][inherits]
    reached.root[units] = root
    reached.by[units] = links.change[hit[first]]
    reached.kind[units] = links.kind
    return True
