"""What happened to each table of a log by operation and minute: rows, events and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.arrays import integers, text_array
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.keyed_sums import grouped, table_numbers
from binlogkit.frames.wanted import operations
from binlogkit.rows.filters import OPS
from binlogkit.rows.window import ROWS_EVENTS, Window

_OPS = len(OPS)
_MINUTE = 60


class Totals:
    """A view of a reading's windows with the rows of each entry counted (frames/row_counts.py).

    An event's minute is that of its own time, its statement's start (docs/traps.md, "Clocks").
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], int] = {}  # of files and tables
        self._keys: list[np.ndarray[Any, Any]] = []
        self._sums: list[np.ndarray[Any, Any]] = []

    def take(self, window: Window, rows: np.ndarray[Any, Any]) -> None:
        """Take the next window; ``rows``: of each entry."""
        stretch = window.stretch
        if stretch is None:
            return
        entries = stretch.entries
        counted = ROWS_EVENTS[entries["type"]] & (entries["slot"] >= 0) & (rows > 0)
        if window.repeated is not None:
            counted &= ~np.isin(entries["tx"], window.repeated)
        here = np.flatnonzero(counted)
        if not len(here):
            return
        found = entries[here]
        numbers = table_numbers(window, found["slot"], self._names, window.carrier.name)
        times = found["timestamp"].astype(np.int64)
        names = numbers * _OPS + operations(found["type"])
        keys = np.column_stack([names, times // _MINUTE])
        ones = np.ones(len(here), np.int64)
        self._add(keys, np.column_stack([rows[here], ones, found["size"], times, times]))

    def _add(self, keys: np.ndarray[Any, Any], sums: np.ndarray[Any, Any]) -> None:
        """Sum what has one key."""
        order, firsts = grouped(keys)
        sums = sums[order].astype(np.int64)
        self._keys.append(keys[order][firsts])
        self._sums.append(
            np.column_stack(
                [
                    np.add.reduceat(sums[:, :3], firsts, axis=0),
                    np.minimum.reduceat(sums[:, 3], firsts),
                    np.maximum.reduceat(sums[:, 4], firsts),
                ]
            )
        )

    def finish(self) -> pa.Table:
        """The totals, as the index has them without ``part``."""
        schema = arrow_schema(INDEX["totals"][1:])
        if not self._keys:
            return schema.empty_table()
        keys, sums = np.concatenate(self._keys), np.concatenate(self._sums)
        self._keys, self._sums = [], []
        self._add(keys, sums)
        (keys,), (sums,) = self._keys, self._sums
        places, ops = np.divmod(keys[:, 0], _OPS)
        columns = [
            text_array([name[i] for name in self._names]).take(integers(places)) for i in range(3)
        ]
        columns.append(text_array(list(OPS)).take(integers(ops)))
        columns.append(pa.array(keys[:, 1] * _MINUTE))
        return pa.table([*columns, *(pa.array(column) for column in sums.T)], schema=schema)
