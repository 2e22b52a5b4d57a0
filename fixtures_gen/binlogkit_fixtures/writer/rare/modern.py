"""Events of 5.6 to 9.x that take a cluster, a group, a replica or an accident, and foreign ones.

Sources: the server's sources 5.6 to 9.7, ``rows_event.h`` (extra row data), ``control_events.cpp``
(incident, heartbeat, group replication's events), ``binlog_event.h`` (flags); MariaDB's
``log_event.h`` for its types' numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from binlogkit.constants import EventFlag, EventType
from binlogkit.events.base import OpaqueEvent
from binlogkit.events.control import (
    Heartbeat,
    HeartbeatV2,
    Ignorable,
    Incident,
    Rotate,
    Stop,
    Xid,
)
from binlogkit.events.group import TransactionContext, ViewChange
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.payload import Compression
from binlogkit.events.rows import ExtraRowInfo, RowsEvent
from binlogkit.events.status_vars import StatusVars
from binlogkit_fixtures.writer.format_description import format_description, post_header_lengths
from binlogkit_fixtures.writer.log_writer import LogWriter
from binlogkit_fixtures.writer.rare.model import START, query, row, rows, table

__all__ = [
    "extra_data",
    "foreign",
    "group_replication",
    "incident",
    "long_header",
    "payloads",
    "relay",
    "stream",
]

_CREATE = "CREATE TABLE t (id INT NOT NULL, note VARCHAR(20))"
_SOURCE = "30303030-0030-11ee-8030-303030303030"
_GROUP = "40404040-0040-11ee-8040-404040404040"
_STATUS = StatusVars(
    flags2=0, sql_mode=0, catalog="std", client_collation=255, connection_collation=255,
    server_collation=255,
)  # fmt: skip


def _gtid(number: int, place: int, sid: str, length: int) -> Gtid:
    """As 8.0.14 and on write it; ``place``: in this log; ``length``: of the whole transaction."""
    time = (START + number) * 1_000_000
    return Gtid(0, sid, number, place - 1, place, time, time, length, 80031, 80031)


def _transaction(
    log: LogWriter, number: int, write: Callable[[LogWriter], object], sid: str = _SOURCE
) -> None:
    """A GTID event, which says how long the transaction is, and what ``write`` writes after it."""
    place = 1 + sum(isinstance(event.body, Gtid) for event in log.events)
    length, measured = 0, 1
    while measured != length:  # the length's own length is part of it
        length = measured
        scratch = LogWriter("8.0.31", timestamp=START)
        start = len(scratch.data)
        scratch.add(_gtid(number, place, sid, length))
        write(scratch)
        measured = len(scratch.data) - start
    log.add(_gtid(number, place, sid, length))
    write(log)


def _changed(body: RowsEvent) -> Callable[[LogWriter], object]:
    """What writes a transaction of one rows event."""

    def write(log: LogWriter) -> None:
        log.add(query("BEGIN", status=_STATUS), flags=EventFlag.SUPPRESS_USE)
        log.add(table(90))
        log.add(body)
        log.add(Xid(100))

    return write


def extra_data() -> LogWriter:
    """V2 rows with NDB's extra data, with the partition's, with both, with one that is unknown."""
    log = LogWriter("8.0.31", timestamp=START)
    log.add(PreviousGtids(""), flags=EventFlag.IGNORABLE)
    create = query(_CREATE, status=replace(_STATUS, ddl_xid=101))
    _transaction(log, 1, lambda to: to.add(create))
    one, two = row(1, "one"), row(2, "two")
    for number, (body, extra) in enumerate(
        (
            (rows(90, "insert", one), ExtraRowInfo(ndb_format=0, ndb=bytes(range(12)))),
            (rows(90, "update", one, two), ExtraRowInfo(partition_id=1, source_partition_id=0)),
            (rows(90, "insert", one), ExtraRowInfo(ndb_format=0, ndb=b"\x07", partition_id=3)),
            (rows(90, "delete", two), ExtraRowInfo(rest=b"\x09of a later server")),
        ),
        2,
    ):
        _transaction(log, number, _changed(replace(body, extra=extra)))
    log.add(Rotate(4, "binlog.000002"))
    return log


def group_replication() -> LogWriter:
    """What a member of a group writes: a view change, a transaction's context (5.7.17+)."""
    log = LogWriter("8.0.31", timestamp=START)
    log.add(PreviousGtids(f"{_GROUP}:1-4"), flags=EventFlag.IGNORABLE)
    info = (("certified_gtids", b"\0" * 8), ("a key of the write set", b"40404040"))

    def view(to: LogWriter) -> None:
        to.add(query("BEGIN", schema="", status=_STATUS), flags=EventFlag.SUPPRESS_USE)
        to.add(ViewChange("17145540201234567:3", 4, info))
        to.add(query("COMMIT", schema="", status=_STATUS), flags=EventFlag.SUPPRESS_USE)

    _transaction(log, 5, view, _GROUP)
    hashes = (b"\x11" * 8, b"\x22" * 8)
    log.add(TransactionContext(_SOURCE, 7, False, b"\0" * 8, hashes, ()))
    _transaction(log, 6, _changed(rows(90, "insert", row(1, "one"))), _GROUP)
    log.add(Stop())
    return log


