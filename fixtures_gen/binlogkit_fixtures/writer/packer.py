"""The one range check of the writer: named fields into bytes; the mirror of binlogkit's cursor.

Integers are little-endian; a packed integer is the manual's "length-encoded integer", in its
shortest form, which is the only one that servers write.
"""

from __future__ import annotations

from binlogkit._kernel.cursor import stored_bytes
from binlogkit_fixtures.writer.errors import UnwritableError

__all__ = ["Packer"]

_PACKED = ((1 << 16, 252, 2), (1 << 24, 253, 3), (1 << 64, 254, 8))


class Packer:
    """Bytes that grow at their end; every write names its field, for :class:`UnwritableError`.

    ``post_header_rest``: see :meth:`end_post_header`; ``unread``: what will stand after the last
    field, for lengths that count it.
    """

    __slots__ = ("data", "event", "post_header_rest", "unread")

    def __init__(self, event: str, post_header_rest: bytes = b"", unread: bytes = b"") -> None:
        self.event = event
        self.unread = unread
        self.data = bytearray()
        self.post_header_rest = post_header_rest

    def fail(self, field: str, reason: str) -> UnwritableError:
        """The error to raise for ``field``."""
        return UnwritableError(self.event, field, reason)

    def sub(self) -> Packer:
        """A packer for a part with a length of its own."""
        return Packer(self.event)

    def end_post_header(self) -> None:
        """What a newer server's post-header has after the fields that are known."""
        self.data += self.post_header_rest
        self.post_header_rest = b""

    def raw(self, data: bytes | bytearray) -> None:
        """The bytes as they are."""
        self.data += data

    def uint(self, width: int, value: int, field: str) -> None:
        """An unsigned integer of ``width`` bytes."""
        if not 0 <= value < 1 << 8 * width:
            raise self.fail(field, f"{value} is not in the range of {width} bytes")
        self.data += value.to_bytes(width, "little")

    def sint(self, width: int, value: int, field: str) -> None:
        """A signed integer of ``width`` bytes."""
        if not -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            raise self.fail(field, f"{value} is not in the signed range of {width} bytes")
        self.data += value.to_bytes(width, "little", signed=True)

    def packed(self, value: int, field: str) -> None:
        """A packed integer."""
        if 0 <= value <= 250:
            self.data.append(value)
            return
        for limit, first, width in _PACKED:
            if 0 <= value < limit:
                self.data.append(first)
                self.data += value.to_bytes(width, "little")
                return
        raise self.fail(field, f"{value} is not in the range of a packed integer")

    def sized(self, width: int, data: bytes | bytearray, field: str) -> None:
        """Bytes after their length in ``width`` bytes."""
        self.uint(width, len(data), f"{field}_length")
        self.data += data

    def packed_sized(self, data: bytes | bytearray, field: str) -> None:
        """Bytes after their packed length."""
        self.packed(len(data), f"{field}_length")
        self.data += data

    def c_string(self, data: bytes, field: str) -> None:
        """Bytes that hold no NUL, and a NUL."""
        if b"\0" in data:
            raise self.fail(field, "it holds a NUL, which ends it")
        self.data += data + b"\0"

    def fill(self, width: int, data: bytes, field: str) -> None:
        """Bytes, filled up to ``width`` with NULs."""
        if len(data) > width:
            raise self.fail(field, f"it has {len(data)} bytes; {width} are there")
        self.data += data.ljust(width, b"\0")

    def flag(self, value: bool, field: str) -> None:
        """One byte, 1 or 0."""
        self.uint(1, int(value), field)

    def text(self, value: str) -> bytes:
        """The bytes that a text was read from, or its UTF-8."""
        return stored_bytes(value)

    def take(self, length: int, data: bytes, field: str) -> None:
        """Exactly ``length`` bytes."""
        if len(data) != length:
            raise self.fail(field, f"it has {len(data)} bytes and needs {length}")
        self.data += data
