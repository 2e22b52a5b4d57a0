"""Resuming after damage: what is found, what is not taken for an event, and how long it takes."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binlogkit.errors import DamageError, NotABinlogError
from binlogkit.sources.crc import StretchCrc
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent
from binlogkit.sources.recovery import Recovery

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "_data"
CORPUS = ROOT.parent / "shared" / "corpus"
LOG = (DATA / "8.0-row-full" / "keys" / "binlog.000001").read_bytes()
PLAIN = (DATA / "8.0-row-no-checksum" / "keys" / "binlog.000001").read_bytes()
OTHER = (DATA / "5.7-row-full" / "keys" / "binlog.000001").read_bytes()
HEADER = struct.Struct("<IBIIIH")
SIZE, LOG_POS = 9, 13


def read(data: bytes) -> tuple[list[RawEvent], list[DamageError]]:
    """The events of a log and the damage in it."""
    damages: list[DamageError] = []
    reader = LogReader("log", io.BytesIO(data), on_damage="report", sink=damages.append)
    return list(reader), damages


def identity(event: RawEvent) -> tuple[object, ...]:
    return (event.header, event.body)


EVENTS = {LOG: read(LOG)[0], PLAIN: read(PLAIN)[0]}


def sound(events: list[RawEvent]) -> set[tuple[object, ...]]:
    return {identity(event) for event in events if event.checksum != "bad"}


def contradicted(events: list[RawEvent], damages: list[DamageError]) -> list[RawEvent]:
    """The events without those that were believed to have no checksum until those after them had
    some: as damage they were reported then."""
    told = [range(d.offset, d.end or 0) for d in damages if d.field == "checksum_algorithm"]
    return [e for e in events if e.checksum != "none" or not any(e.pos in r for r in told)]


def overwrite(data: bytes, at: int, piece: bytes) -> bytes:
    return (data[:at] + piece + data[at + len(piece) :])[: len(data)]


def event(code: int, body: bytes, pos: int, *, server: int = 80) -> bytes:
    """An event with a right checksum that says it stands at ``pos``."""
    size = HEADER.size + len(body) + 4
    data = HEADER.pack(1715695200, code, server, size, (pos + size) & 0xFFFFFFFF, 0) + body
    return data + zlib.crc32(data).to_bytes(4, "little")


# ---- single damages, by what they hit ---------------------------------------------------------

KINDS: dict[str, Callable[[bytes, RawEvent], bytes]] = {
    "size larger": lambda d, e: overwrite(
        d, e.pos + SIZE, (e.header.size + 5000).to_bytes(4, "little")
    ),
    "size smaller": lambda d, e: overwrite(d, e.pos + SIZE, (25).to_bytes(4, "little")),
    "size zero": lambda d, e: overwrite(d, e.pos + SIZE, bytes(4)),
    "size huge": lambda d, e: overwrite(d, e.pos + SIZE, b"\xff" * 4),
    "log_pos": lambda d, e: overwrite(d, e.pos + LOG_POS, b"\x11\x22\x33\x44"),
    "size and log_pos": lambda d, e: overwrite(d, e.pos + SIZE, b"\x99" * 8),
    "whole header": lambda d, e: overwrite(d, e.pos, b"\xee" * 19),
    "type": lambda d, e: overwrite(d, e.pos + 4, b"\xf7"),
    "body": lambda d, e: overwrite(d, e.pos + 19, b"\xaa"),
    "checksum": lambda d, e: overwrite(d, e.end_pos - 4, bytes(4)),
    "zeroed": lambda d, e: overwrite(d, e.pos, bytes(e.header.size)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [1, 2, 9, 40, -2, -1])
def test_one_damaged_event(kind: str, number: int) -> None:
    """All others are delivered, and the quarantined range is the event."""
    hit = EVENTS[LOG][number]
    events, damages = read(KINDS[kind](LOG, hit))
    expected = [e for e in EVENTS[LOG] if e is not hit]
    assert [identity(e) for e in events if e.checksum != "bad"] == [identity(e) for e in expected]
    assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"type", "body", "checksum", "log_pos"}))
@pytest.mark.parametrize("number", [2, 9, 40])
def test_one_damaged_event_without_checksums(kind: str, number: int) -> None:
    """Framing alone tells of it; three events in a row after it are believed."""
    hit = EVENTS[PLAIN][number]
    events, damages = read(KINDS[kind](PLAIN, hit))
    expected = [e for e in EVENTS[PLAIN] if e is not hit]
    assert [identity(e) for e in events] == [identity(e) for e in expected]
    assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


def test_every_damaged_byte_of_the_format_description() -> None:
    """Whether events have checksums is then shown by the checksums themselves."""
    later = [identity(e) for e in EVENTS[LOG][1:]]
    for at in range(4, EVENTS[LOG][0].end_pos):
        damaged = bytearray(LOG)
        damaged[at] ^= 0x55
        events, damages = read(bytes(damaged))
        assert [identity(e) for e in events if e.pos >= EVENTS[LOG][0].end_pos] == later, at
        assert damages and all(d.offset == 4 for d in damages), at
        assert damages[-1].end == EVENTS[LOG][0].end_pos, at


def test_a_damaged_format_description_of_a_log_without_checksums() -> None:
    later = [identity(e) for e in EVENTS[PLAIN][1:]]
    for at in (5, 13, 17, 23, 80, EVENTS[PLAIN][0].end_pos - 5):
        events, damages = read(overwrite(PLAIN, at, bytes([PLAIN[at] ^ 0x55])))
        assert [identity(e) for e in events if e.pos > 4][-len(later) :] == later, at
        assert damages and damages[0].offset == 4, at


@pytest.mark.parametrize("length", [4, 100, 4096])
def test_a_destroyed_beginning(length: int) -> None:
    events, damages = read(overwrite(LOG, 0, b"\x5a" * length))
    expected = [e for e in EVENTS[LOG] if e.pos >= max(length, 4)]
    assert [identity(e) for e in events] == [identity(e) for e in expected]
    assert [(d.offset, d.field, d.end) for d in damages] == [(0, "magic", expected[0].pos)]


def test_what_is_no_log_is_not_made_one() -> None:
    for data in (random.Random(1).randbytes(300_000), b"PK\x03\x04" * 50_000, b"\xff" * 5000):
        with pytest.raises(NotABinlogError):
            read(data)


@pytest.mark.parametrize("data", [LOG, PLAIN], ids=["checksums", "plain"])
def test_a_value_of_a_damaged_event_is_none_though_the_next_header_is_gone(data: bytes) -> None:
    """Its own header is believed, so what looks like events inside it is a value."""
    events = EVENTS[data]
    number = max(range(5, len(events) - 1), key=lambda n: len(events[n].body))
    hit, following = events[number], events[number + 1]
    at, make = hit.pos + 19 + 10, event if data is LOG else plain_event
    size = len(make(16, bytes(8), 0))
    planted = b"".join(make(16, bytes(8), at + n * size) for n in range(4))
    broken = overwrite(overwrite(data, at, planted), following.pos, b"\xee" * 19)
    assert at + len(planted) < hit.end_pos
    found, damages = read(broken)
    assert [e.pos for e in found if hit.pos < e.pos < following.end_pos] == []
    assert damages[0].offset in (hit.pos, following.pos)
    rest = [identity(e) for e in events[number + 2 :]]
    assert [identity(e) for e in found][-len(rest) :] == rest


def plain_event(code: int, body: bytes, pos: int) -> bytes:
    """As :func:`event`, without a checksum."""
    size = HEADER.size + len(body)
    return HEADER.pack(1715695200, code, 80, size, pos + size, 0) + body


def test_a_shift_is_learned_from_sound_events_only() -> None:
    """A damaged ``log_pos`` tells of no relay log and of no bytes that were put in."""
    hit = EVENTS[LOG][9]
    shifted = replace(hit.header, log_pos=hit.header.log_pos - 1000)
    recovery = Recovery(ByteStream(io.BytesIO(LOG)))
    form = LogFormat()
    assert not recovery.consistent(shifted, hit.pos, form)
    recovery.learn(shifted, hit.pos, form, "bad")
    assert not recovery.consistent(shifted, hit.pos, form)
    recovery.learn(shifted, hit.pos, form, "ok")
    assert recovery.consistent(shifted, hit.pos, form)
    recovery.learn(hit.header, hit.pos, form, "bad")
    assert recovery.consistent(shifted, hit.pos, form)


# ---- blocks --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    [bytes(4096), b"\xff" * 4096, random.Random(7).randbytes(4096)],
    ids=["zeros", "ones", "noise"],
)
@pytest.mark.parametrize("data", [LOG, PLAIN], ids=["checksums", "none"])
def test_a_lost_block(data: bytes, block: bytes) -> None:
    whole = EVENTS[data]
    for at in (4096, 8192, 12288):
        events, damages = read(overwrite(data, at, block))
        outside = {identity(e) for e in whole if e.end_pos <= at or e.pos >= at + 4096}
        assert outside <= sound(events)
        assert damages
        if data is LOG:
            assert sound(events) <= {identity(e) for e in whole}
            assert min(d.offset for d in damages) <= at
            assert max(d.end or 0 for d in damages) >= at + 4096 - 1


@pytest.mark.parametrize("data", [LOG, PLAIN], ids=["checksums", "none"])
def test_the_last_event_behind_a_lost_one(data: bytes) -> None:
    """Without checksums there are no three in a row: the log's end is enough."""
    *before, lost, last = EVENTS[data]
    found, damages = read(overwrite(data, lost.pos, b"\xee" * lost.header.size))
    assert [identity(e) for e in found] == [identity(e) for e in (*before, last)]
    assert [(d.offset, d.end) for d in damages] == [(lost.pos, lost.end_pos)]


