"""What a reader may believe of a log's framing, and where it resumes when that breaks.

A v4 header gives an event's end twice, by its size and by ``log_pos``. Where both agree the frame
is believed even if the checksum is wrong; where they differ the one is believed after which an
intact event begins; where neither leads to one the next intact event is searched for (resync.py).
Whether events have checksums stands in the format description alone; while that is missing or
damaged, checksums that match decide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.sources.crc import StretchCrc
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import CHECKSUM_CRC32, CHECKSUM_OFF, LogFormat
from binlogkit.sources.plausible import (
    KNOWN_TYPES,
    MODULUS,
    known_header,
    sane_header,
    shift_of,
)
from binlogkit.sources.raw import EventHeader, parse_header

if TYPE_CHECKING:
    from binlogkit.sources.resync import Resync

_REACH = 16 << 20  # how far ahead a size or a log_pos is believed that nothing else supports
_CHAIN = 3
_MADE_UP = (EventType.ROTATE_EVENT, EventType.FORMAT_DESCRIPTION_EVENT)  # may have no log_pos
_DOUBTS = 4  # events after which a format description without checksums is believed


def with_checksums(log_format: LogFormat) -> LogFormat:
    """The format of events that have checksums though no intact format description says so.

    The length of headers that a damaged one gives is not believed.
    """
    return replace(log_format, checksum_algorithm=CHECKSUM_CRC32, header_length=HEADER_LENGTH)


class Recovery:
    """Keeps what the events of one log taught of its framing.

    ``doubts``: events to come before the format is taken for certain.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._crc = StretchCrc(stream)
        self._last = 0
        self.doubts = _DOUBTS

    def go_on(self, shift: int, *, sure: bool) -> None:
        """Begin after events that were framed otherwise; ``sure``: nothing of the format is in
        doubt."""
        self._last = shift
        self.doubts = 0 if sure else self.doubts

    def learn(self, header: EventHeader, pos: int, log_format: LogFormat, checksum: str) -> None:
        """Take note of an event that was delivered."""
        shift = shift_of(header, pos, log_format.version)
        if shift is not None and checksum != "bad":
            self._last = shift
        if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            self.doubts = 0 if checksum == "ok" else _DOUBTS
        elif checksum == "ok":
            self.doubts = 0
        elif checksum == "none" and self.doubts:
            self.doubts -= 1

    def consistent(self, header: EventHeader, pos: int, log_format: LogFormat) -> bool:
        """Whether size and ``log_pos`` say the same (in v1, which has no ``log_pos``, always)."""
        if log_format.version == 1:
            return True
        return shift_of(header, pos, log_format.version) in (0, self._last)

    def size_of(self, header: EventHeader, pos: int, log_format: LogFormat) -> int | None:
        """The size of the damaged event at the stream's place; None when it is unknown."""
        if self.consistent(header, pos, log_format):
            return header.size if self._followed(header, pos, log_format) else None
        resync = self._resync(log_format)
        for size in sorted(self._sizes(header, pos, log_format)):
            if self._stream.available(size + 1) == size:
                return size
            if resync.sound_at(size) is not None:
                return size
        return None

    def likely(self, header: EventHeader, pos: int, log_format: LogFormat) -> bool:
        """Whether a header may be an event's: of a known type, or where its ``log_pos`` says."""
        return header.type_code in KNOWN_TYPES or self.consistent(header, pos, log_format)

    def absurd(self, header: EventHeader, pos: int, log_format: LogFormat) -> bool:
        """Whether an event claims more than is worth reading ahead to see whether it is there.

        Before 5.1 an event's ``log_pos`` inside a transaction counts from that one's beginning.
        """
        if header.size <= _REACH or self._stream.available(_REACH) < _REACH:
            return False
        supported = header.log_pos == header.size or self.consistent(header, pos, log_format)
        return not (supported and sane_header(header))

    def _followed(self, header: EventHeader, pos: int, log_format: LogFormat) -> bool:
        """Whether after the event the log ends or a header stands in its right place."""
        head = self._stream.peek(HEADER_LENGTH, header.size)
        if log_format.version == 1 or len(head) < HEADER_LENGTH:
            return True
        following = parse_header(head, HEADER_LENGTH)
        shift = shift_of(following, pos + header.size, log_format.version)
        if shift is None:
            return following.type_code in _MADE_UP and sane_header(following)
        return sane_header(following) and shift in (0, self._last)

    def leads_nowhere(self, header: EventHeader, pos: int, log_format: LogFormat) -> bool:
        """Whether an event without a checksum is none: ``log_pos`` contradicts its size, and
        after it follow neither other events nor the log's end."""
        if log_format.version == 1 or self.consistent(header, pos, log_format):
            return False
        at = header.size
        for count in range(_CHAIN):
            head = self._stream.peek(HEADER_LENGTH, at)
            if len(head) < HEADER_LENGTH:
                return bool(head) and not count
            following = parse_header(head, HEADER_LENGTH)
            if not known_header(following):
                return True
            at += following.size
            if self._stream.available(at) < at:
                return not count
        return False

    def format_at(self, log_format: LogFormat) -> LogFormat | None:
        """The format of the intact event at the stream's place, None when there is none."""
        return self._resync(log_format).sound_at(0)

    def next(self, log_format: LogFormat, head: bytes, pos: int) -> LogFormat | None:
        """Move to the next intact event after the damaged one at the stream's place.

        ``head``: its header, as far as it is there. The format of what follows; None, and the
        stream at its end, when nothing does.
        """
        resync = self._resync(log_format)
        if len(head) >= HEADER_LENGTH and log_format.version > 1:
            header = parse_header(head, HEADER_LENGTH)
            for size in sorted(self._sizes(header, pos, log_format)):
                found = resync.sound_at(size)
                if found is not None:
                    self._stream.skip(size)
                    return found
            if self.consistent(header, pos, log_format):
                return resync.next(header.size)
        return resync.next()

    def _sizes(self, header: EventHeader, pos: int, log_format: LogFormat) -> set[int]:
        """The sizes that the header gives: outright, and by ``log_pos`` at a known shift."""
        sizes = {header.size}
        if log_format.version > 3 and header.log_pos:
            sizes |= {(header.log_pos + shift - pos) & MODULUS for shift in (0, self._last)}
        return {s for s in sizes if HEADER_LENGTH <= s <= _REACH and self._stream.available(s) == s}

    def _resync(self, log_format: LogFormat) -> Resync:
        from binlogkit.sources.resync import Resync  # loads numpy, which intact logs do not need

        formats = [log_format]
        if self.doubts and log_format.version > 3:
            plain = replace(log_format, checksum_algorithm=CHECKSUM_OFF)
            checked = with_checksums(log_format)
            formats = [checked, plain]
        return Resync(self._stream, formats, frozenset((0, self._last)), self._crc)
