"""Behind damage the kernel goes on, and tells the same as reading event by event does."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from binlogkit.rows.pieces import Piece
from binlogkit_fuzz import framing, seeds
from readings import assert_same

import binlogkit as bk
from binlogkit.frames import windows
from binlogkit.rows import boundaries
from binlogkit.rows.transactions import GTID_TYPES

FORMAT, TABLE_MAP, XID = 15, 19, 16
WITH_GTIDS = sorted(
    path
    for path in seeds.DATA.glob("*/*/binlog.00000?")
    if 1000 < path.stat().st_size < 150_000
    and any(part.code in GTID_TYPES for part in framing.split(path.read_bytes()).parts)
    and "checksum" not in path.parent.parent.name
)
LOG = seeds.DATA / "8.0-row-full" / "transactions" / "binlog.000001"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first transaction behind damage."""
    monkeypatch.setattr(boundaries, "ENOUGH", 0)


def flipped(data: bytes, *offsets: int) -> bytes:
    broken = bytearray(data)
    for offset in offsets:
        broken[offset] ^= 0x41
    return bytes(broken)


def ways(data: bytes) -> str:
    """How a log is read: P for pieces, s for steps."""
    log = bk.open(data, on_damage="report")
    items = log.walk().pieces()
    return "".join(k for k, _ in groupby("P" if isinstance(i, Piece) else "s" for i in items))


def starts(data: bytes) -> list[int]:
    """Where the transactions begin."""
    records = bk.open(data).event_records()
    return [int(str(r["pos"])) for r in records if "GTID_LOG_EVENT" in str(r["type"])]


def test_there_are_logs() -> None:
    assert len(WITH_GTIDS) > 80
    assert any("compressed" in str(path) for path in WITH_GTIDS)


def test_the_kernel_goes_on_at_the_next_transaction() -> None:
    data = LOG.read_bytes()
    begins = starts(data)
    broken = flipped(data, begins[3] + 30)
    assert ways(broken) == "PsP"
    log = bk.open(broken, on_damage="report")
    assert sum(b.batch.num_rows for b in log.batches())
    (detour,) = log.detours
    assert detour.pos == begins[3]
    events = [int(str(r["pos"])) for r in bk.open(data).event_records()]
    assert detour.events == events.index(begins[4]) - events.index(begins[3])
    assert detour.size == begins[4] - begins[3]
    assert_same(broken, "report")


def test_damages_near_to_each_other_and_far_apart() -> None:
    data = LOG.read_bytes()
    begins = starts(data)
    near = flipped(data, begins[3] + 30, begins[4] + 30, begins[5] + 5)
    assert ways(near) == "PsP"
    far = flipped(data, begins[2] + 30, begins[6] + 90, begins[9] + 5)
    assert ways(far) == "PsPsPsP"
    for broken in (near, far):
        found = assert_same(broken, "report")
        assert found.damages and found.losses


@pytest.mark.parametrize("path", WITH_GTIDS[::4], ids=lambda p: str(p.relative_to(seeds.DATA)))
def test_logs_with_gtids(path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(path.stat().st_size)
    for _ in range(2):
        places = sorted(chance.randrange(130, len(data)) for _ in range(chance.choice((1, 2, 4))))
        assert_same(flipped(data, *places), "report")
    at, size = chance.randrange(130, len(data)), chance.randrange(1, 3000)
    assert_same(data[:at] + bytes(len(data[at : at + size])) + data[at + size :], "report")
    assert_same(data[:at] + data[at + size :], "report")


def test_what_follows_a_log_that_was_gone_on_with(tmp_path: Path) -> None:
    """Transactions, statements and tables are numbered on; the last one has its XID."""
    data = LOG.read_bytes()
    names = [str(tmp_path / f"binlog.{number:06}") for number in (1, 2, 3)]
    begins = starts(data)
    for name, at in zip(names, (begins[2] + 30, begins[-2] + 40, begins[4] + 3), strict=True):
        Path(name).write_bytes(flipped(data, at))
    found = assert_same(names, "report")
    numbers = [row["tx"] for rows in found.rows.values() for row in rows]
    assert max(numbers) > 2 * len(begins)


def test_a_transaction_that_waits_is_read_ahead_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WAITING", 0)
    data = LOG.read_bytes()
    begins = starts(data)
    broken = flipped(data, begins[1] + 30, begins[8] + 30)
    assert ways(broken) == "PsPsP"
    assert_same(broken, "report")


def test_rows_for_a_map_of_before_are_no_loss() -> None:
    """A table id stands for its table until another map or log says otherwise."""
    pieces = framing.split(LOG.read_bytes())
    parts = list(pieces.parts)
    rows = [k for k, part in enumerate(parts) if part.code in seeds.ROWS]
    same = [k for k in rows if parts[k].body[:6] == parts[rows[0]].body[:6]]
    alone = same[-1]
    assert parts[alone - 1].code == TABLE_MAP
    del parts[alone - 1]
    data = framing.join(replace(pieces, parts=parts))
    begins = starts(data)
    broken = flipped(data, begins[1] + 30)
    assert ways(broken).startswith("PsP")
    found = assert_same(broken, "report")
    assert sum(map(len, found.rows.values())) == sum(
        map(len, assert_same(flipped(LOG.read_bytes(), begins[1] + 30), "report").rows.values())
    )


def test_table_ids_of_a_log_before_stand_for_nothing() -> None:
    """A server that was started again counts anew; the format description may be what is lost."""
    data = LOG.read_bytes()
    found = list(bk.open(data).event_records())
    at = next(k for k, r in enumerate(found) if r["code"] == TABLE_MAP)
    table_map, rows = (int(str(found[k]["pos"])) for k in (at, at + 1))
    second = flipped(data, 4 + 19 + 56, table_map + 30)
    told = assert_same([data, second], "report")
    alone = assert_same(second, "report")
    assert any("no TABLE_MAP_EVENT" in damage for damage in alone.damages)
    assert [d.partition(" ")[2] for d in told.damages] == [
        d.partition(" ")[2] for d in alone.damages
    ]
    assert not [r for t in alone.rows.values() for r in t if r["pos"] == rows]


def test_behind_a_second_format_description_it_does_not() -> None:
    """A scan begins with the log's first."""
    pieces = framing.split(LOG.read_bytes())
    at = [k for k, part in enumerate(pieces.parts) if part.code in GTID_TYPES][5]
    parts = [*pieces.parts[:at], pieces.parts[0], *pieces.parts[at:]]
    data = framing.join(replace(pieces, parts=parts))
    begins = starts(data)
    for place, way in ((begins[1], "PsP"), (begins[4], "Ps"), (begins[8], "Ps")):
        broken = flipped(data, place + 30)
        assert ways(broken) == way
        assert_same(broken, "report")


@pytest.mark.parametrize("without", ["checksums", "GTID events"])
def test_without_checksums_or_gtids_it_does_not(without: str) -> None:
    """Nothing vouches for the bytes between, or tells what is missing."""
    data = LOG.read_bytes()
    pieces = framing.split(data)
    if without == "checksums":
        data = (seeds.DATA / "8.0-row-no-checksum" / "keys" / LOG.name).read_bytes()
    else:
        parts = [part for part in pieces.parts if part.code not in GTID_TYPES]
        data = framing.join(replace(pieces, parts=parts))
    begins = [int(str(r["pos"])) for r in bk.open(data).event_records() if r["code"] == XID]
    broken = flipped(data, begins[3] + 9)
    assert ways(broken) == "Ps"
    assert_same(broken, "report")
