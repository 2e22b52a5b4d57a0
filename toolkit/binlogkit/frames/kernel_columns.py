"""The kernel's buffers -> Arrow arrays of the canonical batch.

What the kernel leaves to Python is finished here: labels of ENUM and SET, character sets that the
codecs read, the words beside a cell that has no Arrow value, and partial JSON updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from binlogkit._kernel.cells import NoArrowValue, Undecodable
from binlogkit._kernel.columns import TablePlan
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.runs import OP
from binlogkit.frames.arrays import buffer, nothing, text_array, text_places
from binlogkit.frames.fields.field import arrow_type
from binlogkit.frames.layouts import ColumnLayout, Layout, layout_of
from binlogkit.frames.schema import OPS, CellState
from binlogkit.rows.schema import TableSchema

if TYPE_CHECKING:
    from binlogkit._kernel.columns import TakenColumn
    from binlogkit._kernel.native.values import Block

_BEFORE, _AFTER = 0, 1
_INSERT, _DELETE = 0, 2
_DIGEST_BYTES = 24  # of an image


class TakenBuffers:
    """What a builder held: its buffers, of which the columns are made when they are asked for."""

    __slots__ = (
        "_columns", "_digests", "_heap", "_images", "_raws", "_states", "plan", "rows", "runs",
        "schema",
    )  # fmt: skip

    def __init__(self, schema: TableSchema, builder: TableBuilder) -> None:
        self.schema = schema
        self.plan: TablePlan = builder.plan
        taken = builder.take()
        self.rows, self.runs, self._images, self._states = taken[:4]
        self._digests, self._raws, self._heap = taken[4:]
        self._columns: dict[str, pa.Array] | None = None

    @property
    def layout(self) -> Layout:
        """How the table's arrays are made."""
        return layout_of(self.schema, self.plan)

    @property
    def size(self) -> int:
        """Bytes of the buffers."""
        parts = [part for image in self._images for part in image if part is not None]
        parts += [part for part in (*self._states, *self._digests) if part is not None]
        blocks = [block for part in parts for block in part[1:] if block is not None]
        return sum([block.size for block in blocks], len(self._heap))

    def columns(self) -> dict[str, pa.Array]:
        """``op``, the images, their states and the raw cells, as the canonical batch has them.

        With columns left out, images, states and the raw cells' numbers are those of the columns
        asked for.
        """
        if self._columns is None:
            self._columns = self._made()
        return self._columns

    def _made(self) -> dict[str, pa.Array]:
        batch = _Batch(self.layout, self.plan, self.rows)
        for image, columns in enumerate(self._images):
            batch.columns[image] = [batch.column(image, i, c) for i, c in enumerate(columns)]
            batch.states[image] = _states(self._states[image], self.rows)
        if self._raws:
            batch.take_raws(self._raws, self._heap)
        if batch.raws:
            batch.settle()
        runs = self.runs
        return {
            "op": pa.DictionaryArray.from_buffers(
                text_places(), runs.rows, [None, buffer(runs.fact(OP))], _names_of_ops()
            ),
            "before": batch.struct(_BEFORE, *runs.without(_INSERT)),
            "after": batch.struct(_AFTER, *runs.without(_DELETE)),
            "before_state": batch.states[_BEFORE],
            "after_state": batch.states[_AFTER],
            "raw": batch.raw_array(),
        }

    def digests(self) -> list[pa.Array]:
        """The digests of the images before and after, null where there is none; if asked for."""
        if not self.plan.digested:
            return []
        kind = pa.binary(_DIGEST_BYTES)
        return [
            pa.nulls(self.rows, kind) if found is None else _array(kind, self.rows, found)
            for found in self._digests
        ]


@lru_cache(1)
def _names_of_ops() -> pa.Array:
    return text_array(OPS)


def _array(kind: pa.DataType, rows: int, taken: TakenColumn) -> pa.Array:
    nulls, validity, offsets, data = taken
    buffers = [None if validity is None else buffer(validity)]
    if offsets is not None:
        buffers.append(buffer(offsets))
    return pa.Array.from_buffers(kind, rows, [*buffers, buffer(data)], null_count=nulls)


