"""GTID_TAGGED_LOG_EVENT (8.3.0+): the start of a transaction whose GTID has a tag.

Written with the server's serialization library (``mysql::serialization``, read off a log of 9.6.0):
``version size last_non_ignorable_field`` and then ``field_id value`` pairs, all as variable-length
integers: the number of 1 bits below the first 0 bit of the first byte is the number of bytes that
follow, and the rest, little-endian, is the value. Signed values are zigzag-coded; the UUID is 16
such integers, one per byte; the tag is a length and its bytes. A field that equals its default
(an original timestamp or version equal to the immediate one) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, reads
from binlogkit.events.gtid import Gtid
from binlogkit.events.gtid_set import format_uuid, read_tag
from binlogkit.sources.raw import RawEvent

__all__: list[str] = []

_TIMESTAMPS = 1 << 55  # bits of a timestamp in untagged events, too


def _unsigned(cursor: Cursor, field: str) -> int:
    return cursor.variable(field)


def _signed(cursor: Cursor, field: str) -> int:
    value = _unsigned(cursor, field)
    return value >> 1 ^ -(value & 1)


def _uuid(cursor: Cursor, field: str) -> str:
    data = [_unsigned(cursor, field) for _ in range(16)]
    if max(data) > 0xFF:
        raise cursor.fail(field, "a byte of the UUID is over 255")
    return format_uuid(bytes(data))


def _timestamp(cursor: Cursor, field: str) -> int:
    value = _unsigned(cursor, field)
    if value >= _TIMESTAMPS:
        raise cursor.fail(field, f"{value} microseconds do not fit 55 bits")
    return value


_FIELDS: tuple[tuple[str, Callable[[Cursor, str], Any]], ...] = (
    ("flags", _unsigned),
    ("sid", _uuid),
    ("gno", _signed),
    ("tag", read_tag),
    ("last_committed", _signed),
    ("sequence_number", _signed),
    ("immediate_commit_timestamp", _timestamp),
    ("original_commit_timestamp", _timestamp),
    ("transaction_length", _unsigned),
    ("immediate_server_version", _unsigned),
    ("original_server_version", _unsigned),
    ("commit_group_ticket", _unsigned),
)


@reads(EventType.GTID_TAGGED_LOG_EVENT)
def _tagged(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Gtid:
    version = _unsigned(cursor, "serialization_version")
    _unsigned(cursor, "serialization_size")
    needed = _unsigned(cursor, "last_non_ignorable_field")
    values: dict[str, Any] = {"flags": 0, "sid": "", "gno": 0}
    order = []
    while cursor.left:
        start = cursor.pos
        field = _unsigned(cursor, "field_id")
        if field >= len(_FIELDS):
            if field <= needed:
                raise cursor.fail("field_id", f"field {field} is not known")
            cursor.pos = start  # A later server's; what is left stays unread.
            break
        order.append(field)
        name, read = _FIELDS[field]
        values[name] = read(cursor, name)
    if not values["sid"]:
        raise cursor.fail("sid", "the event has none")
    for what in ("commit_timestamp", "server_version"):
        values.setdefault(f"original_{what}", values.get(f"immediate_{what}"))
    return Gtid(
        **values,
        serialization_version=version,
        last_non_ignorable_field=needed,
        order=tuple(order),
    )
