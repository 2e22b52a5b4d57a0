"""Whole logs: start events as real servers write them, the flag of use, copies of real logs."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from binlogkit.constants import EventFlag, EventType
from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import Gtid
from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.events.status_vars import StatusVars
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures import golden
from binlogkit_fixtures.writer import (
    EventWriter,
    LogWriter,
    format_description,
    post_header_lengths,
)

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"


def read(data: bytes, name: str = "log") -> list[Event]:
    return list(read_events(LogReader(name, io.BytesIO(data)), on_damage="stop"))


def start_of(path: Path) -> FormatDescription:
    with path.open("rb") as file:
        body = next(iter(read_events(LogReader(path.name, file)))).body
    assert isinstance(body, FormatDescription)
    return body


CELLS = sorted({case.cell: case for case in golden.cases()}.items())


@pytest.mark.parametrize("cell", [cell for cell, _ in CELLS])
def test_start_events_are_the_servers(cell: str) -> None:
    """Of 5.6.24, 5.7.22, 8.0.31 and 9.7.4, with checksums and without."""
    real = start_of(golden.cases(cell=cell)[0].binlogs[0])
    made = format_description(
        real.server_version, created=real.created, checksum_algorithm=real.checksum_algorithm
    )
    assert made == real


def test_post_header_lengths_are_those_of_the_corpus() -> None:
    if not CORPUS.is_dir():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    seen = {}
    for path in CORPUS.glob("*/*"):
        first = path.read_bytes()[4:8] and path.read_bytes()[8] == 15
        if path.is_file() and first:
            start = start_of(path)
            seen[start.server_version] = start.post_header_lengths
    ours = {version: post_header_lengths(version) for version in seen}
    assert {v for v in seen if seen[v] != ours[v]} == {
        "5.2.2-a_drop6p13-debug-log",  # numbers its types otherwise
        "10.5.15-MariaDB-1:10.5.15+maria~focal-log",
    }
    assert len(seen) > 10


def test_a_log_in_use_has_the_checksum_of_the_closed_one() -> None:
    """Closing clears one bit; the server leaves the checksum as it is."""
    closed, used = LogWriter("8.0.31"), LogWriter("8.0.31", in_use=True)
    assert closed.data[21] == 0 and used.data[21] == EventFlag.IN_USE
    used.data[21] = 0
    assert used.data == closed.data


@pytest.mark.parametrize("cell", ["5.7-row-no-gtid", "8.0-row-compressed", "9-row-full"])
def test_a_copy_of_a_real_log_is_the_log(cell: str) -> None:
    """Header by header; in a log of its own the positions are the same."""
    path = golden.cases(cell=cell)[0].binlogs[0]
    events = read(path.read_bytes(), path.name)
    log = LogWriter(None, name=path.name)
    for event in events:
        log.copy(event)
    assert log.data == path.read_bytes()
    assert log.events == events


@pytest.mark.parametrize(
    ("start", "size"),
    [(StartV3(1, "3.23.58", 0), 13 + 56), (StartV3(3, "4.1.22", 0), 19 + 56)],
)
def test_start_events_have_the_documents_sizes(start: StartV3, size: int) -> None:
    """Seeds/002, "Binlog Versions": by these sizes the versions are distinguished."""
    log = LogWriter(start)
    assert len(log.data) == 4 + size
    assert read(bytes(log.data))[0].raw.version == start.binlog_version


def test_fields_of_a_later_server_are_kept() -> None:
    """Behind the last known field, and behind the known part of a post-header."""
    start = format_description("9.7.4")
    lengths = list(start.post_header_lengths)
    lengths[EventType.QUERY_EVENT - 1] += 2
    log = LogWriter(replace(start, post_header_lengths=tuple(lengths)))
    query = Query(1, 0, 0, "", StatusVars(), "BEGIN")
    log.add(query, unread_post_header=b"\x01\x02")
    tagged = Gtid(0, "12345678-1234-1234-1234-123456789abc", 1, tag="t")
    later = b"\x18\x02"  # field 12, one number
    log.add(tagged, unread=later)
    _, first, second = read(bytes(log.data), log.name)
    assert (first.unread_post_header, first.unread) == (b"\x01\x02", b"")
    assert second.unread == later
    # The size that the event says counts them.
    assert second.raw.body[1] >> 1 == len(second.raw.body)
    writer = EventWriter()
    assert b"".join(writer.event(event) for event in read(bytes(log.data))) == log.data[4:]


def test_events_stand_where_the_log_says() -> None:
    log = LogWriter("8.0.31", server_id=3, timestamp=1)
    first = log.add(Query(1, 0, 0, "", StatusVars(), "BEGIN"))
    second = log.add(Query(1, 0, 0, "", StatusVars(), "COMMIT"), timestamp=2, server_id=4)
    assert first.raw.end_pos == second.raw.pos == first.raw.header.log_pos
    assert second.raw.end_pos == len(log.data)
    header = second.raw.header
    assert (header.timestamp, header.server_id) == (2, 4)
    assert [event.raw for event in read(bytes(log.data), log.name)] == [e.raw for e in log.events]
