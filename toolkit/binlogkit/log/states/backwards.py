"""Tables as of a point, computed backwards from a later base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses.point_in_time.counting import Contained, Counting
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.rewind import Span, rewind
from binlogkit.analyses.point_in_time.rewind_steps import called_later, ever_above, rewind_steps
from binlogkit.analyses.point_in_time.state import ReplayLedger, ReplayTable
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.states.assembled import assembled
from binlogkit.log.states.backwards_reach import BackwardsReach
from binlogkit.log.states.bases.bases import facts_of
from binlogkit.log.states.bases.earlier_names import all_names, boundaries_of, definitions_before
from binlogkit.log.states.bases.given import bases_of
from binlogkit.log.states.doubts import doubts_of, doubts_of_bases, noted
from binlogkit.log.states.forwards import (
    full_name,
    of_values,
    table_args_of,
    transactional_of,
)
from binlogkit.log.states.gaps import assumed
from binlogkit.log.states.images.contradictions import unlogged
from binlogkit.log.states.named import Mentions
from binlogkit.log.states.places import among
from binlogkit.log.states.reading import StateReading
from binlogkit.log.states.state_position import state_position
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.sources.log_format import CASCADES_LOGGED

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.history import TableFacts
    from binlogkit.log.states.point import Point, TableArgs
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.streams import Streams


class Back:
    """A log read for states of tables, as of points before the base in ``given``.

    ``names``: the tables' names at the points; None for all of the base.
    """

    def __init__(self, log: Streams, names: list[str] | None, given: TableArgs) -> None:
        if given.get("base") is not None:
            raise UsageError("a state begins with a base or goes back from one: give one of them")
        self._log, self._names = log, names
        self._key, self._transactional, self._sources = table_args_of(given)
        happened = boundaries_of(log, self._sources)
        wanted = None if names is None else all_names(happened, names)
        place = given.get("base_at"), given.get("base_gtid")
        bases = bases_of(log, given.get("back_from"), *place, wanted)
        assert bases is not None
        self._bases, self._base = bases, bases.since(log)
        self._before = definitions_before(log, bases, happened)
        if wanted is None:
            held = [written_table_name(*name) for name in bases.tables]
            wanted = all_names(happened, held)
        with log.knowing(self._before.catalog):
            self.reading = StateReading(log, wanted, self._sources, since=self._base)
        self._reaches: dict[Point, BackwardsReach] = {}

    def tables(self, point: Point) -> list[str]:
        """The tables whose states are wanted."""
        return self.there(point) if self._names is None else self._names

    def there(self, point: Point) -> list[str]:
        """The tables that may exist at the point: the base's, and dropped ones of its databases."""
        between = self._between(point)
        named = Mentions(self.reading.history.layouts, self.reading.boundaries).tables(
            self.reach(point)
        )
        databases = {db for db, _ in self._bases.tables}
        gone = [
            name
            for name in named
            for names, dropped in [called_later(between, _pair(name))]
            if names[-1][0] in databases and dropped is not None
        ]
        return sorted({*gone, *self._there(between)})

    def _there(self, between: Sequence[Boundary]) -> Iterator[str]:
        """The names of the base's tables at the point."""
        for name in self._bases.tables:
            way = rewind_steps(between, name, StateFindings(), cascades_logged=True)
            if way.created is None:
                yield written_table_name(*way.steps[-1].name)

    def reach(self, point: Point) -> BackwardsReach:
        """The way back to a point."""
        if point not in self._reaches:
            transactions = self.reading.transactions
            until = point.until(transactions)
            counted = Counting(transactions, until).ended
            self._reaches[point] = BackwardsReach(
                self._log, transactions, counted, until, self._base
            )
        return self._reaches[point]

    def at(self, point: Point, table: str) -> TableState:
        """A table's state; its rows are read, and those of its parents."""
        log, reading, reach = self._log, self.reading, self.reach(point)
        history, transactions, boundaries = (
            reading.history,
            reading.transactions,
            reading.boundaries,
        )
        name = full_name(history, table, self._bases)
        names, dropped = called_later(self._between(point), name)
        met = [history.sources.get(one, set()) for one in names]
        log.one_history(set[str]().union(*met), f"{table} is")
        logged = history.oldest >= CASCADES_LOGGED
        if dropped is None:
            base = self._bases.of([names[-1]]).get(names[-1])
            layout = self._layout(names[-1])
        else:  # what has its name in the base is another table
            base, layout = None, history.layout(name, reach.counted)
            boundaries = [b for b in boundaries if b.seq <= dropped.seq]
        if base is None and dropped is None and self._whole(point, names[-1], logged):
            raise UsageError(f"no base has {'.'.join(names[-1])}: there is {self._bases.named()}")
        above = self._above(names)
        until = reach.until
        if until is None:
            until = Contained(TransactionNumbers(transactions["tx"].to_numpy()))
        engine = transactional_of(layout.engine) if self._transactional is None \
            else self._transactional  # fmt: skip
        last, definition = names[-1], None if base is None else base.definition
        wanted = ReplayTable(
            last,
            layout.key if self._key is None else tuple(self._key),
            None,
            above,
            {} if definition is None else {last: definition},
            {last: _no_rows() if base is None else base.rows},
        )
        taken = Contained(TransactionNumbers(self._base.numbers))
        written = [written_table_name(*one) for one in names]
        every = {*names, *map(_pair, all_names(reading.boundaries, written))}
        changes = self._changes(every, [] if logged else above)
        found = rewind(
            (batch for batch in changes if dropped is None),
            wanted,
            ReplayLedger(boundaries, reading.undone, None, logged),
            Span(transactions, until, taken, engine, reach.outside, self._stops()),
        )
        if dropped is None:
            self._check_name(point, name, names[-1])
        concerned = [*(".".join(one) for one in names), *([] if logged else above)]
        gaps = log.gaps
        missing = [g for g in reach.gaps(gaps) if g.concerns(concerned)]
        missing += reach.base_gaps(log, history, transactions)
        for shown in unlogged(log, reading.images, gaps):
            if shown.table in concerned and reach.shows(shown):
                missing.append(shown)
        supposed = [*layout.supposed, *of_values(name, found.rows)]
        doubts = doubts_of(layout, history, self._base.numbers, supposed)
        columns = tuple(field.name for field in found.rows.schema.field("values").type)
        if base is not None:
            doubts += doubts_of_bases([base])
        notes = [noted("behind_end", text) for text in point.notes(history, transactions)]
        altered = any(b.concerns(n) for n in names for b in self._between(point))
        position, _ = state_position(log, point.place, history.ends, transactions, reach.counted)
        return assembled(
            name,
            found.rows,
            found.findings,
            columns=columns or None,
            key=[n for n in layout.key if n in columns] if columns else layout.key,
            replayed=found.determined,
            doubts=doubts,
            gaps=missing,
            notes=notes,
            assumes=assumed(log, history.version, base=True),
            reach=reach,
            based=True,
            place=(position, self._gtids(reach)),
            definition=base.definition if base is not None and not altered else None,
            names=names,
        )

    def _whole(self, point: Point, name: TableId, logged: bool) -> bool:
        """Whether the table that has this name in the end was there all the way from the point."""
        return rewind_steps(
            self._between(point), name, StateFindings(),
            cascades_logged=logged, unknown=self._stops(),
        ).whole  # fmt: skip

    def _stops(self) -> set[int]:
        """The places before which only the bases would define the tables."""
        return set() if self._log.options.catalog is not None else self._before.stops

    def _between(self, point: Point) -> list[Boundary]:
        """What happened to tables between the point and the base."""
        reach, held = self.reach(point), self._base.numbers
        return [
            b for b in self.reading.boundaries
            if (reach.outside(b.file, b.pos) if b.tx is None
                else b.tx in held and b.tx not in reach.counted)
        ]  # fmt: skip

    def _check_name(self, point: Point, name: TableId, last: TableId) -> None:
        """UsageError for a table that had another name at the point."""
        way = rewind_steps(self._between(point), last, StateFindings(), cascades_logged=True)
        first = way.steps[-1].name
        if way.whole and first != name:
            then, now = (written_table_name(*one) for one in (first, name))
            raise UsageError(f"{now} was called {then} at that point: ask for {then}")

    def _layout(self, name: TableId) -> TableFacts:
        """What is known of the table as it is in the base."""
        base = self._bases.tables.get(name)
        layout = self.reading.history.layout(name, self._base.numbers)
        if base is None:
            return layout
        facts = facts_of(base)
        if base.definition is None and not facts.key:
            return layout
        return facts

    def _above(self, names: Sequence[TableId]) -> list[str]:
        """The tables from which foreign keys may have changed these, by all known definitions."""
        definitions = list(self.reading.given.values())
        if self._bases.catalog is not None:
            definitions += self._bases.catalog.tables()
        definitions += [t.definition for t in self._bases.tables.values() if t.definition]
        over: dict[str, set[str]] = {}
        for one in definitions:
            over.setdefault(f"{one.db}.{one.table}", set()).update(one.cascades)
        found = ever_above(self.reading.boundaries, names)
        found += sorted({p for n in names for p in over.get(".".join(n), ())} - {*found})
        for parent in found:  # which grows
            found += sorted(over.get(parent, set()) - {*found})
        return ever_above(self.reading.boundaries, names, found)

    def _gtids(self, reach: BackwardsReach) -> GtidSet | None:
        """The transactions that the state holds: the base's without the undone ones."""
        if self._base.gtids is None:
            return None
        rows = self.reading.transactions
        back = among(rows, self._base.numbers) & ~among(rows, reach.counted)
        gtids = filter(None, rows["gtid"].filter(pa.array(back)).to_pylist())
        return self._base.gtids.subtract(GtidSet.of(gtids)) or None

    def _changes(self, names: set[TableId], above: Iterable[str]) -> Iterator[pa.RecordBatch]:
        """The tables' changes; images of the tables ``above`` are compared with theirs."""
        tables = [*(written_table_name(*name) for name in names), *above]
        with self._log.knowing(self._before.catalog):
            yield from (batch for name, batch in self.reading.rows(tables) if name in names)


def _pair(table: str) -> TableId:
    parsed = parse_table_name(table)
    return parsed.db or "", parsed.table


def _no_rows() -> Any:
    """The rows of a table that is gone in the base: none."""
    return pa.table(
        {"values": pa.array([], pa.struct([])), "unknown": pa.array([], pa.list_(pa.string()))}
    )
