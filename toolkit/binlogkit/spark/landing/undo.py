"""Undo and redo of landed changes: the logs' own plans, from what has landed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._tasks import Sieve
from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.analyses.references import connected
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import STATEMENT
from binlogkit.log.undoing.source import UndoSource, transactions_of
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.soundness import Gap
from binlogkit.rows.soundness.gaps import LAST
from binlogkit.sources.log_format import version_tuple
from binlogkit.spark.landing.chosen import Chosen
from binlogkit.spark.landing.happened import happened_to_tables
from binlogkit.spark.landing.journal import has_erased
from binlogkit.spark.landing.states import LandedStates

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.analyses.point_in_time.codes import Flags, Integers
    from binlogkit.log.states.point import Point
    from binlogkit.spark.landing.ledger import Ledger
    from binlogkit.spark.landing.passing import Passing
    from binlogkit.spark.landing.states import Sift


_ERASED = "No row that was erased from this landing depended on the chosen changes, or was of them."


class LandedSource(UndoSource):
    """A landing. It holds the changes that filters want; those of their tables, and of tables that
    foreign keys join with them, pass each time that they are asked for.

    ``passing``: gives the changes of tables with all of their columns; ``transactions``: gives
    those that filters want; ``asked``: the ``filters``; ``sift``: reads changes, if this process
    does not.

    Errors: InputError: such a table waits or has not landed; SchemaError: its columns are masked;
    UsageError, of filters.
    """

    def __init__(
        self,
        ledger: Ledger,
        passing: Callable[[Sequence[TableId]], Passing],
        transactions: Callable[..., pa.Table],
        asked: Filters,
        filters: FilterArgs,
        *,
        by_transaction: bool,
        sift: Sift | None = None,
    ) -> None:
        self._sift = sift
        ledger.check()
        self.logs = self._ledger = ledger
        self.asked, self.by_transaction = asked, by_transaction
        of_sources = Filters(sources=self.asked.sources)
        self.wanted = of_sources if by_transaction else self.asked
        self.boundaries = ledger.boundaries
        self.left = ledger.left
        self.given = [*ledger.given.values()]
        names = [n for n in ledger.met if by_transaction or self.asked.wants_table(*n)]
        joined = self._joined(names)
        self._check(joined)
        there = sorted(name for name in joined if ledger.has(name))
        self._there, self._passing = frozenset(there), passing(there)
        self.transactions, self.statements = ledger.transactions, to_table([], STATEMENT)
        self._choose(transactions, filters, names)
        self._of_one_history()
        versions = (file.server_version or "" for file in ledger.file_facts)
        self.version = max(versions, key=version_tuple, default="")
        self.size = sum(file.size for file in ledger.file_facts)
        self.gaps = (*ledger.gaps, *self._not_landed(joined))
        self.any_unchecked = ledger.any_unchecked
        self.assumes = (*LandedStates.assumes, *([_ERASED] if has_erased(ledger.out) else []))

    def unchecked(self, seqs: Integers) -> Flags:
        """See :class:`UndoSource`."""
        return self._ledger.unchecked(seqs)

    def of_tables(self, tables: Collection[TableId] | None) -> Iterator[pa.RecordBatch]:
        """See :class:`UndoSource`."""
        yield from map(once, self._of(tables))

    def _of(self, tables: Collection[TableId] | None) -> Iterable[pa.RecordBatch]:
        """The same, to be read again and again."""
        names = self._there if tables is None else self._there.intersection(tables)
        return self._passing.of(names)

    def sifted(self, tables: Collection[TableId] | None, sieve: Sieve) -> Iterator[pa.RecordBatch]:
        """See :class:`UndoSource`."""
        if self._sift is None:
            return super().sifted(tables, sieve)
        names = self._there if tables is None else self._there.intersection(tables)
        return self._sift(sorted(names), sorted(self._there - names), sieve)

    def states(
        self, names: Iterable[TableId], points: Sequence[Point], before: Before | None = None
    ) -> LandedStates:
        """See :class:`UndoSource`."""
        return LandedStates(
            self._ledger,
            lambda tables, _: self._of(tables),
            [written_table_name(*name) for name in names],
            points,
            keep_cascaded=True,
            before=before,
        )

    def _joined(self, names: Iterable[TableId]) -> set[TableId]:
        """Tables, under all of their names, and those that foreign keys join with them."""
        definitions = [b.definition for b in self.boundaries if b.definition is not None]
        pairs = [(b.name, b.new_name) for b in self.boundaries if b.new_name is not None]
        pairs += [
            ((one.db, one.table), (key.db or one.db, key.table))
            for one in (*definitions, *self.left)
            for key in one.foreign
        ]
        return connected(names, pairs)

    def _check(self, names: Iterable[TableId]) -> None:
        """Errors for tables whose changes cannot be given whole."""
        ledger = self._ledger
        ledger.refuse_waiting(names)
        masked = sorted(n for n in names if ledger.masks.concerns(*n) and n in ledger.met)
        if masked:
            text = ", ".join(written_table_name(*name) for name in masked)
            raise SchemaError(f"columns of {text} are masked: their values have not landed")

    def _not_landed(self, names: Iterable[TableId]) -> Iterator[Gap]:
        """The tables whose changes are in the logs alone."""
        for name in sorted(names):
            if name in self._ledger.met and name not in self._there:
                text = f"changes of {written_table_name(*name)} are in the logs, and did not land"
                yield Gap("not_landed", self._ledger.files[0], None, LAST, None, text)

    def _choose(
        self,
        transactions: Callable[..., pa.Table],
        filters: FilterArgs,
        names: Collection[TableId],
    ) -> None:
        """The changes that filters want, which are of these tables, and what happened to tables."""
        asked = {name: value for name, value in filters.items() if value not in (None, ())}
        asked.pop("where", None)
        every = transactions() if asked else self.transactions
        chosen = Chosen(self._ledger, every, transactions, asked)  # type: ignore[arg-type]
        self.happened = happened_to_tables(self._ledger)
        numbers = np.asarray(self.happened["tx"].fill_null(-1))
        happened = self.happened.filter(chosen.of(self.happened, numbers))
        wanted = Wanted(chosen, self.asked)
        changes = self.sifted(names, wanted)
        if self.by_transaction:
            touched = {tx for batch in changes for tx in batch["tx"].unique().to_pylist()}
            wanted.complain()
            whole = transactions_of(touched, happened, self.boundaries, self.asked)
            self.happened = self.happened.filter(pc.is_in(self.happened["tx"], whole))
            changes = self.sifted(None, OfTransactions(whole))
        else:
            self.happened = happened
        self.changes = [batch for batch in changes if batch.num_rows]
        wanted.complain()


class Wanted:
    """Of changes those that filters want."""

    def __init__(self, chosen: Chosen, asked: Filters) -> None:
        from binlogkit.frames.matching import Matcher

        self._chosen, self._matching = chosen, Matcher(asked.where)

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """See :class:`Sieve`."""
        rows = self._chosen.changes(pa.Table.from_batches([batch]))
        for part in rows.combine_chunks().to_batches():
            yield self._matching(part)

    def learned(self) -> Any:
        """Which conditions fit."""
        return self._matching.learned

    def add(self, learned: Sequence[Any]) -> bool:
        """See :class:`Sieve`."""
        for misfits, fit in learned:
            self._matching.add(misfits, fit)
        return False

    def complain(self) -> None:
        """UsageError: a value was asked for that is of no table's type."""
        self._matching.complain()


@dataclass(frozen=True, slots=True)
class OfTransactions(Sieve):
    """Of changes those of some transactions."""

    numbers: pa.Array

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """See :class:`Sieve`."""
        yield batch.filter(pc.is_in(batch["tx"], self.numbers))
