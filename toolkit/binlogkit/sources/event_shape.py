"""What the start of an event looks like: told from its common header alone.

Used where bytes stand without the magic of a file: in base64, hexdumps, packets.
"""

from __future__ import annotations

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.sources.plausible import known_header
from binlogkit.sources.raw import V1_HEADER_LENGTH, parse_header

__all__ = ["begins_event", "is_event", "start_v1", "start_v3"]

# A cut event is believed up to this size only; the header's other fields then speak for it.
_MAX_CUT = 1 << 24
_START_V3_BODY = 56


def is_event(head: bytes) -> bool:
    """Whether ``head``, at least 19 bytes, can be the common header of a v3 or v4 event."""
    if len(head) < HEADER_LENGTH:
        return False
    return known_header(parse_header(head[:HEADER_LENGTH], HEADER_LENGTH)) or start_v1(head)


def begins_event(data: bytes, *, whole: bool) -> bool:
    """Whether ``data`` begins with an event and goes on as a log does.

    ``whole``: nothing follows ``data``. The next event must be as plausible as the first; a first
    event that the data cuts must at least say where it stood.
    """
    if not is_event(data):
        return False
    size = int.from_bytes(data[9:13], "little")
    if len(data) >= size:
        rest = data[size:]
        return (
            not rest
            or (len(rest) < HEADER_LENGTH and whole)
            or is_event(rest[:HEADER_LENGTH])
            or (len(rest) < HEADER_LENGTH and not whole)
        )
    header = parse_header(data[:HEADER_LENGTH], HEADER_LENGTH)
    return size <= _MAX_CUT and (header.log_pos == 0 or header.log_pos >= size)


def start_v1(data: bytes) -> bool:
    """Whether it is a START_EVENT_V3 of 13 + 56 bytes: the first event of a v1 log."""
    return _start(data, V1_HEADER_LENGTH)


def start_v3(data: bytes) -> bool:
    """Whether it is a START_EVENT_V3 of 19 + 56 bytes: the first event of a v3 log."""
    return _start(data, HEADER_LENGTH)


def _start(data: bytes, header_length: int) -> bool:
    size = int.from_bytes(data[9:13], "little")
    return (
        len(data) > V1_HEADER_LENGTH + CHECKSUM_LENGTH
        and data[4] == EventType.START_EVENT_V3
        and size == header_length + _START_V3_BODY
    )
