"""Raw events of one binary log: framing, versions, checksums, damage.

The version follows from the first event (seeds/002, "Binlog Versions"): a format description means
4; a START_EVENT_V3 of 13 + 56 bytes means 1 and of 19 + 56 bytes 3. A log that starts with neither
is read as v4 without checksums until a format description says otherwise.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from binlogkit.constants import (
    BINLOG_MAGIC,
    CHECKSUM_LENGTH,
    ENCRYPTED_MAGIC,
    HEADER_LENGTH,
    EventFlag,
    EventType,
)
from binlogkit.errors import (
    ChecksumError,
    DamageError,
    EmptyInputError,
    InputError,
    MalformedEventError,
    NotABinlogError,
    TruncatedEventError,
)
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, RawEvent, parse_header
from binlogkit.sources.resync import next_sound_event
from binlogkit.sources.stream import ByteStream

__all__ = ["LogReader"]

START_V3_BODY = 56
_FLAGS_OFFSET = 17


class LogReader:
    """Iterates over the raw events of one log.

    ``on_damage``: ``stop`` raises the :class:`DamageError`; ``report`` hands it to ``sink`` and
    goes on at the next sound event. ``stop``: offset at which to end, exclusive.
    """

    def __init__(
        self,
        name: str,
        file: BinaryIO,
        *,
        on_damage: str = "stop",
        sink: Callable[[DamageError], None] | None = None,
        stop: int | None = None,
    ) -> None:
        self.name = name
        self.format = LogFormat()
        self._stream = ByteStream(file)
        self._on_damage = on_damage
        self._sink = sink
        self._stop_pos = stop

    def __iter__(self) -> Iterator[RawEvent]:
        self._read_magic()
        while True:
            try:
                event = self._next()
            except DamageError as error:
                if self._on_damage == "stop":
                    raise
                self._report(error)
                if not next_sound_event(self._stream, self.format):
                    return
                continue
            if event is None or self._reached_stop(event):
                return
            yield event

    def _reached_stop(self, event: RawEvent) -> bool:
        return self._stop_pos is not None and event.pos >= self._stop_pos

    def _report(self, error: DamageError) -> None:
        if self._sink is not None:
            self._sink(error)

    def _read_magic(self) -> None:
        magic = self._stream.read(len(BINLOG_MAGIC))
        if not magic:
            raise EmptyInputError(self.name, "the file is empty")
        if magic == ENCRYPTED_MAGIC:
            raise InputError(self.name, "the log is encrypted, and encrypted logs are not read yet")
        if magic != BINLOG_MAGIC:
            raise NotABinlogError(
                self.name, f"not a binary log (it begins {magic.hex(' ')}, not fe 62 69 6e)"
            )
        first = self._stream.peek(HEADER_LENGTH + START_V3_BODY)
        if len(first) >= V1_HEADER_LENGTH:
            size = int.from_bytes(first[9:13], "little")
            if first[4] == EventType.START_EVENT_V3:
                v1 = size == V1_HEADER_LENGTH + START_V3_BODY
                self.format = LogFormat(
                    version=1 if v1 else 3,
                    header_length=V1_HEADER_LENGTH if v1 else HEADER_LENGTH,
                )

    def _next(self) -> RawEvent | None:
        stream = self._stream
        pos = stream.offset
        head = stream.peek(self.format.header_length)
        if not head:
            return None
        is_format = len(head) > 4 and head[4] == EventType.FORMAT_DESCRIPTION_EVENT
        header_length = HEADER_LENGTH if is_format else self.format.header_length
        if len(head) < min(header_length, HEADER_LENGTH):
            raise TruncatedEventError(
                self.name, pos, f"the file ends {len(head)} bytes into an event's header"
            )
        header = parse_header(head, header_length)
        if header.size < header_length:
            raise MalformedEventError(
                self.name,
                pos,
                f"an event of {header.size} bytes is shorter than its header",
                "event_size",
            )
        there = stream.available(header.size)
        if there < header.size:
            raise TruncatedEventError(
                self.name, pos, f"the file ends {there} bytes into an event of {header.size}"
            )
        data = stream.peek(header.size)
        if is_format:
            self.format = format_of(self.name, pos, data)
        event = self._frame(pos, header, data)
        stream.skip(header.size)
        return event

    def _frame(self, pos: int, header: EventHeader, data: bytes) -> RawEvent:
        """Take header and checksum off; a wrong checksum raises, or is marked and reported."""
        checksum, end = "none", len(data)
        if self.format.checksummed(header.type_code):
            end -= CHECKSUM_LENGTH
            if end < header.length:
                raise MalformedEventError(
                    self.name, pos, "the event is too short for its checksum", "checksum"
                )
            checksum = "ok" if self._crc_matches(header, data, end) else "bad"
        if checksum == "bad":
            stored = int.from_bytes(data[end:], "little")
            error = ChecksumError(
                self.name,
                pos,
                f"the CRC32 of the event is {crc_of(header, data, end):#010x}, "
                f"the log says {stored:#010x}",
                "checksum",
            )
            if self._on_damage == "stop":
                raise error
            self._report(error)
        return RawEvent(
            file=self.name,
            pos=pos,
            header=header,
            body=data[header.length : end],
            checksum=checksum,
            version=self.format.version,
            extra_header=data[HEADER_LENGTH : header.length],
            stored_checksum=data[end:],
        )

    @staticmethod
    def _crc_matches(header: EventHeader, data: bytes, end: int) -> bool:
        return crc_of(header, data, end) == int.from_bytes(data[end:], "little")


def crc_of(header: EventHeader, data: bytes, end: int) -> int:
    """The CRC32 of an event; the server computes a format description's without IN_USE."""
    if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and header.flags & EventFlag.IN_USE:
        patched = bytearray(data[:end])
        patched[_FLAGS_OFFSET] &= ~EventFlag.IN_USE & 0xFF
        return zlib.crc32(patched)
    return zlib.crc32(memoryview(data)[:end])
