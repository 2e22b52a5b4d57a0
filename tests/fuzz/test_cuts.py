"""Every place at which a small log can end, for every version of the format that is at hand.

``tests/cli/test_every_cut.py`` has rows and compressed transactions of 5.7 and 8.0; here are all
versions, also those that only the fixture writer or other projects' files have.
"""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

import binlogkit as bk
from binlogkit.errors import (
    BinlogKitError,
    DamageError,
    EmptyInputError,
    NotABinlogError,
    TruncatedEventError,
)
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import (
    FORMAT_DESCRIPTION,
    HEADER,
    MAGIC,
    Part,
    Pieces,
    join,
    split,
)

START = b"3.23.58-log".ljust(50, b"\0") + bytes(4)
STATEMENT = bytes(8) + b"\1\0\0" + b"d\0INSERT INTO t VALUES (1)"


def unchecked(name: str) -> bytes:
    pieces = split(seeds.logs()[name])
    parts = [
        replace(p, body=p.body[:-1] + b"\0") if p.code == FORMAT_DESCRIPTION else p
        for p in pieces.parts
    ]
    return join(Pieces(parts, HEADER, checksums=False))


def early(version: int, header: int) -> bytes:
    """A v1 or v3 log: a start event, two statements, a rotate event."""
    rotate = b"binlog.002" if version == 1 else (4).to_bytes(8, "little") + b"binlog.002"
    bodies = [
        (1, version.to_bytes(2, "little") + START),
        (2, STATEMENT),
        (2, STATEMENT),
        (4, rotate),
    ]
    parts = [Part(9, code, 1, 0, body) for code, body in bodies]
    data = bytearray(join(Pieces(parts, header, checksums=False)))
    if version == 3:  # log_pos is the event's own start there
        p = len(MAGIC)
        while p < len(data):
            data[p + 13 : p + 17] = p.to_bytes(4, "little")
            p += int.from_bytes(data[p + 9 : p + 13], "little")
    return bytes(data)


LOGS = {
    "v1": lambda: early(1, 13),
    "v3": lambda: early(3, 19),
    "5.7 unchecked": lambda: unchecked("5.7-row-full/crash/binlog.000002"),
    "8.0 unchecked": lambda: unchecked("8.0-row-full/crash/binlog.000002"),
    "5.7": lambda: seeds.logs()["5.7-row-full/crash/binlog.000002"],
    "8.0": lambda: seeds.logs()["8.0-row-full/crash/binlog.000002"],
    "9": lambda: seeds.logs()["9-row-full/modern/binlog.000002"],
}


def read(data: bytes, mode: str) -> tuple[list[RawEvent], list[DamageError], Exception | None]:
    told: list[DamageError] = []
    events: list[RawEvent] = []
    try:
        for event in LogReader("log", io.BytesIO(data), on_damage=mode, sink=told.append):
            events.append(event)
    except BinlogKitError as error:
        return events, told, error
    return events, told, None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LOGS)
def test_a_cut_costs_the_cut_event_alone(name: str) -> None:
    data = LOGS[name]()
    whole, told, error = read(data, "stop")
    assert len(whole) > 2 and not told and error is None
    ends = {len(MAGIC), *(event.end_pos for event in whole)}
    assert max(ends) == len(data)
    for cut in range(len(data)):
        before = [event for event in whole if event.end_pos <= cut]
        events, _, error = read(data[:cut], "stop")
        if cut < len(MAGIC):
            assert isinstance(error, NotABinlogError if cut else EmptyInputError)
            continue
        assert events == before
        if cut in ends:
            assert error is None
        else:
            assert isinstance(error, TruncatedEventError)
            assert error.offset == max(end for end in ends if end < cut)
        events, told, error = read(data[:cut], "report")
        assert events == before and error is None
        assert len(told) == (cut not in ends)


@pytest.mark.parametrize("name", ["v1", "v3", "9"])
def test_the_front_door_gives_what_is_whole(name: str) -> None:
    data = LOGS[name]()
    whole = list(bk.open(data).event_records())
    for cut in range(len(MAGIC), len(data), 5):
        found = list(bk.open(data[:cut], on_damage="report").event_records())
        # What a transaction's end tells, and the cut took, is not known before it.
        expected = [{**event, "gtid": None} for event in whole if event["end_pos"] <= cut]
        assert [{**event, "gtid": None} for event in found] == expected
