"""Assembles a whole log: magic, start event, events with their positions and checksums.

A v1 log (3.23) begins with a START_EVENT_V3 after a 13-byte header, a v3 log (4.0, 4.1) with the
same after 19 bytes, a v4 log (5.0+) with a FORMAT_DESCRIPTION_EVENT. A relay log
begins with the replica's own start event; what it received keeps the source's ``log_pos``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag
from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.payload import Compression
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, RawEvent
from binlogkit_fixtures.writer.base import type_of
from binlogkit_fixtures.writer.event_writer import EventWriter
from binlogkit_fixtures.writer.format_description import format_description
from binlogkit_fixtures.writer.header import log_pos_of
from binlogkit_fixtures.writer.payload import pack

__all__ = ["LogWriter"]

_CRC32 = 1


class LogWriter:
    """One log, event by event; ``data`` is what there is of it, ``events`` what was written.

    ``start``: a start event, or a server version whose format description is to be made, or None
    for a log that begins with neither; ``server_id``, ``timestamp``: of events that are given none;
    ``in_use``: the flag of a log that was not closed; ``relay``: a replica's relay log.
    """

    def __init__(
        self,
        start: StartV3 | FormatDescription | str | None = "8.0.31",
        *,
        name: str = "binlog.000001",
        server_id: int = 1,
        timestamp: int = 0,
        in_use: bool = False,
        relay: bool = False,
    ) -> None:
        self.name = name
        self.server_id = server_id
        self.timestamp = timestamp
        self.data = bytearray(BINLOG_MAGIC)
        self.events: list[Event] = []
        self._writer = EventWriter()
        self._header_length = HEADER_LENGTH
        self._checksums = False
        if isinstance(start, str):
            start = format_description(start)
        if start is not None:
            flags = in_use * EventFlag.IN_USE | relay * EventFlag.RELAY_LOG
            self.add(start, flags=flags)

    def add(
        self,
        body: object,
        type_code: int | None = None,
        *,
        timestamp: int | None = None,
        server_id: int | None = None,
        flags: int = 0,
        log_pos: int | None = None,
        extra_header: bytes | None = None,
        unread: bytes = b"",
        unread_post_header: bytes = b"",
    ) -> Event:
        """Write one event at the end and return it as a reader gives it.

        ``type_code``: needed for an OpaqueEvent, and where a body can be of several types and is
        not of the usual one (BEGIN_LOAD_QUERY, V1 rows, LOAD); ``log_pos``: other than this log's
        own, as in a relay log; ``extra_header``: what a header longer than 19 bytes holds (zeros
        without it). :class:`UnwritableError`: this log's format cannot say it.
        """
        code = int(type_of(body)) if type_code is None else type_code
        length = self._length_of(body)
        if extra_header is None:
            extra_header = bytes(max(length - HEADER_LENGTH, 0))
        when = self.timestamp if timestamp is None else timestamp
        server = self.server_id if server_id is None else server_id
        header = EventHeader(when, code, server, 0, 0, int(flags), length)
        raw = RawEvent(self.name, len(self.data), header, b"", extra_header=extra_header)
        event = Event(raw, body, unread, unread_post_header)
        data, event = self._finish(event, self._has_checksum(body), log_pos)
        self._obey(body)
        self.data += data
        self.events.append(event)
        return event

    def copy(self, event: Event) -> Event:
        """Write an event of another log with its own header, ``log_pos`` too, as a replica does.

        The events inside a payload come with the payload.
        """
        raw, header = event.raw, event.raw.header
        if raw.inner is not None:
            outer = next(e.raw for e in reversed(self.events) if e.raw.inner is None)
            moved = replace(raw, file=self.name, pos=outer.pos, outer_end=outer.end_pos)
            self.events.append(replace(event, raw=moved))
            return self.events[-1]
        return self.add(
            event.body,
            header.type_code,
            timestamp=header.timestamp,
            server_id=header.server_id,
            flags=header.flags,
            log_pos=header.log_pos,
            extra_header=raw.extra_header,
            unread=event.unread,
            unread_post_header=event.unread_post_header,
        )

    def add_payload(
        self,
        bodies: Iterable[object],
        *,
        compression: Compression = Compression.ZSTD,
        level: int = 3,
        flags: int = 0,
    ) -> Event:
        """A TRANSACTION_PAYLOAD_EVENT of these events; ``level``: zstd's."""
        packed: list[bytes] = []
        inner: list[Event] = []
        for body in bodies:
            header = EventHeader(self.timestamp, int(type_of(body)), self.server_id, 0, 0, 0)
            raw = RawEvent(self.name, len(self.data), header, b"", inner=len(inner))
            data, event = self._finish(Event(raw, body), False, 0)
            packed.append(data)
            inner.append(event)
        outer = self.add(pack(packed, compression=compression, level=level), flags=flags)
        end = outer.raw.end_pos
        self.events += [replace(e, raw=replace(e.raw, outer_end=end)) for e in inner]
        return outer

    def _finish(self, event: Event, checksum: bool, log_pos: int | None) -> tuple[bytes, Event]:
        """The event's bytes, and itself with what follows from them: size, position, checksum."""
        body = self._writer.body(event)
        version = self._writer.context.version
        header = event.raw.header
        size = header.length + len(body) + checksum * CHECKSUM_LENGTH
        if log_pos is None:
            log_pos = log_pos_of(version, event.raw.pos, size)
        raw = replace(
            event.raw,
            header=replace(header, size=size, log_pos=log_pos),
            body=body,
            version=version,
            checksum="ok" if checksum else "none",
            stored_checksum=bytes(checksum * CHECKSUM_LENGTH),
        )
        data = self._writer.event(replace(event, raw=raw))
        stored = data[-CHECKSUM_LENGTH:] if checksum else b""
        return data, replace(event, raw=replace(raw, stored_checksum=stored))

    def _length_of(self, body: object) -> int:
        """How long the header is; a format description's is always 19."""
        if isinstance(body, FormatDescription):
            return HEADER_LENGTH
        if isinstance(body, StartV3):
            return V1_HEADER_LENGTH if body.binlog_version == 1 else HEADER_LENGTH
        return self._header_length

    def _has_checksum(self, body: object) -> bool:
        if isinstance(body, FormatDescription):
            return body.checksum_algorithm is not None
        return self._checksums

    def _obey(self, body: object) -> None:
        """What a start event says of the events after it."""
        if isinstance(body, FormatDescription):
            self._header_length = body.event_header_length
            self._checksums = body.checksum_algorithm == _CRC32
        elif isinstance(body, StartV3):
            self._header_length = self._length_of(body)
            self._checksums = False
