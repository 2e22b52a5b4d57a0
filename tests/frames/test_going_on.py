"""Behind damage the scan goes on with the file, and what comes is what the reference reads."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.frames import row_batches
from binlogkit.rows import scan
from binlogkit.rows.transactions import GTID_TYPES
from tests.frames.readings import assert_same
from tests.fuzz.binlogkit_fuzz import framing, seeds

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
    """At the first intact event behind damage."""
    monkeypatch.setattr(scan, "_ENOUGH", 1)


def flipped(data: bytes, *offsets: int) -> bytes:
    broken = bytearray(data)
    for offset in offsets:
        broken[offset] ^= 0x41
    return bytes(broken)


def ways(source: Any) -> str:
    """How a log is read: F from the file as it lies, p in packs."""
    stretches = [w.stretch for w in bk.open(source, on_damage="report").reading().windows()]
    outer = [s for s in stretches if s is not None and s.outer is None]
    return "".join(k for k, _ in groupby("F" if s.raws is None else "p" for s in outer))


def packed(source: Any) -> list[int]:
    """The offsets of the events that came in packs."""
    stretches = [w.stretch for w in bk.open(source, on_damage="report").reading().windows()]
    found = [s.positions.tolist() for s in stretches if s is not None and s.raws is not None]
    return [pos for positions in found for pos in positions]


def starts(data: bytes) -> list[int]:
    """Where the transactions begin."""
    records = bk.open(data).event_records()
    return [int(str(r["pos"])) for r in records if "GTID_LOG_EVENT" in str(r["type"])]


def events(data: bytes) -> list[int]:
    return [int(str(r["pos"])) for r in bk.open(data).event_records()]


def test_there_are_logs() -> None:
    assert len(WITH_GTIDS) > 80
    assert any("compressed" in str(path) for path in WITH_GTIDS)


def test_the_scan_goes_on_behind_the_next_intact_event() -> None:
    data = LOG.read_bytes()
    begins = starts(data)
    broken = flipped(data, begins[3] + 30)
    at = events(data).index(begins[3])
    assert ways(broken) == "FpF"
    assert packed(broken) == events(data)[at : at + 2]
    assert_same(broken, "report")


@pytest.mark.parametrize("enough", [2, 5, 32, 1 << 20])
def test_as_many_events_in_packs_as_are_enough(
    enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The damaged one, whose framing was intact, is the first of them."""
    monkeypatch.setattr(scan, "_ENOUGH", enough)
    data = LOG.read_bytes()
    found, begins = events(data), starts(data)
    at = found.index(begins[3])
    broken = flipped(data, begins[3] + 30)
    assert packed(broken) == found[at : at + enough]
    assert_same(broken, "report")


def test_damages_near_to_each_other_and_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_ENOUGH", 20)
    data = LOG.read_bytes()
    begins = starts(data)
    near = flipped(data, begins[3] + 30, begins[4] + 30, begins[5] + 5)
    assert ways(near) == "FpF"
    far = flipped(data, begins[2] + 30, begins[8] + 90, begins[14] + 5)
    assert ways(far) == "FpFpFpF"
    for broken in (near, far):
        found = assert_same(broken, "report")
        assert found.damages and found.losses


@pytest.mark.sampled(3)
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
    monkeypatch.setattr(row_batches, "WAITING", 0)
    data = LOG.read_bytes()
    begins = starts(data)
    broken = flipped(data, begins[1] + 30, begins[8] + 30)
    assert ways(broken) == "FpFpF"
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
    assert ways(broken) == "FpF"
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


def test_behind_a_second_format_description() -> None:
    """It says how the events behind it are read, before and behind damage."""
    pieces = framing.split(LOG.read_bytes())
    at = [k for k, part in enumerate(pieces.parts) if part.code in GTID_TYPES][5]
    parts = [*pieces.parts[:at], pieces.parts[0], *pieces.parts[at:]]
    data = framing.join(replace(pieces, parts=parts))
    begins = starts(data)
    for place in (begins[1], begins[4], begins[8]):
        broken = flipped(data, place + 30)
        assert ways(broken) == "FpF"
        assert_same(broken, "report")


def test_without_gtids() -> None:
    pieces = framing.split(LOG.read_bytes())
    parts = [part for part in pieces.parts if part.code not in GTID_TYPES]
    data = framing.join(replace(pieces, parts=parts))
    ends = [int(str(r["pos"])) for r in bk.open(data).event_records() if r["code"] == XID]
    broken = flipped(data, ends[3] + 9)
    assert ways(broken) == "FpF"
    assert_same(broken, "report")


def test_without_checksums_it_does_not() -> None:
    """Nothing vouches for the bytes behind damage."""
    data = (seeds.DATA / "8.0-row-no-checksum" / "keys" / LOG.name).read_bytes()
    ends = [int(str(r["pos"])) for r in bk.open(data).event_records() if r["code"] == XID]
    broken = flipped(data, ends[3] + 9)
    assert ways(broken) == "Fp"
    assert_same(broken, "report")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_only_a_file_that_can_seek_is_gone_on_with(suffix: str, tmp_path: Path) -> None:
    import gzip

    data = LOG.read_bytes()
    broken = flipped(data, starts(data)[3] + 30)
    path = tmp_path / f"binlog.000001{suffix}"
    path.write_bytes(gzip.compress(broken) if suffix else broken)
    assert ways(path) == ("Fp" if suffix else "FpF")
    assert_same(path, "report")
