"""Every byte of small logs flipped: with CRC32 each flip is reported, and costs no other event.

One bit per byte, another in each byte; ``BINLOGKIT_FUZZ_FULL=1`` takes all eight.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError, DamageError, NotABinlogError
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import FORMAT_DESCRIPTION, HEADER, MAGIC, Pieces, join, split
from tests.fuzz.binlogkit_fuzz.invariants import documented, is_safe

FULL = bool(os.environ.get("BINLOGKIT_FUZZ_FULL"))
FLAGS = slice(len(MAGIC) + 17, len(MAGIC) + 19)  # of the first event, a format description
IN_USE_BYTE = FLAGS.start
CHECKED = [
    "5.7-row-full/shutdown/binlog.000002",
    "5.7-row-full/crash/binlog.000001",
    "5.7-row-full/crash/binlog.000002",
    "8.0-row-full/shutdown/binlog.000002",
    "8.0-row-full/crash/binlog.000002",
    "9-row-full/modern/binlog.000002",
]


def flips(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """(place, the log with one bit of the byte there flipped), of each ``step``-th byte."""
    for at in range(0, len(data), 1 if FULL else step):
        for bit in range(8) if FULL else ((at * 5 + 3) % 8,):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            yield at, bytes(changed)


def records_of(log: bk.Log, *streams: str) -> list[Any]:
    return [record for name in streams for record in getattr(log, name)()]


def read(data: bytes, mode: str) -> tuple[list[RawEvent], list[DamageError], Exception | None]:
    """The events, the damage reported, and the error that ended it."""
    events: list[RawEvent] = []
    told: list[DamageError] = []
    try:
        for event in LogReader("log", io.BytesIO(data), on_damage=mode, sink=told.append):
            events.append(event)
    except BinlogKitError as error:
        assert is_safe(str(error))
        return events, told, error
    return events, told, None


def only_in_use(data: bytes, changed: bytes, at: int) -> bool:
    return at == IN_USE_BYTE and data[at] ^ changed[at] == 1


@pytest.mark.parametrize("name", CHECKED)
def test_a_flip_is_an_error_at_its_event(name: str) -> None:
    """``stop``: every event before the flipped one, then an error that names its place."""
    data = seeds.logs()[name]
    whole, told, error = read(data, "stop")
    assert whole and not told and error is None
    for at, changed in flips(data):
        events, _, error = read(changed, "stop")
        if at < len(MAGIC):
            assert isinstance(error, NotABinlogError)
            continue
        if only_in_use(data, changed, at):
            assert error is None and len(events) == len(whole)
            continue
        assert isinstance(error, DamageError), f"byte {at} changed, and nobody noticed"
        hit = next(i for i, event in enumerate(whole) if event.pos <= at < event.end_pos)
        if hit == 0:  # it may be read as another event, until the next one shows that it is none
            assert [event.pos for event in events] in ([], [whole[0].pos])
        else:
            assert events == whole[:hit]
        assert error.offset == whole[hit].pos


@pytest.mark.parametrize("name", CHECKED)
def test_a_flip_costs_no_other_event(name: str) -> None:
    """``report``: the damage is reported, and all other events come, with the same bytes."""
    data = seeds.logs()[name]
    whole, _, _ = read(data, "report")
    for at, changed in flips(data):
        events, told, error = read(changed, "report")
        assert error is None
        if only_in_use(data, changed, at):
            assert not told
            continue
        assert told, f"byte {at} changed, and nobody noticed"
        delivered = {event.pos: event for event in events if event.checksum != "bad"}
        for event in whole:
            if event.pos <= at < event.end_pos:
                assert delivered.get(event.pos) != event
            else:
                found = delivered.get(event.pos)
                assert found is not None, f"byte {at} changed, and the event at {event.pos} is gone"
                assert (found.header, found.body) == (event.header, event.body), at


def plain(name: str) -> bytes:
    """The log as a server with binlog_checksum=NONE writes it."""
    pieces = split(seeds.logs()[name])
    parts = [
        replace(part, body=part.body[:-1] + b"\0") if part.code == FORMAT_DESCRIPTION else part
        for part in pieces.parts
    ]
    return join(Pieces(parts, HEADER, checksums=False))


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(
    "name", ["5.7-row-full/crash/binlog.000002", "8.0-row-full/crash/binlog.000002"]
)
def test_without_checksums_a_flip_is_an_error_or_another_value(name: str) -> None:
    data = plain(name)
    assert [event.checksum for event in read(data, "stop")[0][:2]] == ["ok", "none"]
    for at, changed in flips(data, 3):
        for mode in ("stop", "report"):
            log = bk.open(changed, on_damage=mode)
            outcome = documented(partial(records_of, log, "event_records", "row_records"))
            assert mode == "stop" or isinstance(outcome, list) or at < len(MAGIC)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED if FULL else CHECKED[2:5:2])
def test_the_front_door_stands_every_flip(name: str) -> None:
    """Events, rows and transactions: documented errors in ``stop``, none after the magic else."""
    data = seeds.logs()[name]
    for at, changed in flips(data, 7):
        for mode in ("stop", "report"):
            for read_all in ("event_records", "row_records", "transaction_records"):
                log = bk.open(changed, on_damage=mode)
                outcome = documented(partial(records_of, log, read_all))
                assert mode == "stop" or isinstance(outcome, list) or at < len(MAGIC), outcome
