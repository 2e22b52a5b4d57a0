"""What rows events change: rows, events and bytes, by table and operation, without decoding a row.

Two views of a reading's windows with the rows of each entry counted (frames/row_counts.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.arrays import integers, text_array
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.wanted import operations
from binlogkit.rows.filters import OPS
from binlogkit.rows.window import ROWS_EVENTS, Window

Numbers = np.ndarray[Any, Any]
_MINUTE = 60


class _Sums:
    """By keys of two numbers: rows, events and bytes, and the first and last time, in columns."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], int] = {}  # of tables: their numbers
        self._parts: list[tuple[Numbers, Numbers]] = []

    def _targets(self, window: Window, events: Numbers, *before: str) -> Numbers:
        """A number for the table and the operation of each rows event, in which the table is
        ``("", "")`` where none is known; its name stands after ``before``."""
        slots = events["slot"]
        numbers = np.zeros(int(slots.max()) + 1, np.int64)
        for slot in np.unique(slots).tolist():
            schema = window.schemas[slot] if slot < len(window.schemas) else None
            name = (*before, *(("", "") if schema is None else schema.name))
            numbers[slot] = self._names.setdefault(name, len(self._names))
        found: Numbers = numbers[slots] * len(OPS) + operations(events["type"])
        return found

    def _add(self, keys: tuple[Numbers, Numbers], events: Numbers, rows: Numbers) -> None:
        """Take rows events, each with its key and its count of rows."""
        times, ones = events["timestamp"], np.ones(len(events), np.int64)
        self._sum(
            np.column_stack(keys).astype(np.int64),
            np.column_stack([rows, ones, events["size"], times, times]).astype(np.int64),
        )

    def _sum(self, keys: Numbers, sums: Numbers) -> None:
        """Keep what has one key as one."""
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        keys, sums = keys[order], sums[order]
        firsts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
        counts = np.add.reduceat(sums[:, :3], firsts, axis=0)
        first, last = (
            np.minimum.reduceat(sums[:, 3], firsts),
            np.maximum.reduceat(sums[:, 4], firsts),
        )
        self._parts.append((keys[firsts], np.column_stack([counts, first, last])))

    def _all(self) -> tuple[Numbers, Numbers]:
        """The keys in their order, and what was summed of each."""
        if len(self._parts) > 1:
            keys, sums = map(np.concatenate, zip(*self._parts, strict=True))
            self._parts = []
            self._sum(keys, sums)
        return (
            self._parts[0]
            if self._parts
            else (np.zeros((0, 2), np.int64), np.zeros((0, 5), np.int64))
        )

    def _named(self, targets: Numbers) -> list[pa.Array]:
        """The parts of the tables' names, and the operations."""
        tables, ops = np.divmod(targets, len(OPS))
        names = zip(*self._names, strict=True) if self._names else ((), ())
        parts = [text_array(part).take(integers(tables)) for part in names]
        return [*parts, text_array(OPS).take(integers(ops))]


class Totals(_Sums):
    """What happened to each table by operation and minute.

    An event's minute is that of its own time, its statement's start (docs/traps.md, "Clocks").
    """

    def feed(self, window: Window, rows: Numbers) -> None:
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


class TouchedTables(_Sums):
    """Which tables each transaction changes."""

    def feed(self, window: Window, rows: Numbers) -> None:
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
