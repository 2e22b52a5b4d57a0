"""Events without a file around them: bare bytes, packets, their positions and checksums."""

from __future__ import annotations

import contextlib
import io
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.errors import DamageError, InputError, NotABinlogError, TruncatedEventError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.framing import Framer, Framing, framing_of
from tests.sources.carried import DATA, KEYS, events, rows

LOG = KEYS.read_bytes()
NO_CHECKSUM = (DATA / "5.7-row-no-checksum" / "keys" / "binlog.000001").read_bytes()


def split(log: bytes) -> list[bytes]:
    """The events of a log, each with header and checksum."""
    at, found = 4, []
    while at < len(log):
        size = int.from_bytes(log[at + 9 : at + 13], "little")
        found.append(log[at : at + size])
        at += size
    return found


def packets(log: list[bytes]) -> bytes:
    """As a server sends them: length, sequence, status byte."""
    sent = [b"\0" + event for event in log]
    return b"".join(
        len(p).to_bytes(3, "little") + bytes([(i + 1) % 256]) + p for i, p in enumerate(sent)
    )


FRAMINGS = {
    "end to end": b"".join,
    "behind status bytes": lambda log: b"".join(b"\0" + event for event in log),
    "packets": packets,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("log", [LOG, NO_CHECKSUM], ids=["CRC32", "no checksum"])
@pytest.mark.parametrize("start", [0, 2, 20])
def test_events_of_a_log(framing: str, log: bytes, start: int) -> None:
    """From the format description on, or from somewhere behind it."""
    carried = FRAMINGS[framing](split(log)[start:])
    assert events(carried) == events(log)[start:]


def test_rows_from_the_middle_of_a_log() -> None:
    at = next(i for i, e in enumerate(events(LOG)) if e["type"] == "TABLE_MAP_EVENT")
    ours = rows(b"".join(split(LOG)[at:]))
    theirs = rows(LOG)
    assert [(r["pos"], r["op"], list((r["after"] or r["before"]).values())) for r in ours] == [  # type: ignore[attr-defined]
        (r["pos"], r["op"], list((r["after"] or r["before"]).values()))  # type: ignore[attr-defined]
        for r in theirs
    ]


def test_what_the_server_makes_up_takes_no_place() -> None:
    """COM_BINLOG_DUMP from 157: a rotate that says so, the format description, the events."""
    format_description, _, gtid, *_ = split(LOG)
    body = (157).to_bytes(8, "little") + b"binlog.000001"
    size = (19 + len(body)).to_bytes(4, "little")
    rotate = bytes(4) + b"\x04" + bytes([80, 0, 0, 0]) + size + bytes(4) + b"\x20\0" + body
    unplaced = bytearray(format_description)
    unplaced[13:17] = bytes(4)
    unplaced[-4:] = zlib.crc32(unplaced[:-4]).to_bytes(4, "little")
    log = bk.open(packets([rotate, bytes(unplaced), gtid]))
    found = [(e["pos"], e["end_pos"], e["inner"], e["type"]) for e in log.event_records()]
    assert found == [
        (157, 157, None, "ROTATE_EVENT"),
        (157, 157, None, "FORMAT_DESCRIPTION_EVENT"),
        (157, 234, None, "GTID_LOG_EVENT"),
    ]


def test_an_event_over_several_packets() -> None:
    """A packet of 2**24 - 1 bytes goes on in the next one."""
    head = bytes(4) + b"\x1c" + bytes(4)
    size = (1 << 24) + 100
    event = head + size.to_bytes(4, "little") + (size + 4).to_bytes(4, "little") + bytes(2)
    sent = b"\0" + event.ljust(size, b"\0")
    limit = (1 << 24) - 1
    parts = [sent[:limit], sent[limit:]]
    data = b"".join(len(p).to_bytes(3, "little") + bytes([i]) + p for i, p in enumerate(parts))
    assert framing_of(data[:100]) is Framing.PACKETS
    framer = Framer()
    assert [len(e) for e in [*framer.feed(data), *framer.end()]] == [size]
    assert not framer.broken


def test_what_a_server_says_instead() -> None:
    (first, *_) = split(LOG)
    error = b"\xff\xd4\x04#HY000Could not find first log file"
    data = packets([first]) + len(error).to_bytes(3, "little") + b"\x02" + error
    log = bk.open(data, on_damage="report")
    assert len(list(log.event_records())) == 1
    assert "the server sent error 1236" in str(log.damages[0])


def test_positions_past_four_gigabytes() -> None:
    """``log_pos`` has 32 bits; order tells the rest."""
    first, second = bytearray(split(NO_CHECKSUM)[1]), bytearray(split(NO_CHECKSUM)[2])
    first[13:17] = (0xFFFFFFF0).to_bytes(4, "little")
    second[13:17] = (0xFFFFFFF0 + len(second) & 0xFFFFFFFF).to_bytes(4, "little")
    found = events(bytes(first + second))
    assert [e["end_pos"] for e in found] == [0xFFFFFFF0, 0xFFFFFFF0 + len(second)]
    assert found[1]["pos"] == 0xFFFFFFF0


@pytest.mark.parametrize("cut", [1, 5, 60])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_cut_is_told(framing: str, cut: int) -> None:
    data = FRAMINGS[framing](split(LOG)[:4])[:-cut]
    log = bk.open(data)
    seen = []
    with pytest.raises(TruncatedEventError, match="bytes into"):
        for event in log.event_records():
            seen.append(event["pos"])
    assert seen == [4, 126, 157]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_other_bytes_are_refused_or_read(data: bytes) -> None:
    with contextlib.suppress(DamageError, InputError):
        events(data)


@pytest.mark.parametrize("data", [b"\x00" * 100, b"\x89PNG\r\n\x1a\n" + bytes(50), b"PK\x03\x04"])
def test_other_files_are_no_binlogs(data: bytes) -> None:
    with pytest.raises(NotABinlogError, match="not a binary log"):
        events(data)


def test_there_is_no_file_to_hand_on() -> None:
    with resolve(b"".join(split(LOG)[3:]))[0].open() as file, pytest.raises(InputError):
        file.read(4)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_short_reads(size: int) -> None:
    """A file object may give less than it is asked for."""

    class Short(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            return super().read(min(size, count) if count and count > 0 else count)

    assert events(Short(packets(split(LOG)[:10]))) == events(LOG)[:10]
