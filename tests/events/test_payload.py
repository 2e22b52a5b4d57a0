"""Compressed payloads: streams that expand, claims that are wrong, payloads in payloads."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, LimitError, MalformedEventError
from binlogkit.events.payload import TransactionPayload, inner_events
from binlogkit.sources.raw import EventHeader, RawEvent

IGNORABLE = int(EventType.IGNORABLE_LOG_EVENT)


def event(size: int, code: int = IGNORABLE) -> bytes:
    """An event of ``size`` bytes, zeros behind its header."""
    head = bytes(4) + bytes([code]) + bytes(4) + size.to_bytes(4, "little") + bytes(6)
    return head + bytes(size - len(head))


def payload(data: bytes, claimed: int | None = None, compression: str = "ZSTD") -> list[Any]:
    """The outer event, and a payload of these events."""
    packed = zstandard.compress(data) if compression == "ZSTD" else data
    header = EventHeader(0, int(EventType.TRANSACTION_PAYLOAD_EVENT), 1, 100, 1100, 0)
    outer = RawEvent("log", 1000, header, b"")
    return [outer, TransactionPayload(len(packed), compression, claimed, packed)]


def inside(*arguments: object, **options: object) -> Iterator[RawEvent]:
    return inner_events(*payload(*arguments, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("compression", ["ZSTD", "NONE"])
def test_events_share_the_payloads_place(compression: str) -> None:
    data = event(19) + event(40) + event(1 << 20)
    found = list(inside(data, len(data), compression=compression))
    assert [(e.pos, e.end_pos, e.inner, e.header.size) for e in found] == [
        (1000, 1100, 0, 19),
        (1000, 1100, 1, 40),
        (1000, 1100, 2, 1 << 20),
    ]


def test_expansion_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 MiB of events are 10 kB packed; one event of 1 MiB is held at a time."""
    monkeypatch.setenv("BINLOGKIT_LIMIT_PAYLOAD", str(1 << 30))
    arguments = payload(event(1 << 20) * 256)
    assert len(arguments[1].payload) < 1 << 16
    tracemalloc.start()
    total = sum(e.header.size for e in inner_events(*arguments))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 256 << 20
    assert peak < 16 << 20


@pytest.mark.parametrize("compression", ["ZSTD", "NONE"])
def test_a_payload_expands_up_to_its_limit(
    monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    """What lies before the limit is given; each byte of the payload adds to it."""
    arguments = payload(event(1 << 16) * 40, compression=compression)
    packed = len(arguments[1].payload)
    monkeypatch.setenv("BINLOGKIT_LIMIT_EXPANSION", "1")
    monkeypatch.setenv("BINLOGKIT_LIMIT_PAYLOAD", str((10 << 16) + 1000))
    whole = compression == "NONE"  # it does not expand
    found = []
    try:
        for one in inner_events(*arguments):
            found.append(one)
    except LimitError as error:
        most = (10 << 16) + 1000 + packed
        assert f"at 1000: the payload expands to more than {most} bytes" in str(error)
        assert "BINLOGKIT_LIMIT_PAYLOAD" in str(error)
        assert not whole
    assert len(found) == (40 if whole else 10)


def test_an_event_that_claims_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_LIMIT_PAYLOAD", "1000")
    monkeypatch.setenv("BINLOGKIT_LIMIT_EXPANSION", "1")
    found = inside(event(19) + event(9000))
    assert next(found).inner == 0
    with pytest.raises(LimitError, match="event 1 of the payload claims 9000 bytes"):
        next(found)


def test_a_payload_holds_as_many_events_as_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = payload(event(19) * 5000)
    allowed = 10 + 1000 * len(arguments[1].payload) // 100
    monkeypatch.setenv("BINLOGKIT_LIMIT_INNER_EVENTS", "10")
    found = []
    with pytest.raises(LimitError, match=f"holds more than {allowed} events.*INNER_EVENTS"):
        for one in inner_events(*arguments):
            found.append(one.inner)
    assert found == list(range(allowed))


def test_some_are_left_out() -> None:
    outer, body = payload(event(19) + event(40) + event(1 << 21) + event(20))
    behind = 19 + 40 + (1 << 21)
    assert [(e.inner, e.header.size) for e in inner_events(outer, body, 3, behind)] == [(3, 20)]
    assert list(inner_events(outer, body, 4, behind + 20)) == []


@pytest.mark.parametrize("claimed", [0, 1, 58, 60, 1 << 40])
def test_a_wrong_size_is_told(claimed: int) -> None:
    with pytest.raises(MalformedEventError, match=f"it holds 59 bytes and claims {claimed}"):
        list(inside(event(19) + event(40), claimed))


def test_a_payload_in_a_payload_is_refused() -> None:
    data = event(19) + event(40, int(EventType.TRANSACTION_PAYLOAD_EVENT))
    found = inside(data)
    assert next(found).inner == 0
    with pytest.raises(MalformedEventError, match="event 1 of it is a payload again"):
        next(found)


@pytest.mark.parametrize("compression", ["7", "254"])
def test_an_unknown_compression(compression: str) -> None:
    with pytest.raises(MalformedEventError, match=f"not known: it is {compression}, not ZSTD"):
        list(inside(event(19), compression=compression))


def test_a_window_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = packer.compress(event(19)) + packer.flush()
    outer, _ = payload(b"")
    body = TransactionPayload(len(packed), "ZSTD", None, packed)
    assert len(list(inner_events(outer, body))) == 1
    monkeypatch.setenv("BINLOGKIT_LIMIT_WINDOW", "1000000")
    with pytest.raises(LimitError, match="BINLOGKIT_LIMIT_WINDOW"):
        list(inner_events(outer, body))


def test_any_cut_is_told() -> None:
    outer, body = payload(event(19) + event(400))
    whole = body.payload
    for cut in range(1, len(whole)):
        part = TransactionPayload(cut, "ZSTD", 419, whole[:cut])
        with pytest.raises(DamageError):
            list(inner_events(outer, part))
