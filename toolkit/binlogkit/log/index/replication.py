"""The order of logs of servers that replicate from each other, by their GTIDs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index.later import columns_of
from binlogkit.log.index.part import Part
from binlogkit.rows.gtid_ledger import GtidLedger


def by_server(parts: Sequence[Part]) -> dict[int, list[int]]:
    """The places of each server's parts."""
    own: dict[int, list[int]] = {}
    for i, part in enumerate(parts):
        if part.head is not None:
            own.setdefault(part.head.server_id, []).append(i)
    return own


def replicated_order(
    parts: Sequence[Part], first: Callable[[Part], int] = lambda _: 0
) -> list[Part]:
    """Parts of which none comes before another server's part that has what it follows, or that
    ended with fewer of the same GTIDs: so a server that took over comes after the one that failed;
    ``first``: by what those that ended alike are sorted.

    Each server's parts stay in their order.
    """
    found, own = [*parts], by_server(parts)
    while len(own) > 1:
        _, last = own.popitem()
        group, ends = [last], {last[-1]: _executed(parts[last[-1]])}
        for server, places in [*own.items()]:
            executed = ends[places[-1]] = _executed(parts[places[-1]])
            if any(executed.intersect(ends[one[-1]]) for one in group):
                group.append(own.pop(server))
        if len(group) == 1:
            continue
        every = sorted(i for places in group for i in places)
        before = {i: one for places in group for i, one in _before(parts, places, every)}
        ends = {i: before[i].union(parts[i].gtids) for i in every}
        queues, had = sorted(map(deque, group)), GtidLedger()
        for place in every:
            firsts, known = [queue[0] for queue in queues], had.to_set()
            joining = [i for i in firsts if not before[i].subtract(known)] or firsts
            may = [i for i in joining if not any(_ended(ends[j], ends[i]) for j in joining)]
            same = [i for i in may if ends[i] == ends[may[0]]]
            following = min(same, key=lambda i: first(parts[i]))
            had.add_set(ends[following])
            found[place] = parts[queues[firsts.index(following)].popleft()]
            queues = [queue for queue in queues if queue]
    return found


def follows(part: Part, others: Iterable[Part]) -> GtidSet:
    """The GTIDs before a log, also those that another one has before the first transaction of both:
    a server that was made from a dump may have nothing of what came before in its logs."""
    known = part.previous.union(part.gtids)
    # Most logs are not read.
    others = [
        one for one in others
        if part.gtids.intersect(one.gtids) and _executed(one).subtract(known)
    ]  # fmt: skip
    gtid = next(filter(None, _gtids(part)), None) if others else None
    for other in others:
        if gtid is not None and gtid in other.gtids:
            earlier = GtidSet.of(filter(None, takewhile(gtid.__ne__, _gtids(other))))
            return part.previous.union(other.previous.union(earlier).subtract(part.gtids))
    return part.previous


def _before(
    parts: Sequence[Part], places: Sequence[int], every: Iterable[int]
) -> Iterator[tuple[int, GtidSet]]:
    """What each of a server's parts follows; ``every``: the places of all servers' parts."""
    others, known = [parts[i] for i in every if i not in {*places}], GtidSet()
    for place in places:
        before = parts[place].previous
        if not known or known.subtract(before):  # it is not known to go on after the last one
            before = before.union(follows(parts[place], others))
        before = before.union(known)
        yield place, before
        known = before.union(parts[place].gtids)


def _gtids(part: Part) -> Iterator[str | None]:
    """Those of a log's transactions, in order."""
    if part.ledger:
        yield from columns_of(part.ledger, "transactions", ("gtid",))["gtid"].to_pylist()


def _executed(part: Part) -> GtidSet:
    """The GTIDs in a log and before it."""
    return part.gtids.union(part.previous)


def _ended(one: GtidSet, other: GtidSet) -> bool:
    """Whether a log ended with fewer GTIDs than another one."""
    return bool(one) and one != other and not one.subtract(other)
