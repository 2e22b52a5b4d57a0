"""A query's result, kept up to date: each step's removed and added rows, folded into its state."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.livestate.views.calculated import calculated
from binlogkit.livestate.views.engine import QueryEngine
from binlogkit.livestate.views.plan import QueryPlan
from binlogkit.livestate.views.relations import TouchedTable
from binlogkit.livestate.views.result import Result, Row


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What one step did to a result: ``rows``: each with its weight, −n for n that went and n for
    those that came; ``moment``: the transaction's end that the result is as of since."""

    rows: tuple[tuple[Row, int], ...]
    moment: Any


class View:
    """A registered query; see :meth:`Live.register`.

    ``sql``, ``name``; ``recompute``: whether it may be calculated anew; ``error``: why it cannot be
    kept, None while it is.
    """

    def __init__(
        self, name: str, sql: str, called: Callable[[ViewChange], object] | None, recompute: bool
    ) -> None:
        self.name, self.sql, self.recompute = name, sql, recompute
        self.error: Exception | None = None
        self.plan: QueryPlan | None = None
        self.result: Result | None = None
        self._called = called
        self._shown: list[Row] | None = None
        self._kept: deque[ViewChange] | None = None
        self._again: Callable[[], Result] | None = None  # what calculates it anew
        self._reported: Counter[Row] | None = None  # the last rows, while they are no result
        self._index: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def begin(
        self,
        plan: QueryPlan,
        engine: QueryEngine,
        tables: Mapping[TableId, TouchedTable],
        moment: Any,
    ) -> None:
        """Begin, or restart: the change is what differs."""
        before = Counter() if self._reported is None else self._reported
        if self.result is not None and self._reported is None:
            before = Counter(self.shown_rows())
        self.error, self.plan, self._shown, self._index = None, plan, None, {}
        whole = _whole(plan, engine, tables)
        self.result, self._again = whole(), whole if plan.anew else None
        after = Counter(self.shown_rows())
        self._reported = after.copy() if plan.anew and self._reports_rows else None
        after.subtract(before)
        self._tell(after, moment)

    @property
    def _reports_rows(self) -> bool:
        """Whether anybody listens for changes."""
        return self._called is not None or self._kept is not None

    def step(
        self, engine: QueryEngine, tables: Mapping[TableId, TouchedTable], moment: Any
    ) -> None:
        """Take a step."""
        assert self.plan is not None
        if self.plan.anew:
            self._step_anew(_whole(self.plan, engine, tables), moment)
            return
        assert self.result is not None
        if not engine.inner(self.plan, tables, asked=self.result.asks):
            return
        limited = self.plan.limited
        before = Counter(self.shown_rows()) if limited else Counter()
        found = self.result.take(engine)
        if not found:
            return
        self._shown = None
        self._note(found)
        if limited:
            found = Counter(self.shown_rows())
            found.subtract(before)
        self._tell(found, moment)

    def _step_anew(self, whole: Callable[[], Result], moment: Any) -> None:
        """Calculate it when it is asked for, or now where somebody waits for changes."""
        self._again = whole
        self.error, self.result, self._shown, self._index = None, None, None, {}
        if self._reports_rows:
            found = Counter(self.shown_rows())
            changed = found.copy()
            changed.subtract(self._reported or Counter())
            self._reported = found
            self._tell(changed, moment)

    def fail(self, error: Exception) -> None:
        """It cannot be kept any more, or not be calculated as of now."""
        if self._reports_rows and self._reported is None and self.error is None:
            self._reported = Counter(self.shown_rows())
        self.error, self.result, self._shown, self._index = error, None, None, {}

    def _tell(self, found: Counter[Row], moment: Any) -> None:
        rows = tuple((row, weight) for row, weight in found.items() if weight)
        if not rows:
            return
        change = ViewChange(rows, moment)
        if self._kept is not None:
            self._kept.append(change)
        if self._called is not None:
            self._called(change)

    # ---- what it shows ------------------------------------------------------------------------

    def shown_rows(self) -> list[Row]:
        """The rows, in the query's order. Errors: why it cannot be kept."""
        if self.error is not None:
            raise self.error
        if self._shown is None:
            if self.result is None:
                assert self._again is not None
                self.result = self._again()
            self._shown = self.result.ordered()
        return self._shown

    def find(self, wanted: Mapping[str, Any]) -> list[Row]:
        """The rows that have these values, by an index that is kept from then on."""
        if self.error is not None:
            raise self.error
        self.shown_rows()
        assert self.plan is not None and self.result is not None
        names = self.plan.names()
        if unknown := [name for name in wanted if names.count(name) != 1]:
            raise UsageError(f"{unknown[0]} is not one of the columns ({', '.join(names)})")
        places = tuple(sorted(names.index(name) for name in wanted))
        if places not in self._index:
            index: dict[Row, list[Row]] = {}
            for row, count in self.result.rows.items():
                index.setdefault(tuple(row[i] for i in places), []).extend([row] * count)
            self._index[places] = index
        return list(self._index[places].get(tuple(wanted[names[i]] for i in places), ()))

    def _note(self, found: Counter[Row]) -> None:
        """Keep the indexes."""
        for places, index in self._index.items():
            for row, weight in found.items():
                rows = index.setdefault(tuple(row[i] for i in places), [])
                for _ in range(-weight):
                    rows.remove(row)
                rows.extend([row] * max(weight, 0))
                if not rows:
                    del index[tuple(row[i] for i in places)]

    def keep_changes(self) -> None:
        """Keep changes until :meth:`take_changes`."""
        if self.plan is not None and self.plan.anew and not self._reports_rows:
            self._reported = Counter(self.shown_rows())
        self._kept = deque() if self._kept is None else self._kept

    def take_changes(self) -> Iterator[ViewChange]:
        """The changes since the last call."""
        while self._kept:
            yield self._kept.popleft()


def _whole(
    plan: QueryPlan, engine: QueryEngine, tables: Mapping[TableId, TouchedTable]
) -> Callable[[], Result]:
    """What calculates a query from all rows as they are now."""
    now = {name: replace(one, before=one.after, deltas=None) for name, one in tables.items()}
    return partial(calculated, plan, engine, now)
