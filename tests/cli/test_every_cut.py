"""One real log cut at every byte: what is whole is delivered, and the error tells the truth.

At an event's boundary it is a sound log that was not closed. Anywhere else the file ends inside an
event: a TruncatedEventError with that event's offset, after every event and row before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import EmptyInputError, NotABinlogError, TruncatedEventError

MAGIC = 4


def delivered(records: Iterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], Exception | None]:
    """What came, and the error that ended it."""
    found = []
    try:
        for record in records:
            found.append(record)
    except bk.errors.BinlogKitError as error:
        return found, error
    return found, None


def check_error(error: Exception | None, cut: int, boundaries: list[int]) -> None:
    if cut == 0:
        assert isinstance(error, EmptyInputError)
    elif cut < MAGIC:
        assert isinstance(error, NotABinlogError)
    elif cut in boundaries:
        assert error is None
    else:
        assert isinstance(error, TruncatedEventError)
        assert error.offset == max(b for b in boundaries if b <= cut)
        assert f"the file ends {cut - error.offset} bytes into an event" in str(error)


def cuts(data: bytes, frames_of: Any) -> tuple[list[int], range]:
    boundaries = [MAGIC, *(frame.end for frame in frames_of(data))]
    assert all(a < b for a, b in pairwise(boundaries)) and boundaries[-1] == len(data)
    return boundaries, range(len(data) + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "5.7-row-full/crash/binlog.000001",
        pytest.param("5.7-statement-full/transactions/binlog.000002", marks=pytest.mark.slow),
        pytest.param("8.0-row-compressed/transactions/binlog.000002", marks=pytest.mark.campaign),
    ],
)
def test_events(golden_log: Callable[[str], Path], frames_of: Any, name: str) -> None:
    data = golden_log(name).read_bytes()
    whole: list[dict[str, Any]] = list(bk.open(data).event_records())
    boundaries, every = cuts(data, frames_of)
    for cut in every:
        found, error = delivered(bk.open(data[:cut]).event_records())
        check_error(error, cut, boundaries)
        assert found == [event for event in whole if event["end_pos"] <= cut]


def check_rows(data: bytes, frames_of: Any) -> None:
    """The rows before a cut are those of the whole log; what their transaction's end says may lack.

    An XID that stands behind the cut is not known: ``xid`` is null (docs/records.md).
    """
    whole: list[dict[str, Any]] = list(bk.open(data).row_records())
    ends: dict[Any, Any] = {
        event["gtid"]: event["end_pos"]
        for event in bk.open(data).event_records()
        if event["type"] == "XID_EVENT"
    }
    boundaries, every = cuts(data, frames_of)
    for cut in every:
        found, error = delivered(bk.open(data[:cut]).row_records())
        check_error(error, cut, boundaries)
        assert found == [
            row if ends.get(row["gtid"], 0) <= cut else {**row, "xid": None}
            for row in whole
            if row["end_pos"] <= cut
        ]


@pytest.mark.slow
def test_rows(golden_log: Callable[[str], Path], frames_of: Any) -> None:
    """The log of a server that was killed, whole."""
    data = golden_log("8.0-row-full/crash/binlog.000002").read_bytes()
    assert len(list(bk.open(data).row_records())) > 1
    check_rows(data, frames_of)


@pytest.mark.slow
def test_rows_of_xa_transactions(golden_log: Callable[[str], Path], frames_of: Any) -> None:
    """Two updates: one in a transaction that commits, one in an XA transaction."""
    data = golden_log("8.0-row-full/transactions/binlog.000002").read_bytes()
    found = frames_of(data)
    end = next(frame.end for frame in found if frame.type == "XA_PREPARE_LOG_EVENT")
    assert sum(1 for row in bk.open(data[:end]).row_records()) == 2
    check_rows(data[:end], frames_of)


@pytest.mark.slow
def test_rows_of_compressed_transactions(golden_log: Callable[[str], Path], frames_of: Any) -> None:
    data = golden_log("8.0-row-compressed/transactions/binlog.000002").read_bytes()
    check_rows(data, frames_of)


@pytest.mark.slow
def test_reporting_goes_on_to_the_end(golden_log: Callable[[str], Path], frames_of: Any) -> None:
    """``on_damage="report"``: no error at all; the damage is reported, once, at the same place."""
    data = golden_log("5.7-statement-full/transactions/binlog.000002").read_bytes()
    whole: list[dict[str, Any]] = list(bk.open(data).event_records())
    boundaries, every = cuts(data, frames_of)
    for cut in every[MAGIC::7]:
        log = bk.open(data[:cut], on_damage="report")
        assert list(log.event_records()) == [e for e in whole if e["end_pos"] <= cut]
        told = [(damage.offset, type(damage)) for damage in log.damages]
        if cut in boundaries:
            assert told == []
        else:
            assert told == [(max(b for b in boundaries if b <= cut), TruncatedEventError)]
