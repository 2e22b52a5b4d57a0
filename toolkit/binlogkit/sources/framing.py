"""Separating events in bytes without a file around them: end to end, or packet by packet.

Three forms (internals manual, "Binlog Network Stream"; the server's "Protocol::Packet"): events
end to end; each after the status byte 00 of a reply to COM_BINLOG_DUMP; each in its packet,
``length:3 sequence:1`` before that byte. A packet of 2**24 - 1 bytes continues in the next,
which has no status byte of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from binlogkit.constants import HEADER_LENGTH, event_type_name
from binlogkit.sources.plausible import begins_event, is_event

_SIZE = slice(9, 13)
_PACKET_HEADER = 4
_MAX_PACKET = (1 << 24) - 1
_OK, _EOF, _ERROR = 0x00, 0xFE, 0xFF


class Framing(Enum):
    """What stands around each event."""

    BARE = 0
    STATUS = 1
    PACKETS = _PACKET_HEADER + 1


def framing_of(head: bytes) -> Framing | None:
    """The framing of bytes that begin so, None where no event begins."""
    if begins_event(head):
        return Framing.BARE
    if _begins_packets(head):
        return Framing.PACKETS
    if head[:1] == b"\0" and _begins_status(head[1:]):
        return Framing.STATUS
    return None


def _begins_status(rest: bytes) -> bool:
    """An event, and after it the next status byte, if anything."""
    if not is_event(rest):
        return False
    size = int.from_bytes(rest[_SIZE], "little")
    if len(rest) <= size:
        return begins_event(rest)
    return rest[size] == _OK or framing_of(rest[size:]) is not None


def _begins_packets(head: bytes) -> bool:
    length = int.from_bytes(head[:3], "little")
    event = head[_PACKET_HEADER + 1 :]
    if len(head) < _PACKET_HEADER + 1 or head[_PACKET_HEADER] != _OK or not is_event(event):
        return False
    size = int.from_bytes(event[_SIZE], "little")
    return length == min(size + 1, _MAX_PACKET)


class Framer:
    """Feed it bytes in order; it gives the events that are complete.

    ``broken``: why the rest cannot be separated any more, else empty; ``cut``: whether that is
    because the bytes end inside an event; ``began``: whether an event
    or more was begun; ``offset``: how many bytes were used up by what was given.
    """

    def __init__(self, framing: Framing | None = None) -> None:
        self.broken = ""
        self.cut = False
        self.began = False
        self.offset = 0
        self._framing = framing
        self._data = bytearray()

    @property
    def left(self) -> int:
        """How many bytes are begun and not complete."""
        return len(self._data)

    @property
    def missing(self) -> int:
        """How many bytes the bare event that is begun still needs at least."""
        head = bytes(self._data[:HEADER_LENGTH])
        whole = int.from_bytes(head[_SIZE], "little") if len(head) == HEADER_LENGTH else 0
        return max(whole, HEADER_LENGTH) - len(self._data)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next bytes."""
        self._data += data
        while not self.broken and (event := self._next(whole=False)) is not None:
            yield event

    def end(self) -> Iterator[bytes]:
        """No more bytes follow; ``broken`` says when they end inside an event."""
        while not self.broken and self._data and (event := self._next(whole=True)) is not None:
            yield event
        if self._data and not self.broken:
            self.cut = True
            self._break(self._where_cut())

    def _next(self, *, whole: bool) -> bytes | None:
        """The next event, None when it is not complete."""
        around = self._framing.value if self._framing else _PACKET_HEADER + 1
        if len(self._data) < around + HEADER_LENGTH and not whole:
            return None
        if self._framing is None:
            self._framing = framing_of(bytes(self._data[:256])) or Framing.BARE
        if self._framing is Framing.PACKETS:
            return self._packet()
        start = self._framing.value
        head = bytes(self._data[start : start + HEADER_LENGTH])
        if len(head) < HEADER_LENGTH:
            return None
        if not is_event(head) or (start and self._data[0] != _OK):
            self._break(f"no event begins with the bytes {self._data[:HEADER_LENGTH].hex(' ')}")
            return None
        self.began = True
        end = start + int.from_bytes(head[_SIZE], "little")
        return self._taken(bytes(self._data[start:end]), end) if len(self._data) >= end else None

    def _packet(self) -> bytes | None:
        """The event of the next packet, or of several where one continues in the next."""
        spans: list[slice] = []
        at = 0
        while True:
            start = at + _PACKET_HEADER
            length = int.from_bytes(self._data[at : at + 3], "little")
            # After a full packet an empty one may follow: the event ended with the full one.
            if len(self._data) < start + length or not (length or spans):
                return None
            spans.append(slice(start, start + length))
            at = start + length
            if length < _MAX_PACKET:
                break
        event = b"".join(self._data[span] for span in spans)
        if event[0] != _OK or not is_event(event[1 : HEADER_LENGTH + 1]):
            self._break(_no_event(event))
            return None
        return self._taken(event[1:], at)

    def _taken(self, event: bytes, length: int) -> bytes:
        del self._data[:length]
        self.offset += length
        return event

    def _where_cut(self) -> str:
        around = self._framing.value if self._framing else 0
        head = self._data[around:]
        if len(head) < HEADER_LENGTH:
            return f"the bytes end {len(head)} bytes into an event's header"
        size = int.from_bytes(head[_SIZE], "little")
        return f"the bytes end {len(head)} bytes into a {event_type_name(head[4])} of {size}"

    def _break(self, reason: str) -> None:
        self.broken = reason
        self._data.clear()


def _no_event(packet: bytes) -> str:
    if packet[0] == _ERROR:
        code, text = int.from_bytes(packet[1:3], "little"), packet[3:].decode("latin-1")
        return f"the server sent error {code}: {text}"
    if packet[0] == _EOF:
        return "the server ended the stream"
    return f"no event begins with the bytes {packet[:HEADER_LENGTH].hex(' ')}"
