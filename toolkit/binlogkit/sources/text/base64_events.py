"""The events in a run of base64 text.

mysqlbinlog encodes each event by itself, header to checksum, breaks it into lines of 76 characters
and pads it (9.7.4); others encode several as one. So padding may stand anywhere, and what
is between two paddings is decoded by itself.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator

from binlogkit.sources.framing import Framer, Framing

__all__ = ["Base64Events"]

_GROUP, _GROUP_BYTES = 4, 3


class Base64Events:
    """Feed it characters; it gives the events that are complete.

    ``broken``: why the rest cannot be told apart any more, else empty; ``cut``: whether that is
    because it ends inside an event; ``taken``: how many characters were given.
    """

    def __init__(self) -> None:
        self.broken = ""
        self.taken = 0
        self._chars = ""
        self._padded = False
        self._framer = Framer(Framing.BARE)

    @property
    def cut(self) -> bool:
        return self._framer.cut

    @property
    def padded(self) -> bool:
        """Whether padding came last."""
        return self._padded

    @property
    def missing(self) -> int:
        """How many characters the event that is begun still needs, without padding."""
        return -(-self._framer.missing * _GROUP // _GROUP_BYTES) - len(self._chars)

    @property
    def left(self) -> bool:
        """Whether something is begun and not complete."""
        return bool(self._chars or self._framer.left)

    def feed(self, chars: str) -> Iterator[bytes]:
        """Base64 characters without padding."""
        self.taken += len(chars)
        self._padded = self._padded and not chars
        self._chars += chars
        whole = len(self._chars) - len(self._chars) % _GROUP
        data, self._chars = binascii.a2b_base64(self._chars[:whole]), self._chars[whole:]
        yield from self._framed(self._framer.feed(data))

    def pad(self) -> Iterator[bytes]:
        """Padding: what was fed up to here is decoded."""
        self._padded = True
        rest, self._chars = self._chars, ""
        if len(rest) == 1:
            self.broken = "the base64 text has one character too many, or lacks some"
            return
        data = binascii.a2b_base64(rest + "=" * (-len(rest) % _GROUP))
        yield from self._framed(self._framer.feed(data))

    def end(self) -> Iterator[bytes]:
        """The end of the run, padded or not; ``broken`` tells when it ends inside an event."""
        yield from self.pad()
        if not self.broken:
            yield from self._framed(self._framer.end())

    def _framed(self, events: Iterator[bytes]) -> Iterator[bytes]:
        yield from events
        self.broken = self.broken or self._framer.broken