def incident() -> LogWriter:
    """LOST_EVENTS, as a server writes it that could not write a transaction; then it rotates."""
    log = LogWriter("5.6.51-log", timestamp=START)
    log.add(PreviousGtids(""), flags=EventFlag.IGNORABLE)
    log.add(query(_CREATE, status=_STATUS))
    log.add(Incident(1, "error writing to the binary log"), timestamp=START + 1)
    log.add(Rotate(4, "binlog.000002"), timestamp=START + 1)
    return log


def stream() -> LogWriter:
    """What only goes over the network: an artificial ROTATE, heartbeats, IGNORABLE."""
    log = LogWriter(None, timestamp=0)
    log.add(Rotate(4, "binlog.000001"), flags=EventFlag.ARTIFICIAL, log_pos=0)
    log.add(format_description("8.0.31"), log_pos=0, flags=EventFlag.ARTIFICIAL)
    log.add(Heartbeat("binlog.000001"), log_pos=157)
    log.add(HeartbeatV2("binlog.000001", 5_000_000_000), log_pos=0)
    log.add(Ignorable(b"who does not know this leaves it out"), flags=EventFlag.IGNORABLE)
    return log


def long_header() -> LogWriter:
    """A header of 27 bytes, as a patched 5.1 announced it: 8 bytes more, a number of its own."""
    start = format_description("5.1.63-google-log", created=START, event_header_length=27)
    log = LogWriter(start, timestamp=START)
    for number, text in enumerate((_CREATE, "INSERT INTO t VALUES (1, 'one')"), 1):
        log.add(query(text, status=_STATUS), extra_header=number.to_bytes(8, "little"))
    return log


def foreign() -> LogWriter:
    """MariaDB's own types, which are kept as they are, and a type that nobody knows."""
    version = "10.5.15-MariaDB-log"
    known = post_header_lengths("5.6.51")[:35]
    lengths = (*known[:14], 228, *known[15:32], *(0,) * 127, 4, 19, 4, 0, 13, 8, 8, 8, 10, 10, 10)
    start = format_description(version, post_header_lengths=lengths[:171], checksum_algorithm=1)
    log = LogWriter(start, timestamp=START)
    log.add(OpaqueEvent(b"\0\0\0\0"), 163)
    log.add(OpaqueEvent(b"\x0d\0\0\0binlog.000001"), 161)
    log.add(OpaqueEvent(b"\x01" + b"\0" * 18), 162, flags=EventFlag.SUPPRESS_USE)
    log.add(OpaqueEvent(b"INSERT INTO t VALUES (1, 'one')"), 160)
    log.add(table(18))
    log.add(rows(18, "insert", row(1, "one")), EventType.WRITE_ROWS_EVENT_V1)
    log.add(Xid(14))
    log.add(OpaqueEvent(b"of a server to come"), 200, flags=EventFlag.IGNORABLE)
    return log


def payloads() -> LogWriter:
    """Transactions as payloads: zstd, and not compressed at all."""
    log = LogWriter("8.0.31", timestamp=START)
    log.add(PreviousGtids(""), flags=EventFlag.IGNORABLE)
    for number, compression in enumerate((Compression.ZSTD, Compression.NONE), 1):
        inner = [
            query("BEGIN", status=_STATUS),
            table(90),
            rows(90, "insert", row(number, "packed"), row(number + 10, None)),
            Xid(100 + number),
        ]
        _transaction(log, number, partial(_packed, inner, compression))
    log.add(Rotate(4, "binlog.000002"))
    return log


def _packed(inner: list[object], compression: Compression, log: LogWriter) -> None:
    log.add_payload(inner, compression=compression)


def relay() -> LogWriter:
    """A replica's relay log: its own start, the source's, and events that keep their positions."""
    source = payloads()
    log = LogWriter("8.0.31", name="relay.000002", server_id=2, timestamp=START, relay=True)
    log.add(PreviousGtids(""), flags=EventFlag.IGNORABLE | EventFlag.RELAY_LOG)
    start = Rotate(4, "binlog.000001")
    log.add(start, flags=EventFlag.ARTIFICIAL, timestamp=0, server_id=1, log_pos=0)
    for event in source.events:
        log.copy(event)
    return log
