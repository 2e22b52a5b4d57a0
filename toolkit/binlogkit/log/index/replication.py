"""The order of logs of servers that replicate from each other, by their GTIDs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from binlogkit.events.gtid_set import GtidSet
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
        ends = {i: _executed(parts[i]) for i in every}
        queues, had = sorted(map(deque, group)), GtidLedger()
        for place in every:
            firsts, before = [queue[0] for queue in queues], had.to_set()
            joining = [i for i in firsts if not parts[i].previous.subtract(before)] or firsts
            may = [i for i in joining if not any(_ended(ends[j], ends[i]) for j in joining)]
            same = [i for i in may if ends[i] == ends[may[0]]]
            following = min(same, key=lambda i: first(parts[i]))
            had.add_set(ends[following])
            found[place] = parts[queues[firsts.index(following)].popleft()]
            queues = [queue for queue in queues if queue]
    return found


def _executed(part: Part) -> GtidSet:
    """The GTIDs in a log and before it."""
    found = GtidLedger(part.gtids)
    found.add_set(part.previous)
    return found.to_set()


def _ended(one: GtidSet, other: GtidSet) -> bool:
    """Whether a log ended with fewer GTIDs than another one."""
    return bool(one) and one != other and not one.subtract(other)
