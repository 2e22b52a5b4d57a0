"""Arrow arrays on the kernel's memory, and the few others that most batches have.

``pyarrow.array``, ``scalar`` and ``to_numpy`` load pandas where it is installed, which takes longer
than a log of some size: nothing here uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.columns import MAX_ROWS

if TYPE_CHECKING:
    from binlogkit._kernel.native.values import Block

#: Rows for each value that is known of them, from where looking at the values costs little.
FEW = 8

_NOTHING: dict[str, pa.Array] = {}


def buffer(block: Block) -> pa.Buffer:
    """An Arrow buffer on a block of the kernel's."""
    return pa.foreign_buffer(block.address, block.size, block)


def nothing(name: str, kind: pa.DataType, rows: int) -> pa.Array:
    """NULLs; those of one ``name``, which must be of one ``kind``, share their memory."""
    known = _NOTHING.get(name)
    if known is None or len(known) < rows:
        known = _NOTHING[name] = pa.nulls(max(rows, MAX_ROWS), kind)
    return known if len(known) == rows else known.slice(0, rows)


def one_number(value: int, rows: int) -> pa.Array:
    """One int64 for all rows; those of one number share their memory."""
    known = _numbers(value, max(rows, MAX_ROWS))
    return known if len(known) == rows else known.slice(0, rows)


@lru_cache(8)
def _numbers(value: int, rows: int) -> pa.Array:
    stored = pa.py_buffer(np.full(rows, value, np.int64))
    return pa.Array.from_buffers(pa.int64(), rows, [None, stored], 0)


def numbers(
    values: np.ndarray[Any, Any],
    kind: pa.DataType | None = None,
    there: np.ndarray[Any, Any] | None = None,
) -> pa.Array:
    """Integers, by default of 64 bits; NULL where ``there`` is 0."""
    kind = kind or (pa.uint64() if values.dtype == np.uint64 else pa.int64())
    stored = pa.py_buffer(np.ascontiguousarray(values, str(kind)))
    validity = None if there is None or there.all() else bits(there)
    return pa.Array.from_buffers(kind, len(values), [validity, stored])


def integers(values: np.ndarray[Any, Any]) -> pa.Array:
    """int32 values."""
    return numbers(values, pa.int32())


def bits(values: np.ndarray[Any, Any]) -> pa.Buffer:
    """A bit for each value, set where it is not 0."""
    return pa.py_buffer(np.packbits(values != 0, bitorder="little"))


def places_of(coded: pa.DictionaryArray) -> np.ndarray[Any, Any]:
    """The int32 places of an array without NULLs that was encoded as a whole."""
    return np.frombuffer(coded.indices.buffers()[1], np.int32, len(coded))


def text_array(values: Sequence[str | None]) -> pa.Array:
    """Text; None is NULL."""
    stored = [b"" if value is None else value.encode() for value in values]
    ends = np.zeros(len(stored) + 1, np.int64)
    np.cumsum([len(text) for text in stored], out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array(values, pa.string())
    there = None
    if None in values:
        there = bits(np.array([value is not None for value in values]))
    offsets, data = pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(b"".join(stored))
    return pa.Array.from_buffers(pa.string(), len(stored), [there, offsets, data])


def flags(values: np.ndarray[Any, Any]) -> pa.Array:
    """True where a value is not 0."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits(values)])


@lru_cache(1)
def text_places() -> pa.DataType:
    """The type of text that repeats."""
    return pa.dictionary(pa.int32(), pa.string())


def one_text(text: str) -> pa.Scalar:
    """A text for Arrow's functions, which load pandas where they are given a ``str``."""
    return _one(text)[0]


def constant(text: str | None, rows: int) -> pa.DictionaryArray:
    """One text for all rows."""
    kind = text_places()
    if text is None:
        return nothing("dictionary", kind, rows)
    zeros = _zeros(max(rows, MAX_ROWS))
    return pa.DictionaryArray.from_buffers(kind, rows, [None, zeros], _one(text), 0)


@lru_cache(4)
def _zeros(rows: int) -> pa.Buffer:
    return pa.py_buffer(bytes(4 * rows))


@lru_cache(64)
def _one(text: str) -> pa.Array:
    return text_array([text])


def lists(
    owner: np.ndarray[Any, Any],
    values: pa.Array,
    mask: np.ndarray[Any, Any],
    kind: pa.DataType | None = None,
) -> pa.ListArray:
    """One list for each row, of its values, in order; null by the mask; ``kind``: its type."""
    ends = np.cumsum(np.bincount(owner, minlength=len(mask)))
    offsets = numbers(np.append(0, ends), pa.int32())
    none = None
    if mask.any():
        none = pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits(mask)])
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=none)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a dictionary's values; another as it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array; of one chunk this is the chunk, which combine_chunks would copy."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def filtered(batch: pa.RecordBatch, stay: np.ndarray[Any, Any]) -> pa.RecordBatch:
    """Those rows of a batch; itself if all of them stay."""
    return batch if stay.all() else batch.filter(pa.array(stay))
