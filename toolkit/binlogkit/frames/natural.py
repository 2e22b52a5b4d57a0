"""Arrow tables -> pandas frames as a pandas user would make them.

Times have their zone, texts are strings that sort and take ``.str``, whole numbers stay whole where
some are missing, decimals are exact. The type of a column follows from its declaration (or, of a
table's own columns, from its Arrow type), never from the values: so it is the same with and without
rows, and with and without nulls. Nothing is made one value at a time but lists, ``raw`` and the
different ones among texts that repeat.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError
from binlogkit.frames.fields.field import Field, Fields

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

__all__ = ["natural"]

_IMAGES = ("before", "after")


def natural(table: pa.Table, declared: Fields = (), *, decimals: str = "exact") -> pd.DataFrame:
    """The table as a pandas frame; ``decimals``: ``exact`` or ``float``."""
    import pandas as pd

    if decimals not in ("exact", "float"):
        raise UsageError(f"decimals is exact or float, not {decimals!r}")
    known = {field.name: field for field in declared}
    columns = [
        _column(column, known.get(name), decimals)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    index = pd.RangeIndex(table.num_rows)
    frame = pd.DataFrame(dict(enumerate(columns)), index=index, copy=False)
    frame.columns = pd.Index(table.column_names)
    return frame


def _column(column: pa.ChunkedArray, field: Field | None, decimals: str) -> Any:
    """A column as an array of pandas or numpy."""
    import pyarrow as pa

    kind = column.type
    if field is not None and field.type in _BY_DECLARATION:
        return _BY_DECLARATION[field.type](column)
    if pa.types.is_dictionary(kind):
        return _shared(column) if pa.types.is_string(kind.value_type) else _other(column)
    if pa.types.is_decimal(kind) and decimals == "float":
        return _floats(column.cast(pa.float64()))
    for fits, make in _by_type():
        if fits(kind):
            return make(column)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        always = field is not None and not field.nullable and not column.null_count
        return _plain(column) if always else _masked(column)
    return _other(column)


def _plain(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = column.to_numpy()
    return values if values.flags.writeable else values.copy()


def _floats(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """NaN is no number that MySQL stores: it stands for what is missing."""
    return _plain(column)


def _masked(column: pa.ChunkedArray) -> Any:
    import pandas as pd
    import pyarrow as pa

    whole = pa.types.is_integer(column.type)
    make: Any = pd.arrays.IntegerArray if whole else pd.arrays.BooleanArray
    zero = pa.scalar(0).cast(column.type)
    return make(_plain(column.fill_null(zero)), _plain(column.is_null()))


def _texts(column: pa.ChunkedArray) -> Any:
    import pandas as pd
    import pyarrow as pa

    return pd.arrays.ArrowStringArray(column.cast(pa.large_string()))


def _shared(column: pa.ChunkedArray) -> Any:
    """Texts that repeat: each is there once, however many rows have it. A statement of megabytes
    may stand beside each of ten thousand rows."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    parts = [np.zeros(0, object)]
    for chunk in encoded.chunks:
        words = np.array([*chunk.dictionary.to_pylist(), pd.NA], object)
        parts.append(words[chunk.indices.fill_null(len(words) - 1).to_numpy()])
    return pd.arrays.StringArray(np.concatenate(parts))


def _times(unit: str, *, utc: bool) -> Callable[[pa.ChunkedArray], Any]:
    """Columns of times with this unit, of integers too."""

    def make(column: pa.ChunkedArray) -> Any:
        import pandas as pd
        import pyarrow as pa

        index = pd.DatetimeIndex(_plain(column.cast(pa.timestamp(unit))))
        return index.tz_localize("UTC").array if utc else index.array

    return make


def _durations(column: pa.ChunkedArray) -> Any:
    import pandas as pd

    return pd.TimedeltaIndex(_plain(column)).array


def _decimals(column: pa.ChunkedArray) -> Any:
    from binlogkit.frames.decimals import DecimalArray

    return DecimalArray(column)


def _tuples(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Lists as tuples, which can be compared, grouped and dropped as duplicates."""
    import numpy as np
    import pandas as pd

    made = np.full(len(column), None, object)
    if column.null_count < len(column):
        for i, value in enumerate(column.to_pylist()):
            made[i] = None if value is None else tuple(value)
    return pd.Series(made, dtype=object, copy=False)


def _raw_texts(column: pa.ChunkedArray) -> Any:
    """The cells of ``raw`` as JSON text, bytes as ``0x…``."""
    import pyarrow as pa

    if column.null_count == len(column):
        return _texts(pa.chunked_array([pa.nulls(len(column), pa.string())]))
    texts = [None if cells is None else _raw_text(cells) for cells in column.to_pylist()]
    return _texts(pa.chunked_array([pa.array(texts, pa.string())]))


def _raw_text(cells: list[dict[str, Any]]) -> str:
    shown = [
        {
            "image": _IMAGES[cell["image"]],
            "column": cell["column"],
            "bytes": None if cell["bytes"] is None else f"0x{cell['bytes'].hex().upper()}",
            "text": cell["text"],
        }
        for cell in cells
    ]
    return json.dumps(shown, ensure_ascii=False)


def _other(column: pa.ChunkedArray) -> Any:
    """What pandas has no type of its own for: Arrow's."""
    import pandas as pd

    return pd.arrays.ArrowExtensionArray(column)


_BY_DECLARATION: dict[str, Callable[[Any], Any]] = {
    "string": _shared,
    "seconds": _times("s", utc=True),
    "microseconds": _times("us", utc=True),
    "raw": _raw_texts,
}


@lru_cache(1)
def _by_type() -> list[tuple[Callable[[Any], bool], Callable[[Any], Any]]]:
    import pyarrow as pa

    types = pa.types
    return [
        (types.is_string, _texts),
        (types.is_large_string, _texts),
        (types.is_floating, _floats),
        (types.is_decimal, _decimals),
        (lambda kind: types.is_timestamp(kind) and kind.tz is not None, _times("us", utc=True)),
        (types.is_timestamp, _times("us", utc=False)),
        (types.is_date, _times("s", utc=False)),
        (types.is_duration, _durations),
        (types.is_list, _tuples),
    ]
