"""Parse, write: the same bytes, for every event of every log at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zstandard

from binlogkit.constants import BINLOG_MAGIC
from binlogkit.errors import DamageError
from binlogkit.events.base import Event
from binlogkit.events.payload import TransactionPayload
from binlogkit.events.reader import read_events
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.writer import EventWriter


def read(path: Path) -> tuple[list[Event], list[DamageError]]:
    """All events, those of payloads too, and the damage that was reported."""
    errors: list[DamageError] = []
    with path.open("rb") as file:
        reader = LogReader(path.name, file, on_damage="report", sink=errors.append)
        events = list(read_events(reader, on_damage="report", sink=errors.append))
    return events, errors


def test_every_event_is_written_as_it_stood(log: Any) -> None:
    events, errors = read(log.path)
    assert [(type(e), e.offset, e.field, e.reason) for e in errors] == log.errors
    writer = EventWriter()
    stored = log.path.read_bytes()
    written = bytearray(BINLOG_MAGIC)
    inner = bytearray()
    payload: TransactionPayload | None = None
    for event in events:
        data = writer.event(event)
        if event.raw.inner is not None:
            inner += data
            continue
        assert bytes(inner) == plain(payload)
        payload = event.body if isinstance(event.body, TransactionPayload) else None
        inner.clear()
        assert data == stored[event.raw.pos : event.raw.end_pos], event
        assert event.raw.pos == len(written)
        written += data
    assert bytes(inner) == plain(payload)
    assert written == stored


def plain(payload: TransactionPayload | None) -> bytes:
    """The events of a payload, end to end; nothing without one."""
    if payload is None:
        return b""
    assert payload.compression == "ZSTD"
    return zstandard.ZstdDecompressor().decompress(
        payload.payload, max_output_size=payload.uncompressed_size or 0
    )


def test_the_corpus_is_walked(corpus: Path) -> None:
    """The walk above names its logs when tests are collected; here a missing corpus is reported."""
    assert len([path for path in corpus.glob("*/*") if path.is_file()]) >= 15
