"""A table's rows as of a point of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from binlogkit.analyses.point_in_time.boundary import (
    Boundary,
    Name,
    lineage,
    parents,
    read_boundaries,
)
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.sequential import Replay
from binlogkit.analyses.point_in_time.store import Store
from binlogkit.analyses.point_in_time.until import Until, ended, note_cascades
from binlogkit.analyses.point_in_time.window import last_images, window_suffices
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses._frames import Lazy

__all__ = ["State", "replay", "state"]

_BATCH_ROWS = 65_536
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
    table: Name | None = None,
    base: Any = None,
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
    as committed, and ``until`` cannot be given. ``key``: columns of the primary key, or of a unique
    key without NULL; empty for a table without one: its rows are a multiset. ``table``: (db,
    table), needed where ``changes`` hold several or none. ``base``: the rows before the first
    change: a state, or a frame with the table's own columns. ``columns``: the table's columns at
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
    name = table if table is not None else _only_table(changes)
    happened = read_boundaries(boundaries)
    names = lineage(happened, name)
    counts = _counting(transactions, until, names, transactional, findings)
    happened = [b for b in happened if _happened(b, counts, transactional)]
    if counts is not None and not cascades_logged:
        above = parents(happened, name, cascades)
        note_cascades(transactions, counts.rows, above, findings)
    plan = _Plan(changes, tuple(key), names, happened, counts, base, columns, findings)
    if method == "window" or (method == "auto" and plan.may_use_window()):
        return plan.by_window()
    return plan.sequentially()


@dataclass(frozen=True, slots=True)
class _Counting:
    """Numbers of the transactions that have ended by the point; ``rows`` those whose rows count."""

    rows: Lazy
    committed: frozenset[int]
    rolled_back: frozenset[int]


def _counting(
    transactions: Any,
    until: Until | None,
    names: Sequence[Name],
    transactional: bool | None,
    findings: Findings,
) -> _Counting | None:
    """Which transactions count; None without the ledger."""
    if transactions is None:
        if until is not None:
            raise UsageError("a point in time needs the transactions")
        findings.add("no_transactions", determined=True)
        return None
    tables = [f"{db}.{table}" for db, table in names]
    found = ended(
        transactions, until, tables=tables, transactional=transactional, findings=findings
    )
    numbers: dict[str, set[int]] = {"committed": set(), "rolled_back": set()}
    for row in records(found):
        numbers[row["outcome"]].add(row["tx"])
    wanted = ["committed", "rolled_back"] if transactional is False else ["committed"]
    rows = found.filter(nw.col("outcome").is_in(wanted)).select("tx")
    return _Counting(rows, frozenset(numbers["committed"]), frozenset(numbers["rolled_back"]))


def _happened(boundary: Boundary, counts: _Counting | None, transactional: bool | None) -> bool:
    """Whether a boundary counts; a rolled back write stays in a non-transactional table."""
    if counts is None or boundary.tx is None or boundary.tx in counts.committed:
        return True
    written = boundary.action == "statement_write" and not transactional
    return written and boundary.tx in counts.rolled_back


@dataclass(frozen=True, slots=True)
class _Plan:
    """Everything that a state is made from."""

    changes: Any
    key: tuple[str, ...]
    names: list[Name]
    happened: list[Boundary]
    counts: _Counting | None
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
        return _state(rows, self.findings, self.changes)

    def _kept(self) -> Lazy:
        """The changes of the table that count."""
        rows = ordered(self.changes, ("op", "before", "after", "db", "table"))
        db, table = self.names[-1]
        since = self._since()
        rows = rows.filter((nw.col("db") == db) & (nw.col("table") == table))
        if since is not None:
            rows = rows.filter(nw.col("seq") > since)
        if self.counts is None:
            return rows
        if "tx" not in rows.collect_schema():
            raise UsageError("the changes have no column tx: their transactions cannot be told")
        outside = nw.col("tx").is_null()
        if is_spark(self.changes):
            inside = rows.join(self.counts.rows, on="tx", how="semi")
            return nw.concat([inside, rows.filter(outside)])
        # Arrow joins no frame with a struct in it.
        numbers = [row["tx"] for row in records(self.counts.rows)]
        return rows.filter(nw.col("tx").is_in(numbers) | outside)

    def sequentially(self) -> State:
        """The state by one pass in log order."""
        run = Replay(self.key, self.names, self.happened)
        if self.base is not None:
            run.load(base_changes(to_arrow(self.base)))
        run.run(self._batches())
        table = run.tables.get(run.wanted)
        like = self.changes if is_frame(self.changes) else None
        if table is None:
            if run.wanted not in run.absent:
                self.findings.add("no_beginning")
            return _state(state_table(Store(), [], None, ()), self.findings, like)
        if not table.complete:
            self.findings.add("no_beginning")
        if table.rows.rejected:
            self.findings.add("json_diff", determined=True, times=table.rows.rejected)
        self.findings.update(table.findings)
        rows = [table.store.handles(row) for row in table.rows.live()]
        result = state_table(table.store, rows, self.columns, self.key)
        return _state(result, self.findings, like)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The changes that count, in order."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = None
        if self.counts is not None:
            numbers = pa.array([row["tx"] for row in records(self.counts.rows)], pa.int64())
        for batch in _in_order(self.changes):
            if numbers is None:
                yield batch
                continue
            if "tx" not in batch.schema.names:
                raise UsageError("the changes have no column tx: their transactions cannot be told")
            kept = pc.or_(pc.is_in(batch["tx"], numbers), pc.is_null(batch["tx"]))
            yield batch.filter(kept)


def _state(rows: Any, findings: Findings, like: Any) -> State:
    determined = all(finding.determined for finding in findings.found.values())
    table = findings.table()
    if like is None:
        return State(rows, table, determined)
    native = rows if isinstance(rows, type(like)) else from_arrow(rows, like)
    return State(native, from_arrow(table, like), determined)


def _in_order(changes: Any) -> Iterator[pa.RecordBatch]:
    """Record batches in log order, with ``seq``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_frame(changes):
        yield from _as_batches(changes)
        return
    table = to_arrow(changes)
    if "seq" not in table.column_names:
        if is_spark(changes):
            raise UsageError("a Spark frame has no order: the column seq is needed")
        table = table.append_column("seq", pa.array(range(table.num_rows), pa.int64()))
    seq = table["seq"]
    if len(seq) > 1 and not pc.all(pc.less_equal(seq[:-1], seq[1:])).as_py():
        table = table.take(pc.sort_indices(table, sort_keys=[("seq", "ascending")]))
    yield from table.unify_dictionaries().to_batches(max_chunksize=_BATCH_ROWS)


def _as_batches(changes: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Record batches out of batches, tables, or what carries one as ``batch``."""
    for item in changes:
        batch = getattr(item, "batch", item)
        yield from to_arrow(batch).to_batches()


def _only_table(changes: Any) -> Name:
    """The one table that the changes are of."""
    if not is_frame(changes):
        raise UsageError("batches need the table's name")
    names = records(lazy(changes, ("db", "table")).select("db", "table").unique())
    if len(names) != 1:
        raise UsageError(f"the changes are of {len(names)} tables: which one is wanted?")
    return names[0]["db"], names[0]["table"]
