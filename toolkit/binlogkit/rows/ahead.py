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

_XID_BODY = 8
_HAS_XID = 16
_LONGEST_END = 1 << 16  # bytes of an event that may be a COMMIT
_NOT_INSIDE = (
    *GTID_TYPES, EventType.FORMAT_DESCRIPTION_EVENT, EventType.ROTATE_EVENT, EventType.STOP_EVENT,
    EventType.XA_PREPARE_LOG_EVENT,
)  # fmt: skip
_ENDS = (StatementKind.COMMIT, StatementKind.ROLLBACK, StatementKind.BEGIN)


def xid_by_hopping(
    carrier: Carrier, pos: int, length: int, at: int, *, checksums: bool
) -> tuple[bool, int | None]:
    """Whether the end of a transaction was found, and its XID, None where it has none.

    ``pos``, ``length``: of the transaction, -1 where its length is not known; ``at``: an offset in
    it at which an event begins.
    """
    with suppress(DamageError, InputError, LimitError), carrier.open() as file:
        if isinstance(file, LooseEvents) or not file.seekable():
            return False, None
        if length > 0:
            end = pos + length
            xid = _xid_at(file, end - _xid_size(checksums), checksums=checksums)
            if xid is not None:
                return True, xid
        return _hopped(file, at, checksums=checksums)
    return False, None


def _xid_size(checksums: bool) -> int:
    return HEADER_LENGTH + _XID_BODY + (CHECKSUM_LENGTH if checksums else 0)


def _xid_at(file: BinaryIO, at: int, *, checksums: bool) -> int | None:
    """The XID of the event at an offset, None where there is none."""
    size = _xid_size(checksums)
    file.seek(max(at, 0))
    data = file.read(size)
    if len(data) < size or data[4] != EventType.XID_EVENT:
        return None
    header = parse_header(data, HEADER_LENGTH)
    if header.size != size or (checksums and not ends_in_crc(header, data)):
        return None
    return int.from_bytes(data[HEADER_LENGTH : HEADER_LENGTH + _XID_BODY], "little")


def _hopped(file: BinaryIO, at: int, *, checksums: bool) -> tuple[bool, int | None]:
    end = file.seek(0, os.SEEK_END)
    while at + HEADER_LENGTH <= end:
        file.seek(at)
        header = parse_header(file.read(HEADER_LENGTH), HEADER_LENGTH)
        if header.type_code == EventType.XID_EVENT:
            xid = _xid_at(file, at, checksums=checksums)
            return xid is not None, xid
        if header.type_code in _NOT_INSIDE:
            return True, None
        if header.size < HEADER_LENGTH:
            return False, None
        if header.type_code == EventType.QUERY_EVENT and header.size <= _LONGEST_END:
            body = file.read(header.size - HEADER_LENGTH)
            body = body[:-CHECKSUM_LENGTH] if checksums else body
            event = EventParser(lambda _: None).parse(RawEvent("", at, header, body))
            kind = None
            if isinstance(event.body, Query):
                kind = statement_kind(event.body.query, event.body.status_vars.sql_mode)
            if kind in _ENDS:
                return True, None
        at += header.size
    return at == end, None


def xid_by_scanning(
    carrier: Carrier, first: int, number: int, *, begin: int, stops: bool
) -> int | None:
    """The XID of transaction ``number`` of a log, None for none.

    ``first``: the number of the first transaction after the offset ``begin``; ``stops``: whether
    damage ends the log.
    """
    scan = LogScan(carrier, Scanner(first), _unseen, stops=stops, begin=begin)
    with suppress(DamageError, InputError, LimitError):
        for _ in scan:
            for record in scan.transactions():
                if record["number"] == number and not record["open"]:
                    return int(record["xid"]) if record["has"] & _HAS_XID else None
    return None


def _unseen(_scan: LogScan, _i: int, _event: Event) -> bool:
    return False
