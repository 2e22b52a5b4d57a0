"""The XID of a transaction, read ahead of its end: by its length, or by scanning."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.rows import ahead
from binlogkit.rows.ahead import xid_ahead
from binlogkit.rows.window import TRANSACTIONS
from binlogkit.sources.carriers import resolve
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.rows.window_checks import SeenTransaction, by_reference

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
LOGS = {
    name: seeds.logs()[f"{name}/transactions/binlog.000001"]
    for name in ("8.0-row-full", "5.7-mixed-full", "5.7-row-no-gtid", "8.0-row-compressed")
} | {"8.0-row-no-checksum": seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]}
PLACED = [name for name in LOGS if name != "8.0-row-compressed"]


def whole(data: bytes) -> dict[int, SeenTransaction]:
    """The transactions of a log."""
    return by_reference(bk.open(data, on_damage="report")).transactions


def xid_of(source: Any, number: int, pos: int, length: int = -1, **how: Any) -> int | None:
    """As a reading asks that began with the log's first transaction."""
    record = np.zeros(1, TRANSACTIONS)
    record[["number", "pos", "length"]] = number, pos, length
    usual = {"begin": 0, "stops": True, "in_place": True, "checksums": True}
    return xid_ahead(resolve(source)[0], record[0], how.pop("first", 0), **usual | how)


@pytest.mark.parametrize("name", PLACED)
def test_by_the_length_that_a_gtid_event_tells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LogScan", lambda *_, **__: ())
    checksums, found = "checksum" not in name, 0
    for number, t in whole(LOGS[name]).items():
        length = t.end_pos - t.pos
        if number:  # the first one may have begun in the log before
            assert xid_of(LOGS[name], number, t.pos, length, checksums=checksums) == t.xid
            found += t.xid is not None
    assert found > 5


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("first", [0, 7])
@pytest.mark.parametrize("in_place", [True, False])
def test_by_scanning(name: str, first: int, in_place: bool) -> None:
    """From the transaction on, or the whole log, of which ``first`` is the first one."""
    transactions = whole(LOGS[name])
    assert any(t.xid for t in transactions.values())
    in_place = in_place and name in PLACED
    for k, t in transactions.items():
        assert xid_of(LOGS[name], first + k, t.pos, first=first, in_place=in_place) == t.xid


def test_a_reading_that_begins_inside_of_the_log() -> None:
    transactions = whole(LOG)
    for k in (3, 10, 20):
        begin = transactions[k].pos
        for later in (k, k + 4):
            xid = xid_of(LOG, later, transactions[later].pos, first=k, begin=begin, in_place=False)
            assert xid == transactions[later].xid


def test_a_length_that_leads_elsewhere() -> None:
    """It is a claim: what stands there must be a whole XID_EVENT."""
    number, t = next((k, t) for k, t in whole(LOG).items() if k and t.xid and t.events > 6)
    for length in (1, 40, t.end_pos - t.pos - 1, t.end_pos - t.pos + 1, 1 << 62):
        assert xid_of(LOG, number, t.pos, length) == t.xid


def ends(data: bytes, sql: bytes) -> bytes:
    """The log with statements in place of its XID_EVENTs."""
    pieces = framing.split(data)
    body = bytes(13) + b"\0" + sql
    parts = [
        replace(part, code=int(EventType.QUERY_EVENT), body=body)
        if part.code == EventType.XID_EVENT else part
        for part in pieces.parts
        if part.code not in (33, 34)
    ]  # fmt: skip
    return framing.join(replace(pieces, parts=parts))


@pytest.mark.parametrize("sql", [b"COMMIT", b"ROLLBACK"])
@pytest.mark.parametrize("name", ["8.0-row-full", "8.0-row-no-checksum"])
def test_transactions_that_end_with_a_statement(name: str, sql: bytes) -> None:
    """The XID of none that follows is theirs."""
    data = ends(LOGS[name], sql)
    pieces = framing.split(data)
    xid = replace(pieces.parts[-1], code=int(EventType.XID_EVENT), body=b"\7" + bytes(7))
    data = framing.join(replace(pieces, parts=[*pieces.parts[:-1], xid]))
    transactions = whole(data)
    for number, t in transactions.items():
        assert xid_of(data, number, t.pos, checksums="full" in name) == t.xid
    assert len(transactions) > 9


def broken(at: int) -> bytes:
    return LOG[:at] + bytes([LOG[at] ^ 0x41]) + LOG[at + 1 :]


def damaged() -> Iterator[tuple[bytes, int]]:
    """Logs in which something between a transaction's rows and its end is broken; its number."""
    events = by_reference(bk.open(LOG)).events
    number = next(k for k, t in whole(LOG).items() if k and t.xid and t.events > 6)
    before, last = [event.raw.pos for event in events if event.tx == number][-2:]
    yield broken(before + 9), number  # a size
    yield broken(before + 12), number
    yield broken(last + 20), number  # the XID
    yield broken(last + 9), number
    yield broken(last + 4), number  # its type
    yield LOG[: last + 9], number
    yield LOG[:last], number


def test_where_events_are_damaged_the_xid_is_what_reading_finds() -> None:
    for data, number in damaged():
        t = whole(data)[number]
        for length in (-1, whole(LOG)[number].end_pos - t.pos):
            assert xid_of(data, number, t.pos, length, stops=False) == t.xid


def test_scanning_stops_at_damage_or_not() -> None:
    transactions = whole(LOG)
    data = broken(transactions[3].pos + 25)
    later = next(k for k, t in transactions.items() if k > 5 and t.xid)
    found = whole(data)
    for stops in (True, False):
        xid = xid_of(data, later, transactions[later].pos, in_place=False, stops=stops)
        assert xid == (None if stops else found[later].xid)
    assert found[later].xid == transactions[later].xid


def test_what_cannot_seek_is_scanned_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001.gz"
    path.write_bytes(gzip.compress(LOG))
    text = LOG[4:]
    for k, t in whole(LOG).items():
        assert xid_of(path, k, t.pos, t.end_pos - t.pos) == t.xid
    for k, t in whole(text).items():
        assert xid_of(text, k, t.pos, t.end_pos - t.pos) == t.xid
