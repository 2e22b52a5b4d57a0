"""One rows event through both passes of the kernel, as in a log: behind its table map."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.index import SPOT, Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.sources.raw import EventHeader, RawEvent

_SPOTS = np.dtype(list(SPOT))


def rows_event(body: bytes, code: int, pos: int = 4) -> RawEvent:
    """A rows event of this body."""
    header = EventHeader(1_600_000_000, code, 7, len(body) + 19, pos + len(body) + 19, 0)
    return RawEvent("log", pos, header, body)


def rows_pass(
    raw: RawEvent, number: int = 0, width: int = 6, place: Callable[[bytes], Any] = bytes
) -> RowsPass | None:
    """The pass over an event; None where the scan leaves it to Python.

    ``number``: of the event in its walk and of its transaction; ``width``: bytes of a table id;
    ``place``: puts the bytes where they are read.
    """
    scanner, index = Scanner(number), Index()
    scanner.checksums = scanner.positions = False
    scanner.table_id_width = width
    table_id = raw.body[:width].ljust(width, b"\0")
    table_map = _stored(EventHeader(0, EventType.TABLE_MAP_EVENT, 0, 0, 0, 0), table_id + b"map")
    assert scanner.scan(index, table_map, 0, len(table_map), 0) == "end"
    index.clear()
    size, data = len(raw.body) + 19, place(_stored(raw.header, raw.body))
    inner = -1 if raw.inner is None else raw.inner
    spots = np.array([(raw.pos, raw.end_pos, inner, size, 0)], _SPOTS).data
    if scanner.scan(index, data, 0, size, 0, False, spots) != "end":
        return None
    return RowsPass(scanner, index, data, 0, number, spots)


def filled(builder: TableBuilder, body: bytes, code: int) -> None:
    """Store the rows of an event, all of which fit."""
    rows = rows_pass(rows_event(body, code))
    assert rows is not None
    said = rows.run([builder])
    assert said is None, said


def _stored(header: EventHeader, body: bytes) -> bytes:
    front = struct.pack("<IBI", header.timestamp, header.type_code, header.server_id)
    return front + (len(body) + 19).to_bytes(4, "little") + bytes(6) + body