def test_a_block_of_another_log_in_the_middle() -> None:
    """Whole events of it that say another place are not taken in."""
    piece = OTHER[5000 : 5000 + 4096]
    events, _ = read(overwrite(LOG, 8192, piece))
    outside = {identity(e) for e in EVENTS[LOG] if e.end_pos <= 8192 or e.pos >= 8192 + 4096}
    assert outside <= sound(events) <= {identity(e) for e in EVENTS[LOG]}


@pytest.mark.parametrize("size", [1, 19, 100, 4096, 100_000])
@pytest.mark.parametrize("cut", [False, True], ids=["put in", "cut out"])
def test_bytes_put_in_or_cut_out(size: int, cut: bool) -> None:
    """Positions after it no longer agree; events that share the difference are believed."""
    at = EVENTS[LOG][20].pos + 7
    if cut:
        size = min(size, 5000)
        damaged = LOG[:at] + LOG[at + size :]
    else:
        damaged = LOG[:at] + random.Random(size).randbytes(size) + LOG[at:]
    events, damages = read(damaged)
    kept = {identity(e) for e in EVENTS[LOG] if e.end_pos <= at or e.pos >= at + size * cut}
    assert kept <= sound(events) <= {identity(e) for e in EVENTS[LOG]}
    assert len(damages) == 1


