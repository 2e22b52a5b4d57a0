"""How many rows each rows event has: they are stepped over in the kernel, not decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit._kernel.native.runs import RUN
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import table_plan
from binlogkit.rows.window import ROWS_EVENTS, SEQ_SHIFT, Stretch, Window

if TYPE_CHECKING:
    from binlogkit._kernel.native.builder import TableBuilder
    from binlogkit.frames.key_filters import KeyFilters
    from binlogkit.rows.schema import TableSchema

_RUN = np.dtype(list(RUN))
_MAX_ROWS, _MAX_BYTES = 1 << 20, 1 << 30


class RowCounts:
    """Counts the rows of windows; ``stops``: whether rows that cannot be read end the reading;
    ``keys``: what takes the values of their keys, which alone are decoded then; ``wanted``: the
    tables whose rows must be readable."""

    def __init__(
        self, *, stops: bool, keys: KeyFilters | None = None, wanted: Filters | None = None
    ) -> None:
        self._stops = stops
        self._wanted = Filters() if wanted is None else wanted
        self._keys = keys
        # By the schema's identity, which a reading keeps one of, and the server's version.
        self._builders: dict[tuple[int, str], tuple[TableSchema, TableBuilder]] = {}

    def of(self, window: Window) -> tuple[np.ndarray[Any, Any], list[tuple[int, DamageError]]]:
        """The rows of each entry, and what of them cannot be read, by entry.

        With ``stops``, nothing after the first such event is counted.
        """
        stretch = window.stretch
        if stretch is None:
            return np.zeros(0, np.int64), []
        counts = np.zeros(len(stretch.entries), np.int64)
        entries = stretch.entries
        slots = np.unique(entries["slot"][ROWS_EVENTS[entries["type"]] & (entries["slot"] >= 0)])
        if not len(slots):
            return counts, []
        builders: list[TableBuilder | None] = [None] * (int(slots[-1]) + 1)
        for slot in slots.tolist():
            schema = window.schemas[slot] if slot < len(window.schemas) else None
            if schema is not None:
                builders[slot] = self._builder(schema, window.server_version)
        if self._keys is not None:
            self._keys.begin(stretch.ordinal, stretch.ordinal + len(entries))
        damages: list[tuple[int, DamageError]] = []
        rows = stretch.rows_pass()
        while (said := rows.run(builders, len(entries))) is not None:
            if len(said) == 1:
                self._take(stretch, counts)
                continue
            i = rows.entry - 1
            schema = window.schemas[said[0]]
            if schema is not None and not self._wanted.wants_table(*schema.name):
                continue
            damages.append((i, rows_fault(window, builders, i, said)))
            if self._stops:
                break
        self._take(stretch, counts)
        return counts, damages

    def _builder(self, schema: TableSchema, version: str) -> TableBuilder:
        known = self._builders.get((id(schema), version))
        if known is None:
            wanted = [] if self._keys is None else [c.position for c in self._keys.columns(schema)]
            builder = table_plan(schema, version, wanted).builder(_MAX_ROWS, _MAX_BYTES)
            known = self._builders[id(schema), version] = schema, builder
        return known[1]

    def _take(self, stretch: Stretch, counts: np.ndarray[Any, Any]) -> None:
        """Take what the builders hold."""
        for schema, builder in self._builders.values():
            rows = builder.rows
            if not rows:
                continue
            if self._keys is None:
                taken_runs = builder.take()[1]
            else:
                from binlogkit.frames.kernel_columns import TakenBuffers

                taken = TakenBuffers(schema, builder)
                taken_runs = taken.runs
                self._keys.take(taken)
            runs = np.frombuffer(taken_runs.tobytes(), _RUN)
            events = (runs["seq"] >> SEQ_SHIFT) - stretch.ordinal
            np.add.at(counts, events, np.diff(runs["first"], append=rows))


def rows_fault(
    window: Window, builders: Sequence[TableBuilder | None], i: int, said: Sequence[int]
) -> MalformedEventError:
    """Why the rows of entry ``i`` cannot be read; ``said``: a slot, and what the kernel met."""
    slot, *what = said
    builder, stretch = builders[slot], window.stretch
    assert builder is not None and stretch is not None
    fault, pos = builder.plan.fault(*what), int(stretch.positions[i])
    return MalformedEventError(window.carrier.name, pos, fault.reason, fault.field)