def _states(taken: TakenColumn | None, rows: int) -> pa.Array:
    kind = pa.list_(pa.uint8())
    if taken is None:
        return nothing("states", kind, rows)
    nulls, validity, offsets, data = taken
    assert offsets is not None
    values = pa.Array.from_buffers(pa.uint8(), data.size, [None, buffer(data)])
    buffers = [None if validity is None else buffer(validity), buffer(offsets)]
    return pa.ListArray.from_buffers(kind, rows, buffers, null_count=nulls, children=[values])


class _Batch:
    """One batch under construction; ``raws``: (row, image, column) -> (state, bytes, text)."""

    def __init__(self, layout: Layout, plan: TablePlan, rows: int) -> None:
        self.plan = plan
        self.rows = rows
        self.layout = layout
        self.columns: list[list[pa.Array]] = [[], []]
        self.states: list[pa.Array] = [None, None]
        self.raws: dict[tuple[int, int, int], tuple[int, bytes, str]] = {}
        self.changed: dict[tuple[int, int], dict[int, int]] = {}  # (image, row) -> states by column

    def column(self, image: int, out: int, taken: TakenColumn | None) -> pa.Array:
        """The array of one column of an image."""
        column = self.layout.columns[out]
        if taken is None and column.places is not None:
            return _labelled(nothing("int32", column.stored, self.rows), column)
        if taken is None:
            return nothing(column.name, column.kind, self.rows)
        if column.by_codec:
            return self._decoded(image, out, column.kind, _array(column.stored, self.rows, taken))
        if column.places is not None:
            return _labelled(_array(column.stored, self.rows, taken), column)
        if column.labels is not None:
            return _sets(_array(column.stored, self.rows, taken), column.labels)
        return _array(column.kind, self.rows, taken)

    def _decoded(self, image: int, out: int, kind: pa.DataType, stored: pa.Array) -> pa.Array:
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
        from binlogkit._kernel.json_diff import diff_text

        try:
            text = diff_text(raw)
        except ValueError as exc:
            self._mark(row, image, out, CellState.UNDECODABLE, raw, str(exc))
            return
        self.raws[row, image, out] = (CellState.JSON_DIFF, raw, text)

    def settle(self) -> None:
        """Apply the diffs whose document is known, and the states that Python found."""
        from binlogkit._kernel.json_diff import apply, parse_diffs

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

    def struct(self, image: int, missing: int, there: Block | None) -> pa.StructArray:
        """One image; null where the change has none: ``missing`` times, where ``there`` has a 0."""
        validity = None if there is None else buffer(there)
        return pa.StructArray.from_buffers(
            self.layout.image, self.rows, [validity], missing, children=self.columns[image]
        )

    def raw_array(self) -> pa.Array:
        """The raw cells per row."""
        if not self.raws:
            return nothing("raw", arrow_type("raw"), self.rows)
        cells: list[list[dict[str, object]] | None] = [None] * self.rows
        for (row, image, out), (_, raw, text) in sorted(self.raws.items()):
            of_row = cells[row]
            if of_row is None:
                of_row = cells[row] = []
            of_row.append({"image": image, "column": out, "bytes": raw, "text": text})
        return pa.array(cells, arrow_type("raw"))


def _labelled(indices: pa.Array, column: ColumnLayout) -> pa.DictionaryArray:
    if column.firsts is not None:
        indices = column.firsts.take(indices)
    return pa.DictionaryArray.from_arrays(indices, column.places, safe=False)


def _sets(masks: pa.Array, labels: Sequence[str]) -> pa.Array:
    coded = masks.dictionary_encode()
    texts = [
        ",".join(label for i, label in enumerate(labels) if mask >> i & 1)
        for mask in coded.dictionary.to_pylist()
    ]
    return text_array(texts).take(coded.indices)


def _replaced(column: pa.Array, texts: dict[int, str]) -> pa.Array:
    values = column.to_pylist()
    for row, text in texts.items():
        values[row] = text
    return pa.array(values, column.type)
