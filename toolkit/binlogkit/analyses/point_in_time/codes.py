"""Values of columns as integers: rows get the same integer if all of their parts are equal.

Sorting, matching and grouping rows are then operations on one array of integers each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SPARSE = 4  # codes may be this many times as large as there are rows, and ...
_SMALL = 1 << 16  # ... this much larger
_LARGEST = 1 << 62


def codes(parts: Sequence[Any]) -> Integers:
    """A code for each row of these columns (chunked arrays), 0 to a small multiple of their number.

    NULL equals NULL.
    """
    return combined([column_codes(part) for part in parts])


def combined(columns: Sequence[Integers]) -> Integers:
    """The codes of rows whose columns have these codes."""
    found, size = columns[0], _size(columns[0])
    for column in columns[1:]:
        more = _size(column)
        if size * more > _LARGEST:
            found = _dense(found)
            size = _size(found)
        found, size = found * more + column, size * more
    return _dense(found) if size > _SPARSE * len(found) + _SMALL else found


def column_codes(column: Any) -> Integers:
    """A code for each row of one column; NULL has one too."""
    column = decoded(column)
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)  # -0.0 equals 0.0
    near = _by_distance(column)
    if near is not None:
        return near
    chunks = column.dictionary_encode(null_encoding="encode").chunks
    found = [np.asarray(chunk.indices, dtype=np.int64) for chunk in chunks]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def decoded(column: Any) -> Any:
    """A dictionary column decoded to its values; others unchanged."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def unequal(one: Any, other: Any) -> Flags:
    """Where two columns of one type differ; NULL equals NULL."""
    differs: Flags = np.asarray(pc.fill_null(pc.not_equal(one, other), False))
    if not one.null_count and not other.null_count:
        return differs
    nulls: Flags = np.asarray(one.is_null()) != np.asarray(other.is_null())
    return differs | nulls


def runs(values: Integers) -> NDArray[np.bool_]:
    """Whether each of these sorted values is the first of its kind."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def occurrences(values: Integers) -> Integers:
    """How often each value occurs before."""
    order = np.argsort(values, kind="stable")
    at = np.arange(len(values))
    found = np.empty_like(at)
    found[order] = at - np.maximum.accumulate(np.where(runs(values[order]), at, 0))
    return found


def roots(links: Integers) -> Integers:
    """Where the chain of links from each place ends; a place that links to itself is an end."""
    while True:
        further = links[links]
        if np.array_equal(further, links):
            return links
        links = further


def _by_distance(column: Any) -> Integers | None:
    """Integers close to each other as distances from the lowest; None for others."""
    if not len(column):
        return np.empty(0, np.int64)
    if pa.types.is_temporal(column.type):
        if pa.types.is_interval(column.type):
            return None
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        column = pa.chunked_array([chunk.view(width) for chunk in column.chunks], width)
    if not pa.types.is_integer(column.type):
        return None
    empty = np.asarray(column.is_null()) if column.null_count else None
    values = np.asarray(pc.fill_null(column, 0) if empty is not None else column)
    low, high = int(values.min()), int(values.max())
    if high - low + 2 > _SPARSE * len(values) + _SMALL:
        return None
    if values.dtype == np.uint64:
        found = (values - np.uint64(low)).astype(np.int64)
    else:
        found = values.astype(np.int64) - low
    if empty is not None:
        found[empty] = high - low + 1
    return found


def _size(column: Integers) -> int:
    return int(column.max(initial=0)) + 1


def _dense(values: Integers) -> Integers:
    return np.asarray(pa.array(values).dictionary_encode().indices, dtype=np.int64)
