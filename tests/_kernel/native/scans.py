"""A log read by the kernel's scan, and by the reference, as the same plain records."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.index import ENTRY, TRANSACTION, Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.events.payload import TransactionPayload, inner_events
from binlogkit.events.reader import read_events
from binlogkit.rows.settling import OUTCOMES, settle
from binlogkit.rows.transactions import GTID_TYPES
from binlogkit.sources.log_format import format_of
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent, parse_header
from tests.reference.binlogkit_reference.tracker import Tracked, TransactionTracker

Record = tuple[Any, ...]
_GTID, _CLOCK, _COMMIT, _THREAD, _XID = 1, 2, 4, 8, 16


def by_reference(data: bytes) -> tuple[list[Record], list[Record]]:
    """(events, transactions) as the reader and the tracker tell them."""
    tracker = TransactionTracker()
    events, transactions = [], []
    for event in read_events(LogReader("log", io.BytesIO(data))):
        raw = event.raw
        if tracker.open is not None and raw.header.type_code in GTID_TYPES:
            transactions.append(tracker.open)
        ended = tracker.feed(event)
        known = ended or tracker.open
        # The tracker gives an event to the open transaction, whatever the event is.
        events.append((raw.pos, raw.inner, raw.header, known.number if known else -1))
        if ended is not None:
            transactions.append(ended)
    if tracker.open is not None:
        transactions.append(tracker.open)
    return events, [_of_transaction(t) for t in transactions]


def _of_transaction(t: Tracked) -> Record:
    return (
        t.number, t.pos, t.end_pos, t.timestamp, t.end_timestamp, t.server_id,
        t.gtid if t.gtid is None or t.gtid.count(":") == 1 else "tagged",
        t.last_committed if t.gtid is None or t.gtid.count(":") == 1 else None,
        t.thread_id, t.xid, str(t.outcome), t.events, t.size, t.row_events, t.explicit,
    )  # fmt: skip


class KernelWalk:
    """Scans a log in chunks of ``chunk`` bytes and settles what the scan leaves to Python."""

    def __init__(self, chunk: int = 1 << 30) -> None:
        self.scanner = Scanner()
        self.context = ParseContext()
        self.chunk = chunk
        self.events: list[Record] = []
        self.looks = 0

    def read(self, data: bytes) -> tuple[list[Record], list[Record]]:
        index = Index()
        at, take, wanted = 4, False, self.chunk
        while at < len(data):
            piece = data[at : at + wanted]
            stop = self.scanner.scan(index, piece, 0, len(piece), at, take)
            take = False
            behind = at + self.scanner.offset
            self._gather(index, at, None)
            if stop == "look":
                self._settle(index, data, piece, at)
            elif stop == "format":
                self._take_format(data, behind)
                take = True
            elif stop == "cut":
                assert at + wanted < len(data), "the log ends inside an event"
                wanted = wanted + self.chunk if behind == at else self.chunk
            else:
                assert stop == "end"
            index.clear()
            at = behind
        self.scanner.finish()
        return self.events, list(self._transactions())

    def _gather(self, index: Index, origin: int, inner: int | None) -> None:
        entries = np.frombuffer(index.copied(), np.dtype(list(ENTRY)))
        for i, e in enumerate(entries):
            self.events.append(
                (
                    origin + int(e["offset"]) if inner is None else origin,
                    None if inner is None else inner + i,
                    (int(e["type"]), int(e["size"]), int(e["timestamp"]), int(e["server_id"]),
                     int(e["log_pos"]), int(e["flags"])),
                    int(e["tx"]),
                )
            )  # fmt: skip

    def _take_format(self, data: bytes, pos: int) -> None:
        size = int.from_bytes(data[pos + 9 : pos + 13], "little")
        known = format_of("log", pos, data[pos : pos + size])
        self.scanner.header_length = known.header_length
        self.scanner.checksums = known.checksummed(EventType.QUERY_EVENT)
        self.scanner.format_checksum = known.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)
        self.scanner.maps.forget_ids()

    def _settle(self, index: Index, data: bytes, piece: bytes, origin: int) -> None:
        self.looks += 1
        entry = np.frombuffer(index.copied(), np.dtype(list(ENTRY)))[-1]
        start = origin + int(entry["offset"])
        tail = 4 if self.scanner.checksums else 0
        header = parse_header(data[start : start + 19], self.scanner.header_length)
        body = data[start + header.length : start + header.size - tail]
        raw = RawEvent("log", start, header, body)
        event = self._event(raw)
        self._decide(index, origin, event)
        if isinstance(event.body, TransactionPayload):
            self._payload(raw, event.body)

    def _event(self, raw: RawEvent) -> Event:
        parser = parser_of(raw.header.type_code)
        if parser is None:
            return Event(raw, OpaqueEvent(raw.body))
        return Event(raw, parser(Cursor(raw.body), raw, self.context))

    def _decide(self, index: Index, origin: int, event: Event) -> None:
        number = settle(self.scanner, index, origin, event, None).number
        assert number == np.frombuffer(index.copied(), np.dtype(list(ENTRY)))[-1]["tx"]
        self.events[-1] = (*self.events[-1][:3], number)  # the decision gave it its transaction

    def _payload(self, outer: RawEvent, payload: TransactionPayload) -> None:
        raws = list(inner_events(outer, payload))
        plain = b"".join(_header_of(raw) + raw.body for raw in raws)
        scanner, index = self.scanner, Index()
        checksums, length = scanner.checksums, scanner.header_length
        scanner.checksums, scanner.header_length = False, 19
        scanner.outer_pos, scanner.outer_end = outer.pos, outer.end_pos
        at = count = 0
        while at < len(plain):
            stop = scanner.scan(index, plain, at, len(plain), 0)
            self._gather(index, outer.pos, count)
            count += len(index)
            at = scanner.offset
            assert stop in ("look", "end")
            if stop == "look":
                self.looks += 1
                self._decide(index, 0, self._event(raws[count - 1]))
            index.clear()
        scanner.checksums, scanner.header_length = checksums, length
        scanner.outer_pos = scanner.outer_end = -1

    def _transactions(self) -> Iterator[Record]:
        for t in np.frombuffer(self.scanner.transactions.copied(), np.dtype(list(TRANSACTION))):
            has = int(t["has"])
            sid = bytes(t["sid"]).hex()
            uuid = "-".join((sid[:8], sid[8:12], sid[12:16], sid[16:20], sid[20:]))
            gtid = None
            if has & _GTID:
                gtid = f"{uuid}:{t['gno']}" if int(t["gno"]) else "tagged"
            yield (
                int(t["number"]), int(t["pos"]), int(t["end_pos"]), int(t["timestamp"]),
                int(t["end_timestamp"]), int(t["server_id"]), gtid,
                int(t["last_committed"]) if has & _CLOCK else None,
                int(t["thread_id"]) if has & _THREAD else None,
                int(t["xid"]) if has & _XID else None,
                str(OUTCOMES[t["outcome"]]), int(t["events"]), int(t["size"]),
                int(t["row_events"]), bool(t["explicit"]),
            )  # fmt: skip


def _header_of(raw: RawEvent) -> bytes:
    h = raw.header
    return (
        h.timestamp.to_bytes(4, "little") + bytes([h.type_code]) + h.server_id.to_bytes(4, "little")
        + h.size.to_bytes(4, "little") + h.log_pos.to_bytes(4, "little")
        + h.flags.to_bytes(2, "little")
    )  # fmt: skip


def same(data: bytes, chunk: int = 1 << 30) -> KernelWalk:
    """Assert that scan and reference say the same of a sound log."""
    events, transactions = by_reference(data)
    walk = KernelWalk(chunk)
    ours, found = walk.read(data)
    theirs = [
        (pos, inner, (h.type_code, h.size, h.timestamp, h.server_id, h.log_pos, h.flags), tx)
        for pos, inner, h, tx in events
    ]
    assert ours == theirs
    assert found == transactions
    return walk
