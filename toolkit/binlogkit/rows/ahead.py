"""The XID of a transaction that is too large to hold until its end: from the end, read ahead.

A GTID event of 8.0.2 or later has its transaction's length, so that its last event is found at
once; else the log is scanned again, from the transaction on where it can be seeked in.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, InputError, LimitError
from binlogkit.rows.scan import LogScan
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.raw import parse_header

if TYPE_CHECKING:
    import numpy as np

    from binlogkit.sources.carriers import Carrier

_XID_BODY = 8
_HAS_XID = 16


def xid_ahead(
    carrier: Carrier, transaction: np.void, first: int, *, begin: int, stops: bool,
    in_place: bool, checksums: bool,
) -> int | None:  # fmt: skip
    """The XID of a transaction of a log, None for none.

    ``transaction``: what the kernel knows of it; ``first``: the number of the first transaction
    after the offset ``begin``; ``stops``: whether damage ends the log; ``in_place``: whether
    offsets are those of the carrier's file; ``checksums``: whether its events have them.
    """
    number, pos, length = (int(transaction[name]) for name in ("number", "pos", "length"))
    with suppress(DamageError, InputError, LimitError):
        if in_place and number > first:  # the first one may have begun in the log before
            with carrier.open() as file:
                if file.seekable() and not isinstance(file, LooseEvents):
                    xid = _xid_at(file, pos + length, checksums=checksums) if length > 0 else None
                    if xid is not None:
                        return xid
                    first, begin = number, pos
        scan = LogScan(carrier, Scanner(first), lambda *_: False, stops=stops, begin=begin)
        for _ in scan:
            for record in scan.transactions():
                if record["number"] == number and not record["open"]:
                    return int(record["xid"]) if record["has"] & _HAS_XID else None
    return None


def _xid_at(file: BinaryIO, end: int, *, checksums: bool) -> int | None:
    """The XID of the event that ends at an offset, None where there is none."""
    size = HEADER_LENGTH + _XID_BODY + (CHECKSUM_LENGTH if checksums else 0)
    file.seek(max(end - size, 0))
    data = file.read(size)
    if len(data) < size or data[4] != EventType.XID_EVENT:
        return None
    header = parse_header(data, HEADER_LENGTH)
    if header.size != size or (checksums and not ends_in_crc(header, data)):
        return None
    return int.from_bytes(data[HEADER_LENGTH : HEADER_LENGTH + _XID_BODY], "little")
