"""The parts of all logs in a landing's ledger, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from binlogkit.events.gtid_set import GtidSet
from binlogkit.log import Log
from binlogkit.log.index import Index, Part
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import split_name
from binlogkit.sources.carriers import Carrier
from binlogkit.spark.landing.spans import Span, are_beside, begins, log_of
from binlogkit.spark.landing.waiting import LogId

_NONE: Mapping[LogId, int] = {}


def parts_beside(
    index: Index, log: Log, carriers: Sequence[Carrier], apart: Container[str] = ()
) -> list[Part]:
    """The parts of the ledger, but for those of the keys ``apart``; ``carriers``: of the log, those
    that these are not of.

    Purged logs still contribute table definitions, prepared transactions and what became of those,
    unless they are there in another place. Each stands before the later logs of its server.
    """
    tables = ["transactions", "changes"]
    gone = index.besides(log.carriers, tables, later=True, apart=apart)
    there = in_order([*index.parts(carriers, log.options, tables, later=True)])
    known = [part for part in gone if part.head is not None]
    found = list(there)
    for part in reversed(known):
        if not any(begins(one, part) for one in there):
            found.insert(_place_of(part, found), part)
    return _of_history(found) if known else found


def named(parts: Sequence[Part], spans: Sequence[Span]) -> list[Part]:
    """Parts with the names that landings gave to their servers."""
    names, found = dict[tuple[int, str, str], str](), [*parts]
    for span in spans:
        folder, stem, _ = split_name(span.file)
        own = span.source or ""
        if own and own != f"{folder}/{stem}" and not own.startswith(span.file):
            names[span.server_id, folder, stem] = own
    for i, part in enumerate(parts if names else ()):
        if part.head is not None:
            folder, stem, _ = split_name(part.names[-1])
            name = names.get((part.head.server_id, folder, stem), part.head.source)
            found[i] = replace(part, head=replace(part.head, source=name))
    return found


def without_copies(parts: Sequence[Part]) -> tuple[list[Part], dict[str, str]]:
    """Parts without copies of logs that have no GTIDs, by which their transactions count once; and
    the names of those, with those of the logs, of which the longest stay."""
    found, names = list[Part](), dict[str, str]()
    alike: dict[tuple[int, int], list[int]] = {}
    for part in parts:
        own = alike.setdefault(log_of(part)[:2], [])
        for i in own:
            known = found[i]
            if are_beside(known.names[-1], part.names[-1]):
                continue
            if begins(known, part):
                longer, shorter = known, part
            elif begins(part, known):
                longer, shorter = part, known
            else:
                continue
            found[i] = longer
            same = dict(zip(shorter.names, longer.names, strict=False))
            names = {name: same.get(log, log) for name, log in names.items()} | same
            break
        else:
            if part.head is not None and not part.gtids:
                own.append(len(found))
            found.append(part)
    return found, names


def in_order(parts: Sequence[Part], landed: Mapping[LogId, int] = _NONE) -> list[Part]:
    """Parts with those of each server in the order of its logs, whatever folders these are in: by
    number in one folder, else by time; those of servers that replicate from each other in the order
    of their transactions, or if they have the same, in which they ``landed``."""
    found = [*parts]
    for places in _by_server(parts).values():
        folders = {split_name(parts[i].names[-1])[:2] for i in places}
        since = 1 if len(folders) > 1 else 2
        for i, j in zip(
            places, sorted(places, key=lambda i: log_of(parts[i])[since:]), strict=True
        ):
            found[i] = parts[j]
    return _of_history(found, landed)


def _by_server(parts: Sequence[Part]) -> dict[int, list[int]]:
    """The places of each server's parts."""
    own: dict[int, list[int]] = {}
    for i, part in enumerate(parts):
        if part.head is not None:
            own.setdefault(part.head.server_id, []).append(i)
    return own


def _of_history(parts: Sequence[Part], landed: Mapping[LogId, int] = _NONE) -> list[Part]:
    """Parts of which none comes before another server's part that ended with fewer of the same
    GTIDs: so a server that took over comes after the one that failed."""
    found, own = [*parts], _by_server(parts)
    while len(own) > 1:
        _, first = own.popitem()
        group, ends = [first], {first[-1]: _executed(parts[first[-1]])}
        for server, places in [*own.items()]:
            last = ends[places[-1]] = _executed(parts[places[-1]])
            if any(last.intersect(ends[one[-1]]) for one in group):
                group.append(own.pop(server))
        if len(group) == 1:
            continue
        every = sorted(i for places in group for i in places)
        ends = {i: _executed(parts[i]) for i in every}
        queues = sorted(map(deque, group))
        for place in every:
            firsts = [queue[0] for queue in queues]
            may = [
                k for k, i in enumerate(firsts) if not any(_ended(ends[j], ends[i]) for j in firsts)
            ]
            same = [k for k in may if ends[firsts[k]] == ends[firsts[may[0]]]]
            k = min(same, key=lambda k: landed.get(log_of(parts[firsts[k]]), 0))
            found[place] = parts[queues[k].popleft()]
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


def _place_of(gone: Part, parts: Sequence[Part]) -> int:
    """Before which part of the same server a purged log stands: else after its last, else first."""
    place, (server, *begun) = 0, log_of(gone)
    for i, part in enumerate(parts):
        own = log_of(part)
        if own[0] == server:
            if list(own[1:]) > begun:
                return i
            place = i + 1
    return place
