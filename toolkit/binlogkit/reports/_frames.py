"""Rows of any dataframe as plain records, for reports that are small by nature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from binlogkit.errors import UsageError, printable


def records_of(frame: Any, needed: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows of a pandas, PyArrow or Spark frame, or of an iterable of mappings.

    NaN and NaT, pandas' missing values, become None.
    UsageError: a column of ``needed`` is missing, or ``frame`` is not a frame.
    """
    if isinstance(frame, list | tuple):
        rows = [dict(row) for row in frame]
        there = list(rows[0]) if rows else needed
    else:
        import narwhals as nw

        try:
            native = nw.from_native(frame)
        except TypeError as exc:
            raise UsageError(f"a {type(frame).__name__} is no frame") from exc
        eager = native.collect() if isinstance(native, nw.LazyFrame) else native
        rows, there = list(eager.rows(named=True)), eager.columns
    missing = [name for name in needed if name not in there]
    if missing:
        raise UsageError(f"the frame has no column {', '.join(map(printable, missing))}")
    return [{str(k): _present(v) for k, v in row.items()} for row in rows]


def _present(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
