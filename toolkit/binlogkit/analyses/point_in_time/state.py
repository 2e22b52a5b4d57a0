"""A table's rows as of a point of its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from binlogkit.analyses._frames import (
    FrameT,
    from_arrow,
    is_frame,
    is_spark,
    lazy,
    ordered,
    records,
    to_arrow,
)
from binlogkit.analyses._savepoints import Undone, is_undone, undone_ranges
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.boundary import (
    Boundary,
    Name,
    lineage,
    parents,
    read_boundaries,
)
from binlogkit.analyses.point_in_time.counting import Counting, counting
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.sequential import Replay
from binlogkit.analyses.point_in_time.store import Store
from binlogkit.analyses.point_in_time.until import Until, note_cascades
from binlogkit.analyses.point_in_time.window import last_images, window_suffices
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from binlogkit.analyses._frames import Lazy

__all__ = ["State", "as_state", "only_table", "replay", "state"]

_ALWAYS = -(1 << 63)  # below every seq


@dataclass(frozen=True, slots=True)
class State:
    """A state: ``rows`` (STATE) and ``findings`` (FINDINGS), both of the changes' engine.

    ``determined``: whether the log determines the state, apart from the cells listed as unknown.
    """

    rows: Any
    findings: Any
    determined: bool


def state(changes: FrameT, boundaries: FrameT | None = None, **how: Any) -> FrameT:
    """A table's rows as of a point (STATE); the arguments are those of :func:`replay`."""
    rows: FrameT = replay(changes, boundaries, **how).rows
    return rows


def replay(
    changes: Any,
    boundaries: Any = None,
    *,
    key: Sequence[str],
    transactions: Any = None,
    statements: Any = None,
    table: Name | None = None,
    base: Any = None,
    since: Until | None = None,
    until: Until | None = None,
    columns: Sequence[str] | None = None,
    transactional: bool | None = None,
    cascades: Sequence[str] = (),
    cascades_logged: bool = False,
    method: str = "auto",
) -> State:
    """A table's rows as of a point, and what is not certain about them.

    ``changes``: a frame of typed changes of the table (and of the tables it was renamed from), or
    an iterable of record batches; the result is of the same engine, Arrow for batches.
    ``boundaries``: ``log.boundaries()``, or what :func:`read_boundaries` made of it, for many
    states of one log; ``transactions``: ``log.transactions()``; without it every change is taken
    as committed, and ``until`` cannot be given; ``statements``: ``log.statements()``, which tells
    what ROLLBACK TO SAVEPOINT took back. ``key``: columns of the primary key, or of a unique
    key without NULL; empty for a table without one: its rows are a multiset. ``table``: (db,
    table), needed where ``changes`` hold several or none. ``base``: the rows before the first
    change: a state, or a frame with the table's own columns; ``since``: the point at which it was
    taken, the log's beginning if None. ``columns``: the table's columns at
    that point, all that were seen if None. ``transactional``: whether the table's engine is.
    ``cascades``: the tables (``db.table``) whose foreign keys change this one, beside those that
    ``boundaries`` tell; ``cascades_logged``: the server logs such changes (9.6+). ``method``:
    ``sequential``, ``window`` (full images, a key that never changes) or ``auto``.

    Rows come by key, text by code point (the server's order depends on the collation), else as
    first seen. UsageError where the arguments contradict each other or the frames.
    """
    if method not in ("auto", "sequential", "window"):
        raise UsageError(f"method is auto, sequential or window, not {method!r}")
    findings = Findings()
    name = table if table is not None else only_table(changes)
    happened = read_boundaries(boundaries)
    names = lineage(happened, name)
    counts = counting(transactions, since, until, names, transactional, findings)
    if counts is not None:
        above = (
            []
            if cascades_logged
            else parents((b for b in happened if counts.known(b)), name, cascades)
        )
        note_cascades(transactions, counts.rows, above, findings)
        happened = [b for b in happened if counts.happened(b)]
    undone = undone_ranges(statements)
    plan = _Plan(changes, tuple(key), names, happened, counts, undone, base, columns, findings)
    if method == "window" or (method == "auto" and plan.may_use_window()):
        return plan.by_window()
    return plan.sequentially()