def test_a_relay_logs_positions_are_another_logs() -> None:
    """Only the distance to them counts."""
    name = "blackbeam+rust_mysql_common/bug33029-slave-relay-bin.000001"
    if not (CORPUS / name).exists():
        pytest.skip(f"{CORPUS} is not there")
    data = (CORPUS / name).read_bytes()
    whole, none = read(data)
    assert not none
    hit = whole[20]
    events, damages = read(overwrite(data, hit.pos, b"\xee" * hit.header.size))
    assert [identity(e) for e in events] == [identity(e) for e in whole if e is not hit]
    assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


def test_v3_and_longer_headers() -> None:
    for name in (
        "stoneatom+stonedb/binlog_old_version_4_1.000001",
        "ottok+mariadb-10.3/mdev-4645-binlog_group_id.binlog",
    ):
        if not (CORPUS / name).exists():
            pytest.skip(f"{CORPUS} is not there")
        data = (CORPUS / name).read_bytes()
        whole, none = read(data)
        assert not none
        hit = whole[1]
        events, damages = read(overwrite(data, hit.pos, b"\xee" * min(hit.header.size, 25)))
        assert [identity(e) for e in events] == [identity(e) for e in whole if e is not hit]
        assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


# ---- what an attacker typed -----------------------------------------------------------------


