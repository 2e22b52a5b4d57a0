"""The version of a log, from its first events.

The rule (manual of the server's sources, "Determining the Binary Log Version"): a
START_EVENT_V3 of less than 75 bytes means v1, of 75 (19 + 56) v3; a format description means v4. A
log that begins with neither is v3 by that rule, since relay logs of 4.0 begin with a ROTATE; but a
piece of a newer log begins with neither too. So the positions decide: the step from one ``log_pos``
to the next is the size of the first of the two events in v3, where it is an event's own start, and
of the second in v4, where it is its end. v2 was 4.0.0's and 4.0.1's alone; no document has its
layout, and what it says of itself is shown (``StartV3.binlog_version``).
"""

from __future__ import annotations

from itertools import pairwise

from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.plausible import MODULUS, sane_header
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, parse_header
from binlogkit.sources.stream import ByteStream

__all__ = ["first_format", "start_format"]

_START_V3_SIZE = 75
_LOOKED_AT = 16
_NEAR = 1 << 20


def first_format(stream: ByteStream) -> LogFormat:
    """The format of the log whose first event is at the stream's place, as far as it shows."""
    head = stream.peek(HEADER_LENGTH)
    if len(head) < V1_HEADER_LENGTH:
        return LogFormat()
    if head[4] == EventType.START_EVENT_V3:
        return start_format(head)
    if head[4] == EventType.FORMAT_DESCRIPTION_EVENT:
        return LogFormat()
    return LogFormat(version=3 if _counts_starts(stream) else 4)


def start_format(head: bytes) -> LogFormat:
    """The format that a START_EVENT_V3 means."""
    if parse_header(head, V1_HEADER_LENGTH).size < _START_V3_SIZE:
        return LogFormat(version=1, header_length=V1_HEADER_LENGTH)
    return LogFormat(version=3)


def _counts_starts(stream: ByteStream) -> bool:
    """Whether the positions of the first events are those of v3."""
    headers = _headers(stream)
    starts = ends = 0
    for one, two in pairwise(headers):
        step = (two.log_pos - one.log_pos) & MODULUS
        if one.size != two.size:
            starts += step == one.size
            ends += step == two.size
    if starts or ends:
        return starts > ends
    return bool(headers) and headers[0].log_pos == stream.offset


def _headers(stream: ByteStream) -> list[EventHeader]:
    headers: list[EventHeader] = []
    at = 0
    while len(headers) < _LOOKED_AT and at < _NEAR:
        head = stream.peek(HEADER_LENGTH, at)
        if len(head) < HEADER_LENGTH:
            break
        header = parse_header(head, HEADER_LENGTH)
        if not sane_header(header):
            break
        if header.log_pos:
            headers.append(header)
        at += header.size
    return headers
