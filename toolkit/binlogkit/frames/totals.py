"""What happened to each table of a log by operation and minute: rows, events and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.keyed_sums import KeyedSums
from binlogkit.rows.window import ROWS_EVENTS, Window

_MINUTE = 60


class Totals(KeyedSums):
    """A view of a reading's windows with the rows of each entry counted (frames/row_counts.py).

    An event's minute is that of its own time, its statement's start (docs/traps.md, "Clocks").
    """

    def take(self, window: Window, rows: np.ndarray[Any, Any]) -> None:
        """Take the next window; ``rows``: of each entry."""
        if window.stretch is None:
            return
        entries = window.stretch.entries
        counted = ROWS_EVENTS[entries["type"]] & (entries["slot"] >= 0) & (rows > 0)
        if window.repeated is not None:
            counted &= ~np.isin(entries["tx"], window.repeated)
        if counted.any():
            found = entries[counted]
            minutes = found["timestamp"] // _MINUTE
            targets = self._targets(window, found, window.carrier.name)
            self._add((targets, minutes), found, rows[counted])

    def finish(self) -> pa.Table:
        """The totals, as the index has them without ``part``."""
        schema = arrow_schema(INDEX["totals"][1:])
        if not self._parts:
            return schema.empty_table()
        keys, sums = self._all()
        columns = [*self._named(keys[:, 0]), pa.array(keys[:, 1] * _MINUTE)]
        return pa.table([*columns, *map(pa.array, sums.T)], schema=schema)