def with_value(value: Callable[[int], bytes]) -> tuple[bytes, RawEvent, list[RawEvent]]:
    """A log with one event more whose body is ``value(its position)``; the event; the others."""
    at = EVENTS[LOG][-1].pos
    body = value(at + HEADER.size)
    carrier = event(29, body, at)
    moved = b"".join(
        event(code, EVENTS[LOG][1].body if code == 35 else bytes(8), at + len(carrier) + 31 * i)
        for i, code in enumerate((16, 16, 16))
    )
    data = LOG[:at] + carrier + moved
    events, damages = read(data)
    assert not damages
    hit = next(e for e in events if e.pos == at)
    return data, hit, [e for e in events if e is not hit]


def stored_log(_: int) -> bytes:
    """A part of a binary log kept in a column, as a backup of logs in a table would have it."""
    return LOG[126:8000]


def crafted(at: int) -> bytes:
    """Events with right checksums that say the very place where the value stands."""
    out = b""
    for n in range(6):
        out += event(16, n.to_bytes(8, "little"), at + len(out))
    return out


@pytest.mark.parametrize("value", [stored_log, crafted])
@pytest.mark.parametrize("field", [SIZE, LOG_POS, 4, 0, 25])
def test_values_that_look_like_events(value: Callable[[int], bytes], field: int) -> None:
    """While size or log_pos of the event around them is whole nothing inside is taken for one."""
    data, hit, others = with_value(value)
    events, damages = read(overwrite(data, hit.pos + field, b"\x13\x57\x9b\x01"))
    assert [identity(e) for e in events if e.checksum != "bad"] == [identity(e) for e in others]
    assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


def test_a_stored_log_inside_an_event_without_a_header() -> None:
    """Its events say another place, and sound ones follow: they win."""
    data, hit, others = with_value(stored_log)
    events, damages = read(overwrite(data, hit.pos, b"\xee" * 19))
    assert [identity(e) for e in events] == [identity(e) for e in others]
    assert [(d.offset, d.end) for d in damages] == [(hit.pos, hit.end_pos)]


def test_what_remains_to_an_attacker() -> None:
    """Crafted for their very place, and the header around them destroyed: taken for events.

    They stand between two damaged ranges, which are reported.
    """
    data, hit, _ = with_value(crafted)
    events, damages = read(overwrite(data, hit.pos, b"\xee" * 19))
    forged = [e for e in events if hit.pos < e.pos < hit.end_pos]
    assert len(forged) == 6
    assert [(d.offset, d.end) for d in damages] == [
        (hit.pos, forged[0].pos),
        (forged[-1].end_pos, hit.end_pos),
    ]


# ---- properties ------------------------------------------------------------------------------


@st.composite
def damage(draw: st.DrawFn, size: int) -> tuple[str, int, bytes, int]:
    kind = draw(st.sampled_from(["flip", "zero", "garbage", "cut", "insert", "copy"]))
    at = draw(st.integers(4, size - 1))
    length = draw(st.sampled_from([1, 2, 19, 64, 512, 4096]))
    noise = random.Random(draw(st.integers(0, 1 << 16))).randbytes(length)
    return kind, at, noise, draw(st.integers(4, size - 1))


def apply(data: bytes, kind: str, at: int, noise: bytes, other: int) -> bytes:
    length = len(noise)
    if kind == "cut":
        return data[:at] + data[at + length :]
    if kind == "insert":
        return data[:at] + noise + data[at:]
    if kind == "flip":
        return overwrite(data, at, bytes([data[at] ^ (1 << noise[0] % 8)]))
    if kind == "zero":
        return overwrite(data, at, bytes(length))
    return overwrite(data, at, noise if kind == "garbage" else data[other : other + length])


def spoiled(kind: str, at: int, noise: bytes) -> range:
    """The bytes of the original that a damage concerns."""
    return range(at, at + (1 if kind in ("flip", "insert") else len(noise)))


