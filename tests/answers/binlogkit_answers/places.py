"""Places to ask about, taken from a log's bytes alone: positions, GTIDs, times, tables, threads."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Head", "Places", "heads", "places_of"]

MAGIC = 4
HEADER = 19
QUERY, TABLE_MAP, GTID, TAGGED_GTID, ANONYMOUS = 2, 19, 33, 42, 34


@dataclass(frozen=True, slots=True)
class Head:
    """An event by its header: where it stands, and its bytes behind the header."""

    pos: int
    end: int
    code: int
    timestamp: int
    body: bytes


def heads(data: bytes) -> Iterator[Head]:
    """The events up to where sizes make no sense any more."""
    at = MAGIC
    while at + HEADER <= len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        if size < HEADER or at + size > len(data):
            return
        when = int.from_bytes(data[at : at + 4], "little")
        yield Head(at, at + size, data[at + 4], when, data[at + HEADER : at + size])
        at += size


@dataclass(frozen=True, slots=True)
class Places:
    """Points for states, and filters, each by a name; empty where the bytes show none."""

    points: dict[str, dict[str, Any]]
    filters: dict[str, dict[str, Any]]


def places_of(files: Mapping[str, bytes]) -> Places:
    """What can be asked about these files, which are read in this order."""
    found = [(name, head) for name, data in files.items() for head in heads(data)]
    if not found:
        return Places({}, {"op": {"op": "delete"}})
    count = len(found)
    points: dict[str, dict[str, Any]] = {}
    for label, at in (("at", count * 2 // 5), ("at later", count * 4 // 5)):
        points[label] = {"at": (found[at][0], found[at][1].end)}
    gtids = list(filter(None, (_gtid(head) for _, head in found)))
    filters: dict[str, dict[str, Any]] = {"op": {"op": "delete"}}
    if gtids:
        sid, number = gtids[len(gtids) // 2]
        points["gtid"] = {"until_gtid": f"{sid}:1-{number}"}
        filters["gtid"] = {"gtid": f"{sid}:{max(1, number - 3)}-{number}"}
    moment = found[count // 2][1].timestamp
    points["time"] = {"until_time": moment}
    ends = [head.pos for name, head in found if name == found[-1][0]]
    filters["positions"] = {"stop_position": ends[len(ends) * 2 // 3]}
    if found[0][0] == next(iter(files)):
        starts = [head.pos for name, head in found if name == found[0][0]]
        filters["positions"]["start_position"] = starts[len(starts) // 3]
    filters["times"] = {"start_time": found[count // 3][1].timestamp, "stop_time": moment}
    tables = list(dict.fromkeys(filter(None, (_table(head) for _, head in found))))
    if tables:
        filters["table"] = {"table": tables[len(tables) // 2]}
        filters["others"] = {"exclude_table": tables[len(tables) // 2]}
        filters["where"] = {"exclude_table": tables[len(tables) // 2], "where": "id=2"}
    threads = [head.body[:4] for _, head in found if head.code == QUERY]
    if threads:
        filters["thread"] = {"thread": int.from_bytes(threads[len(threads) // 2], "little")}
    return Places(points, filters)


def _gtid(head: Head) -> tuple[str, int] | None:
    if head.code != GTID or len(head.body) < 25:
        return None
    number = int.from_bytes(head.body[17:25], "little", signed=True)
    return (str(uuid.UUID(bytes=head.body[1:17])), number) if number > 0 else None


def _table(head: Head) -> str | None:
    """The name in a table map, in backquotes; None for what is no text."""
    if head.code != TABLE_MAP or len(head.body) < 12:
        return None
    size = head.body[8]
    db = head.body[9 : 9 + size]
    rest = head.body[10 + size :]
    if not rest:
        return None
    table = rest[1 : 1 + rest[0]]
    try:
        names = (db.decode(), table.decode())
    except UnicodeDecodeError:
        return None
    if not all(names):
        return None
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
