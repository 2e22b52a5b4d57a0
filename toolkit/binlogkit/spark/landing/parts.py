"""The parts of all logs in a landing's ledger, in order."""

from __future__ import annotations

from collections.abc import Container, Sequence

from binlogkit.log import Log
from binlogkit.log.index import Index, Part
from binlogkit.rows.series import split_name
from binlogkit.sources.carriers import Carrier
from binlogkit.spark.landing.spans import begins, log_of


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
    there = _ordered([*index.parts(carriers, log.options, tables, later=True)])
    known = [part for part in gone if part.head is not None]
    found = list(there)
    for part in reversed(known):
        if not any(begins(one, part) for one in there):
            found.insert(_place_of(part, found), part)
    return found


def _ordered(parts: Sequence[Part]) -> list[Part]:
    """Parts with those of each server in the order of its logs, whatever folders these are in: by
    number in one folder, else by time."""
    own: dict[int, list[int]] = {}
    for i, part in enumerate(parts):
        if part.head is not None:
            own.setdefault(part.head.server_id, []).append(i)
    found = [*parts]
    for places in own.values():
        folders = {split_name(parts[i].names[-1])[:2] for i in places}
        since = 1 if len(folders) > 1 else 2
        for i, j in zip(
            places, sorted(places, key=lambda i: log_of(parts[i])[since:]), strict=True
        ):
            found[i] = parts[j]
    return found


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
