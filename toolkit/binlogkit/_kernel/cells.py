"""What the cell codecs share: what describes a cell, what a cell can turn out to be.

A cell is one column's bytes in a row image. Its extent is known from the type and, for types of
variable length, from a length in front of it; so a cell whose bytes mean nothing does not stop the
walk over the row, while one that runs past the image does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binlogkit.constants import ColumnType


class CellOverrun(ValueError):
    """A cell runs past the end of its row image: the event is malformed."""


@dataclass(frozen=True, slots=True)
class CellSpec:
    """What the decoder of one column needs.

    ``type``: the real type (ENUM and SET resolved, see ``metadata.resolve``); ``meta``: the table
    map's metadata bytes of the column; ``length``: bytes that a CHAR, BINARY, VARCHAR can hold,
    bytes of the length in front of a BLOB, JSON, GEOMETRY or VECTOR, bits of a BIT, bytes of an
    ENUM or SET, characters of an old DECIMAL; ``precision``, ``scale``: DECIMAL; ``scale`` is also
    the fraction digits of a temporal type; ``charset``: MySQL's name, None when unknown;
    ``labels``: of ENUM or SET, None when unknown; ``as_5_7``: JSON reads as 5.7 prints it;
    ``no_utf8``: an unknown character set is not UTF-8: only ASCII can be read.
    """

    type: ColumnType
    meta: bytes = b""
    unsigned: bool = False
    length: int = 0
    precision: int = 0
    scale: int = 0
    charset: str | None = None
    labels: tuple[str, ...] | None = None
    as_5_7: bool = False
    no_utf8: bool = False

    @property
    def read_as(self) -> str:
        """The character set that text is read in."""
        return self.charset or ("ascii" if self.no_utf8 else "utf8mb4")


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A cell whose bytes have no meaning in its type.

    ``raw``: the value's bytes, without the length in front of them.
    """

    raw: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class NoArrowValue:
    """A value that the server knows and Arrow does not: a zero, incomplete or impossible date.

    ``text``: the server's text of the value with the declared fraction digits; ``raw``: its bytes.
    """

    text: str
    raw: bytes


# (data, p, end) -> (first byte of the value, after its last); CellOverrun when it passes end.
Layout = Callable[[bytes | memoryview, int, int], tuple[int, int]]
# The value's bytes -> a plain value, Undecodable or NoArrowValue.
Reader = Callable[[bytes], object]
# (data, p, end) -> (value, after the cell).
Decoder = Callable[[bytes | memoryview, int, int], tuple[object, int]]


def fixed(width: int) -> Layout:
    """The layout of a cell of ``width`` bytes."""

    def span(_data: bytes | memoryview, p: int, end: int) -> tuple[int, int]:
        if width > end - p:
            raise CellOverrun(f"needs {width} bytes, {end - p} are left")
        return p, p + width

    return span


def prefixed(width: int) -> Layout:
    """The layout of a cell that begins with its value's length, ``width`` bytes little-endian."""

    def span(data: bytes | memoryview, p: int, end: int) -> tuple[int, int]:
        if width > end - p:
            raise CellOverrun(f"needs {width} bytes of length, {end - p} are left")
        start = p + width
        length = int.from_bytes(data[p:start], "little")
        if length > end - start:
            raise CellOverrun(f"says {length} bytes, {end - start} are left")
        return start, start + length

    return span
