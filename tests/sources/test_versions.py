"""Versions of the format: headers, positions, what a log's head says of what follows.

Logs of versions that no server at hand writes are made by the fixture writer; those of the shared
corpus are real.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventFlag
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.events.base import Event
from binlogkit.events.control import Rotate, Stop, Xid
from binlogkit.events.format_description import ChecksumAlgorithm, FormatDescription, StartV3
from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.variables import Intvar
from binlogkit.sources.log_format import format_of
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent, parse_header
from binlogkit_fixtures.writer import LogWriter
from binlogkit_fixtures.writer.format_description import format_description

DATA = Path(__file__).parents[1] / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"
OVER = 1 << 32


@pytest.fixture(scope="module")
def corpus() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "corpus"
    if not folder.is_dir():
        assert not os.environ.get("CI"), f"{folder} is missing"
        pytest.skip("the shared corpus of other projects' logs is not beside this tree")
    return folder


def query(text: str) -> Query:
    return Query(7, 0, 0, "shop", StatusVars(), text)


def read(data: bytes, **options: object) -> list[Event]:
    reader = LogReader("log", io.BytesIO(data), **options)  # type: ignore[arg-type]
    return list(read_events(reader))


def old_log(version: int) -> LogWriter:
    log = LogWriter(StartV3(version, "3.23.58-log" if version == 1 else "4.1.24", 1000))
    log.add(Intvar("INSERT_ID", 5))
    log.add(query("INSERT INTO t VALUES (NULL)"))
    log.add(Rotate(4, "binlog.000002"))
    return log


@pytest.mark.parametrize(("version", "size"), [(1, 13 + 56), (3, 19 + 56)])
def test_v1_and_v3(version: int, size: int) -> None:
    """v1 has no positions, v3 the event's own start (internals manual)."""
    events = read(bytes(old_log(version).data))
    assert [e.raw.version for e in events] == [version] * 4
    assert events[0].raw.header.size == size
    positions = [e.raw.header.log_pos for e in events]
    assert positions == ([0] * 4 if version == 1 else [e.raw.pos for e in events])
    assert all(a.raw.end_pos == b.raw.pos for a, b in pairwise(events))
    start, insert_id, statement, rotate = (e.body for e in events)
    assert isinstance(start, StartV3) and start.binlog_version == version
    assert insert_id == Intvar("INSERT_ID", 5)
    assert isinstance(statement, Query) and statement.query == "INSERT INTO t VALUES (NULL)"
    assert events[2].variables == (insert_id,)
    assert rotate == Rotate(4, "binlog.000002")


@pytest.mark.parametrize("version", [1, 3])
def test_an_old_log_cut_anywhere(version: int) -> None:
    whole = bytes(old_log(version).data)
    ends = [4, *(e.raw.end_pos for e in read(whole))]
    for cut in range(5, len(whole)):
        seen: list[RawEvent] = []
        try:
            for raw in LogReader("log", io.BytesIO(whole[:cut])):
                seen.append(raw)
        except DamageError as error:
            assert error.offset == ends[len(seen)]
        else:
            assert cut in ends


def test_a_log_that_calls_itself_v2_is_read_by_its_header() -> None:
    """4.0.0 and 4.0.1 alone wrote v2; no document has its layout."""
    log = LogWriter(StartV3(2, "4.0.1-alpha-log", 0))
    log.add(query("INSERT INTO t VALUES (1)"))
    start, _ = read(bytes(log.data))
    assert isinstance(start.body, StartV3) and start.body.binlog_version == 2


