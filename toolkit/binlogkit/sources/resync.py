"""Finding the next intact event after damage, by checksum and plausibility.

Three things make a candidate: a header with a type that some server writes and no unknown flag, a
size that the log still holds, and a place: an event's end (in v3 its start) stands at a fixed
distance, the *shift*, from its ``log_pos``: 0 in a server's own log, the source's positions in a
relay log, what was cut out or put in after such damage. What makes it intact:

- with checksums: its CRC32 matches, at a shift that was seen before;
- without: three events in a row (or up to the log's end) at a shift that was seen before;
- at a shift never seen before: more such events in a row, and nothing at a known one within the
  next 64 MiB. So a binary log that somebody keeps in a BLOB column is not taken for the log.

What remains: a user can store bytes that look like events, anyone can compute a CRC32, and who
predicts where in which log the value will stand can give them the right ``log_pos``. They are taken
for events only when damage destroys the header of the very event they stand in, size and
``log_pos`` both (each leads over it by itself). Stale blocks of an older log of the same server,
written at the same place, look right in every respect; the order of GTIDs and sequence numbers
reports them (rows/soundness).

One pass: numpy sifts the headers, StretchCrc the checksums, so the time is linear in the bytes and
in the number of candidates, whatever they claim, also over many damages. Memory: what a candidate
at a known shift claims, up to 1 GiB, where the log holds as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.sources.crc import StretchCrc, crc_of
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.plausible import (
    KNOWN_FLAGS,
    KNOWN_TYPES,
    LARGEST,
    MODULUS,
    known_header,
    sane_header,
    shift_of,
)
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, parse_header

FIRST_WINDOW, WINDOW = 1 << 12, 1 << 20
PATIENCE = 64 << 20
_FLAGS_OFFSET = 17
Places: TypeAlias = "npt.NDArray[np.int64]"
_KNOWN_TABLE = np.zeros(256, np.bool_)
_KNOWN_TABLE[list(KNOWN_TYPES)] = True
# Events in a row: without checksums; at a shift not seen before, with checksums and without; and
# how many are enough there when they lead to the log's end.
_PLAIN, _MOVED, _MOVED_PLAIN, _AT_END = 3, 3, 6, 2


@dataclass(slots=True)
class Resync:
    """What is known of a log's events when its framing is lost.

    ``formats``: that may hold, likeliest first (more than one where the format description is
    damaged); ``shifts``: seen so far; ``crc``: of this stream, the same for every search.
    """

    stream: ByteStream
    formats: Sequence[LogFormat]
    shifts: frozenset[int]
    crc: StretchCrc

    def next(self, event_size: int = 0) -> LogFormat | None:
        """Move to the next intact event after the stream's place; its format.

        ``event_size``: of the damaged event, where its header is believed: what stands in it at a
        known shift is a value that looks like an event. Without an intact event the stream moves to
        its end, and the answer is None.
        """
        stream = self.stream
        inside = stream.offset + event_size
        if stream.available(1):
            stream.skip(1)
        moved: tuple[int, LogFormat] | None = None  # the first at a shift never seen before
        at, size = 0, FIRST_WINDOW
        while stream.available(at + 1) > at:
            window = stream.peek(size + WINDOW, at)
            for i in self._candidates(window, at, size, self.shifts):
                if stream.offset + at + i < inside:
                    continue
                found = self.sound_at(at + i)
                if found is not None:
                    stream.skip(at + i)
                    return found
            if moved is None:
                moved = self._moved(window, at, size)
            at += size
            size = min(2 * size, WINDOW)
            if moved is None:
                stream.skip(min(at, stream.available(at)))
                at = 0
            elif at > moved[0] + PATIENCE:
                break
        if moved is not None:
            stream.skip(moved[0])
            return moved[1]
        while left := stream.available(WINDOW):
            stream.skip(left)
        return None

    def _moved(self, window: bytes, at: int, size: int) -> tuple[int, LogFormat] | None:
        for i in self._candidates(window, at, size, None):
            for form in self.formats:
                needed = _MOVED if form.checksummed(0) else _MOVED_PLAIN
                if self._chain(at + i, form, None, needed):
                    return at + i, form
        return None

    def sound_at(self, at: int) -> LogFormat | None:
        """The format in which an intact event begins ``at`` bytes ahead, None without one."""
        for form in self.formats:
            needed = 1 if form.checksummed(0) else _PLAIN
            if form.version > 1 and self._chain(at, form, self.shifts, needed):
                return form
        return None

    def _chain(
        self,
        at: int,
        form: LogFormat,
        shifts: frozenset[int] | None,
        needed: int,
    ) -> bool:
        """Whether ``needed`` intact events follow each other, fewer before the log's end.

        ``shifts``: those allowed; None for any that all of them share.
        """
        for count in range(needed):
            head = self.stream.peek(max(form.header_length, HEADER_LENGTH), at)
            if not head:
                return count > 0  # at a shift not seen before 2: see _followed
            header = _header(head, form)
            if header is None:
                return count >= _AT_END
            if not (known_header(header) if count == 0 else sane_header(header)):
                return False
            if form.version > 1:
                place = shift_of(header, self.stream.offset + at, form.version)
                shifts = shifts or (None if place is None else frozenset((place,)))
                if shifts is None or place not in shifts:
                    return False
            if self.stream.available(at + header.size) < at + header.size:
                return count >= _AT_END
            if not self._checks_out(at, header, form):
                return False
            at += header.size
        return True

    def _checks_out(self, at: int, header: EventHeader, form: LogFormat) -> bool:
        """Whether the checksum matches, or is none where the format has none."""
        checksummed = form.checksummed(header.type_code)
        if not checksummed and len(self.formats) == 1:
            return True
        end = at + header.size - CHECKSUM_LENGTH
        if end - at < header.length:
            return not checksummed
        stored = int.from_bytes(self.stream.peek(CHECKSUM_LENGTH, end), "little")
        if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            matches = crc_of(header, self.stream.peek(end - at, at), end - at) == stored
        else:
            matches = self.crc.of(at, end) == stored
        return matches == checksummed

    def _candidates(
        self, window: bytes, at: int, size: int, shifts: frozenset[int] | None
    ) -> Iterator[int]:
        """Where in the window's first ``size`` bytes headers stand that could be an event's.

        ``at``: where the window stands ahead of the stream's place; ``shifts``: those to look for;
        None for any, where the event after must say the same.
        """
        version = self.formats[0].version
        length = V1_HEADER_LENGTH if version == 1 else HEADER_LENGTH
        count = min(len(window) - length + 1, size)
        if count <= 0:
            return
        found = np.nonzero(_KNOWN_TABLE[np.frombuffer(window, np.uint8, count, 4)])[0]
        sizes = _words(window, 9, found)
        good = (sizes >= length) & (sizes <= LARGEST)
        if version > 1:
            flags = np.ndarray((count,), np.dtype("<u2"), window, _FLAGS_OFFSET, (1,))
            good &= (flags[found] & (~KNOWN_FLAGS & 0xFFFF)) == 0
        found, sizes = found[good], sizes[good]
        if shifts is None:
            found = _followed(window, found, sizes, length, version)
        elif version > 1:
            ends = found + (self.stream.offset + at)
            if version != 3:
                ends += sizes
            places = (ends - _words(window, 13, found)) & MODULUS
            found = found[np.isin(places, list(shifts))]
        yield from found.tolist()


def _followed(window: bytes, found: Places, sizes: Places, length: int, version: int) -> Places:
    """Those candidates after which, in the window, a header stands at the same shift."""
    inside = found + sizes <= len(window) - length
    found, sizes = found[inside], sizes[inside]
    after = found + sizes
    following = _words(window, 9, after)
    codes = np.frombuffer(window, np.uint8)[after + 4]
    good = _KNOWN_TABLE[codes] & (following >= length)
    if version > 1:
        log_pos = _words(window, 13, found)
        step = sizes if version == 3 else following
        good &= _words(window, 13, after) == (log_pos + step) & MODULUS
        good &= log_pos != 0
    kept: Places = found[good]
    return kept


def _words(window: bytes, offset: int, places: Places) -> Places:
    """The four bytes ``offset`` after each place, as numbers."""
    count = len(window) - offset - 3
    words: npt.NDArray[np.uint32] = np.ndarray((count,), np.dtype("<u4"), window, offset, (1,))
    return words[places].astype(np.int64)


def _header(head: bytes, form: LogFormat) -> EventHeader | None:
    """The header in ``head``, None where it is cut."""
    length = form.header_length
    if len(head) > 4 and head[4] == EventType.FORMAT_DESCRIPTION_EVENT:
        length = HEADER_LENGTH
    return parse_header(head, length) if len(head) >= length else None
