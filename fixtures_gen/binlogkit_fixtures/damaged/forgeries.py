"""Logs whose frames and checksums are right, and whose fields claim what cannot be.

What an attacker would make: a reader that believes a count or a length allocates by it, reads past
its event, or continues with columns that are not there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from binlogkit.constants import EventType as T
from binlogkit_fixtures.damaged.pieces import Piece, nth, rewritten
from binlogkit_fixtures.damaged.recipe import (
    CHECKED,
    PACKED,
    Error,
    Level,
    Recipes,
    Source,
    Verdict,
)

__all__ = ["FORGERIES"]

FORGERIES = Recipes()
_GOOD, _OPEN, _BAD = Verdict.MUST_READ, Verdict.MAY_REFUSE, Verdict.MUST_REFUSE

Change = Callable[[bytes], bytes]


def _body(code: int, change: Change, number: int = 5) -> Callable[[list[Piece]], list[Piece]]:
    def edit(pieces: list[Piece]) -> list[Piece]:
        return rewritten(pieces, nth(pieces, code, number), change)

    return edit


def _put(at: int, data: bytes) -> Change:
    """Other bytes at a place of the body."""
    return lambda body: body[:at] + data + body[at + len(data) :]


def _cut(count: int) -> Change:
    """Without its last bytes."""
    return lambda body: body[:-count]


# QUERY (8.0): thread 4, duration 4, schema's length 1, error 2, status variables' length 2.
# TABLE_MAP: table id 6, flags 2, schema's length 1, schema, NUL, table's length 1, table, NUL,
# columns (packed), types, metadata's length (packed), … WRITE_ROWS: table id 6, flags 2, length of
# extra data with itself 2, columns (packed), bitmap, rows. GTID: flags 1, SID 16, GNO 8.
_FIELDS: tuple[tuple[str, str, int, Change, Level, Source], ...] = (
    ("query-schema-length", "a statement's schema name is longer than the event",
     T.QUERY_EVENT, _put(8, b"\xff"), Level.FIELDS, CHECKED),
    ("query-status-length", "a statement's status variables are longer than the event",
     T.QUERY_EVENT, _put(11, b"\xff\xff"), Level.FIELDS, CHECKED),
    ("query-short", "a statement's event ends inside its fixed fields",
     T.QUERY_EVENT, lambda body: body[:9], Level.FIELDS, CHECKED),
    ("gtid-short", "a GTID event ends inside the number",
     T.GTID_LOG_EVENT, lambda body: body[:20], Level.FIELDS, CHECKED),
    ("xid-short", "a commit's XID has seven bytes", T.XID_EVENT, _cut(1), Level.FIELDS, CHECKED),
    ("table-map-schema-length", "a table map's schema name is longer than the event",
     T.TABLE_MAP_EVENT, _put(8, b"\xf0"), Level.FIELDS, CHECKED),
    ("table-map-short", "a table map ends inside its column types",
     T.TABLE_MAP_EVENT, lambda body: body[:20], Level.FIELDS, CHECKED),
    ("rows-column-count", "a rows event has 2^32 - 1 columns",
     T.WRITE_ROWS_EVENT, lambda body: body[:10] + b"\xfe" + b"\xff" * 4 + b"\0" * 4 + body[11:],
     Level.FIELDS, CHECKED),
    ("rows-other-count", "a rows event has one column more than its table map",
     T.WRITE_ROWS_EVENT, lambda body: body[:10] + bytes([body[10] + 1]) + body[11:], Level.ROWS,
     CHECKED),
    ("rows-extra-length", "a rows event's extra data is longer than the event",
     T.WRITE_ROWS_EVENT, _put(8, b"\xff\x7f"), Level.FIELDS, CHECKED),
    ("rows-cut-value", "the last value of a rows event is cut",
     T.WRITE_ROWS_EVENT, _cut(1), Level.ROWS, CHECKED),
    ("rows-left-over", "bytes are left over after the last row",
     T.WRITE_ROWS_EVENT, lambda body: body + b"\0", Level.ROWS, CHECKED),
    ("rows-no-map", "a rows event names a table id that no map has",
     T.WRITE_ROWS_EVENT, _put(0, b"\x99\x99\x99\0\0\0"), Level.ROWS, CHECKED),
    ("payload-short", "a compressed transaction's event ends inside its fields",
     T.TRANSACTION_PAYLOAD_EVENT, lambda body: body[:3], Level.FIELDS, PACKED),
    ("payload-cut", "the compressed bytes are cut",
     T.TRANSACTION_PAYLOAD_EVENT, _cut(9), Level.FIELDS, PACKED),
    ("payload-no-zstd", "the compressed bytes are no zstd frame",
     T.TRANSACTION_PAYLOAD_EVENT, lambda body: body[:-20] + b"\x11" * 20, Level.FIELDS, PACKED),
)  # fmt: skip
for _name, _what, _code, _change, _level, _source in _FIELDS:
    _error = Error.NO_TABLE_MAP if _name == "rows-no-map" else Error.MALFORMED
    FORGERIES.add(f"forged-{_name}", _what, _BAD, _error, _level, _source)(_body(_code, _change))


def _payload_size(size: int) -> Change:
    """Another uncompressed size: field 3 of the payload's (type, length and value are packed)."""

    def change(body: bytes) -> bytes:
        at = 0
        while body[at] != 3:
            if body[at] == 0:
                raise ValueError("a payload without its uncompressed size")
            at += 2 + body[at + 1]
        return body[:at] + b"\3\t\xfe" + struct.pack("<Q", size) + body[at + 2 + body[at + 1] :]

    return change


FORGERIES.add(
    "forged-payload-size", "a compressed transaction claims 2^40 bytes", _BAD, Error.MALFORMED,
    Level.FIELDS, PACKED,
)(_body(T.TRANSACTION_PAYLOAD_EVENT, _payload_size(1 << 40)))  # fmt: skip


@FORGERIES.add("unknown-type", "an event of a type that no server has", _GOOD)
def _unknown_type(pieces: list[Piece]) -> list[Piece]:
    """Marked as one that may be passed over (LOG_EVENT_IGNORABLE_F), as the format provides."""
    index = nth(pieces, T.GTID_LOG_EVENT, 40)
    event = Piece(
        struct.pack("<IBIIIH", 1714554000, 200, 80, 19 + 8 + 4, 0, 0x80) + b"whatever0000"
    )
    odd = rewritten([event], 0, lambda body: body)
    return [*pieces[:index], Piece(odd[0].data, True), *pieces[index:]]


@FORGERIES.add("longer-gtid", "a GTID event with bytes of a later version at its end", _GOOD)
def _longer(pieces: list[Piece]) -> list[Piece]:
    """Fields are only ever added at the end; whoever does not know them passes them over."""
    index = nth(pieces, T.GTID_LOG_EVENT, 40)
    changed = rewritten(pieces, index, lambda body: body + b"\1\2\3\4")
    return [*changed[:index], Piece(changed[index].data, True), *changed[index + 1 :]]


@FORGERIES.add("log-pos-zero", "an event's position in its header is 0", _GOOD)
def _log_pos(pieces: list[Piece]) -> list[Piece]:
    """As of events that a replica makes; readers count bytes and do not trust it."""
    index = nth(pieces, T.XID_EVENT, 10)
    data = pieces[index].data
    changed = rewritten(
        [*pieces[:index], Piece(data[:13] + bytes(4) + data[17:]), *pieces[index + 1 :]],
        index, lambda body: body,
    )  # fmt: skip
    return [*changed[:index], Piece(changed[index].data, True), *changed[index + 1 :]]
