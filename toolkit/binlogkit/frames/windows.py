"""Row changes of logs as batches in the canonical schema, window by window.

The kernel decodes the rows of a piece into a table's buffers. When one is full all are handed over
together, so that the log's order can be restored within a window and between windows. A window
waits until its transactions have ended, whose XID stands behind their rows; where too much would
wait, the log is read ahead to the transaction's end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from binlogkit._kernel.columns import MAX_BYTES, MAX_ROWS
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.frames.batches import record_batch
from binlogkit.frames.kernel_columns import change_columns
from binlogkit.frames.projection import projected
from binlogkit.frames.provenance import Known, Provenance
from binlogkit.rows.changes import ColumnBatch, read_windows
from binlogkit.rows.filters import Filters
from binlogkit.rows.pieces import Piece, transactions_ahead
from binlogkit.rows.plans import table_plan
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.stretches import ROWS_EVENTS
from binlogkit.rows.transactions import Transaction
from binlogkit.rows.walk import LogWalk, Step
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit._kernel.columns import TablePlan
    from binlogkit._kernel.native.builder import TableBuilder
    from binlogkit._kernel.native.runs import Runs

__all__ = ["Window", "read_batches"]

Window: TypeAlias = "list[tuple[TableSchema, pa.RecordBatch]]"

WAITING = 96 << 20  # bytes of windows that may wait for their transaction's end
MAX_CELLS = 1 << 20  # of one table in a window: a row of no bytes can have 4096
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
                yield from gather.settle()
                for window in read_windows(walk, filters, steps=steps(item)):
                    yield [(batch.schema, _projected(batch, columns)) for batch in window]
                continue
            if item is not None:
                yield from gather.take(item)
        except (DamageError, InputError):
            yield from gather.settle()
            raise
        if item is None:
            yield from gather.settle()
            return


def _projected(batch: ColumnBatch, columns: frozenset[str] | None) -> pa.RecordBatch:
    whole = record_batch(batch)
    return whole if columns is None else projected(whole, columns)


@dataclass(slots=True)
class _Waiting:
    """A window whose transactions have not all ended.

    ``first``: its first transaction and the ordinal of its first event, as a lower bound;
    ``last``: its last transaction; ``size``: bytes.
    """

    tables: list[tuple[TableSchema, dict[str, pa.Array], Runs]]
    first: tuple[int, int]
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
        # By the schema's identity, which the walk keeps one of, and the server's version.
        self._builders: dict[tuple[int, str], tuple[TableSchema, TableBuilder]] = {}
        self._windows: deque[_Waiting] = deque()
        self._waiting = 0
        self._first = (0, 0)  # of what the builders hold, as a lower bound
        self._known = Known()
        self._provenance = Provenance(walk.options.source, columns)
        self._ahead: Iterator[np.ndarray[Any, Any] | Transaction] | None = None
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
        if not self._rows():
            self._first = self._begin_of(piece)
        self._provenance.add(piece)
        wanted = self._wanted(piece)
        if wanted is None or wanted.any():
            if wanted is not None:
                stretch.index.leave_out(wanted.astype(np.uint8).tobytes())
            yield from self._decode(piece, wanted)
        yield from self._release()
        if not self._rows():
            self._first = self._begin_of(piece, behind=True)
        number, ordinal = min((w.first for w in self._windows), default=self._first)
        self._known.forget(number)
        self._provenance.forget(ordinal)

    def _begin_of(self, piece: Piece, behind: bool = False) -> tuple[int, int]:
        """The transaction that is open where a piece begins, or behind it, and the ordinal."""
        stretch, numbers = piece.stretch, piece.transactions["number"]
        assert stretch is not None
        place = -1 if behind else 0
        number = int(numbers[place]) if len(numbers) else self._first[0]
        return number, stretch.ordinal + (len(stretch.entries) if behind else 0)

    def _rows(self) -> int:
        """Rows that the builders hold."""
        return sum(builder.rows for _, builder in self._builders.values())

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

    def _decode(self, piece: Piece, wanted: np.ndarray[Any, Any] | None) -> Iterator[Window]:
        stretch = piece.stretch
        assert stretch is not None
        used = ROWS_EVENTS[stretch.entries["type"]]
        if wanted is not None:
            used &= wanted
        slots = np.unique(stretch.entries["slot"][used])
        rows = stretch.rows_pass()
        builders: list[TableBuilder | None] = []
        while True:
            if not builders:
                builders = [None] * len(piece.schemas)
                for slot in slots[slots >= 0].tolist():
                    builders[slot] = self._builder(piece.schemas[slot], piece)
            said = rows.run(builders, len(stretch.entries))
            if said is None:
                break
            if len(said) == 1:
                self._flush()
                self._first = self._begin_of(piece)
                builders = []
                yield from self._release()
                continue
            self._fault(piece, rows.entry - 1, said)
        if self._rows() >= self._most[0]:
            self._flush()

    def _builder(self, schema: TableSchema | None, piece: Piece) -> TableBuilder | None:
        if schema is None or not self._filters.wants_table(*schema.name):
            return None
        key = (id(schema), piece.server_version)
        if key not in self._builders:
            asked = None
            if self._columns is not None:
                asked = [c.index for c in schema.columns if c.name in self._columns]
            plan = table_plan(schema, piece.server_version, asked)
            most_rows = min(self._most[0], MAX_CELLS // max(1, len(schema.columns)) or 1)
            self._builders[key] = (schema, plan.builder(most_rows, self._most[1]))
        return self._builders[key][1]

    def _fault(self, piece: Piece, i: int, said: tuple[int, ...]) -> None:
        stretch = piece.stretch
        assert stretch is not None
        slot, *what = said
        schema = piece.schemas[slot]
        assert schema is not None
        plan: TablePlan = self._builders[id(schema), piece.server_version][1].plan
        fault = plan.fault(*what)
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
        tables = [
            (schema, *change_columns(schema, builder))
            for schema, builder in self._builders.values()
            if builder.rows
        ]
        if tables:
            last = max(runs.last_tx for _, _, runs in tables)
            size = sum(a.nbytes for _, arrays, _ in tables for a in arrays.values())
            self._windows.append(_Waiting(tables, self._first, last, size))
            self._waiting += size
        if len(self._builders) > _KEPT:
            self._builders.clear()

    def _release(self) -> Iterator[Window]:
        """The windows whose transactions have ended."""
        while self._windows:
            last = self._windows[0].last
            if not self._known.ended(last):
                if self._waiting < WAITING:
                    return
                self._look_ahead(last)
            window = self._windows.popleft()
            self._waiting -= window.size
            yield [
                (schema, self._provenance.batch(schema, arrays, runs, self._known))
                for schema, arrays, runs in window.tables
            ]

    def _look_ahead(self, number: int) -> None:
        """Read the log ahead up to the end of a transaction."""
        if self._ahead is None:
            assert self._log is not None
            self._ahead = transactions_ahead(self._walk, *self._log)
        for found in self._ahead:
            if self._known.take_ahead(found, number):
                return
        self._known.close()

    def settle(self) -> Iterator[Window]:
        """Hand over all that waits: the log ends, or the walk goes on event by event."""
        self._flush()
        if self._walk.interrupted is not None:
            self._known.take(self._walk.interrupted)
        self._known.close()
        yield from self._release()
        self._known.reset()
