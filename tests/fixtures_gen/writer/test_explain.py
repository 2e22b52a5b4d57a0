"""Events of every type, whatever they hold, explained: no server writes all of them any more."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.constants import ColumnType, EventFlag, EventType
from binlogkit.events.explain.fields import BITS, COLUMNS, EVENT_TYPES, FIELDS, METADATA
from binlogkit.events.explain.walk import EventWalk
from binlogkit.events.rows import RowsFlag
from binlogkit_fixtures.writer import LogWriter, format_description

WRITTEN_OTHERWISE = (
    EventType.UNKNOWN_EVENT,
    EventType.START_EVENT_V3,
    EventType.TRANSACTION_PAYLOAD_EVENT,
)
TYPES = [kind for kind in EventType if kind not in WRITTEN_OTHERWISE]
# A snapshot version and columns' metadata are any bytes here.
ANY_BYTES = (EventType.TRANSACTION_CONTEXT_EVENT, EventType.TABLE_MAP_EVENT)
quick = settings(deadline=None, max_examples=15)
MEANT = frozenset(name for section in FIELDS.values() for name in section)


def covered(walk: EventWalk) -> None:
    at = 0
    for leaf in walk.root.leaves():
        assert leaf.start == at <= leaf.end, leaf
        at = leaf.end
    assert at == len(walk.data)


def test_every_type_has_its_line() -> None:
    assert set(EVENT_TYPES) == {kind.name for kind in EventType}
    assert set(COLUMNS) | set(METADATA) <= {kind.name for kind in ColumnType} | {"other"}


@pytest.mark.parametrize(
    ("names", "flags"),
    [(BITS["header"], EventFlag), (BITS["rows"], RowsFlag)],
    ids=["header", "rows"],
)
def test_every_flag_has_its_name(
    names: Mapping[int, tuple[str, str]], flags: type[IntFlag]
) -> None:
    assert {bit: name for bit, (name, _) in names.items()} == {int(f): f.name for f in flags}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@given(data=st.data())
@quick
def test_an_event_is_explained(
    event_strategies: ModuleType, kind: EventType, data: st.DataObject
) -> None:
    body = data.draw(event_strategies.EVENTS[kind])
    log = LogWriter(format_description("9.7.4", checksum_algorithm=data.draw(st.integers(0, 1))))
    event = log.add(body, kind, flags=data.draw(st.integers(0, 0xFFFF)))
    walk = bk.explain(log.data, at=event.raw.pos).events[0]
    covered(walk)
    assert walk.data == log.data[event.raw.pos :]
    assert walk.root.field == kind.name
    for leaf in walk.root.leaves():
        known = leaf.field in MEANT or leaf.meaning or leaf.details
        assert known, leaf
    if kind not in ANY_BYTES:
        assert "unread" not in {leaf.field for leaf in walk.root.leaves()}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@given(data=st.data())
@quick
def test_damage_leaves_no_byte_out(
    event_strategies: ModuleType, kind: EventType, data: st.DataObject
) -> None:
    """A byte changed anywhere, or the log cut anywhere, without a checksum to tell."""
    log = LogWriter(format_description("9.7.4", checksum_algorithm=0))
    event = log.add(data.draw(event_strategies.EVENTS[kind]), kind)
    stored = bytearray(log.data)
    at = data.draw(st.integers(event.raw.pos, len(stored) - 1))
    if data.draw(st.booleans()):
        stored[at] ^= data.draw(st.integers(1, 255))
    else:
        del stored[at:]
    shown = bk.explain(bytes(stored), on_damage="report").events
    for walk in shown:
        covered(walk)
    assert b"".join(walk.data for walk in shown if walk.raw.inner is None) == stored[4:]
