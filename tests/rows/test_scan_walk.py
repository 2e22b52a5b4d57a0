"""Stretches of a log as the scan takes them, and where it gives a log up."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import pytest
from binlogkit.rows.scan_walk import ScanWalk
from binlogkit.rows.stretches import Stretch
from binlogkit_fuzz import framing, seeds
from binlogkit_fuzz.framing import log_of

from binlogkit.constants import EventType as T
from binlogkit.sources import chunks
from binlogkit.sources.carriers import resolve

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
PAYLOADS = seeds.logs()["8.0-row-compressed/transactions/binlog.000001"]


def scanned(data: bytes) -> tuple[ScanWalk, list[tuple[int, int, int]]]:
    """(offset or outer offset, inner or -1, ordinal) of every event that was handed over."""
    walk = ScanWalk(resolve(data)[0], None)
    return walk, [event for stretch in walk for event in events_of(stretch)]


def events_of(stretch: Stretch) -> list[tuple[int, int, int]]:
    offsets = stretch.entries["offset"].tolist()
    if stretch.outer is not None:
        return [
            (stretch.outer[0], stretch.inner + i, stretch.ordinal + i) for i in range(len(offsets))
        ]
    return [(stretch.origin + at, -1, stretch.ordinal + i) for i, at in enumerate(offsets)]


def places(data: bytes) -> list[int]:
    """The offsets of a log's events, by their sizes alone."""
    found, at = [], len(framing.MAGIC)
    while at < len(data):
        found.append(at)
        at += int.from_bytes(data[at + 9 : at + 13], "little")
    return found


@pytest.mark.parametrize("size", [64, 300, 5000, 1 << 20])
def test_every_event_once_in_its_order(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    for data in (LOG, PAYLOADS):
        walk, found = scanned(data)
        assert walk.obstacle is None
        assert [ordinal for _, _, ordinal in found] == list(range(len(found)))
        assert [pos for pos, inner, _ in found if inner < 0] == places(data)
    inner = [(pos, i) for pos, i, _ in found if i >= 0]
    assert inner == sorted(inner) and len(inner) > 20


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_damage_is_an_obstacle_behind_all_that_is_sound(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    starts = places(LOG)
    for at in starts[1::9]:
        broken = LOG[: at + 20] + bytes([LOG[at + 20] ^ 1]) + LOG[at + 21 :]
        walk, found = scanned(broken)
        assert walk.obstacle == (at, -1)
        assert [pos for pos, _, _ in found] == starts[: starts.index(at)]


def test_a_log_that_ends_inside_an_event() -> None:
    walk, found = scanned(LOG[:-1])
    assert walk.obstacle == (places(LOG)[-1], -1)
    assert len(found) == len(places(LOG)) - 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xfebi",
        framing.MAGIC,
        b"no log at all",
        LOG[:4] + LOG[120:],
        b"\xfebin\0\0\0\0\1" + bytes(60),
    ],
    ids=["empty", "cut-magic", "only-magic", "text", "no-format", "v3"],
)
def test_what_the_scan_is_not_made_for(data: bytes) -> None:
    walk, found = scanned(data)
    assert (found, walk.obstacle) == ([], (0, -1))


def test_a_size_that_nothing_supports_is_not_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that claims a gigabyte, in a log in which so much might follow."""
    monkeypatch.setattr(chunks, "SIZE", 1000)
    at = places(LOG)[5]
    claims = LOG[: at + 9] + (1 << 30).to_bytes(4, "little") + LOG[at + 13 :]
    walk = ScanWalk(resolve(claims + bytes(1 << 16))[0], None)
    largest = max(len(stretch.data) for stretch in walk)
    assert walk.obstacle == (at, -1)
    assert largest < 10_000


def test_without_checksums_positions_vouch() -> None:
    parts = framing.split(seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]).parts
    data = framing.join(framing.Pieces(parts, checksums=False))
    walk, found = scanned(data)
    assert walk.obstacle is None
    assert len(found) == len(places(data))
    at = places(data)[len(found) // 2]
    moved = data[: at + 13] + bytes([data[at + 13] ^ 1]) + data[at + 14 :]
    walk, found = scanned(moved)
    assert walk.obstacle is not None and walk.obstacle[0] <= at
    assert [pos for pos, _, _ in found] == [p for p in places(data) if p < walk.obstacle[0]]


def test_a_payload_that_breaks_off_tells_how_far_it_was_handed_over() -> None:
    events = [(int(T.XID_EVENT), bytes(8))] * 3
    plain = log_of(events, checksums=False)
    inner = plain[places(plain)[1] :]
    size = (len(inner) - 5).to_bytes(3, "little")
    body = b"\2\3\xfc\xff\0" + b"\1\4\xfd" + size + b"\0" + inner[:-5]
    walk, found = scanned(log_of([(int(T.TRANSACTION_PAYLOAD_EVENT), body)]))
    assert walk.obstacle is not None
    assert walk.obstacle[1] == sum(1 for _, inner, _ in found if inner >= 0) == 2
