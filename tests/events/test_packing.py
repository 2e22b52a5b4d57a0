"""Events in packs: as the kernel's scan takes them, and where they stood."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from binlogkit.constants import HEADER_LENGTH
from binlogkit.constants import EventType as T
from binlogkit.errors import DamageError, InputError
from binlogkit.events import packing
from binlogkit.events.base import ParseContext
from binlogkit.events.packing import Pack, packs, usual_layout
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import EventHeader, RawEvent
from tests.fuzz.binlogkit_fuzz import framing, seeds

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
BAD, LOOK = 1, 2


def raw_of(code: int, body: bytes, **changed: object) -> RawEvent:
    header = EventHeader(7, code, 3, HEADER_LENGTH + len(body) + 4, 1234, 9)
    return replace(RawEvent("log", 1000, header, body, "ok"), **changed)  # type: ignore[arg-type]


def context_of(**lengths: int) -> ParseContext:
    return ParseContext(post_header_lengths={int(T[name]): n for name, n in lengths.items()})


def events_of(pack: Pack) -> list[tuple[int, bytes]]:
    """(type, body) of what is packed, which lies end to end."""
    found, at, data = [], 0, bytes(pack.data)
    while at < len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        found.append((data[at + 4], data[at + HEADER_LENGTH : at + size]))
        at += size
    assert at == len(data)
    return found


def read_of(
    data: bytes, on_damage: str = "report"
) -> Callable[[Callable[[DamageError], None]], LogReader]:
    return lambda tell: LogReader("log", io.BytesIO(data), on_damage=on_damage, sink=tell)


def never(_reader: LogReader, _raw: RawEvent, _since: int) -> bool:
    return False


def test_an_event_lies_behind_a_short_header_without_its_checksum() -> None:
    pack = Pack()
    pack.add(raw_of(T.XID_EVENT, b"12345678"), ParseContext())
    assert bytes(pack.data) == (
        b"\7\0\0\0" + bytes([T.XID_EVENT]) + b"\3\0\0\0" + b"\x1b\0\0\0" + b"\xd2\4\0\0" + b"\t\0"
        + b"12345678"
    )  # fmt: skip


def test_a_spot_says_where_an_event_stood() -> None:
    pack = Pack()
    raw = raw_of(T.XID_EVENT, b"12345678")
    pack.add(raw, ParseContext())
    pack.add(replace(raw, inner=5, outer_end=1700, checksum="none"), ParseContext())
    pack.add(replace(raw, pos=1 << 40, checksum="bad"), ParseContext())
    assert pack.spots().tolist() == [
        (1000, 1031, -1, 31, 0),
        (1000, 1700, 5, 31, 0),
        (1 << 40, (1 << 40) + 31, -1, 31, BAD),
    ]


ID6, ID4 = b"\1\2\3\4\5\6", b"\1\2\3\4"


@pytest.mark.parametrize(
    ("code", "length", "body", "packed"),
    [
        ("TABLE_MAP_EVENT", 8, ID6 + b"\0\0map", ID6 + b"\0\0map"),
        ("TABLE_MAP_EVENT", 6, ID4 + b"\0\0map", ID4 + b"\0\0\0\0map"),
        ("TABLE_MAP_EVENT", 12, ID6 + b"\0\0more" + b"map", ID6 + b"\0\0map"),
        ("WRITE_ROWS_EVENT_V1", 8, ID6 + b"\1\0rows", ID6 + b"\1\0rows"),
        ("WRITE_ROWS_EVENT_V1", 6, ID4 + b"\1\0rows", ID4 + b"\0\0\1\0rows"),
        ("UPDATE_ROWS_EVENT_V1", 11, ID6 + b"\1\0+++rows", ID6 + b"\1\0rows"),
        ("WRITE_ROWS_EVENT", 10, ID6 + b"\1\0\2\0rows", ID6 + b"\1\0\2\0rows"),
        ("DELETE_ROWS_EVENT", 12, ID6 + b"\1\0\2\0++rows", ID6 + b"\1\0\2\0rows"),
    ],
)
def test_bodies_are_laid_out_as_since_5_1_18(
    code: str, length: int, body: bytes, packed: bytes
) -> None:
    pack = Pack()
    pack.add(raw_of(T[code], body), context_of(**{code: length}))
    assert events_of(pack) == [(int(T[code]), packed)]
    assert pack.flags == [0]


def test_what_the_scan_cannot_take_is_left_to_python() -> None:
    cases = [
        (raw_of(T.QUERY_EVENT, bytes(20)), context_of(QUERY_EVENT=11)),
        (raw_of(T.XID_EVENT, bytes(20)), context_of(XID_EVENT=8)),
        (raw_of(T.GTID_LOG_EVENT, bytes(60)), context_of(GTID_LOG_EVENT=44)),
        (raw_of(T.WRITE_ROWS_EVENT, ID6), context_of(WRITE_ROWS_EVENT=10)),
        (raw_of(T.QUERY_EVENT, bytes(20), version=3), context_of()),
    ]
    for raw, context in cases:
        pack = Pack()
        pack.add(raw, context)
        assert pack.flags == [LOOK]
        assert events_of(pack) == [(raw.header.type_code, raw.body)]


def test_a_table_map_too_short_for_its_post_header_gives_its_id() -> None:
    pack = Pack()
    pack.add(raw_of(T.TABLE_MAP_EVENT, ID6 + b"\0"), context_of(TABLE_MAP_EVENT=8))
    assert (pack.flags, events_of(pack)) == ([0], [(int(T.TABLE_MAP_EVENT), ID6 + b"\0")])


def test_usual_layouts() -> None:
    usual = context_of(TABLE_MAP_EVENT=8, WRITE_ROWS_EVENT=10, QUERY_EVENT=13, XID_EVENT=0)
    assert usual_layout(ParseContext()) and usual_layout(usual)
    assert usual_layout(context_of(WRITE_ROWS_EVENT_V1=0))  # 9.7 writes none
    for name, length in (
        ("TABLE_MAP_EVENT", 6), ("WRITE_ROWS_EVENT", 8), ("QUERY_EVENT", 11), ("XID_EVENT", 1),
        ("GTID_LOG_EVENT", 44), ("ROWS_QUERY_LOG_EVENT", 1),
    ):  # fmt: skip
        assert not usual_layout(context_of(**{name: length}))
    assert not usual_layout(ParseContext(final_codes={20: 23}))


def test_a_log_in_packs() -> None:
    pieces = framing.split(LOG)
    found = list(packs(read_of(LOG), ParseContext(), never))
    assert [len(pack.raws) for pack in found] == [1, len(pieces.parts) - 1]
    packed = [event for pack in found for event in events_of(pack)]
    assert packed == [(part.code, part.body) for part in pieces.parts]


def test_packs_are_of_some_thousand_events(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(framing.split(LOG).parts)
    monkeypatch.setattr(packing, "_MOST_EVENTS", 10)
    sizes = [len(pack.raws) for pack in packs(read_of(LOG), ParseContext(), never)]
    assert max(sizes) == 10 and sum(sizes) == count
    monkeypatch.setattr(packing, "_MOST_BYTES", 200)
    found = list(packs(read_of(LOG), ParseContext(), never))
    largest = max(len(part.body) for part in framing.split(LOG).parts)
    assert max(len(pack.data) for pack in found) < 200 + largest + HEADER_LENGTH


def test_damage_begins_a_pack() -> None:
    starts = [raw.pos for raw in LogReader("log", io.BytesIO(LOG))]
    broken = bytearray(LOG)
    for at in (starts[5], starts[6], starts[40]):
        broken[at + 25] ^= 1
    found = list(packs(read_of(bytes(broken)), ParseContext(), never))
    assert [[error.offset for error in pack.damages] for pack in found] == [
        [], [], [starts[5]], [starts[6]], [starts[40]]
    ]  # fmt: skip
    assert [raw.pos for pack in found for raw in pack.raws] == starts
    assert [pack.raws[0].pos for pack in found if pack.damages] == [
        starts[5], starts[6], starts[40]
    ]  # fmt: skip
    assert sum(flags & BAD for pack in found for flags in pack.flags) == 3


def test_damage_at_the_end_stands_alone() -> None:
    *_, last = packs(read_of(LOG[:-3]), ParseContext(), never)
    assert not last.raws and len(last.damages) == 1


@pytest.mark.parametrize(("data", "kind"), [(LOG[:-3], DamageError), (b"none", InputError)])
def test_an_error_comes_behind_what_was_read(data: bytes, kind: type[Exception]) -> None:
    found: list[Pack] = []
    with pytest.raises(kind):
        for pack in packs(read_of(data, "stop"), ParseContext(), never):
            found.append(pack)
    assert sum(len(pack.raws) for pack in found) == (len(framing.split(data).parts))


def test_enough_is_asked_behind_each_event() -> None:
    broken = bytearray(LOG)
    starts = [raw.pos for raw in LogReader("log", io.BytesIO(LOG))]
    broken[starts[9] + 25] ^= 1
    asked: list[tuple[int, int]] = []

    def enough(reader: LogReader, raw: RawEvent, since: int) -> bool:
        asked.append((raw.pos, since))
        assert reader.offset == raw.end_pos
        return raw.pos > starts[9] and since == 4

    found = list(packs(read_of(bytes(broken)), ParseContext(), enough))
    assert found[-1].raws[-1].pos == starts[12]
    expected = [*range(1, 10), *range(1, 5)]
    assert asked == list(zip(starts[:13], expected, strict=True))
