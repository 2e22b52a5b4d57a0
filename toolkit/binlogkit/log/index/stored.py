"""Parts as tables, and tables as parts: what an index keeps of each log.

The tables' columns are declared in ``frames/fields`` (docs/indexing.md). Statements and table maps
are kept as their events' bytes and parsed again from them, so that nothing is lost.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from sys import intern
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit import errors
from binlogkit.errors import DamageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.fields.field import arrow_schema, names, to_table
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.records import damage_record
from binlogkit.log.index.definitions import Bodies, KeptSaid, Record, definition_record
from binlogkit.log.index.extent import Extent
from binlogkit.log.index.part import Part, Said, Wrote
from binlogkit.log.index.segments import Segment
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.losses import Loss
from binlogkit.rows.series import Head
from binlogkit.rows.soundness import Alone, FileFacts, Finding, Grade, Place
from binlogkit.rows.soundness.alone import Unread
from binlogkit.rows.soundness.finding import finding
from binlogkit.rows.transactions import Outcome

#: The tables of transactions' effects.
LEDGER = ("transactions", "statements", "changes", "totals", "filters", "unchecked")
#: All others.
WITHOUT_LEDGER = tuple(name for name in INDEX if name not in LEDGER)
#: The tables of an index by name.
Tables: TypeAlias = dict[str, pa.Table]

_PLAIN = (
    "server_id", "server_version", "version", "relay", "foreign", "in_use", "loose", "events",
    "size", "first_timestamp", "last_timestamp", "next_name", "ended", "damages", "alone",
    "anonymous", "server_started",
)  # fmt: skip
_FILES = ("file", "end_file", "resolved_file")
_ALIKE = {"file", "server_version", "ended", "next_name"}  # texts that many records have in common
_NO_XA: Mapping[Any, Any] = {}
_INTERVAL = re.compile(r"(-?\d+)(?:-(-?\d+))?")
#: Columns that may hold values, with their tables.
VALUES = (("transactions", "first_query"), ("statements", "query"), ("filters", "filter"))
_LOSS = tuple(field.name for field in fields(Loss))


#: Why a part cannot be kept that can be read.
NO_FORMAT = "it is no log file with a format description"


def can_be_kept(part: Part) -> bool:
    """Whether a part can be kept: one without a format description is read each time."""
    first = next(iter(part.said), None)
    begins = first is not None and isinstance(first.body, str)
    return part.head is not None and part.unreadable is None and begins


def to_tables(key: str, part: Part, stamps: Iterable[Record]) -> Tables:
    """The tables of a part; ``key``: its name in the index; ``stamps``: for each of its files the
    stamp and when it was read."""
    records = {
        "logs": list(_logs(part, list(stamps))),
        "segments": [
            {"pos": s.pos, "event": s.events, "tx": s.transactions} for s in part.segments
        ],
        "definitions": [definition_record(said) for said in part.said],
        "writes": [asdict(wrote) for wrote in part.wrote],
        "findings": [_finding(one, at) for one, at in part.alone.findings],
        "losses": [_loss(loss) for loss in part.alone.losses],
        "unread": [asdict(unread) for unread in part.alone.unread],
        "damages": [damage_record(error) for error in part.damages],
        "xa": list(_xa(part)),
    }
    tables = {
        name: to_table(({"part": key, **record} for record in found), INDEX[name])
        for name, found in records.items()
    }
    for name, table in part.ledger.items():
        column = pa.repeat(pa.scalar(key), table.num_rows)
        tables[name] = table.add_column(0, "part", column).select(names(INDEX[name]))
        tables[name] = tables[name].cast(arrow_schema(INDEX[name]))
    return tables


def without_values(part: Part) -> Part:
    """A part without values: no statement texts, no filters of keys."""
    plain = {name: emptied(part.ledger[name], column) for name, column in VALUES}
    return replace(part, ledger={**part.ledger, **plain})


def emptied(table: pa.Table, column: str, kept: pa.ChunkedArray | None = None) -> pa.Table:
    """A table with NULL in a column, except in the rows ``kept``."""
    at = table.column_names.index(column)
    field = table.schema.field(at)
    nulls = pa.nulls(table.num_rows, field.type)
    now = nulls if kept is None else pc.if_else(kept, table[column], nulls)
    return table.set_column(at, field, now)


def to_parts(
    tables: Mapping[str, pa.Table],
    files: Mapping[str, Sequence[str]],
    bodies: Bodies,
    later: Callable[[str, Mapping[str, str]], Mapping[str, pa.Table]] | None = None,
) -> dict[str, Part]:
    """The parts in tables, by name, with the part of their ledger that is there.

    ``files``: the present names of each part's logs; a part without any is left out; ``bodies``:
    those of events that other parts have; ``later``: the ledger of a part by its name, and the
    names of its logs when they were read with those that they have now.
    """
    of = {name: _by_part(tables[name]) for name in WITHOUT_LEDGER}
    said = of.pop("definitions")
    kept = {name: ledgers(tables[name]) for name in LEDGER if name in tables}
    found: dict[str, Part] = {}
    for key, logs in of["logs"].items():
        if key in files:
            before, others = [log["file"] for log in logs], list(files[key])
            now = dict(zip(before, before if before == others else others, strict=True))
            own = {name: known.get(key, []) for name, known in of.items()}
            if before != others:
                own = {name: _renamed(records, now) for name, records in own.items()}
            ledger = {
                name: called(known.get(key, tables[name][:0]), now) for name, known in kept.items()
            }
            definitions = KeptSaid(said.get(key, []), now, bodies)
            rest = later(key, now) if later is not None else ledger
            found[key] = _part(own["logs"], own, definitions, rest)
    return found


def ledgers(table: pa.Table) -> dict[str, pa.Table]:
    """A table's rows by their part; a part's rows are adjacent."""
    column = table.column("part").combine_chunks()
    runs = pc.run_end_encode(column)
    ends = pairwise([0, *runs.run_ends.to_pylist()])
    keys = runs.values.to_pylist()
    return {key: table.slice(a, b - a) for key, (a, b) in zip(keys, ends, strict=True)}


def called(table: pa.Table, files: Mapping[str, str]) -> pa.Table:
    """A table with other file names; none if they are the same."""
    known, now = pa.array(files.keys(), pa.string()), pa.array(files.values(), pa.string())
    for name in _FILES if known != now else ():
        if name in table.column_names:
            places = pc.index_in(table.column(name), known).combine_chunks()
            table = table.set_column(table.column_names.index(name), name, now.take(places))
    return table


def _renamed(records: list[Record], files: Mapping[str, str]) -> list[Record]:
    """Records with other file names."""
    return [r | {"file": files[r["file"]]} if "file" in r else r for r in records]


def _by_part(table: pa.Table) -> dict[str, list[Record]]:
    """A table's records by their part, in order."""
    columns, numbers = dict[str, list[Any]](), dict[int, int]()
    for name in table.column_names:
        values = table[name].to_pylist()
        if name in _ALIKE:
            values = [text and intern(text) for text in values]
        elif pa.types.is_integer(table.schema.field(name).type):
            values = [numbers.setdefault(value, value) for value in values]
        columns[name] = values
    records = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return {key: list(found) for key, found in groupby(records, itemgetter("part"))}


