"""Windows of a reading -> parts, gathered into the shares that are decoded together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.frames.share_decoding import SHARE_COLUMNS, Builders, Share, SharePart
from binlogkit.frames.transaction_facts import TransactionFacts
from binlogkit.frames.wanted import wanted_events, wanted_ops
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import TableSchema, table_plan
from binlogkit.rows.window import ROWS_EVENTS, Window

if TYPE_CHECKING:
    from binlogkit._kernel.columns import TablePlan
    from binlogkit._kernel.native.builder import TableBuilder

_PLANNED_COLUMNS = SHARE_COLUMNS  # of the tables whose plans are kept
_MAX_CELLS = 1 << 20  # of one table in a window: a row of no bytes can have 4096


@dataclass(slots=True, eq=False)
class Parts:
    """Makes shares of windows; ``columns``: names of the columns wanted, None for all; ``most``:
    rows and bytes of a batch; ``most_of_share``: bytes of events; ``borrow``: whether shares are
    decoded later than their windows come; ``digests``: of the images as well.
    """

    filters: Filters
    columns: frozenset[str] | None
    most: tuple[int, int]
    most_of_share: int
    stop_at_fault: bool
    borrow: bool
    digests: bool = False
    share: Share | None = None
    _unused: list[tuple[int, Builders]] = field(default_factory=list)  # and their columns
    # By the schema's identity, which the walk keeps one of.
    _plans: dict[tuple[int, str], tuple[TableSchema, TablePlan]] = field(default_factory=dict)
    _planned: int = 0

    def add(self, window: Window, known: TransactionFacts) -> Iterator[Share]:
        """Take a window; the shares that it goes to, each as often as something was added to it."""
        wanted = self._wanted(window, known)
        if window.damages or wanted is None or wanted.any():
            for part, share in self._cut(window, wanted):
                share.parts.append(part)
                if share.full:
                    self.close()
                yield share

    def close(self) -> Share | None:
        """No part comes any more to the share that is open."""
        share, self.share = self.share, None
        if share is not None:
            share.closed = True
        return share

    def take_back(self, share: Share) -> None:
        """Let the builders of a share that is done serve another one."""
        columns = sum(len(schema.columns) for schema, _ in share.builders.values())
        if sum(kept for kept, _ in self._unused) + columns <= SHARE_COLUMNS:
            self._unused.append((columns, share.builders))

    # ---- which events -------------------------------------------------------------------------

    def _wanted(self, window: Window, known: TransactionFacts) -> np.ndarray[Any, Any] | None:
        """Which events the filters want; None for all."""
        filters, stretch = self.filters, window.stretch
        assert stretch is not None
        wanted = wanted_events(filters, window, known)
        if filters.ops:
            ops = wanted_ops(filters, stretch.entries["type"])
            wanted = ops if wanted is None else wanted & ops
        return wanted

    # ---- parts --------------------------------------------------------------------------------

    def _cut(self, window: Window, wanted: np.ndarray[Any, Any] | None) -> Iterator[Any]:
        """The parts of a window, with their shares: as many tables in each as a share may have."""
        stretch = window.stretch
        assert stretch is not None
        entries = stretch.entries
        rows = np.flatnonzero(ROWS_EVENTS[entries["type"]] & (entries["slot"] >= 0))
        if wanted is not None:
            rows = rows[wanted[rows]]
        slots = entries["slot"][rows]
        there = np.zeros(int(slots.max(initial=-1)) + 1, bool)
        there[slots] = True
        tables = {slot: self._table(window, slot) for slot in np.flatnonzero(there).tolist()}
        schemas = {slot: schema for slot, schema in tables.items() if schema is not None}
        if not schemas and not window.damages:
            return
        first = 0
        for last in self._ends(rows, slots, schemas, len(entries)):
            share = self._share(window, first)
            here = schemas
            if (first, last) != (0, len(entries)):
                own = set(slots[(rows >= first) & (rows < last)].tolist())
                here = {slot: schema for slot, schema in schemas.items() if slot in own}
            yield self._part(window, share, (first, last), here, wanted), share
            first = last

    def _table(self, window: Window, slot: int) -> TableSchema | None:
        schema = window.schemas[slot] if slot < len(window.schemas) else None
        return schema if schema is not None and self.filters.wants_table(*schema.name) else None

    def _ends(
        self,
        rows: np.ndarray[Any, Any],
        slots: np.ndarray[Any, Any],
        schemas: dict[int, TableSchema],
        count: int,
    ) -> Iterator[int]:
        """After which entries a part ends."""
        tables = self.share.tables if self.share is not None else set()
        columns = self.share.columns if self.share is not None else 0
        found = {id(schema): len(schema.columns) for schema in schemas.values()}
        if columns + sum(found[new] for new in found.keys() - tables) > SHARE_COLUMNS:
            here = set(tables)
            for entry, slot in zip(rows.tolist(), slots.tolist(), strict=True):
                schema = schemas.get(slot)
                if schema is None or id(schema) in here:
                    continue
                cost = len(schema.columns)
                if here and columns + cost > SHARE_COLUMNS:
                    yield entry
                    here, columns = set(), 0
                here.add(id(schema))
                columns += cost
        yield count

    def _share(self, window: Window, first: int) -> Share:
        """The share that is open, or a new one that begins with an entry."""
        if self.share is None:
            stretch = window.stretch
            assert stretch is not None
            numbers = stretch.entries["tx"]
            at = first + int(np.argmax(numbers[first:] >= 0))
            self.share = Share(
                self._unused.pop()[1] if self._unused else {},
                self.stop_at_fault,
                stretch.ordinal + first,
                int(numbers[at]),
                self.most_of_share,
            )
        return self.share

    def _part(
        self,
        window: Window,
        share: Share,
        entries: tuple[int, int],
        schemas: dict[int, TableSchema],
        wanted: np.ndarray[Any, Any] | None,
    ) -> SharePart:
        (first, last), stretch = entries, window.stretch
        assert stretch is not None
        if self.borrow:
            stretch.keep()
        rows = stretch.rows_pass(wanted)
        rows.run([], first)
        builders: list[TableBuilder | None] = [None] * (max(schemas, default=-1) + 1)
        for slot, schema in schemas.items():
            builders[slot] = self._builder(share.builders, schema, window.server_version)
            if id(schema) not in share.tables:
                share.tables.add(id(schema))
                share.columns += len(schema.columns)
        size = 0
        if last > first:
            begin, end = stretch.entries[first], stretch.entries[last - 1]
            size = int(end["offset"]) + int(end["size"]) - int(begin["offset"])
        share.size += size
        whole = last == len(stretch.entries)
        damages = [met for met in window.damages if met[0] >= first and (whole or met[0] < last)]
        return SharePart(window, rows, last, size, builders, damages, self.borrow)

    def _builder(self, builders: Builders, schema: TableSchema, version: str) -> TableBuilder:
        known = builders.get((id(schema), version))
        if known is None:
            plan = self._plan(schema, version)
            rows = min(self.most[0], max(_MAX_CELLS // max(len(schema.columns), 1), 1))
            known = builders[id(schema), version] = schema, plan.builder(rows, self.most[1])
        return known[1]

    def _plan(self, schema: TableSchema, version: str) -> TablePlan:
        """How a table is read; plans are kept, as long as they are not too many."""
        known = self._plans.get((id(schema), version))
        if known is not None:
            return known[1]
        asked = None
        if self.columns is not None:
            asked = [c.index for c in schema.columns if c.name in self.columns]
        self._planned += len(schema.columns)
        if self._planned > _PLANNED_COLUMNS:
            self._plans.clear()
            self._planned = len(schema.columns)
        plan = table_plan(schema, version, asked, digests=self.digests)
        self._plans[id(schema), version] = (schema, plan)
        return plan
