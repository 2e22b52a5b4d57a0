"""Raw events of one binary log: framing, versions, checksums, damage.

The version follows from the first event (plausible.py); each START_EVENT_V3 or format description
after it says anew how what follows is framed: a relay log has the replica's own first, then the
source's, with other lengths and maybe other checksums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO

from binlogkit.constants import (
    BINLOG_MAGIC,
    CHECKSUM_LENGTH,
    ENCRYPTED_MAGIC,
    HEADER_LENGTH,
    EventType,
)
from binlogkit.errors import (
    DamageError,
    EmptyInputError,
    InputError,
    MalformedEventError,
    NotABinlogError,
    TruncatedEventError,
    ZeroTailError,
    teller,
)
from binlogkit.sources.crc import checksum_error, ends_in_crc
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import LogFormat, format_of, refuse_encrypted
from binlogkit.sources.loose_events import LooseEvents, ShownFile
from binlogkit.sources.plausible import first_format, whole_start
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header
from binlogkit.sources.recovery import Recovery, with_checksums

_ZEROS = bytes(1 << 20)


class LogReader:
    """Iterates over the raw events of one log.

    ``on_damage``: ``stop`` raises the :class:`DamageError`; ``report`` quarantines the damaged
    range (its ``offset`` to its ``end``), hands it to ``sink`` and resumes at the next intact
    event.
    An event whose checksum alone is wrong is delivered and marked.
    """

    def __init__(
        self,
        name: str,
        file: BinaryIO,
        *,
        on_damage: str = "stop",
        sink: Callable[[DamageError], None] | None = None,
    ) -> None:
        self.name = name
        self.format = LogFormat()
        self._loose = file if isinstance(file, LooseEvents) else None
        self._dump = file if isinstance(file, ShownFile) else None
        self._stream = ByteStream(file)
        self._on_damage = on_damage
        self._tell = teller(on_damage, sink)
        self._recovery = Recovery(self._stream)
        self._unchecked: int | None = None  # the first event that no checksum vouches for
        self._goes_on = False

    @property
    def offset(self) -> int:
        """Where the next event begins."""
        return self._stream.offset

    @property
    def in_file(self) -> bool:
        """Whether events stand in a file one after the other, not in what shows them."""
        return self._loose is None and self._dump is None

    def ahead(self, size: int) -> bytes:
        """The bytes from :attr:`offset` on, fewer at the end."""
        return self._stream.peek(size)

    def pass_over(self, size: int) -> None:
        """Resume after whole events of so many bytes, which someone else has read."""
        self._stream.skip(size)

    def go_on(
        self, offset: int, log_format: LogFormat, shift: int, unchecked: int | None, *, sure: bool
    ) -> None:
        """Begin at ``offset``, where the file stands, after events that were framed otherwise.

        ``shift``: how far the last of them stood from its ``log_pos``; ``unchecked``: the first of
        them that no checksum vouches for, None where one does for each; ``sure``: whether it is
        certain whether events have checksums.
        """
        self._stream.offset = offset
        self.format = log_format
        self._unchecked = unchecked
        self._recovery.go_on(shift, sure=sure)
        self._goes_on = True

    def __iter__(self) -> Iterator[RawEvent]:
        if self._loose is not None:
            yield from self._loose.raw_events(self._tell)
            return
        if not self._goes_on:
            self._read_magic()
        while True:
            try:
                event = self._next()
                self._tell_dump()
            except DamageError as error:
                # The size as its header has it, in v1, v3 and v4 alike.
                self._tell_dump(int.from_bytes(self._stream.peek(4, 9), "little"))
                if self._on_damage == "stop":
                    raise
                if not self._recover(error):
                    return
                continue
            if event is None:
                return
            yield event
            version, code = self.format.server_version, event.header.type_code
            refuse_encrypted(self.name, version, code, self._stream.offset)

    def _tell_dump(self, ahead: int = 0) -> None:
        """Report what could not be read in a hexdump up to here, or ``ahead``."""
        if self._dump is None:
            return
        for error in self._dump.damage_before(self._stream.offset + ahead):
            self._tell(error)

    def _report(self, error: DamageError, end: int) -> None:
        error.end = end
        self._tell(error)

    def _recover(self, error: DamageError) -> bool:
        """Resume at the next intact event; whether there is one."""
        head = self._stream.peek(HEADER_LENGTH)
        error.offset = min(error.offset, self._stream.offset)  # of a cut carrier: the event's
        found = self._recovery.next(self.format, head, self._stream.offset)
        self._tell_unchecked(found, error.offset)
        self._report(error, self._stream.offset)
        self.format = found or self.format
        return found is not None

    def _tell_unchecked(self, found: LogFormat | None, end: int) -> None:
        """The events up to ``end`` had no checksums, and those found after damage have."""
        code = EventType.QUERY_EVENT
        if self._unchecked is None or found is None or self.format.version < 4:
            return
        if found.checksummed(code) and not self.format.checksummed(code):
            self._contradicted(self._unchecked, end)

    def _read_magic(self) -> None:
        magic = self._stream.read(len(BINLOG_MAGIC))
        if len(magic) < len(BINLOG_MAGIC) and self._stream.failure is not None:
            return  # reported as the first event is asked for
        if not magic:
            raise EmptyInputError(self.name, "the file is empty")
        if magic == ENCRYPTED_MAGIC:
            raise InputError(self.name, "the log is encrypted, and was opened without its keys")
        if magic != BINLOG_MAGIC:
            self._without_magic(magic)
            return
        self.format = first_format(self._stream)

    def _without_magic(self, magic: bytes) -> None:
        """Begin at the first intact event of a log whose first bytes are not a log's."""
        reason = f"it begins with {magic.hex(' ')}, not fe 62 69 6e"
        found = None
        if self._on_damage != "stop":
            found = self._recovery.format_at(self.format)
            found = found or self._recovery.next(self.format, b"", self._stream.offset)
        if found is None:
            raise NotABinlogError(self.name, f"not a binary log ({reason})")
        self._report(MalformedEventError(self.name, 0, reason, "magic"), self._stream.offset)
        self.format = found

    def _next(self) -> RawEvent | None:
        stream = self._stream
        pos = stream.offset
        head = stream.peek(self.format.header_length)
        if not head:
            if stream.failure is not None:
                failure, stream.failure = stream.failure, None
                raise failure
            return None
        if not self.format.server_version:  # after a format description stands no other start
            self.format = whole_start(head) or self.format
        is_format = len(head) > 4 and head[4] == EventType.FORMAT_DESCRIPTION_EVENT
        header_length = HEADER_LENGTH if is_format else self.format.header_length
        if not any(head):
            raise stream.failure or self._zeros(pos)
        if len(head) < min(header_length, HEADER_LENGTH):
            raise stream.failure or TruncatedEventError(
                self.name, pos, f"the file ends {len(head)} bytes into an event's header"
            )
        header = parse_header(head, header_length)
        if header.size < header_length:
            header = self._short(pos, header, head)
        if self._recovery.absurd(header, pos, self.format):
            claim = f"it claims {header.size} bytes, and its log_pos is {header.log_pos}"
            raise MalformedEventError(self.name, pos, claim, "event_size")
        there = stream.available(header.size)
        if there < header.size:
            if not self._recovery.likely(header, pos, self.format):
                what = f"type {header.type_code}, {header.size} bytes, log_pos {header.log_pos}"
                raise MalformedEventError(self.name, pos, f"no event stands here ({what})")
            raise stream.failure or TruncatedEventError(
                self.name, pos, f"the file ends {there} bytes into an event of {header.size}"
            )
        data = stream.peek(header.size)
        if is_format:
            self.format = format_of(self.name, pos, data)
        else:
            self._check_format(header, data)
        event = self._frame(pos, header, data)
        first = is_format or (self._recovery.doubts and self._unchecked is None)
        if first and event.checksum == "none" and self._checksum_follows(header.size, is_format):
            self._contradicted(pos, pos + header.size)
            event = replace(event, checksum="bad")
        if is_format and event.checksum == "bad":
            self.format = replace(self.format, header_length=HEADER_LENGTH)
        if event.checksum != "ok" and self._unchecked is None:
            self._unchecked = pos
        self._recovery.learn(header, pos, self.format, event.checksum)
        stream.skip(header.size)
        return event

    def _short(self, pos: int, header: EventHeader, head: bytes) -> EventHeader:
        """The header of an event that is shorter than headers are said to be, or the error."""
        reason = f"an event of {header.size} bytes is shorter than its header"
        if header.length > HEADER_LENGTH:
            reason += f"; the format description says that headers have {header.length} bytes"
        error = MalformedEventError(self.name, pos, reason, "event_size")
        if self._on_damage == "stop" or not HEADER_LENGTH <= header.size < header.length:
            raise error
        self._report(error, pos)
        self.format = replace(self.format, header_length=HEADER_LENGTH)
        return parse_header(head, HEADER_LENGTH)

    def _zeros(self, pos: int) -> DamageError:
        """What to say of zero bytes where an event should begin; the stream moves over them."""
        stream, zeros = self._stream, 0
        while (chunk := stream.peek(len(_ZEROS))) == _ZEROS:
            stream.skip(len(chunk) - 1)  # the last may begin an event: a timestamp's low byte
            zeros += len(chunk) - 1
        if chunk == _ZEROS[: len(chunk)]:
            stream.skip(len(chunk))
            reason = f"nothing but zero bytes up to the end, {zeros + len(chunk)} of them"
            return ZeroTailError(self.name, pos, reason)
        return MalformedEventError(self.name, pos, "zero bytes, no event", "event_size")

    def _check_format(self, header: EventHeader, data: bytes) -> None:
        """While it is in doubt whether events have checksums, one that matches decides."""
        if not self._recovery.doubts or self.format.version < 4:
            return
        if not self.format.checksummed(header.type_code) and ends_in_crc(header, data):
            self.format = with_checksums(self.format)
            self._recovery.doubts = 0
            if self._unchecked is None:  # the log begins in the middle
                return
            self._contradicted(self._unchecked, self._stream.offset)
        elif self.format.checksummed(header.type_code) and not ends_in_crc(header, data):
            self.format = self._recovery.format_at(self.format) or self.format

    def _checksum_follows(self, size: int, is_format: bool) -> bool:
        """Whether the event after one of ``size`` bytes has a checksum that matches, as this one
        should. What stands before a format description, as a dump's ROTATE does, may have none."""
        head = self._stream.peek(HEADER_LENGTH, size)
        if len(head) < HEADER_LENGTH:
            return False
        header = parse_header(head, HEADER_LENGTH)
        if not is_format and header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            return False
        return header.size <= len(_ZEROS) and ends_in_crc(
            header, self._stream.peek(header.size, size)
        )

    def _contradicted(self, pos: int, end: int) -> None:
        """The event at ``pos`` is damaged: checksums of those after it match, and it has none."""
        self.format = with_checksums(self.format)
        what = "it does not name a checksum algorithm, but later events have checksums"
        error = MalformedEventError(self.name, pos, what, "checksum_algorithm")
        if self._on_damage == "stop":
            raise error
        self._report(error, end)

    def _frame(self, pos: int, header: EventHeader, data: bytes) -> RawEvent:
        """Take header and checksum off; a wrong checksum raises, or is marked and reported."""
        checksum, end = "none", len(data)
        if self.format.checksummed(header.type_code):
            end -= CHECKSUM_LENGTH
            if end < header.length:
                what = "the event is too short for its checksum"
                raise MalformedEventError(self.name, pos, what, "checksum")
            checksum = self._verify(pos, header, data)
        elif self._recovery.leads_nowhere(header, pos, self.format):
            what = f"its size, {header.size} bytes, and log_pos {header.log_pos} lead to no event"
            raise MalformedEventError(self.name, pos, what, "event_size")
        return RawEvent.framed(self.name, pos, header, data, end, checksum, self.format.version)

    def _verify(self, pos: int, header: EventHeader, data: bytes) -> str:
        """``ok``, or ``bad`` where reading resumes after the event; else it raises."""
        error = checksum_error(self.name, pos, header, data, "the log")
        if error is None:
            return "ok"
        sized = self._on_damage != "stop" and self._recovery.size_of(header, pos, self.format)
        if sized != header.size:
            raise error
        self._report(error, pos + header.size)
        return "bad"
