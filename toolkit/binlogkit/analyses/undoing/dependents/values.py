"""Values of columns as numbers: the same number for what is equal, or may be by a collation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.collations import FoldedTexts, is_text
from binlogkit.analyses.point_in_time.codes import Flags, Integers, column_codes, combined
from binlogkit.frames.arrays import one_array

_NO_VALUES = (pa.ArrowInvalid, pa.ArrowNotImplementedError)  # of another type


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """Cells of one column.

    ``array``: their values; ``missing``: which are not known; ``special``: by place those that are
    no value of ``array``, as in Cells.
    """

    array: Any
    missing: Flags
    special: dict[int, Any]

    @property
    def null(self) -> Flags:
        """Which are NULL."""
        found: Flags = np.asarray(self.array.is_null()) & ~self.missing
        found[list(self.special)] = False
        return found

    def take(self, places: Integers) -> ValueColumn:
        """The cells at some places; not known at places below 0."""
        at = np.where(places < 0, 0, places)
        special = {}
        if self.special:
            odd = np.flatnonzero(np.isin(places, list(self.special)))
            special = {int(i): self.special[int(places[i])] for i in odd}
        missing = self.missing[at] | (places < 0) if len(self.missing) else places < 0
        taken = self.array.take(pa.array(places, mask=places < 0))
        return ValueColumn(taken, missing, special)

    def of_type(self, kind: pa.DataType) -> tuple[pa.Array, dict[int, Any]]:
        """The values as another type, which the column had before, and those by place that are no
        value of it, as texts."""
        array = one_array(self.array)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        try:
            return array.cast(kind), self.special
        except _NO_VALUES:
            values, special = list[Any](), {**self.special}
        for place, text in enumerate(_texts([array])[0]):
            try:
                values.append(text.cast(kind).as_py())
            except _NO_VALUES:
                values.append(None)
                special[place] = text.as_py()
        return pa.array(values, kind), special


def joined(columns: Sequence[ValueColumn]) -> ValueColumn:
    """Columns concatenated; if their types differ, as texts."""
    arrays = [column.array for column in columns]
    last = arrays[-1].type
    if any(array.type != last for array in arrays):
        try:
            arrays = [array.cast(last) for array in arrays]
        except _NO_VALUES:
            arrays = _texts(arrays)
    chunks = [chunk for array in arrays for chunk in _chunks(array)]
    special: dict[int, Any] = {}
    at = 0
    for column in columns:
        special |= {place + at: value for place, value in column.special.items()}
        at += len(column.missing)
    missing = np.concatenate([column.missing for column in columns])
    return ValueColumn(pa.chunked_array(chunks, arrays[-1].type), missing, special)


def _texts(arrays: Sequence[Any]) -> list[Any]:
    """Cells as texts; where some are no UTF-8, each byte of all is a character."""
    try:
        return [array.cast(pa.string()) for array in arrays]
    except pa.ArrowInvalid:
        binary = [a if pa.types.is_binary(a.type) else a.cast(pa.string()) for a in arrays]
        cells = [array.cast(pa.binary()).to_pylist() for array in binary]
    decoded = [[None if v is None else v.decode("latin-1") for v in own] for own in cells]
    return [pa.array(own, pa.string()) for own in decoded]


def _chunks(array: Any) -> list[Any]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def exact_codes(columns: Sequence[ValueColumn]) -> Integers:
    """Numbers of rows of these columns, compared byte by byte."""
    return combined([_codes(column) for column in columns])


def beginning(column: ValueColumn, length: int | None) -> ValueColumn:
    """Only so many characters, or bytes, of each value; None for all."""
    if length is not None and is_text(column.array):
        return replace(column, array=pc.utf8_slice_codeunits(column.array, 0, length))
    if length is not None and pa.types.is_binary(column.array.type):
        return replace(column, array=pc.binary_slice(column.array, 0, length))
    return column


def compared(column: ValueColumn, collation: str | None, *, apart: bool = False) -> ValueColumn:
    """A column with the same values for all that a collation may treat as equal; what it may treat
    as equal to anything is missing.

    ``apart``: whatever other values there are, so that columns of several batches compare; more
    values are the same.
    """
    if not is_text(column.array):
        return column
    texts = FoldedTexts(column.array, collation)
    array = texts.perhaps if apart else texts.closest
    return replace(column, array=array, missing=column.missing | texts.open)


def _codes(column: ValueColumn) -> Integers:
    found = column_codes(column.array)
    if column.special:
        texts = {place: repr(value) for place, value in column.special.items()}
        numbers = {text: i for i, text in enumerate(dict.fromkeys(texts.values()))}
        found = found.copy()
        found[list(texts)] = [int(found.max()) + 1 + numbers[text] for text in texts.values()]
    return found
