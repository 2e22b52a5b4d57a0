"""Write, read: the same event, whatever it holds; and written again, the same bytes."""

from __future__ import annotations

import io
from dataclasses import MISSING, fields, is_dataclass, replace
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.constants import EventType
from binlogkit.events.base import Event
from binlogkit.events.format_description import StartV3
from binlogkit.events.payload import Compression
from binlogkit.events.reader import read_events
from binlogkit.events.variables import Intvar
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import EventHeader, parse_header
from binlogkit_fixtures.writer import EventWriter, LogWriter, format_description
from binlogkit_fixtures.writer.header import log_pos_of, write_header

WRITTEN_OTHERWISE = (
    EventType.UNKNOWN_EVENT,
    EventType.START_EVENT_V3,
    EventType.TRANSACTION_PAYLOAD_EVENT,
)
TYPES = [kind for kind in EventType if kind not in WRITTEN_OTHERWISE]
quick = settings(deadline=None, max_examples=40)


def read(log: LogWriter) -> list[Event]:
    return list(read_events(LogReader(log.name, io.BytesIO(log.data))))


def shown(body: Any) -> Any:
    """A body without what only whoever writes it again needs."""
    values: dict[str, Any] = {}
    for item in fields(body):
        value = getattr(body, item.name)
        if not item.metadata.get("record", True):
            assert item.default is not MISSING
            values[item.name] = item.default
        elif is_dataclass(value):
            values[item.name] = shown(value)
    return replace(body, **values)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@given(data=st.data())
@quick
def test_an_event_reads_as_it_was_written(
    event_strategies: ModuleType, kind: EventType, data: st.DataObject
) -> None:
    body = data.draw(event_strategies.EVENTS[kind])
    checksum = data.draw(st.integers(0, 1))
    log = LogWriter(format_description("9.7.4", checksum_algorithm=checksum))
    meant = log.add(body, kind, flags=data.draw(st.integers(0, 0xFFFF)))
    event = read(log)[-1]
    assert event.raw == meant.raw
    assert shown(event.body) == shown(body)
    assert event.unread == event.unread_post_header == b""
    again = EventWriter(context=reading_context(log))
    assert again.event(event) == log.data[event.raw.pos :]


def reading_context(log: LogWriter) -> Any:
    """The layout that holds before a log's last event."""
    writer = EventWriter()
    for event in log.events[:-1]:
        writer.event(event)
    return writer.context


@given(data=st.data())
@quick
def test_a_payload_reads_as_it_was_packed(
    event_strategies: ModuleType, data: st.DataObject
) -> None:
    kinds = (EventType.QUERY_EVENT, EventType.TABLE_MAP_EVENT, EventType.WRITE_ROWS_EVENT)
    inner = [data.draw(event_strategies.EVENTS[kind]) for kind in kinds]
    log = LogWriter("9.7.4")
    log.add_payload(inner, compression=data.draw(st.sampled_from(Compression)))
    events = read(log)
    assert [event.raw for event in events] == [event.raw for event in log.events]
    assert [shown(event.body) for event in events[2:]] == inner


@given(data=st.data())
@quick
def test_status_variables_keep_their_order(
    event_strategies: ModuleType, data: st.DataObject
) -> None:
    """Servers write them in one order; a log of another kind may not."""
    query = data.draw(event_strategies.EVENTS[EventType.QUERY_EVENT])
    log = LogWriter("9.7.4")
    log.add(query)
    order = read(log)[-1].body.status_vars.order  # type: ignore[attr-defined]
    shuffled = tuple(data.draw(st.permutations(order)))
    mixed = replace(query, status_vars=replace(query.status_vars, order=shuffled))
    again = LogWriter("9.7.4")
    again.add(mixed)
    assert read(again)[-1].body == mixed


header_fields = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(0, 255), *(st.integers(0, 2**32 - 1),) * 2
)


@given(header_fields, st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1), st.binary(max_size=9))
def test_headers_of_v3_and_v4(
    numbers: tuple[int, int, int, int], log_pos: int, flags: int, extra: bytes
) -> None:
    header = EventHeader(*numbers, log_pos, flags, 19 + len(extra))
    data = write_header(header, extra)
    assert len(data) == header.length
    assert parse_header(data, header.length) == header
    assert data[19:] == extra


@given(header_fields)
def test_headers_of_v1(numbers: tuple[int, int, int, int]) -> None:
    header = EventHeader(*numbers, 0, 0, 13)
    data = write_header(header)
    assert len(data) == 13
    assert parse_header(data, 13) == header


@pytest.mark.parametrize(
    "start",
    [
        StartV3(1, "3.23.58", 0),
        StartV3(3, "4.1.22", 0),
        format_description("5.0.96"),
        format_description("8.0.31"),
        format_description("8.0.31", checksum_algorithm=0),
        format_description("5.1.63", event_header_length=27),
        format_description("8.0.31", event_header_length=255),
    ],
    ids=str,
)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.booleans())
@quick
def test_every_kind_of_log(start: Any, timestamp: int, server_id: int, in_use: bool) -> None:
    in_use = in_use and not isinstance(start, StartV3)
    log = LogWriter(start, server_id=server_id, timestamp=timestamp, in_use=in_use)
    log.add(Intvar("INSERT_ID", 1))
    log.add(Intvar("INSERT_ID", 2))
    assert [event.raw for event in read(log)] == [event.raw for event in log.events]


@given(st.integers(4, 2**34), st.integers(19, 2**20))
def test_positions_wrap_at_4_gib(start: int, size: int) -> None:
    assert log_pos_of(1, start, size) == 0
    assert log_pos_of(3, start, size) == start % 2**32
    assert log_pos_of(4, start, size) == (start + size) % 2**32
