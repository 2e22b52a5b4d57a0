"""GTID_LOG_EVENT, ANONYMOUS_GTID_LOG_EVENT (5.6.5+) and PREVIOUS_GTIDS_LOG_EVENT (5.6.2+).

Layout (server's sources, ``control_events.h``): ``flags:1 sid:16 gno:8``; from 5.7.6 on
``lt_type:1 last_committed:8 sequence_number:8``; from 8.0.1 on ``immediate_commit_timestamp:7``
(bit 55: an original one of 7 bytes follows) and ``transaction_length:packed``; from 8.0.14 on
``immediate_server_version:4`` (bit 31: an original one follows); then ``commit_group_ticket:8``
where group replication consistency wants one (8.0.26+). 5.7.2 to 5.7.5 wrote another ``lt_type``
and other clocks after it, which no later server reads: they stay unread.

GTID_TAGGED_LOG_EVENT (8.3.0+), the start of a transaction whose GTID has a tag, is written with the
server's serialization library (``mysql::serialization``, read off a log of 9.6.0):
``version size last_non_ignorable_field`` and then ``field_id value`` pairs, all as variable-length
integers: the number of 1 bits below the first 0 bit of the first byte is the number of bytes that
follow, and the rest, little-endian, is the value. Signed values are zigzag-coded; the UUID is 16
such integers, one per byte; the tag is a length and its bytes. A field that equals its default
(an original timestamp or version equal to the immediate one) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import OpaqueEvent, ParseContext, hidden, reads
from binlogkit.events.gtid_set import (
    LAST_GNO,
    Interval,
    format_uuid,
    read_entries,
    read_tag,
    set_of,
)
from binlogkit.sources.raw import RawEvent

_LOGICAL_CLOCK = 2
_ORIGINAL_TIMESTAMP = 1 << 55
_ORIGINAL_VERSION = 1 << 31
MARIADB_GTID_EVENT = 162
_MARIADB_FLAGS_AT = 12
_MARIADB_STANDALONE = 1


@dataclass(frozen=True, slots=True)
class Gtid:
    """The start of a transaction.

    ``gtid``: None for an anonymous one; ``may_have_sbr``: statements may stand in it (flag bit 0;
    5.7.6+: cleared for transactions of rows only); timestamps: µs since the epoch, None where the
    server writes none; ``transaction_length``: bytes of the whole transaction with this event;
    versions as numbers (80031). ``lt_type``: which logical clock follows (2, 5.7.6+).
    ``serialization_version``, ``last_non_ignorable_field``, ``order`` (ids as stored): of a tagged
    one.
    """

    flags: int
    sid: str
    gno: int
    last_committed: int | None = None
    sequence_number: int | None = None
    immediate_commit_timestamp: int | None = None
    original_commit_timestamp: int | None = None
    transaction_length: int | None = None
    immediate_server_version: int | None = None
    original_server_version: int | None = None
    commit_group_ticket: int | None = None
    anonymous: bool = False
    tag: str = ""
    lt_type: int | None = hidden(None)
    serialization_version: int | None = hidden(None)
    last_non_ignorable_field: int | None = hidden(None)
    order: tuple[int, ...] = hidden()

    @property
    def gtid(self) -> str | None:
        """``uuid:number`` or ``uuid:tag:number``."""
        if self.anonymous:
            return None
        return ":".join(filter(None, (self.sid, self.tag, str(self.gno))))


@dataclass(frozen=True, slots=True)
class PreviousGtids:
    """The GTIDs that logs before this one hold.

    ``tagged``: in the form of 8.3.0+; ``entries``: UUID, tag and intervals (start and end, which is
    in it) as stored.
    """

    gtid_set: str
    tagged: bool = hidden(False)
    entries: tuple[tuple[str, str, tuple[Interval, ...]], ...] = hidden()


@reads(EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT)
def _gtid(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Gtid:
    anonymous = raw.header.type_code == EventType.ANONYMOUS_GTID_LOG_EVENT
    flags = cursor.uint(1, "flags")
    sid = format_uuid(cursor.read(16, "sid"))
    gno = cursor.sint(8, "gno")
    if not anonymous:
        _check(cursor, gno)
    commit = original = length = version = first_version = ticket = None
    if not cursor.left or cursor.data[cursor.pos] != _LOGICAL_CLOCK:
        return Gtid(flags, sid, gno, anonymous=anonymous)
    lt_type = cursor.uint(1, "lt_type")
    last, number = cursor.sint(8, "last_committed"), cursor.sint(8, "sequence_number")
    if cursor.left >= 7:
        commit = original = cursor.uint(7, "immediate_commit_timestamp")
        if commit & _ORIGINAL_TIMESTAMP:
            commit &= ~_ORIGINAL_TIMESTAMP
            original = cursor.uint(7, "original_commit_timestamp")
    if cursor.left:
        length = cursor.packed("transaction_length")
    if cursor.left >= 4:
        version = first_version = cursor.uint(4, "immediate_server_version")
        if version & _ORIGINAL_VERSION:
            version &= ~_ORIGINAL_VERSION
            first_version = cursor.uint(4, "original_server_version")
    if cursor.left >= 8:
        ticket = cursor.uint(8, "commit_group_ticket")
    return Gtid(
        flags, sid, gno, last, number, commit, original, length, version, first_version, ticket,
        anonymous, lt_type=lt_type,
    )  # fmt: skip


@reads(EventType.PREVIOUS_GTIDS_LOG_EVENT)
def _previous(cursor: Cursor, raw: RawEvent, context: ParseContext) -> PreviousGtids:
    tagged, entries = read_entries(cursor)
    return PreviousGtids(str(set_of(entries)), tagged, entries)


def _check(cursor: Cursor, gno: int) -> None:
    if not 0 < gno <= LAST_GNO:
        raise cursor.fail("gno", f"{gno} is no transaction's number")


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
    if value >= _ORIGINAL_TIMESTAMP:  # a bit of untagged events
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
    _check(cursor, values["gno"])
    for what in ("commit_timestamp", "server_version"):
        values.setdefault(f"original_{what}", values.get(f"immediate_{what}"))
    return Gtid(
        **values,
        serialization_version=version,
        last_non_ignorable_field=needed,
        order=tuple(order),
    )


def opens_transaction(type_code: int, body: object) -> bool:
    """Whether the event is a MARIADB_GTID_EVENT with which a transaction begins as with BEGIN.

    Its body (MariaDB's ``log_event.h``, ``Gtid_log_event``): ``sequence:8 domain:4 flags:1``; bit 0
    of the flags: no COMMIT and no XID follows, one statement alone does.
    """
    if type_code != MARIADB_GTID_EVENT or not isinstance(body, OpaqueEvent):
        return False
    return (
        len(body.body) > _MARIADB_FLAGS_AT
        and not body.body[_MARIADB_FLAGS_AT] & _MARIADB_STANDALONE
    )