# ---- logs -------------------------------------------------------------------------------------


def _logs(part: Part, stamps: list[Record]) -> Iterator[Record]:
    assert part.head is not None
    for i, (facts, stamp) in enumerate(zip(part.alone.files, stamps, strict=True)):
        yield {
            "number": i,
            **stamp,
            **{name: getattr(facts, name) for name in _PLAIN},
            "file": facts.name,
            "source": part.head.source,
            "begun": part.head.begun,
            "part_events": part.events,
            "part_transactions": part.transactions,
            "starts": part.alone.starts[i],
            "stop": part.stop,
            "checksums": json.dumps(facts.checksums),
            "previous_gtids": None if facts.previous is None else str(facts.previous),
            "gtids": str(facts.gtids.to_set()),
            "ended_gtids": str(part.gtids),
            "intact_gtids": str(part.intact),
            "repeated_gtids": str(part.alone.repeated),
            "rotated": part.rotated,
            "servers": list(facts.servers),
            "ends_in": list(facts.ends_in),
            "goes_on": part.goes_on,
            "ended_transactions": part.extent.ended,
            "ended_pos": part.extent.end,
            "digest": part.extent.digest,
            "plain": part.extent.plain,
        }


def _facts(record: Record) -> FileFacts:
    previous = record["previous_gtids"]
    return FileFacts(
        record["file"],
        **{name: record[name] for name in _PLAIN},
        checksums=_checksums(record["checksums"]),
        previous=None if previous is None else read_gtids(previous),
        gtids=GtidLedger(read_gtids(record["gtids"])),
        servers=_servers(tuple(record["servers"])),
        ends_in=tuple(record["ends_in"]),
    )


# What nobody changes of a log that has been read, and many have in common.
@lru_cache(maxsize=64)
def _checksums(text: str) -> Counter[str]:
    return Counter(json.loads(text))


@lru_cache(maxsize=64)
def _servers(ids: tuple[int, ...]) -> dict[int, None]:
    return dict.fromkeys(ids)


