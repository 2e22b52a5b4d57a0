"""Writes ROTATE, STOP, INCIDENT, HEARTBEAT, SLAVE, IGNORABLE, XID and XA_PREPARE.

Layouts: ``binlogkit.events.control``; the server's sources, ``control_events.cpp`` (5.7, 8.0) and,
for SLAVE_EVENT, 3.23's and 4.0's ``log_event.cc`` (``Slave_log_event::write_data``: the log's name
has no NUL).
"""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.control import (
    Heartbeat,
    HeartbeatV2,
    Ignorable,
    Incident,
    Rotate,
    Slave,
    Stop,
    XaPrepare,
    Xid,
)
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.typed_fields import packed_value, write_typed_fields

__all__: list[str] = []

_FIRST_EVENT = 4
_NAME, _POSITION = 1, 2


@writes(Rotate, EventType.ROTATE_EVENT)
def _rotate(packer: Packer, body: Rotate, target: Target) -> None:
    if target.version > 1:
        packer.uint(8, body.position, "position")
    elif body.position != _FIRST_EVENT:
        raise packer.fail("position", "v1's has none: the next log is read from its first event")
    packer.end_post_header()
    packer.raw(packer.text(body.name))


@writes(Stop, EventType.STOP_EVENT)
def _stop(packer: Packer, body: Stop, target: Target) -> None:
    packer.end_post_header()


@writes(Incident, EventType.INCIDENT_EVENT)
def _incident(packer: Packer, body: Incident, target: Target) -> None:
    packer.uint(2, body.incident_type, "incident_type")
    packer.end_post_header()
    if body.message is not None:
        packer.sized(1, packer.text(body.message), "message")


@writes(Heartbeat, EventType.HEARTBEAT_LOG_EVENT)
def _heartbeat(packer: Packer, body: Heartbeat, target: Target) -> None:
    packer.raw(packer.text(body.log_name))


@writes(HeartbeatV2, EventType.HEARTBEAT_LOG_EVENT_V2)
def _heartbeat_v2(packer: Packer, body: HeartbeatV2, target: Target) -> None:
    known = {}
    if body.log_name is not None:
        known[_NAME] = packer.text(body.log_name)
    if body.position is not None:
        known[_POSITION] = packed_value(packer, body.position, "position")
    write_typed_fields(packer, known, body.unknown, body.order)


@writes(Slave, EventType.SLAVE_EVENT)
def _slave(packer: Packer, body: Slave, target: Target) -> None:
    packer.uint(8, body.position, "position")
    packer.uint(2, body.port, "port")
    packer.end_post_header()
    packer.c_string(packer.text(body.host), "host")
    packer.raw(packer.text(body.log_name))


@writes(Ignorable, EventType.IGNORABLE_LOG_EVENT)
def _ignorable(packer: Packer, body: Ignorable, target: Target) -> None:
    packer.raw(body.body)


@writes(Xid, EventType.XID_EVENT)
def _xid(packer: Packer, body: Xid, target: Target) -> None:
    packer.end_post_header()
    packer.uint(8, body.xid, "xid")


@writes(XaPrepare, EventType.XA_PREPARE_LOG_EVENT)
def _xa_prepare(packer: Packer, body: XaPrepare, target: Target) -> None:
    packer.flag(body.one_phase, "one_phase")
    packer.uint(4, body.format_id, "format_id")
    packer.uint(4, len(body.gtrid), "gtrid_length")
    packer.uint(4, len(body.bqual), "bqual_length")
    packer.raw(body.gtrid + body.bqual)
