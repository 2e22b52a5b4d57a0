"""The parts of all logs in a landing's ledger, in order."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from binlogkit.log import Log
from binlogkit.log.index import Index, Part
from binlogkit.log.index.replication import by_server, replicated_order
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
    return replicated_order(found) if known else found


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
    for places in by_server(parts).values():
        folders = {split_name(parts[i].names[-1])[:2] for i in places}
        since = 1 if len(folders) > 1 else 2
        for i, j in zip(
            places, sorted(places, key=lambda i: log_of(parts[i])[since:]), strict=True
        ):
            found[i] = parts[j]
    return replicated_order(found, lambda part: landed.get(log_of(part), 0))


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
