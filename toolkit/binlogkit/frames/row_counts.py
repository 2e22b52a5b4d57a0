"""How many rows each rows event has: they are stepped over in the kernel, not decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit._kernel.native.runs import RUN
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.rows.schema import table_plan
from binlogkit.rows.window import ROWS_EVENTS, SEQ_SHIFT, Stretch, Window

if TYPE_CHECKING:
    from binlogkit._kernel.native.builder import TableBuilder
    from binlogkit.rows.schema import TableSchema

_RUN = np.dtype(list(RUN))
_MAX_ROWS, _MAX_BYTES = 1 << 20, 1 << 30


class RowCounts:
    """Counts the rows of windows; ``stops``: whether rows that cannot be read end the reading."""

    def __init__(self, *, stops: bool) -> None:
        self._stops = stops
        # By the schema's identity, which a reading keeps one of, and the server's version.
        self._builders: dict[tuple[int, str], tuple[TableSchema, TableBuilder]] = {}

    def of(self, window: Window) -> tuple[np.ndarray[Any, Any], list[tuple[int, DamageError]]]:
        """The rows of each entry, and what of them cannot be read, by entry.

        With ``stops``, nothing behind the first such event is counted.
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
        damages: list[tuple[int, DamageError]] = []
        rows = stretch.rows_pass()
        while (said := rows.run(builders, len(entries))) is not None:
            if len(said) == 1:
                _take(builders, stretch, counts)
                continue
            i = rows.entry - 1
            damages.append((i, rows_fault(window, builders, i, said)))
            if self._stops:
                break
        _take(builders, stretch, counts)
        return counts, damages

    def _builder(self, schema: TableSchema, version: str) -> TableBuilder:
        known = self._builders.get((id(schema), version))
        if known is None:
            builder = table_plan(schema, version, []).builder(_MAX_ROWS, _MAX_BYTES)
            known = self._builders[id(schema), version] = schema, builder
        return known[1]


def _take(
    builders: list[TableBuilder | None], stretch: Stretch, counts: np.ndarray[Any, Any]
) -> None:
    for builder in {id(b): b for b in builders if b is not None and b.rows}.values():
        rows = builder.rows
        runs = np.frombuffer(builder.take()[1].tobytes(), _RUN)
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