@dataclass(frozen=True, slots=True)
class _Plan:
    """Everything that a state is made from."""

    changes: Any
    key: tuple[str, ...]
    names: list[Name]
    happened: list[Boundary]
    counts: Counting | None
    undone: list[Undone]
    base: Any
    columns: Sequence[str] | None
    findings: Findings

    def may_use_window(self) -> bool:
        """Whether the window form gives the right state."""
        if self.base is not None or len(self.names) > 1 or not is_frame(self.changes):
            return False
        since = self._since()
        if self.columns is not None or since is None:
            return False
        return window_suffices(self._kept(), self.key, complete=since != _ALWAYS)

    def _since(self) -> int | None:
        """The ``seq`` from which on there are only row changes; None where there is no such."""
        name = self.names[-1]
        since: int | None = _ALWAYS
        for boundary in self.happened:
            if boundary.concerns(name):
                stored = boundary.definition is None or boundary.definition.engine != "BLACKHOLE"
                since = boundary.seq if boundary.empties and stored else None
            elif boundary.may_write:
                since = None
        return since

    def by_window(self) -> State:
        """The state by :func:`last_images`."""
        if self.base is not None or not is_frame(self.changes):
            raise UsageError("the window form takes a frame and no base")
        if self._since() == _ALWAYS:
            self.findings.add("no_beginning")
        rows = last_images(self._kept(), self.key, self.changes)
        return as_state(rows, self.findings, self.changes)

    def _kept(self) -> Lazy:
        """The changes of the table that count."""
        rows = ordered(self.changes, ("op", "before", "after", "db", "table"))
        db, table = self.names[-1]
        since = self._since()
        rows = rows.filter((nw.col("db") == db) & (nw.col("table") == table))
        if since is not None:
            rows = rows.filter(nw.col("seq") > since)
        undone = is_undone(self.undone)
        rows = rows if undone is None else rows.filter(~undone)
        if self.counts is None:
            return rows
        if "tx" not in rows.collect_schema():
            raise UsageError("the changes have no column tx: their transactions cannot be told")
        outside = nw.col("tx").is_null()
        if is_spark(self.changes):
            inside = rows.join(self.counts.rows, on="tx", how="semi")
            return nw.concat([inside, rows.filter(outside)])
        # Arrow joins no frame with a struct in it.
        return rows.filter(nw.col("tx").is_in(sorted(self.counts.numbers)) | outside)

    def sequentially(self) -> State:
        """The state by one pass in log order."""
        run = Replay(self.key, self.names, self.happened)
        if self.base is not None:
            run.load(base_changes(to_arrow(self.base)))
        numbers = None if self.counts is None else self.counts.numbers
        run.run(counted_batches(self.changes, numbers, self.undone))
        table = run.tables.get(run.wanted)
        like = self.changes if is_frame(self.changes) else None
        if table is None:
            if run.wanted not in run.absent:
                self.findings.add("no_beginning")
            return as_state(state_table(Store(), [], None, ()), self.findings, like)
        if not table.complete:
            self.findings.add("no_beginning")
        if table.rows.rejected:
            self.findings.add("json_diff", determined=True, times=table.rows.rejected)
        self.findings.update(table.findings)
        rows = [table.store.handles(row) for row in table.rows.live()]
        result = state_table(table.store, rows, self.columns, self.key)
        return as_state(result, self.findings, like)


def as_state(rows: Any, findings: Findings, like: Any) -> State:
    """A state of the engine of ``like``, a frame, or Arrow for None."""
    determined = all(finding.determined for finding in findings.found.values())
    table = findings.table()
    if like is None:
        return State(rows, table, determined)
    native = rows if isinstance(rows, type(like)) else from_arrow(rows, like)
    return State(native, from_arrow(table, like), determined)


def only_table(changes: Any) -> Name:
    """The one table that the changes are of."""
    if not is_frame(changes):
        raise UsageError("batches need the table's name")
    names = records(lazy(changes, ("db", "table")).select("db", "table").unique())
    if len(names) != 1:
        raise UsageError(f"the changes are of {len(names)} tables: which one is wanted?")
    return names[0]["db"], names[0]["table"]
