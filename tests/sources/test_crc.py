"""Which bytes of an event its CRC32 is of."""

from __future__ import annotations

import zlib

import pytest

from binlogkit.constants import EventFlag, EventType
from binlogkit.sources.crc import crc_of, ends_in_crc
from binlogkit.sources.raw import parse_header

FLAGS = 17
LENGTH = 19


@pytest.mark.parametrize(
    ("code", "flags", "cleared"),
    [
        (EventType.FORMAT_DESCRIPTION_EVENT, EventFlag.IN_USE, True),
        (EventType.FORMAT_DESCRIPTION_EVENT, 0x20, False),
        (EventType.QUERY_EVENT, EventFlag.IN_USE, False),
    ],
)
def test_only_a_format_description_is_summed_without_in_use(
    code: EventType, flags: int, cleared: bool
) -> None:
    data = bytearray(LENGTH) + b"body"
    data[4], data[FLAGS] = code, flags
    summed = bytes(data)
    if cleared:
        summed = summed[:FLAGS] + b"\0" + summed[FLAGS + 1 :]
    stored = bytes(data) + zlib.crc32(summed).to_bytes(4, "little")
    header = parse_header(stored, LENGTH)
    assert crc_of(header, stored, len(data)) == zlib.crc32(summed)
    assert ends_in_crc(header, stored)
    assert not ends_in_crc(header, stored[:-1] + bytes([stored[-1] ^ 1]))