@settings(deadline=None)
@example(("flip", 8, b"\0", 4))  # the format description's type
@example(("zero", 108, bytes(19), 4))  # its checksum, and the next event's first byte
@given(damage(len(LOG)))
def test_every_sound_event_is_delivered_and_nothing_else(
    how: tuple[str, int, bytes, int],
) -> None:
    kind, at, noise, other = how
    damaged = apply(LOG, kind, at, noise, other)
    events, damages = read(damaged)
    hit = spoiled(kind, at, noise)
    untouched = {identity(e) for e in EVENTS[LOG] if e.end_pos <= hit.start or e.pos >= hit.stop}
    delivered = {e.pos for e in events}
    kept = contradicted(events, damages)
    found = sound(kept)
    assert found <= {identity(e) for e in EVENTS[LOG]}
    covered = [range(d.offset, d.end or len(damaged)) for d in damages]
    for e in kept:
        assert e.checksum == "bad" or not any(e.pos in r for r in covered)
    # At the very end one event alone cannot prove that all moved.
    moved = {identity(e) for e in EVENTS[LOG][-2:]} if kind in ("cut", "insert") else set()
    assert untouched - moved <= found
    assert (
        damages
        or damaged == LOG
        or found == {identity(e) for e in EVENTS[LOG]}
        or (len(damaged) in delivered | {4} | {e.end_pos for e in events})
    )


@settings(deadline=None)
@given(st.lists(damage(len(LOG)), min_size=2, max_size=6))
@example([("garbage", 71, random.Random(4).randbytes(64), 4)])
@example([("garbage", 71, random.Random(4).randbytes(512), 4)])
@example([("garbage", 71, random.Random(4).randbytes(4096), 4)])
@example([("flip", 8, b"\xd8", 4), ("copy", 67, bytes(90), 467)])  # a START_EVENT_V3 is made up
def test_several_damages(many: list[tuple[str, int, bytes, int]]) -> None:
    """Nothing is invented, and all bytes are either delivered or quarantined."""
    damaged = LOG
    for kind, at, noise, other in many:
        if at < len(damaged):
            damaged = apply(damaged, kind, at, noise, other)
    events, damages = read(damaged)
    assert sound(contradicted(events, damages)) <= {identity(e) for e in EVENTS[LOG]}
    pieces = [(e.pos, e.end_pos) for e in events if e.checksum != "bad"]
    pieces += [(d.offset, d.end or len(damaged)) for d in damages]
    reached = 4
    for start, end in sorted(pieces):
        assert start <= reached
        reached = max(reached, end)
    assert reached == len(damaged)


@settings(deadline=None)
@given(damage(len(PLAIN)))
def test_damage_without_checksums_raises_nothing(how: tuple[str, int, bytes, int]) -> None:
    kind, at, noise, other = how
    hit = spoiled(kind, at, noise)
    events, damages = read(apply(PLAIN, kind, at, noise, other))
    before = {identity(e) for e in EVENTS[PLAIN] if e.end_pos <= hit.start}
    assert before <= sound(events)
    assert all(d.end is not None and d.offset <= d.end for d in damages)


# ---- cost ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=60_000), st.data())
def test_crcs_of_stretches(data: bytes, draw: st.DataObject) -> None:
    """Any stretch, also after the stream moved on, has the CRC32 that zlib gives."""
    data = data * (1 + 50_000 // len(data))
    stream = ByteStream(io.BytesIO(data))
    crc = StretchCrc(stream)
    for _ in range(4):
        left = len(data) - stream.offset
        start = draw.draw(st.integers(0, left))
        end = draw.draw(st.integers(start, left))
        place = stream.offset
        assert crc.of(start, end) == zlib.crc32(data[place + start : place + end])
        stream.skip(stream.available(draw.draw(st.integers(0, left // 2))))


@pytest.mark.slow
def test_memory_behind_damage_is_bounded() -> None:
    """A tail of garbage is gone over in windows."""
    import tracemalloc

    class Tail(io.RawIOBase):
        def __init__(self) -> None:
            self.left, self.head = 96, LOG + b"\xff"

        def read(self, size: int = -1) -> bytes:
            if self.head:
                out, self.head = self.head, b""
                return out
            self.left -= 1
            return b"\xa5\x5a" * (1 << 19) if self.left >= 0 else b""

    damages: list[DamageError] = []
    tracemalloc.start()
    tail: Any = Tail()
    count = sum(1 for _ in LogReader("x", tail, on_damage="report", sink=damages.append))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == len(EVENTS[LOG]) and len(damages) == 1
    assert peak < 48 << 20
