"""One decoder per column type, all with one signature, from one table.

``decoder_for`` checks everything that belongs to the type once and returns a function
``(data, p, end) -> (value, new p)``. Values are plain: int, float, Decimal, str, bytes; temporal
types are integers (DATE days, DATETIME and TIMESTAMP microseconds since 1970, TIME microseconds).
A cell can also be :class:`Undecodable` or :class:`NoArrowValue`; one that runs past ``end`` raises
:class:`CellOverrun`. ``end`` must not pass the end of ``data``.
"""

from __future__ import annotations

from collections.abc import Callable

from binlogkit._kernel import numbers, strings, temporal
from binlogkit._kernel.cells import (
    CellOverrun,
    CellSpec,
    Decoder,
    Layout,
    NoArrowValue,
    Reader,
    Undecodable,
)
from binlogkit._kernel.metadata import Resolved, metadata_length, resolve
from binlogkit.constants import ColumnType

__all__ = [
    "CellOverrun",
    "CellSpec",
    "Decoder",
    "NoArrowValue",
    "Resolved",
    "Undecodable",
    "decoder_for",
    "length_of",
    "metadata_length",
    "resolve",
    "skipper_for",
]

_CODECS: dict[ColumnType, Callable[[CellSpec], tuple[Layout, Reader]]] = {
    **numbers.readers,
    **temporal.readers,
    **strings.readers,
}


def decoder_for(spec: CellSpec) -> Decoder:
    """The decoder of a column. ValueError: the type cannot be as ``spec`` says, with the reason."""
    layout, read = _codec(spec)

    def decode(data: bytes | memoryview, p: int, end: int) -> tuple[object, int]:
        start, stop = layout(data, p, end)
        return read(bytes(data[start:stop])), stop

    return decode


def skipper_for(spec: CellSpec) -> Callable[[bytes | memoryview, int, int], int]:
    """A function ``(data, p, end) -> new p`` that steps over a cell of the column."""
    layout, _ = _codec(spec)

    def skip(data: bytes | memoryview, p: int, end: int) -> int:
        return layout(data, p, end)[1]

    return skip


def length_of(spec: CellSpec, data: bytes | memoryview, p: int, end: int) -> int:
    """The bytes of the cell at ``p``, its length in front included."""
    return skipper_for(spec)(data, p, end) - p


def _codec(spec: CellSpec) -> tuple[Layout, Reader]:
    make = _CODECS.get(spec.type)
    if make is None:
        raise ValueError(f"no row image holds a column of type {spec.type.name}")
    return make(spec)
