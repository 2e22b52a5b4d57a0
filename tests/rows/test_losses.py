"""What may be missing around damage, and the type of an event whose checksum is wrong."""

from __future__ import annotations

import zlib

import pytest

from binlogkit.rows.losses import Loss, type_of
from binlogkit.sources.raw import RawEvent, parse_header

EVENT = bytes.fromhex("01000000025000000000000000000000000000") + b"ALTER TABLE t"
CHECKSUM = zlib.crc32(EVENT).to_bytes(4, "little")


def raw(data: bytes) -> RawEvent:
    return RawEvent("a", 4, parse_header(data, 19), data[19:], "bad", stored_checksum=CHECKSUM)


@pytest.mark.parametrize("claimed", [0, 3, 30, 255])
def test_a_changed_type_is_found(claimed: int) -> None:
    data = bytearray(EVENT)
    data[4] = claimed
    assert type_of(raw(bytes(data))) == "QUERY_EVENT"


@pytest.mark.parametrize("at", [0, 5, 20])
def test_damage_elsewhere_leaves_the_type(at: int) -> None:
    data = bytearray(EVENT)
    data[at] ^= 8
    assert type_of(raw(bytes(data))) == "QUERY_EVENT"
    data[4] = 3
    assert type_of(raw(bytes(data))) == "STOP_EVENT"


@pytest.mark.parametrize(
    ("event", "missing", "first", "goes_on", "altered"),
    [
        # One event, as its type says; no GTIDs are logged.
        ("QUERY_EVENT", None, False, True, True),
        ("XID_EVENT", None, False, False, False),
        ("UNKNOWN_EVENT", None, False, True, True),
        # All that stands between two GTIDs that follow each other.
        ("QUERY_EVENT", 0, True, True, False),  # BEGIN
        ("QUERY_EVENT", 0, True, False, True),
        ("XID_EVENT", 0, True, False, True),  # it is none
        ("TRANSACTION_PAYLOAD_EVENT", 0, True, False, False),
        ("WRITE_ROWS_EVENT", 0, False, True, False),
        (None, 0, False, True, False),  # rows and the end of their transaction
        # Others are missing.
        ("GTID_LOG_EVENT", 1, False, True, False),
        ("GTID_LOG_EVENT", 2, False, True, True),
        (None, 1, False, True, True),
        (None, None, False, True, True),
    ],
)
def test_whether_tables_may_have_been_altered(
    event: str | None, missing: int | None, first: bool, goes_on: bool, altered: bool
) -> None:
    loss = Loss("a", 4, 40, event, missing=missing, first=first, goes_on=goes_on, sure=True)
    assert loss.altered == altered
    assert ("tables may have been altered" in str(loss)) == altered
