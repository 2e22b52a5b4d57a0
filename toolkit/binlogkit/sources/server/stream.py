"""What a server sends after a dump command: packets -> the events of its logs and their places.

A packet is a status byte and an event (internals manual, "Binlog Network Stream"): ``00`` an
event, ``fe`` (under 9 bytes) the end, ``ff`` an error. An event of 16 MiB and more spans packets.
Before each log the server makes up a ROTATE (``log_pos`` 0) with the log's name and the position it
resumes at, then sends the log's format description with IN_USE cleared; after position 4 that one
has ``log_pos`` and ``created`` 0 and stands for itself, not for bytes of the log. HEARTBEAT events
(``log_pos``: the place that the server has reached; body: the log's name) fill idle time;
HEARTBEAT_V2 (8.0.26) has fields ``type length value``, 1 the name, 2 the position as a packed
integer, 0 the end. Seen so from 5.6.24, 5.7.22, 8.0.31 and 9.7.4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, LimitError, LostConnectionError, ReplicationError
from binlogkit.sources.connection import LOST_CODES, translated
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.raw import EventHeader, parse_header

FIRST_POSITION = 4
#: Servers send no event of more: max_allowed_packet ends at 1 GiB, its headers come on top.
LARGEST_EVENT = (1 << 30) + (1 << 20)

_FULL_PACKET = (1 << 24) - 1
_OK, _END, _ERROR = 0x00, 0xFE, 0xFF
_END_LENGTH = 9
_WRAP = 1 << 32
_HB_END, _HB_POSITION = 0, 2
_HEARTBEATS = (EventType.HEARTBEAT_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2)


@dataclass(frozen=True, slots=True)
class FileStart:
    """The server continues in ``file`` at ``position``."""

    file: str
    position: int


@dataclass(frozen=True, slots=True)
class Idle:
    """The server is there, and idle or skipping, at ``position`` of ``file``."""

    file: str
    position: int


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event.

    ``pos``: 64-bit offset of its first byte in the server's log; ``data``: all of it, checksum
    included; ``made_up``: it stands for no bytes of the log; ``format``: how its log is framed.
    """

    file: str
    pos: int
    header: EventHeader
    data: bytes
    made_up: bool
    format: LogFormat

    @property
    def end_pos(self) -> int:
        """Offset of the byte after it."""
        return self.pos if self.made_up else self.pos + len(self.data)

    @property
    def checksum(self) -> str:
        """``ok``, ``bad`` or ``none``; a made-up event's is not there to be checked."""
        if self.made_up or not self.format.checksummed(self.header.type_code):
            return "none"
        return "ok" if ends_in_crc(self.header, self.data) else "bad"


Item: TypeAlias = FileStart | Idle | StreamEvent


