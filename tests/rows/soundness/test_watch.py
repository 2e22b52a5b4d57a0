"""What damage may have taken is found out from the windows around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from binlogkit.constants import EventType as T
from binlogkit.rows import scan
from binlogkit.rows.transactions import GTID_TYPES
from binlogkit.sources import chunks
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.rows.window_checks import Seen, assert_same

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
SOURCE = "80808080-0080-11ee-8080-808080808080"
Parts = list[framing.Part]


@pytest.fixture(params=[400, 1 << 20], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage and what is known of it in the same window, and in others."""
    monkeypatch.setattr(chunks, "SIZE", request.param)
    monkeypatch.setattr(scan, "_ENOUGH", 4)


def codes(data: bytes) -> list[int]:
    return [data[at + 4] for at in framing.places(data)]


def flipped(data: bytes, *offsets: int) -> bytes:
    broken = bytearray(data)
    for offset in offsets:
        broken[offset] ^= 0x41
    return bytes(broken)


def changed(data: bytes, change: Callable[[Parts], None]) -> bytes:
    pieces = framing.split(data)
    parts = list(pieces.parts)
    change(parts)
    return framing.join(replace(pieces, parts=parts))


def long_transaction(data: bytes) -> list[int]:
    """The places of a transaction's events, the GTID's first: of several tables."""
    found, at = [], framing.places(data)
    starts = [k for k, code in enumerate(codes(data)) if code in GTID_TYPES]
    for k, end in zip(starts, [*starts[1:], len(at)], strict=True):
        if codes(data)[k:end].count(T.TABLE_MAP_EVENT) > 2:
            found = at[k:end]
            break
    assert found
    return found


def seen(data: bytes) -> Seen:
    return assert_same(data, "report")


def test_of_an_intact_log_nothing() -> None:
    assert seen(LOG).losses == []


def test_an_event_of_a_transaction() -> None:
    """Which one it is, and the tables that it named before."""
    events = long_transaction(LOG)
    last = max(k for k, at in enumerate(events) if LOG[at + 4] in seeds.ROWS)
    (loss,) = seen(flipped(LOG, events[last] + 30)).losses
    assert f"from {events[last]} to {events[last]}: one " in loss or "cannot be read" in loss
    assert f"events of transaction {SOURCE}:" in loss and "(tables bank." in loss
    assert "no whole transaction is missing" in loss


def test_a_range_inside_of_a_transaction() -> None:
    events = long_transaction(LOG)
    data = LOG[: events[3] + 9] + bytes(13) + LOG[events[3] + 22 :]
    (loss,) = seen(data).losses
    assert f"events of transaction {SOURCE}:" in loss


@pytest.mark.parametrize("count", [1, 2, 5])
def test_whole_transactions(count: int) -> None:
    """How many, and their GTIDs, by those before and behind them."""
    starts = [k for k, code in enumerate(codes(LOG)) if code in GTID_TYPES]
    first, behind = framing.places(LOG)[starts[4]], framing.places(LOG)[starts[4 + count]]
    data = LOG[:first] + b"\xff" * (behind - first) + LOG[behind:]
    (loss,) = seen(data).losses
    assert f"the start of {count} transaction" in loss and f"{SOURCE}:" in loss


def test_the_beginning_of_a_transaction() -> None:
    starts = [k for k, code in enumerate(codes(LOG)) if code in GTID_TYPES]
    first, behind = framing.places(LOG)[starts[4]], framing.places(LOG)[starts[6] + 2]
    data = LOG[:first] + b"\xff" * (behind - first) + LOG[behind:]
    (loss,) = seen(data).losses
    assert "the transaction that continues after it lacks its beginning" in loss


def test_damage_that_nothing_follows() -> None:
    at = framing.places(LOG)[-2]
    (loss,) = seen(LOG[: at + 12]).losses
    assert "any number of transactions may be missing" in loss


def test_each_of_several_damages_far_apart() -> None:
    starts = [framing.places(LOG)[k] for k, code in enumerate(codes(LOG)) if code in GTID_TYPES]
    data = flipped(LOG, *(at + 30 for at in starts[3::9]))
    assert len(seen(data).losses) == len(starts[3::9]) > 2


def test_damages_before_the_next_transaction_are_one() -> None:
    events = long_transaction(LOG)
    data = flipped(LOG, *(at + 25 for at in events[2:5]))
    (loss,) = seen(data).losses
    assert f"from {events[2]} to {events[4]}" in loss or str(events[2]) in loss


def test_a_gtid_event_that_cannot_be_read_tells_nothing() -> None:
    """Neither does one whose checksum is wrong: the one before it counts."""

    def cut(parts: Parts) -> None:
        at = [k for k, part in enumerate(parts) if part.code in GTID_TYPES][5]
        parts[at] = replace(parts[at], body=parts[at].body[:20])

    for data in (changed(LOG, cut), LOG):
        starts = [
            framing.places(data)[k] for k, code in enumerate(codes(data)) if code in GTID_TYPES
        ]
        assert len(seen(flipped(data, starts[5] + 30)).losses) == 1
        assert len(seen(flipped(data, starts[5] + 30, starts[6] + 30)).losses) == 1
        assert seen(flipped(data, starts[6] + 30)).losses


def test_tables_of_load_data_count() -> None:
    """LOAD_EVENT and CREATE_FILE_EVENT of servers before 5.0.3 name theirs."""
    logs = [name for name in seeds.logs() if "17_18_load__log" in name or "4_1" in name]
    for name in logs:
        data = seeds.logs()[name]
        for at in framing.places(data)[3 :: max(1, len(framing.places(data)) // 9)]:
            assert_same(flipped(data, at + 3, at + 21), "report")


def test_a_transaction_that_a_relay_log_goes_on_with() -> None:
    pieces = framing.split(LOG)
    events = long_transaction(LOG)
    k = framing.places(LOG).index(events[-2])
    first = replace(pieces.parts[0], flags=0x40)
    logs = [
        framing.join(replace(pieces, parts=[first, *parts]))
        for parts in (pieces.parts[1:k], pieces.parts[k:])
    ]
    for at in (30, framing.places(logs[1])[1] + 22):
        found = assert_same([logs[0], flipped(logs[1], at)], "report")
        assert any(f"events of transaction {SOURCE}:" in loss for loss in found.losses), at
        assert any("(tables bank." in loss for loss in found.losses)
