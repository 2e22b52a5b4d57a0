"""A landed table's rows as of a point, from what has landed: the logs are not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from binlogkit.analyses._tasks import Sieve
from binlogkit.analyses.point_in_time.counting import Until, touching
from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.log.states.forwards import MADE_LATER, RESTARTED, States, Wanted
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.history import TableFacts
from binlogkit.log.states.images.contradictions import Contradiction, of_replay, unexplained
from binlogkit.log.states.places import among
from binlogkit.log.states.point import Point
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.filter_args import AtArg
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.shape import landed_name

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.analyses.point_in_time.erased import Logged
    from binlogkit.analyses.point_in_time.shared import FoldedState
    from binlogkit.analyses.point_in_time.state import Images
    from binlogkit.log.states.bases.bases import Bases, Since
    from binlogkit.log.states.diff import TableDifference
    from binlogkit.spark.landing.own_rows import OwnRows

#: The changes of tables, at least up to a point.
Changes = Callable[[Sequence[TableId], Until | None], Any]
#: Gives the changes of tables that a sieve wants, numbered also among those of other ones.
Sift = Callable[[Sequence[TableId], Sequence[TableId], Sieve], "Iterator[pa.RecordBatch]"]


class LandedStates(States):
    """A landing as the source of tables' states, by what its ledger says.

    ``changes``: of landed tables; ``tables``: wanted ones, the first counts where one is asked for;
    ``points``: a file and a position each, the end of all that has landed if None; ``own``: rows of
    the table to begin with; ``sift``: gives some changes, if ``changes`` does not give batches.
    ``keep_cascaded``, ``before``: as ``cascaded`` and ``before`` of :class:`States`.
    """

    assumes = ("All that the logs hold of the table has landed, under the same names.",)
    unnamed = "Nothing that has landed names this table"

    def __init__(
        self,
        ledger: Ledger,
        changes: Changes,
        tables: Sequence[str],
        points: Sequence[AtArg | Point],
        own: OwnRows | None = None,
        *,
        sift: Sift | None = None,
        keep_cascaded: bool = False,
        before: Before | None = None,
    ) -> None:
        self.name = landed_name(tables[0])
        ledger.check()
        ledger.refuse_waiting(map(landed_name, tables))
        self.reading = self._ledger = ledger
        asked = [p if isinstance(p, Point) else Point(ledger, {"at": p}) for p in points]
        self._begin(ledger, [*tables], asked)
        self._keeps_cascaded, self._before = keep_cascaded, before
        self._gaps, self._changes_of, self._sift = ledger.gaps, changes, sift
        if own is not None:  # as a base, of which these are what the engine needs
            self._bases, self._held = cast("Bases", own), cast("Since", own.held)
            self._gaps = own.held.after(ledger.gaps)

    def difference(self) -> TableDifference:
        """What differs between two points. Errors: those of :meth:`state`."""
        from binlogkit.log.states.diff import difference_between

        table = written_table_name(*self.name)
        return difference_between(self, self._points, table, held=self._held_by_tasks)

    def _held_by_tasks(self, point: Point, state: TableState) -> FoldedState | None:
        """A state's rows that tasks hold; None if they are here, or there are none."""
        found = self.shared.get((point, state.table))
        emptied = {RESTARTED, MADE_LATER}.intersection(state.findings["finding"].to_pylist())
        return None if found is None or emptied else found.folded

    def state(self) -> TableState:
        """The state. Errors: SchemaError, its key is masked; those of reading what has landed."""
        return self.at(self._points[0], written_table_name(*self.name))

    def _layout(self, name: TableId, reach: Reach) -> TableFacts:
        facts = self._ledger.history.layout(name, reach.counted)
        if any(self._ledger.masks.masks_column(*name, column) for column in facts.key):
            text = f"{'.'.join(name)}: its key is masked, so that its rows cannot be distinguished"
            raise SchemaError(text)
        return facts

    def _erased(self) -> Mapping[TableId, Logged]:
        return self._ledger.erased

    def _met(self, name: TableId) -> bool:
        return self._ledger.has(name)

    def _compares(self, tables: Sequence[str]) -> bool:
        return not any(gap.concerns(tables) for gap in self._gaps)

    def _shown_later(self, wanted: Wanted, reach: Reach) -> list[Contradiction]:
        ledger = self._ledger
        transactions = ledger.transactions
        after = transactions.filter(touching(transactions, [".".join(n) for n in wanted.tables]))
        if among(after, reach.counted).all():
            return []
        known = self._compared(wanted)[1]
        return [one for one in known if not reach.holds(one.shown.file, one.shown.pos)]

    def shown(self, own: Sequence[pa.RecordBatch] | None = None) -> list[Contradiction]:
        """The changes of the table outside the logs that images show; ``own``: all changes of the
        rows that are asked for, else of all rows."""
        return self._compared(self.wanted, own)[1]

    def compared(self) -> tuple[Images, list[Contradiction]]:
        """How the comparison of all images went, and those of the table that show such changes."""
        images, found = self._compared(self.wanted)
        return images, [one for one in found if one.name[1:] == self.wanted.table.name]

    @cached_property
    def wanted(self) -> Wanted:
        """The table at the first point."""
        return self._wanted(self._points[0], written_table_name(*self.name))

    def _compared(
        self, wanted: Wanted, own: Sequence[pa.RecordBatch] | None = None
    ) -> tuple[Images, list[Contradiction]]:
        ledger = self._ledger
        names = [one for one in wanted.tables if ledger.has(one)]
        key = self._layout(wanted.table.name, self.reach(Point(ledger, {}))).key
        to_end = replace(wanted, table=replace(wanted.table, columns=None, key=key))
        replaying = self._replaying(to_end, None, compares=True)
        alone = own if {*names} <= {*wanted.lineage} else None
        images = replaying.images_of(self._changes_of(names, None) if alone is None else alone)
        if not images.broken:
            return images, []

        def read(sieve: Sieve) -> Iterable[pa.RecordBatch]:
            if alone is None and self._sift is not None:
                return self._sift(names, (), sieve)
            again = self._changes_of(names, None) if alone is None else alone
            return (part for batch in again for part in sieve(once(batch)))

        found = of_replay(read, images.broken, ledger.boundaries, ledger.history.version)
        return images, list(unexplained(found, self._gaps))

    def _changes(self, wanted: Wanted) -> Any:
        self._ledger.refuse_waiting(wanted.tables)
        there = [name for name in wanted.tables if self._ledger.has(name)]
        return self._changes_of(there, wanted.until)
