"""``mysqlbinlog --hexdump`` of every log: headers and bodies, as it takes them from the file.

Each event's comment holds the header's fields in hexadecimal columns and the body's bytes with the
checksum. Of an event in a payload it gives the position where the payload ends, and appends a
checksum of its own making. Where it gives up, it must do so at the event that is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from binlogkit.constants import CHECKSUM_LENGTH, EventFlag, EventType
from binlogkit.errors import OracleError
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.reader import read_events
from binlogkit.sources import mysqlbinlog
from binlogkit.sources.log_reader import LogReader

pytestmark = pytest.mark.oracle

HEADER = re.compile(
    rb"^# ([0-9a-f]{8,}) "
    rb"((?:[0-9a-f]{2} ){4})  ([0-9a-f]{2})   ((?:[0-9a-f]{2} ){4})  ((?:[0-9a-f]{2} ){4})  "
    rb"((?:[0-9a-f]{2} ){4})  ([0-9a-f]{2} [0-9a-f]{2})\s*$"
)
BODY = re.compile(rb"^# [0-9a-f]{8,} ((?:[0-9a-f]{2} | ){1,33})\s*\|.{1,16}\|$")
TITLE = b"# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags"
HEADER_LENGTH = 19

OPTIONS = ("--hexdump", "--verify-binlog-checksum")
BEFORE_V2 = range(EventType.PRE_GA_WRITE_ROWS_EVENT, EventType.DELETE_ROWS_EVENT_V1 + 1)
HELD_BACK = ("INTVAR_EVENT", "RAND_EVENT", "USER_VAR_EVENT")
REFUSED = re.compile(r"Could not read entry at offset (\d+)")
INSIDE = -1  # it does not say which payload it is


@dataclass(frozen=True, slots=True)
class Dumped:
    """An event as the dump has it; ``data``: body and checksum."""

    pos: int
    timestamp: int
    type_code: int
    server_id: int
    size: int
    log_pos: int
    flags: int
    data: bytes


def dumped(lines: Iterable[bytes]) -> Iterator[Dumped]:
    """The events of a dump; a statement's text stands between them and is not looked at."""
    fields: tuple[Any, ...] | None = None
    data = bytearray()
    titled = False
    for line in lines:
        header, body = HEADER.match(line) if titled else None, BODY.match(line)
        titled = line.startswith(TITLE)
        if header:
            pos = int(header[1], 16)
            numbers = (bytes.fromhex(part.decode()) for part in header.groups()[1:])
            fields = (pos, *(int.from_bytes(number, "little") for number in numbers))
            data.clear()
        elif body and fields is not None:
            data += bytes.fromhex(body[1].decode())
        elif fields is not None:
            yield Dumped(*(*fields, bytes(data)))
            fields = None


def as_dumped(events: list[Event]) -> Iterator[Dumped]:
    """Events in a payload stand where that says that it ends: in a relay log in its source's."""
    end = 0
    for event in events:
        raw, header = event.raw, event.raw.header
        if raw.inner is None:
            end = header.log_pos if is_of_relay(events) else raw.end_pos
        yield Dumped(
            raw.pos if raw.inner is None else end,
            header.timestamp,
            header.type_code,
            header.server_id,
            header.size,
            header.log_pos,
            header.flags,
            raw.body + raw.stored_checksum,
        )


def is_of_relay(events: list[Event]) -> bool:
    first = next(iter(events), None)
    return first is not None and bool(first.raw.header.flags & EventFlag.RELAY_LOG)


def is_refused(event: Event, stored_code: int) -> bool:
    """What mysqlbinlog 9.7.4 does not read: it gives up at the first such event, with status 1.

    v1 and v3 logs, rows events before V2 (and what a tree of 2006 numbers as them), headers longer
    than 19 bytes, foreign types, and what is damaged.
    """
    raw, body = event.raw, event.body
    return (
        raw.version < 4
        or raw.header.length != HEADER_LENGTH
        or stored_code > EventType.GTID_TAGGED_LOG_EVENT
        or stored_code in BEFORE_V2
        or (raw.inner is not None and raw.header.type_code in BEFORE_V2)
        or (isinstance(body, OpaqueEvent) and bool(body.reason))
    )


@pytest.mark.gate(8)
def test_every_event_agrees(log: Any) -> None:
    stored = log.path.read_bytes()
    with log.path.open("rb") as file:
        reader = LogReader(log.path.name, file, on_damage="report")
        events = list(read_events(reader, on_damage="report"))
    refused = [i for i, event in enumerate(events) if is_refused(event, stored[event.raw.pos + 4])]
    ours = events[: refused[0]] if refused else events
    dump, gave_up_at = hexdump(log.path)
    if not is_of_relay(events):  # where positions of two logs are mixed
        dump = by_position(dump)
    first = events[refused[0]].raw if refused else None
    assert gave_up_at == (None if first is None else first.pos if first.inner is None else INSIDE)
    if refused:  # What a statement needs beforehand is printed with it, or not at all.
        while ours and ours[-1].type in HELD_BACK:
            ours.pop()
    if reader.format.header_length != HEADER_LENGTH:
        # A format description that announces longer headers is dumped without columns, and cut.
        assert [event.type for event in ours] == ["FORMAT_DESCRIPTION_EVENT"]
        ours.clear()
    theirs = [as_stored(d, e) for d, e in zip(dump, ours, strict=True)]
    assert theirs == list(as_dumped(ours))


def hexdump(path: Path) -> tuple[list[Dumped], int | None]:
    """The dump, and where mysqlbinlog gave up."""
    seen: list[Dumped] = []
    try:
        for event in dumped(mysqlbinlog.read(path, options=OPTIONS)):
            seen.append(event)
    except OracleError as error:
        if "Error decoding Payload_log_event" in str(error):
            return seen, INSIDE
        said = REFUSED.search(str(error))
        assert said, error
        return seen, int(said[1])
    return seen, None


def by_position(events: list[Dumped]) -> list[Dumped]:
    """What was held back may come behind what followed it."""
    return sorted(events, key=lambda event: event.pos)


def as_stored(event: Dumped, ours: Event) -> Dumped:
    """An event of a payload without the checksum that mysqlbinlog adds to it."""
    if ours.raw.inner is None:
        return event
    assert len(event.data) > CHECKSUM_LENGTH
    size = event.size - CHECKSUM_LENGTH
    return replace(event, data=event.data[:-CHECKSUM_LENGTH], size=size)
