"""The type of an event whose checksum is wrong: its own byte may be what was hit."""

from __future__ import annotations

import zlib

import pytest

from binlogkit.rows.losses import type_of
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
