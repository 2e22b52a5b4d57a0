"""The vectors of the shared corpus: no kind without a test, and event bodies written again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import OpaqueEvent
from binlogkit.events.reader import read_events
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header
from binlogkit_fixtures.writer import EventWriter, LogWriter

TESTS = Path(__file__).parents[1]
CORPUS = TESTS.parents[1] / "shared" / "corpus" / "vectors.json"
HEADER, CHECKSUM = 19, 4


@cache
def vectors() -> list[dict[str, Any]]:
    return json.loads(CORPUS.read_text(encoding="utf-8")) if CORPUS.is_file() else []


def of(*kinds: str) -> list[dict[str, Any]]:
    return [vector for vector in vectors() if vector["kind"] in kinds]


def test_no_kind_is_without_a_test(corpus: Path) -> None:
    """Each kind stands, as a string of its own, in a test module that reads the vectors."""
    sources = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    readers = [source for source in sources if "vectors.json" in source]
    kinds = {vector["kind"] for vector in vectors()}
    assert len(vectors()) >= 375
    assert {kind for kind in kinds if not any(f'"{kind}"' in text for text in readers)} == set()


@pytest.mark.parametrize("vector", of("error_rows"), ids=lambda v: v["name"])
def test_rows_that_end_too_early(vector: dict[str, Any]) -> None:
    log = LogWriter("5.5.62")
    log.add(OpaqueEvent(bytes.fromhex(vector["params"]["table_map"])), EventType.TABLE_MAP_EVENT)
    log.add(OpaqueEvent(bytes.fromhex(vector["hex"])), vector["params"]["event_type"])
    with pytest.raises(MalformedEventError) as caught:
        list(bk.open(bytes(log.data)).row_records())
    assert (caught.value.offset, caught.value.field) == (log.events[-1].raw.pos, "@2")


def events() -> list[dict[str, Any]]:
    """Those whose framing is an event's, or a whole body's; what must not be read is left out."""
    framed = ("body", "event+crc32", "event, no checksum")
    return [
        vector
        for vector in vectors()
        if vector.get("params", {}).get("framing") in framed and "error" not in vector["expected"]
    ]


def raw_event(vector: dict[str, Any]) -> RawEvent:
    data, params = bytes.fromhex(vector["hex"]), vector["params"]
    if params["framing"] == "body":
        code = params.get("event_type", EventType.TABLE_MAP_EVENT)
        size = HEADER + len(data)
        return RawEvent("vector", 4, EventHeader(0, code, 1, size, 4 + size, 0), data)
    stored = data[-CHECKSUM:] if params["framing"] == "event+crc32" else b""
    header = parse_header(data, HEADER)
    body = data[HEADER : len(data) - len(stored)]
    checksum = "ok" if stored else "none"
    return RawEvent("vector", 4, header, body, checksum, stored_checksum=stored)


@pytest.mark.parametrize("vector", events(), ids=lambda v: f"{v['kind']}-{v['name']}")
def test_an_event_is_written_as_it_stood(vector: dict[str, Any]) -> None:
    raw = raw_event(vector)
    event = next(iter(read_events([raw])))
    writer = EventWriter()
    assert writer.body(event) == raw.body
    if raw.stored_checksum:
        assert writer.event(event) == bytes.fromhex(vector["hex"])
