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
from binlogkit._kernel.cells import CellSpec, Decoder, Layout, Reader
from binlogkit.constants import ColumnType

_CODECS: dict[ColumnType, Callable[[CellSpec], tuple[Layout, Reader]]] = {
    **numbers.readers,
    **temporal.readers,
    **strings.readers,
}


def decoder_for(spec: CellSpec) -> Decoder:
    """The decoder of a column. ValueError: the type cannot be as ``spec`` says, with the reason."""
    make = _CODECS.get(spec.type)
    if make is None:
        raise ValueError(f"no row image holds a column of type {spec.type.name}")
    layout, read = make(spec)

    def decode(data: bytes | memoryview, p: int, end: int) -> tuple[object, int]:
        start, stop = layout(data, p, end)
        return read(bytes(data[start:stop])), stop

    return decode
