"""What events say, made for many at once, is what each says when it is read by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.events.query import RowsQuery
from binlogkit.frames.event_records import event_fields
from binlogkit.log.stored_events import StoredEvents
from binlogkit_fixtures.writer import LogWriter

GOLDEN = Path(__file__).parents[1] / "_data" / "8.0-row-compressed" / "types" / "binlog.000001"
PAYLOAD = EventType.TRANSACTION_PAYLOAD_EVENT
STATEMENTS = (
    b"insert into t values (1)",
    b"",
    b'a "quoted" \\ back\\slash /* \b\f\n\r\t\x00\x1f\x7f */',
    "ü € 𐍈 und \u2028".encode(),
    b"\xfc is Latin-1",
    b"cut \xe2\x82",
    b"surrogate \xed\xa0\x80",
    b"overlong \xc0\xaf",
)


def both(data: bytes, tmp_path: Path) -> tuple[list[Any], list[Any]]:
    """``fields`` of a log's events for many at once, and of each by itself."""
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    log = bk.open(path, on_damage="report")
    made = [
        json.loads(text)
        for batch in log.event_batches(compact=True)
        for text in batch.column("fields").to_pylist()
    ]
    (carrier,) = log.carriers
    alone = [json.loads(json.dumps(event_fields(event))) for event in StoredEvents(carrier)]
    return made, alone


def test_statements_of_all_bytes(tmp_path: Path) -> None:
    log = LogWriter("8.0.31")
    for statement in STATEMENTS * 3:
        text = statement.decode("utf-8", "backslashreplace")
        kept = None if text.encode() == statement else statement
        log.add(RowsQuery(text, kept, len(statement) & 0xFF))
    made, alone = both(bytes(log.data), tmp_path)
    assert made == alone
    assert [said["query"] for said in made if "query" in said][3] == "ü € 𐍈 und \u2028"


def fields_of(event: bytes) -> int:
    """Where a payload event's payload begins: all lengths are of one byte."""
    at = 19
    while event[at]:
        at += 2 + event[at + 1]
    return at + 1


CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "a length": lambda e, at: e[:20] + bytes([e[20] ^ 2]) + e[21:],
    "a field without a name": lambda e, at: e[:19] + b"\x04\x01\x07" + e[19:],
    "a field that is there twice": lambda e, at: e[:19] + b"\x03\x01\x07" + e[19:],
    "a field without a value": lambda e, at: e[: at - 1] + b"\x05\x00" + e[at - 1 :],
    "a size": lambda e, at: e[: at - 2] + bytes([e[at - 2] - 1]) + e[at - 1 :],
    "a number in more bytes": lambda e, at: e[:19] + b"\x03\x03\xfc\x07\x00" + e[22:],
    "no payload": lambda e, at: e[:at],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_payloads_that_no_server_writes(
    change: Callable[[bytes, int], bytes], tmp_path: Path
) -> None:
    data, at, changed = GOLDEN.read_bytes(), 4, 0
    made = bytearray(data[:4])
    while at < len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        event = data[at : at + size - 4]
        at += size
        if event[4] == PAYLOAD and not changed:
            changed += 1
            event = change(event, fields_of(event))
        sealed = len(made) + len(event) + 4
        event = b"".join((
            event[:9], (len(event) + 4).to_bytes(4, "little"), sealed.to_bytes(4, "little"),
            event[17:],
        ))  # fmt: skip
        made += event + crc32(event).to_bytes(4, "little")
    assert changed
    found, alone = both(bytes(made), tmp_path)
    assert found == alone
    assert len(found) > 100
