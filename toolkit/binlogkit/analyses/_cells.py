"""The cells of an image by the column: values, missing cells, and cells without a plain value."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.value_text import not_finite
from binlogkit.frames.records import cell_values, special_value
from binlogkit.frames.schema import CellState
from binlogkit.frames.text_columns import Mask


@dataclass(frozen=True, slots=True)
class Cells:
    """A column of an image.

    ``array``: its values, an ENUM's as text; ``missing``: where it is not in the image;
    ``special``: by row cells that are no value of ``array``, in the contract's form: the text of a
    date that Arrow lacks, or a record of bytes or of a JSON diff.
    """

    field: pa.Field
    array: pa.Array
    missing: Mask
    special: Mapping[int, Any]

    def value(self, row: int) -> Any:
        """The value of a row in the contract's form."""
        if row in self.special:
            return self.special[row]
        return cell_values(self.array.slice(row, 1), self.field)[0]

    def holds(self, word: str) -> Mask:
        """Where a cell is a record with this key instead of a value: ``undecodable``,
        ``json_diff``."""
        rows = np.zeros(len(self.array), np.bool_)
        for row, value in self.special.items():
            rows[row] = isinstance(value, dict) and word in value
        return rows

    def over(self, before: Cells) -> Cells:
        """These cells; where they are not in this image, those of the image before."""
        if not self.missing.any():
            return self
        array = pc.if_else(pa.array(self.missing), before.array, self.array)
        kept = {row: v for row, v in before.special.items() if self.missing[row]}
        return Cells(self.field, array, self.missing & before.missing, kept | {**self.special})

    def differs(self, other: Cells) -> Mask:
        """Where the values differ; a JSON diff is always a change."""
        equal = _mask(pc.fill_null(pc.equal(self.array, other.array), False))
        if self.array.null_count and other.array.null_count:
            equal |= _mask(pc.and_(self.array.is_null(), other.array.is_null()))
        for row in {*self.special, *other.special}:
            equal[row] = _equal(self.value(row), other.value(row))
        return ~equal


def image_cells(
    batch: pa.RecordBatch, which: str, names: Container[str] | None = None
) -> dict[str, Cells]:
    """The columns of ``before`` or ``after`` by name, or some of them; missing without the
    image."""
    struct = batch.column(which)
    states = states_of(batch, which)
    special = _special(batch.column("raw"), 0 if which == "before" else 1, states)
    absent = _mask(struct.is_null())
    cells = {}
    for i, (field, array) in enumerate(zip(struct.type, struct.flatten(), strict=True)):
        if names is not None and field.name not in names:
            continue
        odd = special.get(i, {})
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_floating(array.type):
            odd |= _not_finite(array)
        elif not pa.types.is_temporal(array.type):  # texts that no Arrow string can hold
            odd = {row: _unreadable(value) for row, value in odd.items()}
        gone = absent if states is None else absent | (states[:, i] == CellState.NOT_IN_IMAGE)
        cells[field.name] = Cells(field, array, gone, odd)
    return cells


def constant_cells(field: pa.Field, value: Any, size: int) -> Cells:
    """A column with one value in all rows."""
    array = pa.array([value], field.type).take(pa.array(np.zeros(size, np.int64)))
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return Cells(field, array, np.zeros(size, np.bool_), {})


def _mask(array: pa.BooleanArray) -> Mask:
    return np.array(array, np.bool_)


def states_of(batch: pa.RecordBatch, image: str) -> Any:
    """An image's states as a matrix of rows and columns; None where all cells are values."""
    lists, width = batch.column(f"{image}_state"), batch.schema.field(image).type.num_fields
    if lists.null_count == len(lists) or not width:
        return None
    states = np.zeros((len(lists), width), np.uint8)
    states[_mask(lists.is_valid())] = lists.drop_null().flatten().to_numpy().reshape(-1, width)
    return states


def _special(raw: pa.ListArray, image: int, states: Any) -> dict[int, dict[int, Any]]:
    """The values of an image's raw cells, by column and row."""
    found: dict[int, dict[int, Any]] = {}
    if states is None or raw.null_count == len(raw):
        return found
    for row in np.flatnonzero(_mask(raw.is_valid())).tolist():
        for cell in raw[row].as_py():
            column = cell["column"]
            if cell["image"] == image:
                found.setdefault(column, {})[row] = special_value(states[row, column], cell)
    return found


def _not_finite(array: pa.Array) -> dict[int, Any]:
    finite = pc.fill_null(pc.is_finite(array), True)
    rows: Iterator[int] = iter(np.flatnonzero(~_mask(finite)).tolist())
    return {row: not_finite(array[row].as_py()) for row in rows}


def _unreadable(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"undecodable": None, "reason": value}


def _equal(one: object, other: object) -> bool:
    if isinstance(one, dict) or isinstance(other, dict):
        return one == other and isinstance(one, dict) and "undecodable" in one
    return one == other and type(one) is type(other)
