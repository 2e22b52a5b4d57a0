"""Arrow tables -> pandas frames as a pandas user would make them, and back.

Times have their zone, texts are strings that sort and take ``.str``, whole numbers stay whole where
some are missing, decimals are exact. The type of a column follows from its declaration (or, of a
table's own columns, from its Arrow type), never from the values: so it is the same with and without
rows, and with and without nulls. Only the different ones among lists, and ``raw``, go through
Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from binlogkit._kernel.value_text import hex_text
from binlogkit.errors import UsageError
from binlogkit.frames.decimals import DecimalArray
from binlogkit.frames.fields.field import TIMES, Field, Fields, arrow_type
from binlogkit.frames.flat_cells import CELLS_TYPE

Decimals: TypeAlias = Literal["exact", "float"]

_IMAGES = ("before", "after")
_MASKED = {"bool": "boolean"} | {
    f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
#: Statements of megabytes, each of which may stand beside ten thousand rows: held once.
_REPEATED = "query"


def natural(
    table: pa.Table, declared: Fields = (), *, decimals: Decimals = "exact"
) -> pd.DataFrame:
    """The table as a pandas frame; ``declared``: what is known of its columns.

    ``decimals``: ``exact``, or ``float``.
    """
    if decimals not in ("exact", "float"):
        raise UsageError(f"decimals is exact or float, not {decimals!r}")
    known = {field.name: field for field in declared}
    columns = [
        _column(column, known.get(name), decimals)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    index = pd.RangeIndex(table.num_rows)
    frame = pd.DataFrame(dict(enumerate(columns)), index=index, copy=False)
    frame.columns = pd.Index(table.column_names, dtype=object)
    return frame


def plain(frame: pd.DataFrame, declared: Fields = ()) -> pa.Table:
    """A pandas frame as an Arrow table: times that are ``declared`` as integers, lists and columns
    without a value in their own type."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    known, types = {field.name: field for field in declared}, pa.types
    for i, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        field, column = known.get(name), table.column(i)
        if types.is_large_string(kind):
            column = column.cast(pa.string())
        elif field is None or field.type in ("image", "raw"):
            continue
        elif types.is_timestamp(kind) and field.type in TIMES:
            column = column.cast(pa.timestamp(TIMES[field.type], kind.tz)).cast(pa.int64())
        elif types.is_null(kind) or types.is_list(kind):
            column = column.cast(arrow_type(field.type))
        table = table.set_column(i, name, column)
    return table


def _column(column: pa.ChunkedArray, field: Field | None, decimals: str) -> Any:
    """A column as an array of pandas or numpy."""
    kind = column.type
    if field is not None:
        if field.type in TIMES:
            return _times(TIMES[field.type], utc=True)(column)
        if field.type == "raw":
            return _raw_texts(column)
        if field.type == "as given":
            return pd.arrays.ArrowExtensionArray(column)
        if field.name == _REPEATED:
            return _shared(column)
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_decimal(kind) and decimals == "float":
        return _plain(column.cast(pa.float64()))
    for fits, make in _BY_TYPE:
        if fits(kind):
            return make(column)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        always = field is not None and not field.nullable and not column.null_count
        if always:
            return _plain(column)
        masked: Any = pd.api.types.pandas_dtype(_MASKED[str(kind)])
        return masked.__from_arrow__(column)
    return pd.arrays.ArrowExtensionArray(column)


def _plain(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Numbers, or bytes, in numpy; NaN, which is no number that MySQL stores, where one is missing,
    and None among bytes."""
    values: np.ndarray[Any, Any] = column.to_numpy()
    return values if values.flags.writeable else values.copy()


def _texts(column: pa.ChunkedArray) -> Any:
    return pd.arrays.ArrowStringArray(column.cast(pa.large_string()))


def _shared(column: pa.ChunkedArray) -> Any:
    """Texts that repeat: each is there once, however many rows have it."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    parts = [np.zeros(0, object)]
    for chunk in encoded.chunks:
        words = np.array([*chunk.dictionary.to_pylist(), pd.NA], object)
        parts.append(words[chunk.indices.fill_null(len(words) - 1).to_numpy()])
    return pd.arrays.StringArray(np.concatenate(parts))


def _times(unit: str, *, utc: bool) -> Callable[[pa.ChunkedArray], Any]:
    """Columns of times, of integers with this unit too, in microseconds."""

    def make(column: pa.ChunkedArray) -> Any:
        moments = column.cast(pa.timestamp(unit)).cast(pa.timestamp("us"))
        index = pd.DatetimeIndex(_plain(moments))
        return index.tz_localize("UTC").array if utc else index.array

    return make


def _tuples(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Lists as tuples, which can be compared, grouped and dropped as duplicates."""
    parts = [np.zeros(0, object)]
    for chunk in column.chunks:
        if chunk.null_count == len(chunk):
            parts.append(np.full(len(chunk), None, object))
            continue
        values = chunk.flatten().dictionary_encode().indices.fill_null(-1).cast(pa.int32())
        places = np.append(0, np.cumsum(chunk.value_lengths().fill_null(0))).astype(np.int64)
        patterns = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(chunk),
            [None, pa.py_buffer(places * values.type.byte_width), pa.py_buffer(values.to_numpy())],
        ).dictionary_encode()
        # Each different list once, as it stands in the first row that has it; last what is missing.
        rows = patterns.indices.to_numpy()
        firsts = np.unique(rows, return_index=True)[1]
        rows = np.where(np.asarray(chunk.is_valid()), rows, len(firsts))
        lists = np.full(len(firsts) + 1, None, object)
        for i, value in enumerate(chunk.fill_null([]).take(pa.array(firsts)).to_pylist()):
            lists[i] = tuple(value)
        parts.append(lists[rows])
    return pd.Series(np.concatenate(parts), dtype=object, copy=False)


def _raw_texts(column: pa.ChunkedArray) -> Any:
    """The cells of ``raw``, or ``_cells``, as JSON text, bytes as ``0x…``."""
    if column.null_count == len(column):
        return _texts(pa.chunked_array([pa.nulls(len(column), pa.string())]))
    texts = [None if cells is None else _raw_text(cells) for cells in column.to_pylist()]
    return _texts(pa.chunked_array([pa.array(texts, pa.string())]))


def _raw_text(cells: list[dict[str, Any]]) -> str:
    for cell in cells:
        if "image" in cell:
            cell["image"] = _IMAGES[cell["image"]]
        cell["bytes"] = None if cell["bytes"] is None else hex_text(cell["bytes"])
    return json.dumps(cells, ensure_ascii=False)


_TYPES = pa.types
_BY_TYPE: list[tuple[Callable[[Any], bool], Callable[[Any], Any]]] = [
    (CELLS_TYPE.equals, _raw_texts),
    (_TYPES.is_string, _texts),
    (_TYPES.is_large_string, _texts),
    (_TYPES.is_floating, _plain),
    (_TYPES.is_binary, _plain),
    (_TYPES.is_decimal, DecimalArray),
    (lambda kind: _TYPES.is_timestamp(kind) and kind.tz is not None, _times("us", utc=True)),
    (_TYPES.is_timestamp, _times("us", utc=False)),
    (_TYPES.is_date, _times("us", utc=False)),
    (_TYPES.is_duration, lambda column: pd.TimedeltaIndex(_plain(column)).array),
    (lambda kind: _TYPES.is_list(kind) and not _TYPES.is_nested(kind.value_type), _tuples),
]
