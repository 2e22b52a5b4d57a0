"""Row changes of logs as batches in the canonical schema, window by window.

The kernel decodes the rows of a share of the log into their tables' buffers. When one is full, and
at the share's end, all are handed over together, so that the log's order can be restored within a
window and between windows. A window waits until its transactions have ended, whose XID stands
behind their rows; where too much would wait, the log is read ahead to the transaction's end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from binlogkit._kernel.columns import MAX_BYTES, MAX_ROWS
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.frames.known import Known
from binlogkit.frames.parts import Parts
from binlogkit.frames.provenance import Provenance
from binlogkit.frames.shares import (
    SHARE_COLUMNS,
    SHARE_MOST,
    SHARE_MOST_SORTED,
    Decoded,
    Faulty,
    Share,
    Workers,
    thread_count,
)
from binlogkit.rows.boundaries import Boundary
from binlogkit.rows.detours import count_rows
from binlogkit.rows.filters import Filters
from binlogkit.rows.pieces import Piece, transactions_ahead
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.transactions import Transaction
from binlogkit.rows.walk import LogWalk, Step
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.changes import ColumnBatch

__all__ = ["Window", "read_batches"]

Window: TypeAlias = "Iterable[tuple[TableSchema, pa.RecordBatch]]"

WAITING = 96 << 20  # bytes of windows that may wait for their transaction's end
IN_HAND = 96 << 20  # bytes of events in shares behind which the first one is waited for


def read_batches(
    walk: LogWalk,
    filters: Filters,
    *,
    columns: frozenset[str] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    threads: int | None = None,
    to_sort: bool = False,
) -> Iterator[Window]:
    """Windows of (schema, batch), in log order; see ``rows/changes.py`` for errors and filters.

    A window can be gone through once, before the next one is asked for. The more tables there are,
    the longer it is, but where the rows of all are ``to_sort``: they are held together then.

    ``columns``: names of the columns wanted, None for all; the others are stepped over;
    ``threads``: that decode, by default as ``walk.options`` or the environment say; the windows
    and errors are the same with any number of them.
    """
    sizes = [carrier.size for carrier in walk.carriers]
    size = None if None in sizes else sum(filter(None, sizes))
    workers = Workers(thread_count(threads or walk.options.threads, size))
    most = SHARE_MOST_SORTED if to_sort else SHARE_MOST
    gather = _Gather(walk, filters, columns, (max_rows, max_bytes, most), workers)
    pieces = walk.pieces(workers.submit)
    try:
        yield from _windows(walk, filters, columns, gather, pieces)
    finally:
        pieces.close()
        workers.close()


def _windows(
    walk: LogWalk,
    filters: Filters,
    columns: frozenset[str] | None,
    gather: _Gather,
    pieces: Generator[Piece | Step, None, None],
) -> Iterator[Window]:
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
                yield from _read_in_python(walk, filters, columns, steps(item))
                continue
            if item is not None:
                yield from gather.take(item)
        except (DamageError, InputError):
            yield from gather.settle()
            raise
        if item is None:
            yield from gather.settle()
            return


def _read_in_python(
    walk: LogWalk, filters: Filters, columns: frozenset[str] | None, steps: Iterator[Step]
) -> Iterator[Window]:
    """The windows of the steps that the walk has begun to give."""
    from binlogkit.rows.changes import read_windows

    begun = len(walk.detours) - 1
    try:
        for window in read_windows(walk, filters, steps=steps):
            for batch in window:
                count_rows(walk.detours, (str(row[0]) for row in batch.provenance))
            yield [(batch.schema, _projected(batch, columns)) for batch in window]
    finally:
        for detour in walk.detours[begun:]:
            detour.tell()


def _projected(batch: ColumnBatch, columns: frozenset[str] | None) -> pa.RecordBatch:
    from binlogkit.frames.batches import record_batch
    from binlogkit.frames.projection import projected

    whole = record_batch(batch)
    return whole if columns is None else projected(whole, columns)


class _Gather:
    """What was decoded, or is being decoded, and is not handed over yet."""

    def __init__(
        self,
        walk: LogWalk,
        filters: Filters,
        columns: frozenset[str] | None,
        most: tuple[int, int, int],
        workers: Workers,
    ) -> None:
        self._walk = walk
        self._workers = workers
        self._parts = Parts(
            filters, columns, most[:2], most_of_share=most[2],
            stop_at_fault=walk.options.on_damage == "stop", borrow=workers.ahead > 0,
        )  # fmt: skip
        self._shares: deque[Share] = deque()
        self._windows: deque[Decoded] = deque()
        self._waiting = 0
        self._known = Known()
        self._provenance = Provenance(walk.options.source)
        self._ahead: Iterator[np.ndarray[Any, Any] | Transaction] | None = None
        self._log: tuple[Carrier, Boundary] | None = None

    # ---- pieces -------------------------------------------------------------------------------

    def take(self, piece: Piece) -> Iterator[Window]:
        """Take a piece; the windows that are complete then."""
        log = (piece.carrier, piece.begun)
        if log != self._log:
            self._log, self._ahead = log, None
        self._known.add(piece.transactions, piece.facts)
        if piece.stretch is None:
            if piece.damages or not piece.whole:  # what steps tell comes behind what rows do
                yield from self._finish_all()
                self._walk.damages.extend(piece.damages)
            return
        self._provenance.add(piece)
        for share in self._parts.add(piece, self._known):
            if share.closed:
                self._shares.append(share)
                self._workers.start(share)
                while self._too_many():
                    yield from self._finish()
            while share.parts and not self._workers.ahead:
                yield from self._decode(share)
        yield from self._release()
        self._forget(piece)

    def _too_many(self) -> bool:
        """Whether more is in hand than is decoded at once."""
        shares = self._shares
        return len(shares) > self._workers.ahead or (
            len(shares) > 1
            and (
                sum(share.size for share in shares) > IN_HAND
                or sum(share.columns for share in shares) > SHARE_COLUMNS
            )
        )

    def _finish(self) -> Iterator[Window]:
        """Hand over the first share, to its end."""
        share = self._shares[0]
        yield from self._decode(share)
        while not share.done:
            if share.started:
                self._workers.start(share)
            yield from self._decode(share)
        self._shares.popleft()
        share.release()
        self._parts.take_back(share)

    def _finish_all(self) -> Iterator[Window]:
        last = self._parts.close()
        if last is not None:
            self._shares.append(last)
        while self._shares:
            yield from self._finish()

    def _decode(self, share: Share) -> Iterator[Window]:
        """Hand over what a share gives next."""
        for item in self._workers.result(share, islice(self._shares, 1, None)):
            if isinstance(item, Decoded):
                self._windows.append(item)
                self._waiting += item.size
            elif isinstance(item, Faulty):
                self._tell(item)
            else:
                self._walk.damages.extend(item)
        yield from self._release()

    def _tell(self, fault: Faulty) -> None:
        part, stretch = fault.part, fault.part.piece.stretch
        assert stretch is not None
        slot, *what = fault.said
        builder = part.builders[slot]
        assert builder is not None
        said = builder.plan.fault(*what)
        at = stretch.entries[fault.i]
        pos = stretch.outer[0] if stretch.outer else stretch.origin + int(at["offset"])
        error = MalformedEventError(part.piece.carrier.name, pos, said.reason, said.field)
        if self._walk.options.on_damage == "stop":
            self._shares.clear()
            self._parts.close()
            raise error
        self._walk.damages.append(error)

    # ---- windows ------------------------------------------------------------------------------

    def _release(self, *, every: bool = False) -> Iterator[Window]:
        """The windows whose transactions have ended."""
        while self._windows:
            window = self._windows[0]
            if not self._known.ended(window.last):
                if not every and self._waiting + self._provenance.size < WAITING:
                    return
                self._look_ahead(window.last)
            self._windows.popleft()
            self._waiting -= window.size
            yield self._provenance.batches(window.tables, self._known)

    def _look_ahead(self, number: int) -> None:
        """Read the log ahead up to the end of a transaction."""
        assert self._log is not None
        if self._ahead is None:
            self._ahead = transactions_ahead(self._walk, *self._log)
        for found in self._ahead:
            if self._known.take_ahead(found, number):
                return
        self._known.close()

    def _forget(self, piece: Piece) -> None:
        """Forget what no row needs any more that is still to be handed over."""
        stretch = piece.stretch
        assert stretch is not None
        first = self._windows[0].share if self._windows else None
        first = first or (self._shares[0] if self._shares else self._parts.share)
        if first is not None:
            self._known.forget(first.tx)
            self._provenance.forget(first.ordinal)
            return
        if len(piece.transactions):
            self._known.forget(int(piece.transactions["number"][-1]))
        self._provenance.forget(stretch.ordinal + len(stretch.entries))

    def settle(self) -> Iterator[Window]:
        """Hand over all that waits: the log ends, or the walk goes on event by event."""
        try:
            yield from self._finish_all()
        except DamageError:
            yield from self._release(every=True)
            raise
        if self._walk.interrupted is not None:
            self._known.take(self._walk.interrupted)
            self._known.close()
        yield from self._release(every=True)
        self._known.reset()