def test_a_relay_log_of_4_0_begins_with_a_rotate() -> None:
    """Manual, "Determining the Binary Log Version": neither kind of start event means v3."""
    source = old_log(3)
    relay = LogWriter(None)
    relay.add(Rotate(4, "binlog.000001"), flags=EventFlag.ARTIFICIAL, log_pos=0)
    events = read(bytes(relay.data) + bytes(source.data[4:]))
    assert [e.type for e in events][:3] == ["ROTATE_EVENT", "START_EVENT_V3", "INTVAR_EVENT"]
    assert [e.raw.version for e in events][1:] == [3] * 4
    assert isinstance(events[3].body, Query)


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("left_out", [1, 2])
def test_a_piece_of_a_log_is_known_by_its_positions(version: int, left_out: int) -> None:
    log = old_log(3) if version == 3 else LogWriter("5.1.73")
    for n in range(3):
        log.add(query(f"INSERT INTO t VALUES ({'1' * n})"))
    behind = log.events[left_out].raw.pos
    events = read(bytes(log.data[:4]) + bytes(log.data[behind:]))
    assert [e.body for e in events] == [e.body for e in log.events[left_out:]]
    assert {e.raw.version for e in events} == {version}


def test_each_format_description_counts_from_where_it_stands() -> None:
    """A relay log: the replica's own, a made-up ROTATE, the source's with other lengths."""
    of_source = format_description("5.5.62-log")
    log = LogWriter("8.0.31", relay=True)
    log.add(Rotate(4, "source-bin.000007"), flags=EventFlag.ARTIFICIAL, log_pos=0)
    log.add(of_source, log_pos=107)
    log.add(query("BEGIN"), log_pos=9_000)
    log.add(replace(format_description("8.4.3"), created=5), log_pos=0)
    log.add(Xid(77), log_pos=0xFFFFFFFF)
    own, rotate, source, begin, again, xid = read(bytes(log.data))
    assert isinstance(own.body, FormatDescription)
    assert isinstance(source.body, FormatDescription)
    assert isinstance(again.body, FormatDescription)
    assert own.body.checksum_algorithm == ChecksumAlgorithm.CRC32
    assert len(source.body.post_header_lengths) == 26
    assert (rotate.raw.checksum, source.raw.checksum, begin.raw.checksum) == ("ok", "none", "none")
    assert (again.raw.checksum, xid.raw.checksum) == ("ok", "ok")
    assert (begin.raw.header.log_pos, xid.raw.header.log_pos) == (9_000, 0xFFFFFFFF)
    assert xid.raw.end_pos == len(log.data)


def test_a_real_relay_log(corpus: Path) -> None:
    path = next(corpus.rglob("bug33029-slave-relay-bin.000001"))
    records: list[Any] = list(bk.open(path).event_records())
    own, rotate, source, first = records[:4]
    assert [r["type"] for r in (own, rotate, source)] == [
        "FORMAT_DESCRIPTION_EVENT", "ROTATE_EVENT", "FORMAT_DESCRIPTION_EVENT",
    ]  # fmt: skip
    assert [r["server_id"] for r in (own, rotate, source)] == [2, 1, 1]
    # Positions of what was received are the source's; this file's are counted by its bytes.
    assert [r["fields"]["log_pos"] for r in (own, rotate, source, first)] == [98, 0, 98, 188]
    assert [r["end_pos"] for r in (own, rotate, source, first)] == [98, 142, 236, 326]
    assert records[-1]["end_pos"] == path.stat().st_size


def test_headers_longer_than_19_bytes(corpus: Path) -> None:
    """Google's 5.1.63 wrote 27: a group id behind the flags."""
    path = next(corpus.rglob("mdev-4645-binlog_group_id.binlog"))
    with path.open("rb") as file:
        events = list(read_events(LogReader(path.name, file)))
    assert isinstance(events[0].body, FormatDescription)
    assert events[0].body.event_header_length == 27
    assert [len(e.raw.extra_header) for e in events] == [0, 8, 8, 8]
    assert all(isinstance(e.body, Query) for e in events[1:])


def with_header_length(length: int) -> bytes:
    """A real log whose format description claims another length of headers, its CRC32 right."""
    data = bytearray(LOG.read_bytes())
    size = int.from_bytes(data[13:17], "little")
    data[4 + 19 + 56] = length
    plain = bytearray(data[4 : 4 + size - 4])
    plain[17] &= ~EventFlag.IN_USE & 0xFF
    data[size : 4 + size] = struct.pack("<I", zlib.crc32(plain))
    return bytes(data)


