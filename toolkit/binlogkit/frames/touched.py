"""Which tables each transaction changes: rows, events and bytes, without decoding any row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.keyed_sums import KeyedSums
from binlogkit.rows.window import ROWS_EVENTS, Window


class Touched(KeyedSums):
    """A view of a reading's windows with the rows of each entry counted (frames/row_counts.py)."""

    def take(self, window: Window, rows: np.ndarray[Any, Any]) -> None:
        """Take the next window; ``rows``: of each entry."""
        if window.stretch is None:
            return
        entries = window.stretch.entries
        inside = (entries["tx"] >= 0) & (entries["slot"] >= 0) & ROWS_EVENTS[entries["type"]]
        if inside.any():
            found = entries[inside]
            self._add((found["tx"], self._targets(window, found)), found, rows[inside])

    def finish(self) -> dict[str, pa.Array]:
        """``tx``, ``db``, ``table``, ``op``, ``rows``, ``events``, ``bytes``, in that order."""
        keys, sums = self._all()
        columns = [pa.array(keys[:, 0]), *self._named(keys[:, 1]), *map(pa.array, sums.T[:3])]
        names = ("tx", "db", "table", "op", "rows", "events", "bytes")
        return dict(zip(names, columns, strict=True))
