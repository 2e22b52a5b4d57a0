"""Which tables each transaction changes: rows, events and bytes, without decoding any row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.arrays import integers, text_array
from binlogkit.frames.keyed_sums import grouped, table_numbers
from binlogkit.frames.wanted import operations
from binlogkit.rows.filters import OPS
from binlogkit.rows.window import ROWS_EVENTS, Window

_OPS = len(OPS)


class Touched:
    """A view of a reading's windows with the rows of each entry counted (frames/row_counts.py)."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], int] = {}
        self._keys: list[np.ndarray[Any, Any]] = []
        self._sums: list[np.ndarray[Any, Any]] = []

    def take(self, window: Window, rows: np.ndarray[Any, Any]) -> None:
        """Take the next window; ``rows``: of each entry."""
        stretch = window.stretch
        if stretch is None:
            return
        entries = stretch.entries
        inside = (entries["tx"] >= 0) & (entries["slot"] >= 0)
        here = np.flatnonzero(ROWS_EVENTS[entries["type"]] & inside)
        if not len(here):
            return
        found = entries[here]
        numbers = table_numbers(window, found["slot"], self._tables)
        keys = np.empty((len(here), 2), np.int64)
        keys[:, 0] = found["tx"]
        keys[:, 1] = numbers * _OPS + operations(found["type"])
        ones = np.ones(len(here), np.int64)
        self._add(keys, np.column_stack([rows[here], ones, found["size"].astype(np.int64)]))

    def _add(self, keys: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> None:
        """Sum what has one key."""
        order, firsts = grouped(keys)
        self._keys.append(keys[order][firsts])
        self._sums.append(np.add.reduceat(counts[order], firsts, axis=0))

    def finish(self) -> dict[str, pa.Array]:
        """``tx``, ``db``, ``table``, ``op``, ``rows``, ``events``, ``bytes``, in that order."""
        if len(self._keys) > 1:
            keys, sums = np.concatenate(self._keys), np.concatenate(self._sums)
            self._keys, self._sums = [], []
            self._add(keys, sums)
        keys = self._keys[0] if self._keys else np.zeros((0, 2), np.int64)
        sums = self._sums[0] if self._sums else np.zeros((0, 3), np.int64)
        tables, ops = np.divmod(keys[:, 1], _OPS)
        names = [*self._tables]
        columns = {"tx": pa.array(keys[:, 0])}
        for i, part in enumerate(("db", "table")):
            columns[part] = text_array([name[i] for name in names]).take(integers(tables))
        columns["op"] = text_array(list(OPS)).take(integers(ops))
        return columns | {
            name: pa.array(sums[:, i]) for i, name in enumerate(("rows", "events", "bytes"))
        }