@pytest.mark.parametrize(
    ("length", "field"), [(0, "event_header_length"), (18, "event_header_length")]
)
def test_a_header_length_that_cannot_be(length: int, field: str) -> None:
    with pytest.raises(MalformedEventError) as caught:
        list(bk.open(with_header_length(length)).event_records())
    assert (caught.value.offset, caught.value.field) == (4, field)
    log = bk.open(with_header_length(length), on_damage="report")
    survived = list(log.event_records())
    whole = list(bk.open(LOG.read_bytes()).event_records())
    assert [r["pos"] for r in survived] == [r["pos"] for r in whole[1:]]
    assert len(log.damages) >= 1


@pytest.mark.parametrize("length", [20, 27, 120, 255])
def test_a_header_length_that_is_not_this_log_s(length: int) -> None:
    """What follows does not fit; the error says what may be wrong, and no event is lost."""
    data = with_header_length(length)
    with pytest.raises(MalformedEventError, match=f"headers have {length} bytes"):
        list(bk.open(data).event_records())
    log = bk.open(data, on_damage="report")
    survived = list(log.event_records())
    whole = list(bk.open(LOG.read_bytes()).event_records())
    assert [(r["pos"], r["type"]) for r in survived] == [(r["pos"], r["type"]) for r in whole]
    assert log.damages


# ---- positions past 4 GiB -------------------------------------------------------------------


def moved(event: bytes, pos: int) -> bytes:
    """An event of v4 with its CRC32 as it would stand at ``pos``."""
    end = (pos + len(event)) % OVER
    body = event[:13] + struct.pack("<I", end) + event[17:-4]
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_positions_that_wrap(tmp_path: Path, shift: int) -> None:
    """A log of more than 4, 8 or 16 GiB, a hole but for its head and tail, begun at an offset."""
    data = LOG.read_bytes()
    whole = list(LogReader("log", io.BytesIO(data)))
    tail = whole[1:9]
    # The first position past 4 GiB is in the middle of the tail.
    begin = (OVER << shift) - sum(e.header.size for e in tail[:4]) - 10
    path = tmp_path / "binlog.000001"
    with path.open("wb") as file:
        file.write(data[: whole[0].end_pos])
        file.seek(begin)
        for event in tail:
            file.write(moved(data[event.pos : event.end_pos], file.tell()))
    assert path.stat().st_size > OVER > path.stat().st_blocks * 512
    with path.open("rb") as file:
        file.seek(begin)
        reader = LogReader("log", file)
        head = format_of("log", 4, data[4 : whole[0].end_pos])
        reader.go_on(begin, head, 0, None, sure=True)
        found = list(reader)
    assert [e.body for e in found] == [e.body for e in tail]
    assert {e.checksum for e in found} == {"ok"}
    assert found[0].pos == begin and found[-1].end_pos == path.stat().st_size
    assert all(a.end_pos == b.pos for a, b in pairwise(found))
    assert [e.header.log_pos for e in found] == [e.end_pos % OVER for e in found]
    assert found[3].header.log_pos > found[4].header.log_pos  # wrapped
    os.truncate(path, 0)


def test_a_servers_version_may_fill_its_fifty_bytes() -> None:
    name = b"8.0.40-" + b"x" * 43
    body = struct.pack("<H50sIB", 4, name, 0x61616161, 19) + bytes(40) + b"\x01" + bytes(4)
    assert format_of("log", 4, bytes(19) + body).server_version == name.decode()


def test_headers_are_read_as_their_version_has_them() -> None:
    data = struct.pack("<IBIIIH", 1, 2, 3, 40, 99, 0x8008)
    old, new = parse_header(data, 13), parse_header(data, 19)
    assert (old.log_pos, old.flags) == (0, 0)
    assert (new.timestamp, new.type_code, new.server_id, new.size) == (1, 2, 3, 40)
    assert (new.log_pos, new.flags) == (99, 0x8008)


def test_a_stop_ends_nothing_but_itself() -> None:
    log = LogWriter("8.0.31")
    log.add(Stop())
    log.add(Xid(1))
    assert [e.type for e in read(bytes(log.data))][1:] == ["STOP_EVENT", "XID_EVENT"]
