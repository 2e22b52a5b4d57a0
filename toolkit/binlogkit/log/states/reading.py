"""How states read a log: first a log's ledger, then the rows of some tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.boundary import Boundary, read_boundaries
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.constants import TableId
from binlogkit.frames.transactions import Transactions
from binlogkit.log.index.choosing import ChosenReading
from binlogkit.log.states.history import History
from binlogkit.log.states.images.checks import ImageChecks
from binlogkit.log.states.images.contradictions import Contradiction, unlogged
from binlogkit.log.states.savepoints import Savepoints
from binlogkit.log.viewing import view
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import small_name
from binlogkit.rows.window import SEQ_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.events.gtid_set import GtidSet
    from binlogkit.log.states.bases.bases import Bases, Since
    from binlogkit.log.streams import Streams
    from binlogkit.rows.reading import Reading
    from binlogkit.rows.schema import Supposition, TableDefinition
    from binlogkit.rows.soundness import Gap
    from binlogkit.rows.window import Window

_NOT_KNOWN = (1 << 63) - 1  # after all changes


class Source(ABC):
    """What states are computed from.

    ``transactions``: a frame; ``boundaries``: what happens to tables; ``undone``: what ROLLBACK TO
    SAVEPOINT undid among its changes; ``history``; ``given``: table definitions from a schema file,
    a server or a base.
    """

    history: History
    transactions: pa.Table
    undone: Sequence[Undone] = ()
    boundaries: list[Boundary]
    given: dict[TableId, TableDefinition]

    def has(self, name: TableId) -> bool:  # noqa: ARG002
        """Whether it has the changes of a table."""
        return True

    def left_out(self, at: str | None) -> Iterable[tuple[str | None, GtidSet]]:  # noqa: ARG002
        """Of each log before the log ``at``, of all if None, whose transactions are not all among
        :attr:`transactions`: its server, and the GTIDs of its transactions, which were all
        committed."""
        return ()

    def partial(self, name: TableId) -> int:  # noqa: ARG002
        """The last change that left a row with cells missing from its image; -1: none."""
        return _NOT_KNOWN

    @property
    @abstractmethod
    def unchecked(self) -> Callable[[Integers], Flags]:
        """Which changes, by ``seq``, were made with foreign_key_checks off."""


class RowSource(Source):
    """What a row's life is computed from; ``suppositions``, ``gaps``: of what was read;
    ``assumes``: what its answers assume besides what no log shows."""

    assumes: tuple[str, ...] = ()
    suppositions: Sequence[Supposition]
    gaps: list[Gap]

    @abstractmethod
    def rows(self, tables: Iterable[str] | None) -> Iterator[tuple[TableId, pa.RecordBatch]]:
        """The changes of tables, of all if None, in log order per table."""

    @abstractmethod
    def happened(self) -> pa.Table:
        """The boundaries as a frame, numbered as :attr:`boundaries` are."""

    @abstractmethod
    def unlogged(
        self, gaps: Sequence[Gap], own: Sequence[pa.RecordBatch] | None = None
    ) -> list[Contradiction]:
        """What the rows that were read last show to be changed outside the log, unless ``gaps``
        explain it.

        ``own``: all changes of the rows that are asked for, if they are known: what others show
        need not be in the answer.
        """


class StateReading(RowSource):
    """A log's ledger, for states of ``tables``, of all if None; :meth:`rows` reads their rows.

    Which transactions count is only known at a log's end (XA, RENAME, ALTER): so the ledger is read
    first. With ``on_damage="stop"`` it ends before the first row of the tables that cannot be read.

    ``bases``, ``since``: where tables' rows start, and which part of the log they include;
    ``images``: what compares images of the rows that were read last.
    """

    images: ImageChecks

    def __init__(
        self,
        log: Streams,
        tables: Iterable[str] | None,
        sources: frozenset[str],
        bases: Bases | None = None,
        since: Since | None = None,
    ) -> None:
        self._log, self._sources, self._since = log, sources, since
        self._whole = bases is not None or since is not None
        wanted = Filters(sources=sources)
        self.history: History = History(wanted)
        known = log.options.catalog
        self.given = {(t.db, t.table): t for t in known.tables()} if known is not None else {}
        for one in bases.tables.values() if bases is not None else ():
            if one.definition is not None:
                self.given[one.name] = one.definition
        self._ledger, self._savepoints = Transactions(), Savepoints()
        self._partial: dict[TableId, int] = {}
        self._unchecked = [np.zeros(0, np.int64)]
        read = Filters.build(table=tables, source=sources)
        reading = self._chosen(read)
        reading.sources = sources
        log.unreadable = view(reading, self._take, counting=read)
        if log.unreadable is not None:
            raise log.unreadable
        if isinstance(reading, ChosenReading):
            self.history.take_files(log.file_facts)
            self.transactions = reading.transactions(wanted)
        else:
            self.transactions = self._ledger.finish(wanted)
        del self._ledger  # some 200 bytes a transaction
        self.undone = self._savepoints.undone
        self.boundaries = read_boundaries(self.history.table(), self.history.changes)

    def rows(self, tables: Iterable[str] | None) -> Iterator[tuple[TableId, pa.RecordBatch]]:
        """The changes of tables, of all if None, in log order per table, up to damage, which is
        kept in ``log.damages``."""
        log, wanted = self._log, Filters.build(table=tables, source=self._sources)
        self.images = ImageChecks(wanted)
        for found in log.batches_to_damage(self._chosen(wanted), wanted, images=self.images):
            name = small_name(found.table) if self.history.folded else found.table
            batch = found.batch
            if self._since is not None:
                self._since.take_rows(batch)
            states = batch["after_state"]
            if states.null_count < len(states):
                odd = batch["seq"].filter(states.is_valid())
                self._partial[name] = max(self.partial(name), int(odd[-1].as_py()))
            yield name, batch
        if log.unreadable is not None:
            raise log.unreadable

    @property
    def suppositions(self) -> Sequence[Supposition]:  # type: ignore[override]
        """See :class:`RowSource`."""
        return self._log.suppositions

    @property
    def gaps(self) -> list[Gap]:  # type: ignore[override]
        """See :class:`RowSource`."""
        return self._log.gaps

    def happened(self) -> pa.Table:
        """See :class:`RowSource`."""
        return self.history.table()

    def unlogged(
        self,
        gaps: Sequence[Gap],
        own: Sequence[pa.RecordBatch] | None = None,  # noqa: ARG002
    ) -> list[Contradiction]:
        """See :class:`RowSource`."""
        return list(unlogged(self._log, self.images, gaps))

    def partial(self, name: TableId) -> int:
        """See :class:`Source`."""
        return self._partial.get(name, -1)

    @property
    def unchecked(self) -> Callable[[Integers], Flags]:
        """See :class:`Source`."""
        return partial(among_events, np.concatenate(self._unchecked), SEQ_SHIFT)

    def _chosen(self, wanted: Filters) -> Reading:
        """A reading of what concerns the tables: only the relevant parts if some tables are wanted
        and an index is given; with a base, all logs."""
        if wanted.tables and not self._whole:
            return self._log.reading_of(wanted, statements=True)
        return self._log.reading()

    def _take(self, window: Window, counts: Integers) -> None:
        self._ledger.feed(window, counts)
        self._savepoints.feed(window)
        self.history.feed(window)
        if self._since is not None:
            self._since.feed(window)
        self._unchecked.append(window.unchecked())


def among_events(numbers: Integers, shift: int, seqs: Integers) -> Flags:
    """Which changes, by ``seq``, are of these events; ``shift``: what a number is shifted by."""
    return np.isin(seqs >> shift, numbers)
