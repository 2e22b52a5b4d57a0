"""A walk over one split, as if all that stands before it had been read.

What a split cannot tell by itself is what stood before it: the tables as DDL there left them
(:class:`Known`), and the numbers of events and transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from binlogkit.errors import DamageError
from binlogkit.events.base import Event
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.rows.ddl import Catalog, StatementKind, TableChange, statement_kind
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.pieces import Piece, pieces_of
from binlogkit.rows.walk import SEQ_SHIFT, LogWalk, Step
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.up_to import up_to

__all__ = ["Known", "Split", "SplitWalk"]


@dataclass(frozen=True, slots=True)
class Known:
    """What DDL told of tables up to some point; ``tracked``: the names that it touched."""

    catalog: Catalog
    tracked: frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Split:
    """One file, or a part of it, and where it stands among those read together.

    ``first``, ``last``: whether the file is; ``events``, ``transactions``: how many come before;
    ``known``: which of the plan's states holds what is known at its start, None for nothing;
    ``start``: logical offset of its first transaction, 0 for the file's beginning; ``stop``: of
    its end, or where the file ended when it was planned, None where it is read to its end, whatever
    that is by then; ``location``: what opens it where that is not its name.
    """

    file: str
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    known: int | None = None
    start: int = 0
    stop: int | None = None
    location: str | None = field(default=None, repr=False)


class SplitWalk(LogWalk):
    """A walk that can start at any of a series of logs: at ``split``, with what is ``known``.

    ``declared``: how many statements met may have changed what is known; ``declared_at``: the
    ordinal of the last of them that ``pieces`` met.
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions,
        *,
        ahead: bool = True,
        split: Split | None = None,
        known: Known | None = None,
    ) -> None:
        stop = split.stop if split is not None else None
        if stop is not None:
            carriers = [up_to(carrier, stop) for carrier in carriers]
        super().__init__(carriers, options, ahead=ahead)
        self._split = split
        self.declared = 0
        self.declared_at = -1
        if split is not None:
            self.ordinal, self._transactions = split.events, split.transactions
            self.begin = split.start
        if known is not None:
            self.tables.catalog, self.tables.tracked = known.catalog.copy(), set(known.tracked)

    @property
    def known(self) -> Known:
        """What is known now."""
        return Known(self.tables.catalog.copy(), frozenset(self.tables.tracked))

    def steps(self, carrier: Carrier) -> Iterator[Step]:
        """The steps of one log."""
        return self._walk(carrier, True, True)

    def parts(self, carrier: Carrier, number: int) -> Iterator[Piece | Step]:
        """The pieces of one log, and its steps from where they end; ``number``: of its first
        transaction."""
        self.next_number = number
        return pieces_of(self, None, carrier, True, True)

    def look(self, step: Step) -> None:
        """Take an event as a step does, and note what it declares."""
        before = self.declared
        super().look(step)
        if self.declared != before:
            self.declared_at = step.seq >> SEQ_SHIFT

    def _ends(self, i: int) -> tuple[bool, bool]:
        split = self._split
        return super()._ends(i) if split is None else (split.first, split.last)

    def _events(
        self, carrier: Carrier, sink: Callable[[DamageError], None], start: int = 0
    ) -> Iterator[Event]:
        """The events from the split's start on."""
        begin = self.begin

        def report(error: DamageError) -> None:
            if error.offset >= begin:
                sink(error)

        for event in super()._events(carrier, report, start):
            if event.raw.pos >= begin:
                yield event

    def _apply(self, body: Query | ExecuteLoadQuery) -> list[TableChange]:
        kind = statement_kind(body.query, body.status_vars.sql_mode)
        self.declared += kind == StatementKind.DDL
        return super()._apply(body)
