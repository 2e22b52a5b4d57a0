"""What a reading says of each event and transaction, and what the reference says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.events.gtid_set import format_uuid
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.ddl import TableChange
from binlogkit.rows.options import Start
from binlogkit.rows.reading import Reading
from binlogkit.rows.settling import OUTCOMES
from binlogkit.rows.soundness import Gaps
from binlogkit.rows.window import ALONE, BAD_CHECKSUM, ROWS_EVENTS, Window
from binlogkit.sources.raw import RawEvent
from tests.reference.binlogkit_reference import Walk

GTID, THREAD, XID = 1, 8, 16


@dataclass(frozen=True)
class SeenEvent:
    """``schema``: (db, table, version) of a rows event's table."""

    raw: RawEvent
    ordinal: int
    tx: int | None
    first: bool
    last: bool
    schema: tuple[str, str, int] | None
    changes: tuple[TableChange, ...]


@dataclass(frozen=True)
class SeenTransaction:
    """What a log tells of a transaction, its rows and statements aside."""

    pos: int
    end_pos: int
    timestamp: int
    end_timestamp: int
    server_id: int
    gtid: str | None
    thread_id: int | None
    xid: int | None
    xa: str | None
    outcome: str
    events: int
    size: int
    explicit: bool
    alone: bool


@dataclass
class Seen:
    """``transactions``: by number; ``packed``: the offsets of events that came in packs."""

    events: list[SeenEvent] = field(default_factory=list)
    transactions: dict[int, SeenTransaction] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    damages: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    loose: dict[str, int] = field(default_factory=dict)
    packed: list[int] = field(default_factory=list)


# ---- a reading ------------------------------------------------------------------------------


def by_reading(log: bk.Log, start: Start | None = None) -> Seen:
    """What the windows of a log hold."""
    gaps = Gaps()
    reading = Reading(log.carriers, log.options, start=start, gaps=gaps)
    seen = Seen()
    try:
        for window in reading.windows():
            _take(window, seen)
            reading.damages.extend(error for _, error in window.damages)
    except BinlogKitError as error:
        seen.error = (type(error).__name__, str(error))
    seen.damages = list(map(str, reading.damages))
    seen.losses = list(map(str, gaps.soundness.losses))
    seen.problems, seen.loose = list(reading.problems), dict(reading.loose)
    return seen


def _take(window: Window, seen: Seen) -> None:
    for record in window.transactions:
        number = int(record["number"])
        seen.transactions[number] = _transaction(record, window)
    stretch = window.stretch
    if stretch is None:
        assert not window.looked
        return
    entries, looked = stretch.entries, {item.i: item for item in window.looked}
    assert list(looked) == sorted(looked) and max(looked, default=0) < len(entries) > 0
    if stretch.raws is not None:
        seen.packed += stretch.positions.tolist()
    places = zip(stretch.positions, stretch.ends, stretch.inners, stretch.sizes, strict=True)
    for i, (pos, end_pos, inner, size) in enumerate(places):
        item = looked.get(i)
        raw = item.event.raw if item else stretch.raw(i, window.carrier.name)
        place = (raw.pos, raw.end_pos, -1 if raw.inner is None else raw.inner, raw.header.size)
        assert place == (pos, end_pos, inner, size)
        entry = entries[i]
        assert (raw.checksum == "bad") == bool(entry["notes"] & BAD_CHECKSUM)
        slot, schema = int(entry["slot"]), None
        if ROWS_EVENTS[entry["type"]] and 0 <= slot < len(window.schemas):
            schema = window.schemas[slot]
        seen.events.append(
            SeenEvent(
                raw, stretch.ordinal + i, int(entry["tx"]) if entry["tx"] >= 0 else None,
                window.first, window.last,
                None if schema is None else (*schema.name, schema.version),
                item.changes if item else (),
            )
        )  # fmt: skip


def _transaction(record: Any, window: Window) -> SeenTransaction:
    number, has = int(record["number"]), int(record["has"])
    gtid = f"{format_uuid(record['sid'].tobytes())}:{record['gno']}" if has & GTID else None
    if number in window.facts.gtids:
        gtid = window.facts.gtids[number][0]
    return SeenTransaction(
        int(record["pos"]), int(record["end_pos"]), int(record["timestamp"]),
        int(record["end_timestamp"]), int(record["server_id"]), gtid,
        int(record["thread_id"]) if has & THREAD else None,
        int(record["xid"]) if has & XID else None,
        window.facts.xa.get(number), str(OUTCOMES[record["outcome"]]), int(record["events"]),
        int(record["size"]), bool(record["explicit"]), bool(record["notes"] & ALONE),
    )  # fmt: skip


# ---- the reference --------------------------------------------------------------------------


def by_reference(log: bk.Log) -> Seen:
    """The same of every event by itself."""
    walk, seen = Walk(log.carriers, log.options), Seen()
    try:
        for step in walk:
            t, schema = step.transaction, step.schema
            rows = isinstance(step.event.body, RowsEvent)
            seen.events.append(
                SeenEvent(
                    step.event.raw, step.seq >> 32, t.number if t else None, step.first, step.last,
                    (*schema.name, schema.version) if rows and schema else None,
                    tuple(step.changes),
                )
            )  # fmt: skip
            if t is not None:
                seen.transactions[t.number] = SeenTransaction(
                    t.pos, t.end_pos, t.timestamp, t.end_timestamp, t.server_id, t.gtid,
                    t.thread_id, t.xid, t.xa, str(t.outcome), t.events, t.size, t.explicit, t.alone,
                )  # fmt: skip
    except BinlogKitError as error:
        seen.error = (type(error).__name__, str(error))
    seen.damages, seen.losses = list(map(str, walk.damages)), list(map(str, walk.losses))
    seen.problems, seen.loose = list(walk.tables.problems), dict(walk.loose)
    return seen


def assert_same(source: Any, on_damage: str = "report", **options: Any) -> Seen:
    """Both say the same; what the reading says."""
    log = bk.open(source, on_damage=on_damage, **options)
    ours, theirs = by_reading(log), by_reference(log)
    assert ours.error == theirs.error
    assert ours.damages == theirs.damages
    for mine, expected in zip(ours.events, theirs.events, strict=True):
        assert mine == expected
    last = max(ours.transactions, default=0)
    if ours.error is not None:  # the reference may have read on to the transaction's end
        ours.transactions.pop(last, None)
        theirs.transactions = {n: t for n, t in theirs.transactions.items() if n < last}
    assert ours.transactions == theirs.transactions
    assert ours.losses == theirs.losses, (ours.losses, theirs.losses)
    assert (ours.losses, ours.problems) == (theirs.losses, theirs.problems)
    assert ours.loose == theirs.loose
    return ours


def ways(source: Any, **options: Any) -> str:
    """How a log is read: F from the file as it lies, p in packs."""
    reading = bk.open(source, on_damage="report", **options).reading()
    outer = [w.stretch for w in reading.windows() if w.stretch is not None]
    return "".join(
        k for k, _ in groupby("F" if s.raws is None else "p" for s in outer if s.outer is None)
    )