@dataclass(slots=True, eq=False)
class EventStream:
    """The items of one dump, over a PyMySQL connection to which the command was written.

    ``skips``: the server leaves transactions out (a dump by GTID), so that places follow from
    ``log_pos``; ``asked``: the place that was asked for, for what goes wrong at once. Ends with the
    server's end packet. Errors: ReplicationError (what the server says), LostConnectionError,
    ServerError (no such protocol), LimitError (``largest``).
    """

    connection: Any
    server: str
    _: KW_ONLY
    skips: bool = False
    asked: tuple[str, int] = ("", 0)
    largest: int = LARGEST_EVENT
    file: str = ""
    position: int = 0
    _format: LogFormat = field(default_factory=LogFormat)

    def __iter__(self) -> Iterator[Item]:
        while True:
            packet = self._packet()
            if not packet:
                raise self._nonsense("an empty packet")
            if packet[0] == _OK:
                yield self._item(packet[1:])
            elif packet[0] == _END and len(packet) < _END_LENGTH:
                return
            elif packet[0] == _ERROR:
                raise self._refusal(packet)
            else:
                raise self._nonsense(f"a packet that begins {packet[0]:#04x}")

    # ---- packets ------------------------------------------------------------------------

    def _packet(self) -> bytes:
        """One packet, put together of as many as it spans.

        PyMySQL's own reading would take an answer of any length.
        """
        connection = self.connection
        parts: list[bytes] = []
        length = 0
        with translated(self.server):
            while True:
                low, high, number = struct.unpack("<HBB", connection._read_bytes(4))
                size = low | high << 16
                if number != connection._next_seq_id:
                    raise self._nonsense("packets out of order")
                connection._next_seq_id = (number + 1) % 256
                length += size
                if length > self.largest:
                    raise LimitError(
                        f"{self.server} sends an event of over {self.largest} bytes "
                        "(the setting: largest)"
                    )
                parts.append(connection._read_bytes(size))
                if size < _FULL_PACKET:
                    return parts[0] if len(parts) == 1 else b"".join(parts)

    def _refusal(self, packet: bytes) -> Exception:
        """The error of an error packet: ``ff code:2 '#' sqlstate:5 message``."""
        code = int.from_bytes(packet[1:3], "little")
        text = packet[3:].decode("utf-8", "backslashreplace")
        text = text[6:] if text.startswith("#") else text
        if code in LOST_CODES:
            return LostConnectionError(text, server=self.server, code=code)
        return self._failed(f"error {code}: {text}", code)

    def _nonsense(self, what: str) -> ReplicationError:
        return self._failed(f"it does not speak the replication protocol: {what}")

    def _failed(self, reason: str, code: int | None = None) -> ReplicationError:
        file, position = (self.file, self.position) if self.file else self.asked
        return ReplicationError(reason, server=self.server, code=code, file=file, position=position)

    # ---- events -------------------------------------------------------------------------

    def _item(self, data: bytes) -> Item:
        if len(data) < HEADER_LENGTH:
            raise self._nonsense(f"an event of {len(data)} bytes")
        header = parse_header(data, HEADER_LENGTH)
        if header.size != len(data):
            raise self._nonsense(f"an event of {header.size} bytes in {len(data)}")
        try:
            if header.type_code == EventType.ROTATE_EVENT and header.log_pos == 0:
                return self._file_start(header, data)
            if header.type_code in _HEARTBEATS:
                return self._heartbeat(header, data)
            if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
                self._format = format_of(self.file, self.position, data)
        except DamageError as exc:
            raise self._nonsense(str(exc)) from exc
        if not self.file:
            raise self._nonsense("an event before a log is named")
        return self._event(header, data)

    def _file_start(self, header: EventHeader, data: bytes) -> FileStart:
        cursor = self._cursor(header, data)
        self.position = cursor.uint(8, "position")
        self.file = cursor.rest("file").decode("utf-8", "surrogateescape")
        self._format = LogFormat()
        return FileStart(self.file, self.position)

    def _heartbeat(self, header: EventHeader, data: bytes) -> Idle:
        cursor = self._cursor(header, data)
        position = self.position + (header.log_pos - self.position) % _WRAP
        if header.type_code == EventType.HEARTBEAT_LOG_EVENT_V2:
            position = _v2_position(cursor, position)
        if self.skips and position - self.position < _WRAP >> 1:
            self.position = position
        return Idle(self.file, position)

    def _cursor(self, header: EventHeader, data: bytes) -> Cursor:
        """An event that the server made up, whose checksum depends on the log before it."""
        body = data[:-CHECKSUM_LENGTH] if ends_in_crc(header, data) else data
        return Cursor(body, self.file, self.position, HEADER_LENGTH)

    def _event(self, header: EventHeader, data: bytes) -> StreamEvent:
        start = self.position
        made_up = False
        if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and not header.log_pos:
            made_up = True
            # A dump by GTID says so of a whole log too, when it leaves its first transaction out.
            if start == FIRST_POSITION:
                self.position += len(data)
        else:
            if self.skips and header.log_pos:
                skipped = (header.log_pos - header.size - start) % _WRAP
                start += skipped if skipped < _WRAP >> 1 else 0
            self.position = start + len(data)
        return StreamEvent(self.file, start, header, data, made_up, self._format)


def _v2_position(cursor: Cursor, position: int) -> int:
    while cursor.left:
        field = cursor.packed("field")
        if field == _HB_END:
            break
        value = cursor.sub(cursor.packed("length"), "value")
        if field == _HB_POSITION:
            position = value.packed("position")
    return position
