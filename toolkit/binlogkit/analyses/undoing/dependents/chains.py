"""Dependences as chains: changes in log order, some of which depend on all before them.

One chain stands for as many dependences as the square of its length; consequences are computed for
all chains at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers, runs

#: Why a change depends on another.
#: Kinds of dependence, and each in words.
KINDS = {
    "same_row": "same row",
    "deleted": "row deleted",
    "unique": "unique key",
    "child": "child row",
    "parent": "parent row",
    "unknown": "not certain",
}
SAME_ROW, DELETED, UNIQUE, CHILD, PARENT, UNKNOWN = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class Links:
    """Chains of one kind: places in chains, sorted by chain and order.

    ``chain``: its number; ``change``: the number of the change; ``before``: whether later ones of
    the chain depend on it; ``after``: whether it depends on earlier ones. ``columns``: what of an
    update later ones depend on: what it set these columns to; None: on all of the change; ``by``:
    likewise the columns by which they depend; ``maybe``: of what is not certain, what it may be.
    """

    kind: int
    chain: Integers
    change: Integers
    before: Flags
    after: Flags
    columns: tuple[str, ...] | None = None
    by: tuple[str, ...] | None = None
    maybe: int = UNKNOWN

    @classmethod
    def of(
        cls, kind: int, chain: Integers, order: Integers, change: Integers, before: Flags,
        after: Flags, columns: Iterable[str] | None = None, by: Iterable[str] | None = None,
        maybe: int = UNKNOWN,
    ) -> Links:  # fmt: skip
        """Places in any order; chains without consequences are left out. ``by`` is by default the
        same as ``columns``."""
        named = None if columns is None else tuple(columns)
        size = int(chain.max(initial=-1)) + 1
        alive = (np.bincount(chain, before, size) > 0) & (np.bincount(chain, after, size) > 0)
        keep = alive[chain] if len(chain) else np.zeros(0, bool)
        chain, order, change = chain[keep], order[keep], change[keep]
        before, after = before[keep], after[keep]
        sort = np.lexsort((order, chain))
        return cls(
            kind, chain[sort], change[sort], before[sort], after[sort], named,
            named if by is None else tuple(by), maybe,
        )  # fmt: skip

    @property
    def same_row(self) -> bool:
        """Whether it is only for their row that later changes depend, or may depend."""
        return {self.kind, self.maybe} <= {SAME_ROW, UNKNOWN}

    def ahead(self, marked: Flags) -> Integers:
        """For each place the next marked one in its chain; -1 for none."""
        found = _last_marked(self.chain[::-1], marked[::-1])[::-1]
        return np.where(found < 0, -1, len(found) - 1 - found)

    def behind(self, marked: Flags) -> Integers:
        """For each place the last marked one before it in its chain; -1 for none."""
        return _last_marked(self.chain, marked)


def _last_marked(chain: Integers, marked: Flags) -> Integers:
    size = len(chain)
    if not size:
        return np.zeros(0, np.int64)
    at = np.where(marked, np.arange(size), -1)
    found = np.concatenate([[-1], np.maximum.accumulate(at)[:-1]])
    first = np.maximum.accumulate(np.where(runs(chain), np.arange(size), 0))
    found[found < first] = -1
    return found


@dataclass(frozen=True, slots=True)
class Chain:
    """What depends on some units (changes or transactions), or what units depend on.

    By unit: ``there``: whether it is reached; ``root``: the change from which it is reached;
    ``kind``: why; -1 for none.
    """

    there: Flags
    root: Integers
    kind: Integers


def dependents(links: Iterable[Links], unit: Integers, chosen: Flags) -> Chain:
    """The units that depend on chosen ones, directly or not; ``unit``: of each change."""
    return _reach(links, unit, chosen, np.ones_like(chosen), forwards=True)


def conflicting(links: Iterable[Links], unit: Integers, stays: Flags, chosen: Flags) -> Chain:
    """The chosen units on which units that stay depend, directly or not.

    ``root``: the change that stays and depends on it.
    """
    return _reach(links, unit, stays, chosen, forwards=False)


def _reach(
    links: Iterable[Links], unit: Integers, begun: Flags, within: Flags, *, forwards: bool
) -> Chain:
    """The units in ``within`` that are reached along chains from the first ones."""
    none = np.full(len(begun), -1)
    reached = Chain(begun.copy(), none, none.copy())
    links, more = list(links), True
    while more:
        more = False
        for one in links:
            own = unit[one.change]
            gives, takes = (one.before, one.after) if forwards else (one.after, one.before)
            nearest = one.behind if forwards else one.ahead
            source = nearest(gives & reached.there[own])
            hit = np.flatnonzero(takes & within[own] & ~reached.there[own] & (source >= 0))
            more |= _mark(reached, one, own, hit, source[hit], begun)
    return reached


def _mark(
    reached: Chain, links: Links, own: Integers, hit: Integers, source: Integers, begun: Flags
) -> bool:
    """Mark the units of places that were reached from others; whether there are any."""
    if not len(hit):
        return False
    units, first = np.unique(own[hit], return_index=True)
    origin = source[first]
    reached.there[units] = True
    inherits = ~begun[own[origin]]
    root = links.change[origin].copy()
    root[inherits] = reached.root[own[origin]][inherits]
    reached.root[units] = root
    reached.kind[units] = links.kind
    return True
