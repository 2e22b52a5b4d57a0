"""The XID of a transaction that is too large to hold until its end: from the end, read ahead.

A GTID event of 8.0.2 or later tells its transaction's length, so that its last event is found at
once; else headers are hopped over. In what cannot seek, and in a payload, events are scanned again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, InputError, LimitError
from binlogkit.events.query import Query
from binlogkit.events.reader import EventParser
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.scan import LogScan
from binlogkit.rows.transactions import GTID_TYPES
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.raw import RawEvent, parse_header

if TYPE_CHECKING:
    from binlogkit.events.base import Event
    from binlogkit.sources.carriers import Carrier

__all__ = ["xid_by_hopping", "xid_by_scanning"]

_XID_BODY = 8
_HAS_XID = 16
_NOT_INSIDE = (
    *GTID_TYPES, EventType.FORMAT_DESCRIPTION_EVENT, EventType.ROTATE_EVENT, EventType.STOP_EVENT,
    EventType.XA_PREPARE_LOG_EVENT,
)  # fmt: skip
_ENDS = (StatementKind.COMMIT, StatementKind.ROLLBACK, StatementKind.BEGIN)


def xid_by_hopping(
    carrier: Carrier, pos: int, length: int, at: int, *, checksums: bool
) -> tuple[bool, int | None]:
    """Whether the end of a transaction was looked for, and its XID, None where it has none.

    ``pos``, ``length``: of the transaction, -1 where its length is not known; ``at``: an offset in
    it at which an event begins.
    """
    with suppress(DamageError, InputError, LimitError), carrier.open() as file:
        if isinstance(file, LooseEvents) or not file.seekable():
            return False, None
        size = HEADER_LENGTH + _XID_BODY + (CHECKSUM_LENGTH if checksums else 0)
        if length > size:
            xid = _xid_at(file, pos + length - size, size, checksums=checksums)
            if xid is not None:
                return True, xid
        return True, _hopped(file, at, size, checksums=checksums)
    return False, None


def _xid_at(file: BinaryIO, at: int, size: int, *, checksums: bool) -> int | None:
    """The XID of the event at an offset, None where there is none."""
    file.seek(at)
    data = file.read(size)
    if len(data) < size or data[4] != EventType.XID_EVENT:
        return None
    header = parse_header(data, HEADER_LENGTH)
    if header.size != size or (checksums and not ends_in_crc(header, data)):
        return None
    return int.from_bytes(data[HEADER_LENGTH : HEADER_LENGTH + _XID_BODY], "little")


def _hopped(file: BinaryIO, at: int, size: int, *, checksums: bool) -> int | None:
    end = file.seek(0, os.SEEK_END)
    while at + HEADER_LENGTH <= end:
        file.seek(at)
        header = parse_header(file.read(HEADER_LENGTH), HEADER_LENGTH)
        if header.type_code == EventType.XID_EVENT:
            return _xid_at(file, at, size, checksums=checksums)
        if header.type_code in _NOT_INSIDE or header.size < HEADER_LENGTH:
            return None
        if header.type_code == EventType.QUERY_EVENT:
            body = file.read(header.size - HEADER_LENGTH)
            event = EventParser(lambda _: None).parse(RawEvent("", at, header, body))
            kind = None
            if isinstance(event.body, Query):
                kind = statement_kind(event.body.query, event.body.status_vars.sql_mode)
            if kind in _ENDS:
                return None
        at += header.size
    return None


def xid_by_scanning(carrier: Carrier, first: int, number: int) -> int | None:
    """The XID of transaction ``number`` of a log, whose first one is ``first``; None for none."""
    scan = LogScan(carrier, Scanner(first), _unseen, stops=True)
    with suppress(DamageError, InputError, LimitError):
        for _ in scan:
            for record in scan.transactions():
                if record["number"] == number and not record["open"]:
                    return int(record["xid"]) if record["has"] & _HAS_XID else None
    return None


def _unseen(_scan: LogScan, _i: int, _event: Event) -> bool:
    return False
