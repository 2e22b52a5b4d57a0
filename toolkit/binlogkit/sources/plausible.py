"""Which headers a server may have written, and what the first ones say of a log.

The version (manual of the server's sources, "Determining the Binary Log Version"): a
START_EVENT_V3 of less than 75 bytes means v1, of 75 (19 + 56) v3; a format description means v4. A
log that begins with neither is v3 by that rule, since relay logs of 4.0 begin with a ROTATE; but a
piece of a newer log begins with neither too. So the positions decide: the step from one ``log_pos``
to the next is the size of the first of the two events in v3, where it is an event's own start, and
of the second in v4, where it is its end. v2 was 4.0.0's and 4.0.1's alone; no document has its
layout, and what it says of itself is shown (``StartV3.binlog_version``).
"""

from __future__ import annotations

from itertools import pairwise

from binlogkit.constants import (
    CHECKSUM_LENGTH,
    HEADER_LENGTH,
    MARIADB_EVENT_TYPES,
    EventFlag,
    EventType,
)
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, parse_header

LARGEST = (1 << 30) + (1 << 26)  # max_allowed_packet at most, and room for headers
MODULUS = 0xFFFFFFFF  # positions in headers have 32 bits
_SKIP_REPLICATION = 0x8000  # MariaDB's
KNOWN_FLAGS = sum(EventFlag) | _SKIP_REPLICATION
KNOWN_TYPES = frozenset(int(t) for t in EventType if t) | MARIADB_EVENT_TYPES.keys()
# A cut event is believed up to this size only; the header's other fields then speak for it.
_MAX_CUT = 1 << 24
_START_V3_BODY = 56
_LOOKED_AT, _NEAR = 16, 1 << 20  # events, and bytes, that may show the version


def shift_of(header: EventHeader, pos: int, version: int) -> int | None:
    """How far the event stands from its ``log_pos`` (modulo 2**32); None where it has none."""
    if version == 1 or header.log_pos == 0:
        return None
    return (pos + (0 if version == 3 else header.size) - header.log_pos) & MODULUS


def known_header(header: EventHeader) -> bool:
    """Whether type, size and flags are such as servers write."""
    return header.type_code in KNOWN_TYPES and sane_header(header)


def sane_header(header: EventHeader) -> bool:
    """The same for a type that may be newer than this program."""
    return header.length <= header.size <= LARGEST and not header.flags & ~KNOWN_FLAGS


# ---- without the magic of a file: in base64, hexdumps, packets ----------------------------------


def is_event(head: bytes) -> bool:
    """Whether ``head``, at least 19 bytes, can be the common header of a v3 or v4 event."""
    if len(head) < HEADER_LENGTH:
        return False
    if known_header(parse_header(head, HEADER_LENGTH)):
        return True
    start = whole_start(head)
    return start is not None and start.version == 1


def begins_event(data: bytes) -> bool:
    """Whether ``data`` begins with an event and continues as a log does.

    The next event must be as plausible as the first; a first event that the data cuts must at least
    say where it stood.
    """
    if not is_event(data):
        return False
    header = parse_header(data, HEADER_LENGTH)
    if len(data) >= header.size:
        rest = data[header.size :]
        return len(rest) < HEADER_LENGTH or is_event(rest)
    return header.size <= _MAX_CUT and (header.log_pos == 0 or header.log_pos >= header.size)


def whole_start(data: bytes) -> LogFormat | None:
    """What a START_EVENT_V3 of 13 + 56 bytes (v1) or 19 + 56 (v3) means; None of other data."""
    if len(data) <= V1_HEADER_LENGTH + CHECKSUM_LENGTH or data[4] != EventType.START_EVENT_V3:
        return None
    size = parse_header(data, V1_HEADER_LENGTH).size - _START_V3_BODY
    return start_format(data) if size in (V1_HEADER_LENGTH, HEADER_LENGTH) else None


# ---- of a log's first events --------------------------------------------------------------------


def start_format(head: bytes) -> LogFormat:
    """The format that a START_EVENT_V3 means."""
    if parse_header(head, V1_HEADER_LENGTH).size < HEADER_LENGTH + _START_V3_BODY:
        return LogFormat(version=1, header_length=V1_HEADER_LENGTH)
    return LogFormat(version=3)


def first_format(stream: ByteStream) -> LogFormat:
    """The format of the log whose first event is at the stream's place, as far as it shows."""
    head = stream.peek(HEADER_LENGTH)
    if len(head) < V1_HEADER_LENGTH or head[4] == EventType.FORMAT_DESCRIPTION_EVENT:
        return LogFormat()
    if head[4] == EventType.START_EVENT_V3:
        return start_format(head)
    return LogFormat(version=3 if _counts_starts(stream) else 4)


def _counts_starts(stream: ByteStream) -> bool:
    """Whether the positions of the first events are those of v3."""
    headers: list[EventHeader] = []
    at = 0
    while len(headers) < _LOOKED_AT and at < _NEAR:
        head = stream.peek(HEADER_LENGTH, at)
        if len(head) < HEADER_LENGTH or not sane_header(header := parse_header(head, len(head))):
            break
        if header.log_pos:
            headers.append(header)
        at += header.size
    starts = ends = 0
    for one, two in pairwise(headers):
        step = (two.log_pos - one.log_pos) & MODULUS
        if one.size != two.size:
            starts += step == one.size
            ends += step == two.size
    if starts or ends:
        return starts > ends
    return bool(headers) and headers[0].log_pos == stream.offset