@lru_cache(maxsize=16)  # most sets of a log are the same
def read_gtids(text: str) -> GtidSet:
    """A set from its text; damaged logs have numbers that no server assigns."""
    intervals: dict[str, list[tuple[int, int]]] = {}
    for part in filter(None, text.split(",")):
        sid, *pieces = part.strip().split(":")
        key = sid
        for piece in pieces:
            match = _INTERVAL.fullmatch(piece)
            if match is None:
                key = f"{sid}:{piece}"
            else:
                first = int(match[1])
                intervals.setdefault(intern(key), []).append((first, int(match[2] or first)))
    return GtidSet(intervals)


def _part(
    logs: list[Record],
    of: Mapping[str, list[Record]],
    said: Iterable[Said],
    ledger: Mapping[str, pa.Table],
) -> Part:
    files = tuple(map(_facts, logs))
    first, last = logs[0], logs[-1]
    wrote = tuple(Wrote(**{k: v for k, v in r.items() if k != "part"}) for r in of["writes"])
    xa = of["xa"]
    prepared = [x for x in xa if x["outcome"] == Outcome.PREPARED]
    decided = [x for x in xa if x["outcome"] != Outcome.PREPARED]
    alone = Alone(
        files,
        tuple(r["starts"] for r in logs),
        first["part_events"],
        tuple((_found(r), r["event"]) for r in of["findings"]),
        tuple(Unread(**{k: v for k, v in r.items() if k != "part"}) for r in of["unread"]),
        tuple(_lost(r) for r in of["losses"]),
        {r["xa"]: _place(r) for r in prepared} or _NO_XA,
        {_place(r): r["xa"] for r in decided} or _NO_XA,
        read_gtids(first["repeated_gtids"]),
    )
    head = Head(
        first["file"], first["source"], first["server_id"], first["relay"], first["begun"],
        files[0].previous,
    )  # fmt: skip
    return Part(
        tuple(file.name for file in files),
        alone,
        head,
        alone.events,
        first["part_transactions"],
        _segments(tuple((r["pos"], r["event"], r["tx"]) for r in of["segments"])),
        last["stop"],
        said,
        wrote,
        read_gtids(first["ended_gtids"]),
        read_gtids(first["intact_gtids"]),
        last["next_name"],
        last["rotated"],
        {r["xa"]: r["tx"] for r in prepared} or _NO_XA,
        {
            r["xa"]: (Outcome(r["outcome"]), r["file"], r["transaction_pos"])
            for r in decided
            if r["transaction_pos"] is not None
        }
        or _NO_XA,
        damages=tuple(_error(r) for r in of["damages"]),
        goes_on=last["goes_on"],
        ledger=ledger,
        extent=Extent(
            first["ended_transactions"], first["ended_pos"], first["digest"], first["plain"]
        ),
        read_at=first["read_at"],
    )


@lru_cache(maxsize=64)
def _segments(places: tuple[tuple[int, int, int], ...]) -> tuple[Segment, ...]:
    return tuple(Segment(*place) for place in places)


# ---- damage, findings, losses, XA --------------------------------------------------------------


def _error(record: Record) -> DamageError:
    kind: type[DamageError] = getattr(errors, record["error"])
    error = kind(record["file"], record["pos"], record["reason"], record["field"])
    error.end = record.get("end_pos")
    return error


def _finding(one: Finding, at: int) -> Record:
    tables = None if one.tables is None else sorted(one.tables)
    record = {"event": at, "grade": str(one.grade), "code": one.code, "found": one.found}
    return record | _at(one.place) | {"tables": tables}


def _found(record: Record) -> Finding:
    grade = Grade(record["grade"])
    read = finding(record["code"], _place(record), record["found"], grade=grade)
    return replace(read, tables=record["tables"] and frozenset(record["tables"]))


def _place(record: Record) -> Place:
    return Place(
        record["file"], record["pos"], record["end_pos"], record["inner"], record["number"],
        record["type"], record["gtid"],
    )  # fmt: skip


def _loss(loss: Loss) -> Record:
    record = {name: getattr(loss, name) for name in _LOSS}
    return record | {"type": loss.event, "event": loss.ordinal}


def _lost(record: Record) -> Loss:
    known = {name: record[name] for name in _LOSS if name in record}
    return Loss(**known | {"event": record["type"], "ordinal": record["event"]})


def _xa(part: Part) -> Iterator[Record]:
    for xa, at in part.alone.prepared.items():
        yield {"xa": xa, "outcome": str(Outcome.PREPARED), "tx": part.prepared.get(xa), **_at(at)}
    for at, xa in part.alone.decided.items():
        outcome, _, pos = part.decided.get(xa, (Outcome.COMMITTED, at.file, None))
        yield {"xa": xa, "outcome": str(outcome), "transaction_pos": pos, **_at(at)}


def _at(place: Place) -> Record:
    found = asdict(place)
    found["number"] = found.pop("event")
    return found
