"""The one bounds check: reads named fields from an event's bytes.

Integers are little-endian unless said otherwise; a packed integer is the manual's
"length-encoded integer": one byte up to 250, else 252, 253 or 254 and 2, 3 or 8 bytes
(251 stands for NULL in the client protocol and is not valid here).
"""

from __future__ import annotations

from binlogkit.errors import MalformedEventError

_LONGEST_VARIABLE = 8  # bytes after the first


class StoredText(str):
    """The text of bytes that the text does not say exactly; ``stored``: those bytes."""

    __slots__ = ("stored",)

    stored: bytes

    def __new__(cls, text: str, stored: bytes) -> StoredText:
        """``text`` as it is shown, for ``stored``."""
        self = super().__new__(cls, text)
        self.stored = stored
        return self

    def __getnewargs__(self) -> tuple[str, bytes]:  # type: ignore[override]
        """What makes it again when it is copied."""
        return str(self), self.stored


def decoded(data: bytes, encoding: str = "utf-8", shown: bytes | None = None) -> str:
    """``data`` as text; ``shown``: the part of it that is text, where the rest is padding.

    Bytes that are no text in the encoding stand as ``\\xNN``.
    """
    if shown is None or shown == data:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            shown = data
    return StoredText(shown.decode(encoding, "backslashreplace"), data)


def stored_bytes(text: str, encoding: str = "utf-8") -> bytes:
    """The bytes that ``text`` was read from."""
    return text.stored if isinstance(text, StoredText) else text.encode(encoding)


class Cursor:
    """A position in the bytes of one event.

    ``data``: the event's post-header and body, without checksum; ``file`` and ``offset``: the
    event's own place, for errors. Every read raises :class:`MalformedEventError` with the field's
    name when the bytes do not hold it.
    """

    __slots__ = ("data", "end", "file", "offset", "pos")

    def __init__(self, data: bytes, file: str = "", offset: int = 0, pos: int = 0) -> None:
        self.data = data
        self.pos = pos
        self.end = len(data)
        self.file = file
        self.offset = offset

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return self.end - self.pos

    def fail(self, field: str, reason: str) -> MalformedEventError:
        """The error to raise for ``field``."""
        return MalformedEventError(self.file, self.offset, reason, field)

    def skip(self, length: int, field: str) -> int:
        """Move over ``length`` bytes and return where they start."""
        start = self.pos
        if length < 0 or length > self.end - start:
            raise self.fail(field, f"needs {length} bytes, {self.end - start} are left")
        self.pos = start + length
        return start

    def read(self, length: int, field: str) -> bytes:
        """The next ``length`` bytes."""
        start = self.skip(length, field)
        return self.data[start : start + length]

    def rest(self, field: str) -> bytes:
        """All bytes that are left."""
        return self.read(self.end - self.pos, field)

    def uint(self, width: int, field: str) -> int:
        """An unsigned little-endian integer of ``width`` bytes."""
        start = self.skip(width, field)
        return int.from_bytes(self.data[start : start + width], "little")

    def sint(self, width: int, field: str) -> int:
        """A signed little-endian integer of ``width`` bytes."""
        start = self.skip(width, field)
        return int.from_bytes(self.data[start : start + width], "little", signed=True)

    def packed(self, field: str) -> int:
        """A packed (length-encoded) integer."""
        start = self.pos
        first = self.uint(1, field)
        if first <= 250:
            return first
        width = {252: 2, 253: 3, 254: 8}.get(first)
        if width is None:
            self.pos = start
            raise self.fail(field, f"{first} does not start a packed integer")
        return self.uint(width, field)

    def variable(self, field: str) -> int:
        """A variable-length integer of the server's serialization library (8.3.0+).

        The 1 bits below the first 0 bit of its first byte count the bytes that follow; what is left
        of them all, little-endian, is the value.
        """
        first = self.uint(1, field)
        more = (~first & first + 1).bit_length() - 1
        if more == _LONGEST_VARIABLE:
            return self.uint(more, field)
        rest = self.uint(more, field) if more else 0
        return (first | rest << 8) >> (more + 1)

    def text(self, length: int, field: str, encoding: str = "utf-8") -> str:
        """``length`` bytes as text; bytes that are no text show as ``\\xNN``."""
        return decoded(self.read(length, field), encoding)

    def c_string(self, field: str) -> bytes:
        """The bytes up to the next NUL, which is read too."""
        stop = self.data.find(b"\0", self.pos, self.end)
        if stop < 0:
            raise self.fail(field, "its terminating NUL is missing")
        value = self.data[self.pos : stop]
        self.pos = stop + 1
        return value

    def sub(self, length: int, field: str) -> Cursor:
        """A cursor over the next ``length`` bytes, for a part with a length of its own."""
        return Cursor(self.read(length, field), self.file, self.offset)
