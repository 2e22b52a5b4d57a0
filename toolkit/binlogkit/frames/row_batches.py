"""Row changes of logs as batches in the canonical schema, window by window.

The kernel decodes the rows of a share of the log into their tables' buffers. When one is full, and
at the share's end, all are handed over together, so that the log's order can be restored within a
window and between windows. A window waits until its transactions have ended, whose XID stands
after their rows; where too much would wait, the log is read ahead to the transaction's end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from binlogkit._kernel.columns import MAX_BYTES, MAX_ROWS
from binlogkit.errors import DamageError, InputError
from binlogkit.frames.provenance import Provenance
from binlogkit.frames.row_counts import rows_fault
from binlogkit.frames.schema import supposed_of, undecodable_cells
from binlogkit.frames.share_decoding import (
    SHARE_COLUMNS,
    SHARE_MOST,
    SHARE_MOST_SORTED,
    DecodedShare,
    Faulty,
    Share,
    Workers,
    thread_count,
)
from binlogkit.frames.share_gathering import Parts
from binlogkit.frames.transaction_facts import TransactionFacts
from binlogkit.rows.ahead import xid_ahead
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import Origin, Supposition, TableSchema
from binlogkit.rows.window import Stretch, Window
from binlogkit.sources.carriers import Carrier

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.frames.matching import Matcher

Batches: TypeAlias = "Iterable[tuple[TableSchema, pa.RecordBatch]]"

WAITING = 96 << 20  # bytes of windows that may wait for their transaction's end
IN_HAND = 96 << 20  # bytes of events in shares after which the first one is waited for


def read_batches(
    reading: Reading,
    filters: Filters,
    *,
    columns: frozenset[str] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    threads: int | None = None,
    to_sort: bool = False,
    digests: bool = False,
    views: Sequence[Callable[[Window], object]] = (),
) -> Iterator[Batches]:
    """Windows of (schema, batch), in log order.

    A window can be gone through once, before the next one is asked for. The more tables there are,
    the longer it is, but where the rows of all are ``to_sort``: they are held together then.

    ``columns``: names of the columns wanted, None for all; the others are stepped over;
    ``threads``: that decode, by default as ``reading.options`` or the environment say; the windows
    and errors are the same with any number of them. ``digests``: batches have the columns
    ``DIGESTS`` (frames/schema.py), too. What was read before an error is handed over before it is
    raised. ``views`` take each window before its rows are decoded. UsageError, at the end: rows
    were to be chosen by a value that is of no table's type.
    """
    matching = None
    if filters.where:
        from binlogkit.frames.matching import Matcher  # loads pyarrow.compute

        matching = Matcher(filters.where)
    chosen = partial(_chosen, reading, matching)
    reading.sources = filters.sources
    sizes = [carrier.size for carrier in reading.carriers]
    size = None if None in sizes else sum(filter(None, sizes))
    workers = Workers(thread_count(threads or reading.options.threads, size))
    most = SHARE_MOST_SORTED if to_sort else SHARE_MOST
    changes = RowChanges(reading, filters, columns, (max_rows, max_bytes, most), workers, digests)
    windows = reading.windows(workers.submit)
    try:
        for window in windows:
            for view in views:
                view(window)
            yield from map(chosen, changes.feed(window))
    except (DamageError, InputError):
        yield from map(chosen, changes.finish())
        raise
    else:
        yield from map(chosen, changes.finish())
    finally:
        windows.close()
        workers.close()
    if matching is not None:
        matching.complain()


def _chosen(reading: Reading, matching: Matcher | None, window: Batches) -> Batches:
    """The rows of a window that match; cells that could not be decoded are counted in all."""
    for schema, batch in window:
        reading.undecodable += undecodable_cells(batch)
        kept = batch if matching is None else matching(batch)
        if kept.num_rows:
            for one in (*schema.supposed, *_unsure(schema, kept)):
                reading.supposed.setdefault(one.name, one)
            yield schema, kept


def _unsure(schema: TableSchema, batch: pa.RecordBatch) -> Iterator[Supposition]:
    """What is supposed of values whose character set, or sign, is unknown."""
    origins = (origin for c in schema.columns for origin in (c.charset_origin, c.sign_origin))
    if Origin.ASSUMED not in origins:
        return
    for image in ("before", "after"):
        yield from supposed_of(schema.name, batch[image])


class RowChanges:
    """A view of a reading's windows: the row changes, as batches.

    :meth:`feed` gives what is complete after a window, :meth:`finish` the rest.
    """

    def __init__(
        self,
        reading: Reading,
        filters: Filters,
        columns: frozenset[str] | None,
        most: tuple[int, int, int],
        workers: Workers,
        digests: bool,
    ) -> None:
        self._reading = reading
        self._workers = workers
        self._parts = Parts(
            filters, columns, most[:2], most_of_share=most[2],
            stop_at_fault=reading.options.on_damage == "stop", borrow=workers.ahead > 0,
            digests=digests,
        )  # fmt: skip
        self._shares: deque[Share] = deque()
        self._windows: deque[DecodedShare] = deque()
        self._waiting = 0
        self._known = TransactionFacts()
        self._provenance = Provenance()
        self._log: tuple[Carrier, int] | None = None  # and its first transaction
        self._stretch: Stretch | None = None  # the last one

    @property
    def waiting(self) -> int:
        """Bytes that are decoded and wait for the end of their transaction."""
        return self._waiting

    @property
    def waits_for_nothing(self) -> bool:
        """Whether all that was taken has been handed over."""
        return not self._windows and not self._shares

    # ---- windows of the reading ---------------------------------------------------------------

    def feed(self, window: Window) -> Iterator[Batches]:
        """Take a window; the batches that are complete then."""
        self._known.add(window.transactions, window.facts)
        if len(window.transactions) and (self._log is None or self._log[0] is not window.carrier):
            self._log = window.carrier, int(window.transactions["number"][0])
        if window.stretch is None:
            if window.damages:  # after the rows that stand before it
                yield from self._finish_all()
                self._reading.damages.extend(error for _, error in window.damages)
            return
        self._stretch = window.stretch
        self._provenance.add(window)
        for share in self._parts.add(window, self._known):
            if share.closed:
                self._shares.append(share)
                self._workers.start(share)
                while self._too_many():
                    yield from self._finish()
            while share.parts and not self._workers.ahead:
                yield from self._decode(share)
        yield from self._release()
        self._forget(window)

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

    def _finish(self) -> Iterator[Batches]:
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

    def _finish_all(self) -> Iterator[Batches]:
        last = self._parts.close()
        if last is not None:
            self._shares.append(last)
        while self._shares:
            yield from self._finish()

    def _decode(self, share: Share) -> Iterator[Batches]:
        """Hand over what a share gives next."""
        for item in self._workers.result(share, islice(self._shares, 1, None)):
            if isinstance(item, DecodedShare):
                self._windows.append(item)
                self._waiting += item.size
            elif isinstance(item, Faulty):
                self._tell(item)
            else:
                self._reading.damages.extend(item)
        yield from self._release()

    def _tell(self, fault: Faulty) -> None:
        part = fault.part
        error = rows_fault(part.window, part.builders, fault.i, fault.said)
        if self._reading.options.on_damage == "stop":
            self._shares.clear()
            self._parts.close()
            raise error
        self._reading.damages.append(error)
        self._reading.unread_rows(part.window, fault.i, error)

    # ---- batches ------------------------------------------------------------------------------

    def _release(self, *, every: bool = False) -> Iterator[Batches]:
        """The windows whose transactions have ended."""
        while self._windows:
            window = self._windows[0]
            if not every and not self._known.ended(window.last):
                if self._waiting + self._provenance.size < WAITING:
                    return
                self._look_ahead(window.last)
            self._windows.popleft()
            self._waiting -= window.size
            yield self._provenance.batches(window.tables, self._known)

    def _look_ahead(self, number: int) -> None:
        """Find the XID of a transaction ahead of its rows."""
        assert self._log is not None and self._stretch is not None
        carrier, first = self._log
        options, start, stretch = self._reading.options, self._reading.start, self._stretch
        xid = xid_ahead(
            carrier, self._known.record(number), first,
            begin=start.begin if carrier is self._reading.carriers[0] else 0,
            stops=options.on_damage == "stop",
            in_place=stretch.outer is None and stretch.spots is None, checksums=stretch.tail > 0,
        )  # fmt: skip
        self._known.take_xid(number, xid)

    def _forget(self, window: Window) -> None:
        """Forget what no row needs any more that is still to be handed over."""
        stretch = window.stretch
        assert stretch is not None
        first = self._windows[0].share if self._windows else None
        first = first or (self._shares[0] if self._shares else self._parts.share)
        if first is not None:
            self._known.forget(first.tx)
            self._provenance.forget(first.ordinal)
            return
        if len(window.transactions):
            self._known.forget(int(window.transactions["number"][-1]))
        self._provenance.forget(stretch.ordinal + len(stretch.entries))

    def flush(self) -> Iterator[Batches]:
        """The batches of all transactions that have ended, without waiting for a full share."""
        yield from self._finish_all()
        yield from self._release()

    def finish(self) -> Iterator[Batches]:
        """The batches of all that waits: the logs end, or an error ends them."""
        try:
            yield from self._finish_all()
        except DamageError:
            yield from self._release(every=True)
            raise
        yield from self._release(every=True)
        self._known.reset()
