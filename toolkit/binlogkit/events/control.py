"""Events that steer reading: ROTATE, STOP, INCIDENT, HEARTBEAT, and the commit marks.

ROTATE: ``position:8 name``; INCIDENT (5.1.7+): ``type:2 length:1 message``; HEARTBEAT (5.6): the
log's name; its V2 (8.0.26+): fields of ``type:packed length:packed value``, 1 the name, 2 the
position (packed), 0 the end; SLAVE (4.0): ``position:8 port:2 host log``; XID: ``xid:8``;
XA_PREPARE (5.7.7+): ``one_phase:1 format_id:4 gtrid_length:4 bqual_length:4 data``.

LARGE_TRANSACTION_HEADER (after 9.7): ``version:1 terminating_event_offset:8
terminating_event_type:1 padding`` (server's sources, ``large_transaction_header_event.h``). It
stands in a log that was a transaction's cache before it became a log: its padding fills the room
that was kept for the events in front.
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.constants import EventType, event_type_name
from binlogkit.events.base import ParseContext, TypedFields, hidden, reads, whole_packed
from binlogkit.sources.raw import RawEvent

_INCIDENTS = {0: "NONE", 1: "LOST_EVENTS"}


@dataclass(frozen=True, slots=True)
class Rotate:
    """The log continues in ``name`` at ``position``."""

    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The server shut down, or the log ends for another reason than rotation."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something happened that is not in the log (5.1.7+).

    ``message``: None where the event ends before its length.
    """

    incident_type: int
    message: str | None

    @property
    def incident(self) -> str:
        """The name of its type."""
        return _INCIDENTS.get(self.incident_type, str(self.incident_type))


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """An idle source's sign of life; sent over the network, never in a file."""

    log_name: str


@dataclass(frozen=True, slots=True)
class HeartbeatV2:
    """The same with 64 bits of position.

    ``unknown``: fields of other types, and values that a later one of their type replaces;
    ``order``: the fields' types as stored, 0 the end.
    """

    log_name: str | None
    position: int | None
    unknown: tuple[tuple[int, bytes], ...] = ()
    order: tuple[int, ...] = hidden()


@dataclass(frozen=True, slots=True)
class Slave:
    """SLAVE_EVENT: whom a 4.0 replica reads from; no server writes it any more."""

    position: int
    port: int
    host: str
    log_name: str


@dataclass(frozen=True, slots=True)
class Ignorable:
    """IGNORABLE_LOG_EVENT (5.6+): made to be left out by who does not know better."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Xid:
    """COMMIT of a transaction with engines that can recover it."""

    xid: int


@dataclass(frozen=True, slots=True)
class XaPrepare:
    """XA PREPARE, or with ``one_phase`` XA COMMIT … ONE PHASE."""

    one_phase: bool
    format_id: int
    gtrid: bytes
    bqual: bytes

    @property
    def xa(self) -> str:
        """The XA id as the server prints it: ``X'gtrid',X'bqual',format_id``."""
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"


@reads(EventType.ROTATE_EVENT)
def _rotate(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Rotate:
    # v1 has no post-header: the log's name alone.
    position = cursor.uint(8, "position") if raw.version > 1 else 4
    context.end_post_header(cursor, raw.header.type_code)
    return Rotate(position, cursor.text(cursor.left, "name"))


@reads(EventType.STOP_EVENT)
def _stop(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Stop:
    return Stop()


@reads(EventType.INCIDENT_EVENT)
def _incident(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Incident:
    incident_type = cursor.uint(2, "incident_type")
    context.end_post_header(cursor, raw.header.type_code)
    if not cursor.left:
        return Incident(incident_type, None)
    return Incident(incident_type, cursor.text(cursor.uint(1, "message_length"), "message"))


@reads(EventType.HEARTBEAT_LOG_EVENT)
def _heartbeat(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Heartbeat:
    return Heartbeat(cursor.text(cursor.left, "log_name"))


_NAME, _POSITION = 1, 2


@reads(EventType.HEARTBEAT_LOG_EVENT_V2)
def _heartbeat_v2(cursor: Cursor, raw: RawEvent, context: ParseContext) -> HeartbeatV2:
    stored = TypedFields.read(cursor)
    name, position = stored.last.get(_NAME), stored.last.get(_POSITION)
    return HeartbeatV2(
        None if name is None else name.text(name.left, "log_name"),
        None if position is None else whole_packed(position, "position"),
        stored.others(_NAME, _POSITION),
        stored.order,
    )


@reads(EventType.SLAVE_EVENT)
def _slave(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Slave:
    position, port = cursor.uint(8, "position"), cursor.uint(2, "port")
    host = decoded(cursor.c_string("host"))
    name = cursor.rest("log_name")
    return Slave(position, port, host, decoded(name, shown=name.split(b"\0", 1)[0]))


@reads(EventType.IGNORABLE_LOG_EVENT)
def _ignorable(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Ignorable:
    return Ignorable(cursor.rest("body"))


@reads(EventType.XID_EVENT)
def _xid(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Xid:
    return Xid(cursor.uint(8, "xid"))


@reads(EventType.XA_PREPARE_LOG_EVENT)
def _xa_prepare(cursor: Cursor, raw: RawEvent, context: ParseContext) -> XaPrepare:
    one_phase = bool(cursor.uint(1, "one_phase"))
    format_id = cursor.uint(4, "format_id")
    gtrid_length = cursor.uint(4, "gtrid_length")
    bqual_length = cursor.uint(4, "bqual_length")
    gtrid = cursor.read(gtrid_length, "gtrid")
    return XaPrepare(one_phase, format_id, gtrid, cursor.read(bqual_length, "bqual"))


@dataclass(frozen=True, slots=True)
class LargeTransactionHeader:
    """Where the transaction ends: for recovery, which need not read all of it.

    ``version``: of this layout; ``terminating_event_type``: name of the type; ``padding``: without
    meaning.
    """

    version: int
    terminating_event_offset: int
    terminating_event_type: str
    padding_size: int
    padding: bytes = hidden(b"")
    terminating_event_code: int = hidden(0)


@reads(EventType.LARGE_TRANSACTION_HEADER_EVENT)
def _large_transaction(
    cursor: Cursor, raw: RawEvent, context: ParseContext
) -> LargeTransactionHeader:
    version = cursor.uint(1, "version")
    offset = cursor.uint(8, "terminating_event_offset")
    code = cursor.uint(1, "terminating_event_type")
    padding = cursor.rest("padding")
    return LargeTransactionHeader(
        version, offset, event_type_name(code), len(padding), padding, code
    )
