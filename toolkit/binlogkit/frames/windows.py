"""Row changes of logs as batches in the canonical schema, window by window.

The kernel decodes the rows of a piece into a table's buffers. When one is full all are handed over
together, so that the log's order can be restored within a window and between windows. A window
waits until its transactions have ended, whose XID stands behind their rows; where too much would
wait, the log is read ahead to the transaction's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from binlogkit._kernel.columns import MAX_BYTES, MAX_ROWS
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.frames.batches import record_batch
from binlogkit.frames.kernel_columns import change_columns
from binlogkit.frames.provenance import Known, Provenance
from binlogkit.rows.changes import read_windows
from binlogkit.rows.filters import Filters
from binlogkit.rows.pieces import Piece, transactions_ahead
from binlogkit.rows.plans import table_plan
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.walk import LogWalk, Step
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit._kernel.native.builder import TableBuilder
    from binlogkit._kernel.native.runs import Runs

__all__ = ["Window", "read_batches"]

Window: TypeAlias = "list[tuple[TableSchema, pa.RecordBatch]]"

WAITING = 96 << 20  # bytes of windows that may wait for their transaction's end
_MOST = (1 << 63) - 1
_KEPT = 64  # builders that are kept from one window to the next
_UPDATES, _DELETES = (24, 31, 39), (25, 32)


def read_batches(
    walk: LogWalk,
    filters: Filters,
    *,
    columns: frozenset[str] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Window]:
    """Windows of (schema, batch), in log order; see ``rows/changes.py`` for errors and filters.

    ``columns``: names of the columns wanted, None for all; the others are stepped over.
    """
    gather = _Gather(walk, filters, columns, max_rows, max_bytes)
    pieces = walk.pieces()
    held: list[Piece] = []

    def steps(first: Step) -> Iterator[Step]:
        for item in chain([first], pieces):
            if isinstance(item, Piece):
                held.append(item)
                return
            yield item

    while True:
        try:
            item = held.pop() if held else next(pieces, None)
            if isinstance(item, Step):
                yield from gather.settle(item)
                for window in read_windows(walk, filters, steps=steps(item)):
                    yield [(batch.schema, record_batch(batch)) for batch in window]
                continue
            if item is not None:
                yield from gather.take(item)
        except (DamageError, InputError):
            yield from gather.settle(None)
            raise
        if item is None:
            yield from gather.settle(None)
            return


@dataclass(slots=True)
class _Waiting:
    """A window that was decoded; ``first``, ``last``: numbers of its transactions, -1 for rows
    outside any; ``size``: bytes."""

    tables: list[tuple[TableSchema, dict[str, pa.Array], Runs]]
    first: int
    last: int
    size: int


class _Gather:
    """What was decoded and is not handed over yet."""

    def __init__(
        self,
        walk: LogWalk,
        filters: Filters,
        columns: frozenset[str] | None,
        max_rows: int,
        max_bytes: int,
    ) -> None:
        self._walk = walk
        self._filters = filters
        self._columns = columns
        self._most = (max_rows, max_bytes)
        self._builders: dict[tuple[TableSchema, str], TableBuilder] = {}
        self._windows: list[_Waiting] = []
        self._waiting = 0
        self._known = Known()
        self._provenance = Provenance(walk.options.source)
        self._ahead: Iterator[np.ndarray[Any, Any]] | None = None
        self._log: tuple[Carrier, int] | None = None

    # ---- pieces -------------------------------------------------------------------------------

    def take(self, piece: Piece) -> Iterator[Window]:
        """Decode a piece; the windows that are complete then."""
        log = (piece.carrier, piece.number)
        if log != self._log:
            self._log, self._ahead = log, None
        self._known.add(piece.transactions, piece.facts)
        stretch = piece.stretch
        if stretch is None:
            if piece.whole:
                self._known.close()
            return
        self._provenance.add(piece)
        wanted = self._wanted(piece)
        if wanted is None or wanted.any():
            if wanted is not None:
                stretch.index.leave_out(wanted.astype(np.uint8).tobytes())
            yield from self._decode(piece)
        yield from self._release()
        self._forget()

    def _forget(self) -> None:
        """Nothing is kept of what was handed over."""
        firsts = [w.first for w in self._windows[:1]]
        firsts += [b.first_tx for b in self._builders.values() if b.rows]
        self._known.forget(min(firsts, default=_MOST))
        if not firsts:
            self._provenance.forget()

    def _wanted(self, piece: Piece) -> np.ndarray[Any, Any] | None:
        """Which events the filters want; None for all."""
        filters, stretch = self._filters, piece.stretch
        assert stretch is not None
        entries = stretch.entries
        checks = []
        if filters.ops:
            codes = entries["type"]
            op = np.where(np.isin(codes, _UPDATES), 1, np.where(np.isin(codes, _DELETES), 2, 0))
            names = ("insert", "update", "delete")
            checks.append(np.isin(op, [i for i, name in enumerate(names) if name in filters.ops]))
        pos = entries["offset"] + stretch.origin
        if stretch.outer is not None:
            pos = np.full(len(entries), stretch.outer[0])
        if piece.first and filters.start_position is not None:
            checks.append(pos >= filters.start_position)
        if piece.last and filters.stop_position is not None:
            checks.append(pos < filters.stop_position)
        if filters.server_ids:
            checks.append(np.isin(entries["server_id"], list(filters.server_ids)))
        if filters.of_transactions:
            checks.append(self._known.wanted(filters, entries["tx"], entries["timestamp"]))
        return np.logical_and.reduce(checks) if checks else None

    def _decode(self, piece: Piece) -> Iterator[Window]:
        stretch = piece.stretch
        assert stretch is not None
        rows = stretch.rows_pass()
        builders: list[TableBuilder | None] = []
        while True:
            if not builders:
                builders = [self._builder(schema, piece) for schema in piece.schemas]
            said = rows.run(builders, len(stretch.entries))
            if said is None:
                break
            if len(said) == 1:
                self._flush()
                builders = []
                yield from self._release()
                continue
            self._fault(piece, rows.entry - 1, said)
        if sum(b.rows for b in self._builders.values()) >= self._most[0]:
            self._flush()

    def _builder(self, schema: TableSchema | None, piece: Piece) -> TableBuilder | None:
        if schema is None or not self._filters.wants_table(*schema.name):
            return None
        key = (schema, piece.server_version)
        builder = self._builders.get(key)
        if builder is None:
            asked = None
            if self._columns is not None:
                asked = [c.index for c in schema.columns if c.name in self._columns]
            plan = table_plan(schema, piece.server_version, asked)
            builder = self._builders[key] = plan.builder(*self._most)
        return builder

    def _fault(self, piece: Piece, i: int, said: tuple[int, ...]) -> None:
        stretch = piece.stretch
        assert stretch is not None
        slot, *what = said
        schema = piece.schemas[slot]
        assert schema is not None
        fault = self._builders[schema, piece.server_version].plan.fault(*what)
        pos = (
            stretch.outer[0]
            if stretch.outer
            else stretch.origin + int(stretch.entries["offset"][i])
        )
        error = MalformedEventError(piece.carrier.name, pos, fault.reason, fault.field)
        if self._walk.options.on_damage == "stop":
            raise error
        self._walk.damages.append(error)

    # ---- windows ------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Take what the builders hold as a window."""
        window: list[tuple[TableSchema, dict[str, pa.Array], Runs]] = []
        size, first, last = 0, _MOST, -1
        for (schema, _), builder in self._builders.items():
            if builder.rows:
                arrays, runs = change_columns(schema, builder)
                window.append((schema, arrays, runs))
                size += sum(a.nbytes for a in arrays.values())
                first, last = min(first, runs.first_tx), max(last, runs.last_tx)
        if window:
            self._windows.append(_Waiting(window, first, last, size))
            self._waiting += size
        if len(self._builders) > _KEPT:
            self._builders.clear()

    def _release(self) -> Iterator[Window]:
        """The windows whose transactions have ended."""
        while self._windows:
            waiting = self._windows[0]
            if not self._known.ended(waiting.last):
                if self._waiting < WAITING:
                    return
                self._look_ahead(waiting.last)
            del self._windows[0]
            self._waiting -= waiting.size
            yield [
                (schema, self._provenance.batch(schema, arrays, runs, self._known))
                for schema, arrays, runs in waiting.tables
            ]

    def _look_ahead(self, number: int) -> None:
        """Read the log ahead up to the end of a transaction."""
        if self._ahead is None:
            assert self._log is not None
            self._ahead = transactions_ahead(*self._log)
        for records in self._ahead:
            if self._known.take_ahead(records, number):
                return
        self._known.close()

    def settle(self, step: Step | None) -> Iterator[Window]:
        """Hand over all that waits; ``step``: where the walk goes on event by event."""
        self._flush()
        if step is not None and step.transaction is not None:
            self._known.take(step.transaction)
        self._known.close()
        yield from self._release()
        self._known.reset()
