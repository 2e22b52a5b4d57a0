"""Raw events that stand alone: pasted as base64 or hex, or taken from packets, without a file.

Their positions are the server's own: a v4 header says where the next event begins, so an event
stands at ``log_pos - size`` (v3: at ``log_pos``). An event whose ``log_pos`` is 0 was made up for
the network or stood in a compressed payload; it gets the place that the text gives for it, else
the end of what came before, and a number in ``inner`` that sets it apart.

Without a format description whether events end in a CRC32 is found out by computing it: when it
fits for one of the first events, all are taken to have one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.sources.crc import checksum_error, ends_in_crc
from binlogkit.sources.layers import Pieces, Readable
from binlogkit.sources.log_format import CHECKSUM_CRC32, LogFormat, format_of
from binlogkit.sources.plausible import whole_start
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header

_LOOKAHEAD = 64  # events that may show whether there are checksums
_WRAP = 1 << 32
FIRST_POSITION = 4


@dataclass(frozen=True, slots=True)
class LoosePlace:
    """Where an event stood whose header does not say it: as :class:`RawEvent` has it."""

    pos: int
    end_pos: int
    inner: int


@dataclass(frozen=True, slots=True)
class LooseEvent:
    """The bytes of one event, header to checksum; ``place``: see :class:`LoosePlace`."""

    data: bytes
    place: LoosePlace | None = None


Piece = LooseEvent | DamageError


class ShownFile(Pieces):
    """A file whose bytes a text shows; ``strict``: damage in the text is raised, else kept."""

    strict = False

    def __init__(self, file: BinaryIO, pieces: Iterator[bytes]) -> None:
        super().__init__(file, pieces)
        self.damages: list[DamageError] = []

    def damage_before(self, offset: int) -> list[DamageError]:
        """The damage at bytes before ``offset`` of the file, each reported once."""
        before = [d for d in self.damages if d.offset < offset]
        self.damages = [d for d in self.damages if d.offset >= offset]
        return before


class LooseEvents(Readable):
    """An opened carrier of events without a file around them; LogReader asks it for its events.

    ``pieces``: events, and damage in what carries them, in order.
    """

    def __init__(self, name: str, pieces: Iterable[Piece]) -> None:
        self._name = name
        self._pieces = iter(pieces)
        self.format = LogFormat()

    def read(self, _size: int = -1) -> bytes:
        """Refused: there is no file image of events whose neighbours are not known."""
        raise InputError(
            self._name, "it holds events, not a whole log: there is no file to hand on"
        )

    def raw_events(self, tell: Callable[[DamageError], None]) -> Iterator[RawEvent]:
        """The events in order, as :class:`LogReader` gives them."""
        places = _Places()
        for piece in self._with_format():
            if isinstance(piece, DamageError):
                tell(piece)
                continue
            try:
                header = self._header(piece.data)
            except DamageError as error:
                tell(error)
                continue
            sent = replace(header, size=len(piece.data))
            pos, end_pos, inner = places.of(sent, piece, self.format.version)
            if header.size != sent.size or header.length > sent.size:
                reason = f"its size is {header.size} bytes, its header's {header.length}"
                what = f"{reason}, {sent.size} were sent"
                tell(MalformedEventError(self._name, pos, what, "event_size"))
            else:
                checksum, end = self._checked(piece.data, header, pos, tell)
                outer = None if end_pos == pos + header.size else end_pos
                yield RawEvent.framed(
                    self._name, pos, header, piece.data, end, checksum, self.format.version,
                    inner, outer,
                )  # fmt: skip

    def _with_format(self) -> Iterator[Piece]:
        """The pieces; before the first one is given the format is known, or found out."""
        ahead: deque[Piece] = deque()
        for piece in self._pieces:
            ahead.append(piece)
            if _tells_format(piece) or _crc_fits(piece) or len(ahead) >= _LOOKAHEAD:
                break
        fits = any(_crc_fits(p) for p in ahead)
        if fits and not any(_tells_format(p) for p in ahead):
            self.format = LogFormat(checksum_algorithm=CHECKSUM_CRC32)
        yield from ahead
        yield from self._pieces

    def _header(self, data: bytes) -> EventHeader:
        self.format = whole_start(data) or self.format
        length = self.format.header_length
        if data[4] == EventType.FORMAT_DESCRIPTION_EVENT:
            self.format = format_of(self._name, 0, data)
            length = HEADER_LENGTH
        return parse_header(data, length)

    def _checked(
        self, data: bytes, header: EventHeader, pos: int, tell: Callable[[DamageError], None]
    ) -> tuple[str, int]:
        """What its checksum says of an event, and where that one begins."""
        end = len(data) - CHECKSUM_LENGTH
        if not self.format.checksummed(header.type_code):
            return "none", len(data)
        if end < header.length:
            tell(MalformedEventError(self._name, pos, "too short for its checksum", "checksum"))
            return "bad", len(data)
        error = checksum_error(self._name, pos, header, data, "it")
        if error is not None:
            tell(error)
        return "ok" if error is None else "bad", end


def _tells_format(piece: Piece) -> bool:
    return isinstance(piece, LooseEvent) and (
        piece.data[4] == EventType.FORMAT_DESCRIPTION_EVENT or whole_start(piece.data) is not None
    )


def _crc_fits(piece: Piece) -> bool:
    if isinstance(piece, DamageError) or len(piece.data) < HEADER_LENGTH + CHECKSUM_LENGTH:
        return False
    return ends_in_crc(parse_header(piece.data, HEADER_LENGTH), piece.data)


def _made_up(header: EventHeader) -> bool:
    """Whether the sender put it into the stream for the reader alone: it takes no place."""
    made_up = header.flags & EventFlag.ARTIFICIAL
    return bool(made_up) or header.type_code == EventType.FORMAT_DESCRIPTION_EVENT


class _Places:
    """Positions of events in order, 64 bits from the header's 32."""

    def __init__(self) -> None:
        self._end = FIRST_POSITION
        self._unplaced = 0

    def of(
        self, header: EventHeader, event: LooseEvent, version: int
    ) -> tuple[int, int, int | None]:
        """(pos, end_pos, inner) of the next event."""
        if event.place is not None:
            return event.place.pos, event.place.end_pos, event.place.inner
        if version == 1:
            pos, self._end = self._end, self._end + header.size
            return pos, self._end, None
        if header.log_pos == 0 and _made_up(header):
            if header.type_code == EventType.ROTATE_EVENT:  # it says where the stream begins
                self._end = int.from_bytes(event.data[HEADER_LENGTH:][:8], "little")
            return self._end, self._end, None
        if header.log_pos == 0:
            self._unplaced += 1
            return self._end, self._end + header.size, self._unplaced - 1
        pos = header.log_pos if version == 3 else header.log_pos - header.size
        while pos < 0 or pos < self._end - _WRAP // 2:
            pos += _WRAP
        self._end = pos + header.size
        self._unplaced = 0
        return pos, self._end, None
