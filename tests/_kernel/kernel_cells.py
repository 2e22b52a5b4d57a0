"""Cells of one column through the compiled kernel, up to what stands in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from binlogkit._kernel.cells import CellSpec, NoArrowValue, Undecodable
from binlogkit.frames.kernel_columns import TakenBuffers
from binlogkit.rows.schema import Column, TableSchema, table_plan
from tests._kernel.native.row_passes import filled

__all__ = ["KernelCell", "diff_through_kernel", "through_kernel"]

WRITE_ROWS, PARTIAL_UPDATE_ROWS, TABLE_ID_WIDTH = 30, 39, 6
VALUE, NO_ARROW_VALUE = 0, 4
# Table id, flags, length of no extra data, one column; it is present, or in the after image alone.
_FRONT = (7).to_bytes(TABLE_ID_WIDTH, "little") + b"\1\0\2\0\1"
_PRESENT, _PRESENT_AFTER = b"\1", b"\0\1"
_ONE_DIFF = b"\1\1"  # value options, partial bits


class KernelCell(NamedTuple):
    """A state as frames/schema.py says, the value (integers for temporal types), the raw cell."""

    state: int
    value: Any
    raw: dict[str, Any] | None

    def as_codec(self) -> Any:
        """As a decoder of codecs.py gives it."""
        if self.state == VALUE:
            return self.value
        assert self.value is None and self.raw is not None
        if self.state == NO_ARROW_VALUE:
            return NoArrowValue(text=self.raw["text"], raw=self.raw["bytes"])
        return Undecodable(raw=self.raw["bytes"], reason=self.raw["text"])


def through_kernel(spec: CellSpec, cells: Sequence[bytes]) -> list[KernelCell]:
    """Each cell, stored in a row of its own."""
    data = _FRONT + _PRESENT + b"".join(b"\0" + cell for cell in cells)
    found = _after(spec, data, WRITE_ROWS)
    assert len(found) == len(cells)
    return found


def diff_through_kernel(spec: CellSpec, diff: bytes) -> KernelCell:
    """A partial update of one document, of which the before image holds nothing."""
    cell = len(diff).to_bytes(4, "little") + diff
    data = _FRONT + _PRESENT_AFTER + _ONE_DIFF + b"\0" + cell
    (found,) = _after(spec, data, PARTIAL_UPDATE_ROWS)
    return found


def _after(spec: CellSpec, data: bytes, code: int) -> list[KernelCell]:
    column = Column(
        0, "c", spec.type, spec.meta, "", unsigned=spec.unsigned, length=spec.length,
        precision=spec.precision, scale=spec.scale, charset=spec.charset, labels=spec.labels,
    )  # fmt: skip
    schema = TableSchema("d", "t", 0, (column,))
    builder = table_plan(schema, "5.7.22" if spec.as_5_7 else "8.0.31").builder(1 << 20, 1 << 30)
    filled(builder, data, code)
    arrays = TakenBuffers(schema, builder).columns()
    images = arrays["after"]
    images.validate(full=True)
    states = arrays["after_state"].to_pylist()
    raws = arrays["raw"].to_pylist()
    return [
        KernelCell(state[0] if state else VALUE, value, raw[0] if raw else None)
        for state, value, raw in zip(states, _values(images.field(0)), raws, strict=True)
    ]


def _values(array: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    return list(array.to_pylist())
