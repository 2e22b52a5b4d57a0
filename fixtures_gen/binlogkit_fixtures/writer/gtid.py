"""Writes GTID, ANONYMOUS_GTID, GTID_TAGGED and PREVIOUS_GTIDS.

Layouts: ``binlogkit.events.gtid``, ``gtid_set`` and ``gtid_tagged``; the server's sources,
``control_events.h`` and ``mysql::serialization``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from binlogkit.constants import EventType
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import Entry, GtidSet, set_of
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.varint import signed, unsigned

__all__: list[str] = []

_LOGICAL_CLOCK = 2
_ORIGINAL_TIMESTAMP = 1 << 55
_ORIGINAL_VERSION = 1 << 31
_TAGGED_FORMAT = 1
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")


def _type(body: Gtid) -> EventType:
    if body.anonymous:
        return EventType.ANONYMOUS_GTID_LOG_EVENT
    tagged = body.tag or body.order
    return EventType.GTID_TAGGED_LOG_EVENT if tagged else EventType.GTID_LOG_EVENT


def _sid(packer: Packer, text: str) -> bytes:
    try:
        return uuid.UUID(text).bytes
    except ValueError as exc:
        raise packer.fail("sid", f"'{text}' is no UUID") from exc


@writes(Gtid, EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT, choose=_type)
def _gtid(packer: Packer, body: Gtid, target: Target) -> None:
    anonymous = target.type_code == EventType.ANONYMOUS_GTID_LOG_EVENT
    if body.tag or body.order or body.anonymous is not anonymous:
        raise packer.fail("gtid", "it is another type's")
    packer.uint(1, body.flags, "flags")
    packer.raw(_sid(packer, body.sid))
    packer.sint(8, body.gno, "gno")
    parts = (
        ("last_committed", _clock),
        ("immediate_commit_timestamp", _timestamps),
        ("transaction_length", _length),
        ("immediate_server_version", _versions),
        ("commit_group_ticket", _ticket),
    )
    for name, first in _TOGETHER.items():
        if (getattr(body, name) is None) is not (getattr(body, first) is None):
            raise packer.fail(name, f"it goes together with {first}")
    ended = ""
    for name, write in parts:
        if getattr(body, name) is None:
            ended = ended or name
        elif ended:
            raise packer.fail(name, f"{ended} stands before it and is not there")
        else:
            write(packer, body)


_TOGETHER = {
    "sequence_number": "last_committed",
    "original_commit_timestamp": "immediate_commit_timestamp",
    "original_server_version": "immediate_server_version",
}


def _clock(packer: Packer, body: Gtid) -> None:
    packer.uint(1, _LOGICAL_CLOCK if body.lt_type is None else body.lt_type, "lt_type")
    packer.sint(8, body.last_committed or 0, "last_committed")
    packer.sint(8, body.sequence_number or 0, "sequence_number")


def _timestamps(packer: Packer, body: Gtid) -> None:
    _with_original(packer, body, "commit_timestamp", 7, _ORIGINAL_TIMESTAMP)


def _versions(packer: Packer, body: Gtid) -> None:
    _with_original(packer, body, "server_version", 4, _ORIGINAL_VERSION)


def _with_original(packer: Packer, body: Gtid, what: str, width: int, follows: int) -> None:
    """The immediate value, and the original one where it differs; a bit says that it follows."""
    immediate, original = getattr(body, f"immediate_{what}"), getattr(body, f"original_{what}")
    if not 0 <= immediate < follows:
        raise packer.fail(f"immediate_{what}", f"{immediate} needs the bit that is a flag")
    packer.uint(width, immediate if original == immediate else immediate | follows, what)
    if original != immediate:
        packer.uint(width, original, f"original_{what}")


def _length(packer: Packer, body: Gtid) -> None:
    packer.packed(body.transaction_length or 0, "transaction_length")


def _ticket(packer: Packer, body: Gtid) -> None:
    packer.uint(8, body.commit_group_ticket or 0, "commit_group_ticket")


def _uuid_field(packer: Packer, body: Gtid) -> None:
    for byte in _sid(packer, body.sid):
        unsigned(packer, byte, "sid")


def _tag_field(packer: Packer, body: Gtid) -> None:
    _tag(packer, body.tag)


def _tag(packer: Packer, tag: str) -> None:
    if tag and not _TAG.fullmatch(tag):
        raise packer.fail("tag", f"{tag!r} is no tag")
    unsigned(packer, len(tag), "tag_length")
    packer.raw(tag.encode("ascii"))


def _timestamp(packer: Packer, value: int, field: str) -> None:
    if value >= _ORIGINAL_TIMESTAMP:
        raise packer.fail(field, f"{value} microseconds do not fit 55 bits")
    unsigned(packer, value, field)


def _number(name: str, write: Callable[[Packer, int, str], None]) -> Callable[[Packer, Gtid], None]:
    return lambda packer, body: write(packer, getattr(body, name), name)


_TAGGED: tuple[tuple[str, Callable[[Packer, Gtid], None]], ...] = (
    ("flags", _number("flags", unsigned)),
    ("sid", _uuid_field),
    ("gno", _number("gno", signed)),
    ("tag", _tag_field),
    ("last_committed", _number("last_committed", signed)),
    ("sequence_number", _number("sequence_number", signed)),
    ("immediate_commit_timestamp", _number("immediate_commit_timestamp", _timestamp)),
    ("original_commit_timestamp", _number("original_commit_timestamp", _timestamp)),
    ("transaction_length", _number("transaction_length", unsigned)),
    ("immediate_server_version", _number("immediate_server_version", unsigned)),
    ("original_server_version", _number("original_server_version", unsigned)),
    ("commit_group_ticket", _number("commit_group_ticket", unsigned)),
)


def _usual_order(body: Gtid) -> tuple[int, ...]:
    """The fields that are there; an original value that equals the immediate one is left out."""
    return tuple(
        i
        for i, (name, _) in enumerate(_TAGGED)
        if (value := getattr(body, name)) is not None
        and not (name.startswith("original_") and value == getattr(body, f"immediate_{name[9:]}"))
    )


@writes(Gtid, EventType.GTID_TAGGED_LOG_EVENT)
def _tagged(packer: Packer, body: Gtid, target: Target) -> None:
    if body.anonymous:
        raise packer.fail("anonymous", "a tagged GTID is none")
    fields = packer.sub()
    for number in body.order or _usual_order(body):
        name, write = _TAGGED[number]
        if getattr(body, name) is None:
            raise packer.fail("order", f"it names {name}, which is not there")
        unsigned(fields, number, "field_id")
        write(fields, body)
    unsigned(packer, body.serialization_version or 1, "serialization_version")
    needed = packer.sub()
    unsigned(needed, body.last_non_ignorable_field or 0, "last_non_ignorable_field")
    packer.raw(_size_of(packer, len(needed.data) + len(fields.data) + len(packer.unread)))
    packer.raw(needed.data + fields.data)


def _size_of(packer: Packer, rest: int) -> bytes:
    """The size of the whole: of the version's byte, of itself, and of the ``rest``."""
    for width in range(1, 10):
        size = packer.sub()
        unsigned(size, 1 + width + rest, "serialization_size")
        if len(size.data) == width:
            break
    return bytes(size.data)


@writes(PreviousGtids, EventType.PREVIOUS_GTIDS_LOG_EVENT)
def _previous(packer: Packer, body: PreviousGtids, target: Target) -> None:
    entries = body.entries or _entries(body.gtid_set)
    if str(set_of(entries)) != body.gtid_set:
        raise packer.fail("gtid_set", "its entries are another set")
    tagged = body.tagged or any(tag for _, tag, _ in entries)
    if tagged:
        packer.uint(8, _TAGGED_FORMAT << 56 | len(entries) << 8 | _TAGGED_FORMAT, "n_sids")
    else:
        packer.uint(8, len(entries), "n_sids")
    for sid, tag, ranges in entries:
        packer.raw(_sid(packer, sid))
        if tagged:
            _tag(packer, tag)
        packer.uint(8, len(ranges), "n_intervals")
        for start, end in ranges:
            packer.sint(8, start, "interval_start")
            packer.sint(8, end + 1, "interval_end")


def _entries(gtid_set: str) -> tuple[Entry, ...]:
    parts = []
    for key, ranges in GtidSet.parse(gtid_set).intervals.items():
        sid, _, tag = key.partition(":")
        parts.append((sid, tag, tuple(ranges)))
    return tuple(parts)
