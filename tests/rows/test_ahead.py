"""The XID of a transaction, read ahead of its end: by its length, by hopping, by scanning."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.rows import ahead
from binlogkit.rows.ahead import xid_by_hopping, xid_by_scanning
from binlogkit.sources.carriers import Carrier, resolve
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.rows.window_checks import SeenTransaction, by_reference

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
LOGS = {
    name: seeds.logs()[f"{name}/transactions/binlog.000001"]
    for name in ("8.0-row-full", "5.7-mixed-full", "5.7-row-no-gtid", "8.0-row-compressed")
} | {"8.0-row-no-checksum": seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]}


def carrier_of(data: bytes) -> Carrier:
    return resolve(data)[0]


def whole(data: bytes) -> tuple[dict[int, SeenTransaction], dict[int, list[int]]]:
    """The transactions of a log, and where the events of each begin."""
    seen = by_reference(bk.open(data, on_damage="report"))
    starts: dict[int, list[int]] = {}
    for event in seen.events:
        if event.tx is not None and event.raw.inner is None:
            starts.setdefault(event.tx, []).append(event.raw.pos)
    return seen.transactions, starts


@pytest.mark.parametrize("name", [n for n in LOGS if n != "8.0-row-compressed"])
@pytest.mark.parametrize("known", [True, False])
def test_hopping_from_any_event(name: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """``known``: whether the GTID event tells the transaction's length."""
    data, checksums = LOGS[name], "checksum" not in name
    transactions, starts = whole(data)
    if known:
        monkeypatch.setattr(ahead, "_hopped", lambda *_, **__: (True, None))
    found = {
        (number, at): xid_by_hopping(
            carrier_of(data), t.pos, t.end_pos - t.pos if known else -1, at, checksums=checksums
        )
        for number, t in transactions.items()
        for at in starts[number][2:]
    }
    assert found == {(number, at): (True, transactions[number].xid) for number, at in found}
    assert len(found) > 50


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("number", [0, 7])
def test_scanning(name: str, number: int) -> None:
    data = LOGS[name]
    transactions, _ = whole(data)
    assert any(t.xid for t in transactions.values())
    for k, t in transactions.items():
        xid = xid_by_scanning(carrier_of(data), number, number + k, begin=0, stops=True)
        assert xid == t.xid


def test_scanning_from_a_transaction_on() -> None:
    transactions, _ = whole(LOG)
    for k in (3, 10, 20):
        begin = transactions[k].pos
        for later in (k, k + 4):
            xid = xid_by_scanning(carrier_of(LOG), k, later, begin=begin, stops=True)
            assert xid == transactions[later].xid


def test_a_length_that_leads_elsewhere() -> None:
    """It is a claim: what stands there must be a whole XID_EVENT."""
    transactions, starts = whole(LOG)
    number = next(k for k, t in transactions.items() if t.xid and len(starts[k]) > 6)
    t = transactions[number]
    for length in (1, 40, t.end_pos - t.pos - 1, t.end_pos - t.pos + 1, 1 << 62):
        found = xid_by_hopping(carrier_of(LOG), t.pos, length, starts[number][2], checksums=True)
        assert found == (True, t.xid)


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
    transactions, starts = whole(data)
    checked = 0
    for number, t in transactions.items():
        for at in starts[number][1:]:
            checked += 1
            found = xid_by_hopping(carrier_of(data), t.pos, -1, at, checksums="full" in name)
            assert found == (True, t.xid)
    assert checked > 30


def broken(at: int) -> bytes:
    return LOG[:at] + bytes([LOG[at] ^ 0x41]) + LOG[at + 1 :]


def damaged() -> Iterator[tuple[bytes, int]]:
    """Logs in which something between a transaction's rows and its end is broken; its number."""
    transactions, starts = whole(LOG)
    number = next(k for k, t in transactions.items() if t.xid and len(starts[k]) > 6)
    last, before = starts[number][-1], starts[number][-2]
    yield broken(before + 9), number  # a size
    yield broken(before + 12), number
    yield broken(last + 20), number  # the XID
    yield broken(last + 9), number
    yield broken(last + 4), number  # its type
    yield LOG[: last + 9], number
    yield LOG[:last], number


def test_hopping_gives_up_where_headers_lead_nowhere() -> None:
    """Then the log is scanned, as it is read."""
    for data, number in damaged():
        transactions, starts = whole(data)
        t = transactions[number]
        looked, xid = xid_by_hopping(carrier_of(data), t.pos, -1, starts[number][2], checksums=True)
        if not looked:
            xid = xid_by_scanning(carrier_of(data), 0, number, begin=0, stops=False)
        assert xid == t.xid


def test_scanning_stops_at_damage_or_not() -> None:
    transactions, _ = whole(LOG)
    data = broken(transactions[3].pos + 25)
    later = next(k for k, t in transactions.items() if k > 5 and t.xid)
    found, _ = whole(data)
    for stops in (True, False):
        xid = xid_by_scanning(carrier_of(data), 0, later, begin=0, stops=stops)
        assert xid == (None if stops else found[later].xid)
    assert found[later].xid == transactions[later].xid


def test_what_cannot_seek_is_not_hopped_over(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001.gz"
    path.write_bytes(gzip.compress(LOG))
    text = LOG[4:]
    for source in (path, text):
        (carrier,) = resolve(source)
        assert xid_by_hopping(carrier, 4, -1, 126, checksums=True) == (False, None)
    transactions, _ = whole(LOG)
    (carrier,) = resolve(path)
    for k, t in transactions.items():
        assert xid_by_scanning(carrier, 0, k, begin=0, stops=True) == t.xid
