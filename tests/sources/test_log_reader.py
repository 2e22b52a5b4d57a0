"""Framing: every cut, every carrier of damage, checksums."""

from __future__ import annotations

import io
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from binlogkit.errors import (
    ChecksumError,
    DamageError,
    EmptyInputError,
    InputError,
    MalformedEventError,
    NotABinlogError,
    TruncatedEventError,
)
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent

DATA = Path(__file__).parents[1] / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"


def read(data: bytes, **options: object) -> list[RawEvent]:
    return list(LogReader("log", io.BytesIO(data), **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def log() -> bytes:
    return LOG.read_bytes()


def boundaries(data: bytes) -> list[int]:
    return [4, *(event.end_pos for event in read(data))]


def test_positions_join(log: bytes) -> None:
    events = read(log)
    assert events[0].pos == 4
    assert all(a.end_pos == b.pos for a, b in pairwise(events))
    assert events[-1].end_pos == len(log)
    assert all(e.header.log_pos == e.end_pos for e in events)
    assert {e.checksum for e in events} == {"ok"}


@pytest.mark.slow
def test_a_log_cut_at_every_byte_delivers_what_is_whole(log: bytes) -> None:
    log = log[: boundaries(log)[40]]
    whole = read(log)
    ends = {event.end_pos: i + 1 for i, event in enumerate(whole)}
    for cut in range(len(log)):
        seen: list[RawEvent] = []
        reader = iter(LogReader("log", io.BytesIO(log[:cut])))
        expected = sum(1 for end in ends if end <= cut)
        if cut == 0:
            with pytest.raises(EmptyInputError):
                next(reader)
        elif cut < 4:
            with pytest.raises(NotABinlogError):
                next(reader)
        elif cut == 4 or cut in ends:
            assert list(reader) == whole[:expected]
        else:
            with pytest.raises(TruncatedEventError) as caught:
                seen.extend(reader)
            assert caught.value.offset == ([4, *ends][expected])
            assert seen == whole[:expected] or not seen
            again = []
            with pytest.raises(TruncatedEventError):
                for event in LogReader("log", io.BytesIO(log[:cut])):
                    again.append(event)
            assert again == whole[:expected]


def test_a_flipped_byte_is_found_by_the_checksum(log: bytes) -> None:
    events = read(log)
    damaged = bytearray(log)
    damaged[events[7].pos + 25] ^= 0x10
    seen: list[RawEvent] = []
    with pytest.raises(ChecksumError) as caught:
        for event in LogReader("log", io.BytesIO(bytes(damaged))):
            seen.append(event)
    assert (caught.value.file, caught.value.offset) == ("log", events[7].pos)
    assert seen == events[:7]


def test_reporting_goes_on_behind_a_wrong_checksum(log: bytes) -> None:
    events = read(log)
    damaged = bytearray(log)
    damaged[events[7].pos + 25] ^= 0x10
    found: list[object] = []
    again = read(bytes(damaged), on_damage="report", sink=found.append)
    assert [e.pos for e in again] == [e.pos for e in events]
    assert [e.checksum for e in again if e.checksum != "ok"] == ["bad"]
    assert [type(d) for d in found] == [ChecksumError]


@pytest.mark.parametrize("length", [0, 5, 18, 0xFFFFFFFF, 0x7FFFFFFF])
def test_reporting_finds_the_next_sound_event_behind_a_wrong_length(
    log: bytes, length: int
) -> None:
    events = read(log)
    damaged = bytearray(log)
    damaged[events[5].pos + 9 : events[5].pos + 13] = length.to_bytes(4, "little")
    found: list[object] = []
    again = read(bytes(damaged), on_damage="report", sink=found.append)
    assert [e.pos for e in again] == [e.pos for i, e in enumerate(events) if i != 5]
    assert len(found) == 1
    with pytest.raises((MalformedEventError, TruncatedEventError)):
        read(bytes(damaged))


def test_garbage_between_events_is_quarantined(log: bytes) -> None:
    events = read(log)
    at = events[9].pos
    damaged = log[:at] + b"\x00" * 4096 + log[at:]
    found: list[DamageError] = []
    again = read(damaged, on_damage="report", sink=found.append)
    assert [e.body for e in again] == [e.body for e in events]
    assert [(d.offset, d.end) for d in found] == [(at, at + 4096)]


def test_an_open_log_has_a_format_description_whose_checksum_ignores_the_flag(log: bytes) -> None:
    opened = bytearray(log)
    opened[4 + 17] |= 1
    events = read(bytes(opened))
    assert events[0].header.flags & 1
    assert events[0].checksum == "ok"


@pytest.mark.parametrize("data", [b"PK\x03\x04" + b"x" * 100, b"#!/bin/sh\n", b"\xfe", b"\xfebi"])
def test_what_is_no_binlog_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(NotABinlogError, match="not a binary log"):
        read(data)


def test_an_encrypted_log_is_named_as_such() -> None:
    with pytest.raises(InputError, match="encrypted"):
        read(b"\xfdbin" + b"\0" * 600)


def test_lengths_are_claims(log: bytes) -> None:
    """A header that claims 4 GiB does not make the reader allocate them."""
    import tracemalloc

    head = log[:4] + log[4:9] + b"\x01\0\0\0" + b"\xff\xff\xff\xff" + log[17:23]
    tracemalloc.start()
    with pytest.raises(TruncatedEventError):
        read(head)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_the_checksum_is_a_plain_crc32(log: bytes) -> None:
    event = read(log)[1]
    data = log[event.pos : event.end_pos]
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
