"""The kernel's buffers -> Arrow arrays of the canonical batch.

What the kernel leaves to Python is finished here: labels of ENUM and SET, character sets that the
codecs read, the words beside a cell that has no Arrow value, and partial JSON updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit._kernel.cells import NoArrowValue, Undecodable
from binlogkit._kernel.columns import TablePlan
from binlogkit._kernel.json_diff import apply, diff_text, parse_diffs
from binlogkit._kernel.native.builder import FACT_NAMES, TableBuilder
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.schema import OPS, CellState
from binlogkit.rows.schema import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit._kernel.columns import TakenColumn

__all__ = ["change_columns"]

_BEFORE, _AFTER = 0, 1
_INSERT, _DELETE = 0, 2


def change_columns(schema: TableSchema, builder: TableBuilder) -> dict[str, pa.Array]:
    """What ``builder`` holds of a table's row changes, as columns of the canonical batch.

    The facts of ``FACT_NAMES`` as int64, ``op``, the images, their states and the raw cells. With
    columns left out, images, states and the raw cells' numbers are those of the columns asked for.
    """
    import pyarrow as pa

    plan: TablePlan = builder.plan
    rows, facts, ops, images, states, raws, heap = builder.take()
    op = np.frombuffer(_buffer(ops), np.uint8) if rows else np.empty(0, np.uint8)
    batch = _Batch(schema, plan, rows)
    for image, columns in enumerate(images):
        batch.columns[image] = [batch.column(image, i, c) for i, c in enumerate(columns)]
        batch.states[image] = _states(states[image], rows)
    batch.take_raws(raws, heap)
    batch.settle()
    arrays = {
        name: pa.Array.from_buffers(pa.int64(), rows, [None, _buffer(block)])
        for name, block in zip(FACT_NAMES, facts, strict=True)
    }
    indices = pa.array(op.astype(np.int32))
    arrays["op"] = pa.DictionaryArray.from_arrays(indices, pa.array(OPS), safe=False)
    arrays["before"] = batch.struct(_BEFORE, op == _INSERT)
    arrays["after"] = batch.struct(_AFTER, op == _DELETE)
    arrays["before_state"], arrays["after_state"] = batch.states
    arrays["raw"] = batch.raw_array()
    return arrays


def _buffer(block: Any) -> pa.Buffer:
    import pyarrow as pa

    return pa.foreign_buffer(block.address, block.size, block)


def _array(kind: pa.DataType, rows: int, taken: TakenColumn | None) -> pa.Array:
    import pyarrow as pa

    if taken is None:
        return pa.nulls(rows, kind)
    nulls, validity, offsets, data = taken
    buffers = [None if validity is None else _buffer(validity)]
    if offsets is not None:
        buffers.append(_buffer(offsets))
    return pa.Array.from_buffers(kind, rows, [*buffers, _buffer(data)], null_count=nulls)


def _states(taken: TakenColumn | None, rows: int) -> pa.Array:
    import pyarrow as pa

    kind = pa.list_(pa.uint8())
    if taken is None:
        return pa.nulls(rows, kind)
    nulls, validity, offsets, data = taken
    assert offsets is not None
    values = pa.Array.from_buffers(pa.uint8(), data.size, [None, _buffer(data)])
    buffers = [None if validity is None else _buffer(validity), _buffer(offsets)]
    return pa.ListArray.from_buffers(kind, rows, buffers, null_count=nulls, children=[values])


class _Batch:
    """One batch under construction; ``raws``: (row, image, column) -> (state, bytes, text)."""

    def __init__(self, schema: TableSchema, plan: TablePlan, rows: int) -> None:
        self.plan = plan
        self.rows = rows
        if not plan.fields:
            plan.fields = [column_field(schema.columns[i]) for i in plan.wanted]
        self.fields = plan.fields
        self.labels = [schema.columns[i].labels for i in plan.wanted]
        self.columns: list[list[pa.Array]] = [[], []]
        self.states: list[pa.Array] = [None, None]
        self.raws: dict[tuple[int, int, int], tuple[int, bytes, str]] = {}
        self.changed: dict[tuple[int, int], dict[int, int]] = {}  # (image, row) -> states by column

    def column(self, image: int, out: int, taken: TakenColumn | None) -> pa.Array:
        """The array of one column of an image."""
        import pyarrow as pa

        kind = self.fields[out].type
        labels = self.labels[out]
        if self.plan.columns[self.plan.wanted[out]].by_codec:
            return self._decoded(image, out, kind, _array(pa.binary(), self.rows, taken))
        if pa.types.is_dictionary(kind):
            return _labelled(_array(pa.int32(), self.rows, taken), labels or ())
        if labels is not None:
            return _sets(_array(pa.uint64(), self.rows, taken), labels)
        return _array(kind, self.rows, taken)

    def _decoded(self, image: int, out: int, kind: pa.DataType, stored: pa.Array) -> pa.Array:
        import pyarrow as pa

        values: list[object] = []
        for row, raw in enumerate(stored.to_pylist()):
            value = None if raw is None else self.plan.read(out, raw)
            if isinstance(value, Undecodable):
                self._mark(row, image, out, CellState.UNDECODABLE, value.raw, value.reason)
                value = None
            values.append(value)
        return pa.array(values, kind)

    def _mark(self, row: int, image: int, out: int, state: int, raw: bytes, text: str) -> None:
        self.raws[row, image, out] = (state, raw, text)
        self.changed.setdefault((image, row), {})[out] = state

    def take_raws(self, raws: Sequence[tuple[int, ...]], heap: bytes) -> None:
        """The raw cells that the kernel kept, with what the codec says of them."""
        for row, image, out, state, start, length in raws:
            raw = heap[start : start + length]
            if state == CellState.JSON_DIFF:
                self._take_diff(row, image, out, raw)
                continue
            value = self.plan.read(out, raw)
            if isinstance(value, NoArrowValue):
                text = value.text
            elif isinstance(value, Undecodable):
                text = value.reason
            else:
                text = f"{length} bytes are more than an Arrow string can hold"
            self.raws[row, image, out] = (state, raw, text)

    def _take_diff(self, row: int, image: int, out: int, raw: bytes) -> None:
        try:
            text = diff_text(raw)
        except ValueError as exc:
            self._mark(row, image, out, CellState.UNDECODABLE, raw, str(exc))
            return
        self.raws[row, image, out] = (CellState.JSON_DIFF, raw, text)

    def settle(self) -> None:
        """Apply the diffs whose document is known, and the states that Python found."""
        documents: dict[int, dict[int, str]] = {}
        for (row, image, out), (state, raw, _) in list(self.raws.items()):
            before = self.columns[_BEFORE][out][row].as_py() if state == CellState.JSON_DIFF else 0
            if not isinstance(before, str):
                continue
            try:
                documents.setdefault(out, {})[row] = apply(before, parse_diffs(raw))
            except ValueError:
                continue  # it does not fit: the diff stays what is known
            del self.raws[row, image, out]
            self.changed.setdefault((image, row), {})[out] = CellState.VALUE
        for out, texts in documents.items():
            self.columns[_AFTER][out] = _replaced(self.columns[_AFTER][out], texts)
        for image in (_BEFORE, _AFTER):
            if any(side == image for side, _ in self.changed):
                self.states[image] = self._patched(image)

    def _patched(self, image: int) -> pa.Array:
        import pyarrow as pa

        known = self.states[image].to_pylist()
        for (side, row), changes in self.changed.items():
            if side != image:
                continue
            states = known[row] or [
                int(CellState.VALUE if c[row].is_valid else CellState.NULL)
                for c in self.columns[image]
            ]
            for out, state in changes.items():
                states[out] = int(state)
            known[row] = states if max(states) > CellState.NULL else None
        return pa.array(known, pa.list_(pa.uint8()))

    def struct(self, image: int, missing: np.ndarray[Any, Any]) -> pa.StructArray:
        """One image; null where the change has none."""
        import pyarrow as pa

        validity = None
        if missing.any():
            validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.StructArray.from_buffers(
            pa.struct(self.fields), self.rows, [validity], children=self.columns[image]
        )

    def raw_array(self) -> pa.Array:
        """The raw cells per row."""
        import pyarrow as pa

        kind = pa.list_(
            pa.struct(
                [
                    pa.field("image", pa.uint8()),
                    pa.field("column", pa.uint16()),
                    pa.field("bytes", pa.binary()),
                    pa.field("text", pa.string()),
                ]
            )
        )
        if not self.raws:
            return pa.nulls(self.rows, kind)
        cells: list[list[dict[str, object]] | None] = [None] * self.rows
        for (row, image, out), (_, raw, text) in sorted(self.raws.items()):
            of_row = cells[row]
            if of_row is None:
                of_row = cells[row] = []
            of_row.append({"image": image, "column": out, "bytes": raw, "text": text})
        return pa.array(cells, kind)


def _labelled(indices: pa.Array, labels: Sequence[str]) -> pa.DictionaryArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    # Index 0 is the empty string that the server stores for a value that is no member.
    names = ("", *labels)
    if len(set(names)) < len(names):
        first = pa.array([names.index(name) for name in names], pa.int32())
        indices = pc.take(first, indices)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _sets(masks: pa.Array, labels: Sequence[str]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(masks)
    texts = [
        ",".join(label for i, label in enumerate(labels) if mask >> i & 1)
        for mask in coded.dictionary.to_pylist()
    ]
    return pc.take(pa.array(texts, pa.string()), coded.indices)


def _replaced(column: pa.Array, texts: dict[int, str]) -> pa.Array:
    import pyarrow as pa

    values = column.to_pylist()
    for row, text in texts.items():
        values[row] = text
    return pa.array(values, column.type)
