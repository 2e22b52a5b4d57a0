"""A table of a log as of a point: which changes, columns and key the analysis is given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from binlogkit.errors import UsageError
from binlogkit.log.contradictions import explains, unlogged
from binlogkit.log.doubts import (
    cascading_columns,
    doubt,
    doubts_of,
    noted,
    of_gaps,
    standing,
    with_more,
)
from binlogkit.log.filter_warnings import others
from binlogkit.log.gaps import CASCADES_LOGGED, Reach, assumed
from binlogkit.log.history import History
from binlogkit.log.point import Point, PointArgs, TableArgs
from binlogkit.rows.filter_args import check_names, texts
from binlogkit.rows.filters import Filters, TableName, parse_table_name
from binlogkit.rows.schema import Origin
from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.analyses.point_in_time.cascades import Cascaded
    from binlogkit.frames.natural import Decimals
    from binlogkit.log.streams import Streams

Name = tuple[str, str]

_NOT_TRANSACTIONAL = frozenset({"MYISAM", "MEMORY", "ARCHIVE", "CSV", "MERGE", "MRG_MYISAM"})


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's rows as of a point.

    ``rows``, ``findings``: as analyses.point_in_time says; ``columns``, ``key``: the table's there;
    ``rows_determined``: whether the log determines which rows there are and every cell that is not
    in ``unknown``, if what ``assumes`` says holds, a sentence each; ``determined_rows``: how many
    rows it does determine, all, or over gaps those that were last written as a whole after the last
    gap; ``reach``: how far it goes.
    """

    table: tuple[str, str]
    rows: pa.Table
    findings: pa.Table
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    rows_determined: bool
    assumes: tuple[str, ...]
    determined_rows: int
    reach: Reach

    @property
    def determined(self) -> bool:
        """Whether the log determines all of it: the rows, and every cell of them."""
        return self.rows_determined and not self.unknown_cells

    @property
    def determined_cells(self) -> int:
        """How many cells the log determines, of the rows that it does."""
        if self.determined_rows < self.rows.num_rows and self.unknown_cells:
            return 0
        return self.determined_rows * len(self._names()) - self.unknown_cells

    @property
    def unknown_cells(self) -> int:
        """How many cells the log does not determine."""
        return sum(len(chunk.flatten()) for chunk in self.rows.column("unknown").chunks)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as ``state`` writes them: ``values`` and ``unknown`` as JSON text."""
        from binlogkit.frames.generic import state_rows

        return state_rows(self.rows)

    def records(self) -> Iterator[dict[str, object]]:
        """One dict per row, as ``state --format jsonl``."""
        for batch in self.batches():
            for record in batch.to_pylist():
                yield {name: json.loads(text) for name, text in record.items()}

    def frame(self, *, decimals: Decimals = "exact") -> pd.DataFrame:
        """The rows as pandas, one column per column of the table; unknown cells are missing.

        ``decimals``: ``exact`` or ``float``.
        """
        from binlogkit.frames.natural import natural

        values = self.rows.select(["values"]).flatten().rename_columns(self._names())
        return natural(values, decimals=decimals)

    def _names(self) -> list[str]:
        return [field.name for field in self.rows.schema.field("values").type]


def table_states(
    log: Streams, tables: Iterable[str] | None, **given: Unpack[PointArgs]
) -> Iterator[TableState]:
    """See :meth:`Log.states`; the log is read once for all tables, and once more for a table that
    the first reading shows to have been another, or to have had another key."""
    if tables is None and given.get("key") is not None:
        raise UsageError("key is that of a table: name it")
    (point,) = points = [Point(log, given)]
    named = None if tables is None else texts("tables", tables)
    states = States(log, named, points, given)
    yield from (states.at(point, table) for table in states.tables(point))


class States:
    """A log read once for states of tables as of some points; ``given``: what they have in common.

    ``names``: of the tables, None for all that the log names; ``cascaded``: by table what foreign
    keys did to its rows, of those whose states were taken, if ``keep_cascaded``; ``before``: keeps
    rows as some changes find them.
    """

    def __init__(
        self,
        log: Streams,
        names: list[str] | None,
        points: Sequence[Point],
        given: TableArgs,
        *,
        keep_cascaded: bool = False,
        before: Before | None = None,
    ) -> None:
        from binlogkit.log.outcomes import Outcomes
        from binlogkit.log.state_reading import StateReading

        self._log, self._names, self._points = log, names, points
        self._key, self._transactional = given.get("key"), given.get("transactional")
        if isinstance(self._key, str):
            raise UsageError(f"key is a list of names, not {self._key!r}")
        self._sources = frozenset(texts("source", given.get("source")))
        outcomes = [Outcomes(point, self._transactional) for point in points]
        self.reading = StateReading(log, names, outcomes, self._key, self._sources)
        gaps = log.gaps
        self._gaps, self._contradictions = gaps, list(unlogged(log, self.reading.images, gaps))
        self._reaches: dict[Point, Reach] = {}
        self._keep, self._before = keep_cascaded, before
        self.cascaded: dict[Name, tuple[Cascaded, ...]] = {}

    def tables(self, point: Point) -> list[str]:
        """The tables whose states are wanted; of all those that may be there at the point."""
        return self.there(point) if self._names is None else self._names

    def there(self, point: Point) -> list[str]:
        """The tables that the log names and that may be there at the point."""
        from binlogkit.log.state_tables import tables_at

        return tables_at(self.reading.history, self.reading.boundaries, self.reach(point))

    def reach(self, point: Point) -> Reach:
        """How far states at a point go."""
        from binlogkit.analyses.point_in_time.findings import Findings
        from binlogkit.analyses.point_in_time.until import Counting

        if point not in self._reaches:
            transactions = self.reading.transactions
            until = point.until(transactions)
            ended = Counting(transactions, until, Findings())
            counted = frozenset([*ended.committed.tolist(), *ended.rolled_back.tolist()])
            self._reaches[point] = Reach(self._log.files, transactions, counted, until)
        return self._reaches[point]

    def at(self, point: Point, table: str, *, read: bool = True) -> TableState:
        """A table's state; ``read``: whether it is among those that the reading took."""
        from binlogkit.analyses.point_in_time import lineage, replay
        from binlogkit.analyses.point_in_time.boundary import parents

        log, reading, reach = self._log, self.reading, self.reach(point)
        history, boundaries, transactions = (
            reading.history,
            reading.boundaries,
            reading.transactions,
        )
        key, transactional = self._key, self._transactional
        name = full_name(history, table)
        names = set(lineage(boundaries, name))
        layout, above = history.layout(name, reach.counted), list[str]()
        if history.version < CASCADES_LOGGED:
            above = parents(boundaries, name, layout.parents)
        stored = {".".join(one): one for one in history.layouts}
        family = {stored[parent] for parent in above if parent in stored}
        met = [history.sources.get(one, set()) for one in names]
        log.one_history(set[str]().union(*met), f"{table} is")
        if key is not None and layout.columns is not None:
            check_names(key, layout.columns, "column")
        chosen = tuple(key) if key is not None else layout.key
        engine = transactional_of(layout.engine) if transactional is None else transactional
        state = replay(
            changes_of(log, names | family, self._sources),
            boundaries,
            key=chosen,
            transactions=transactions,
            statements=reading.statements,
            table=name,
            until=reach.until,
            columns=layout.columns,
            transactional=engine,
            cascades=layout.parents,
            cascades_logged=history.version >= CASCADES_LOGGED,
            forward=reading.table(name, self._points.index(point))
            if read and self._before is None
            else None,
            before=self._before,
            given=reading.given,
            unchecked=reading.unchecked,
            keep_cascaded=self._keep or bool(self._contradictions),
        )
        if self._keep:
            self.cascaded[name] = state.cascaded
        changed = cascading_columns(boundaries, reading.given.get(name), name)
        unexplained = (
            c.gap() for c in self._contradictions if not explains(state.cascaded, c, changed)
        )
        missing = standing([*self._gaps, *unexplained], boundaries, name, names, above, reach)
        doubts = doubts_of(layout, history, reach.counted)
        if name not in history.layouts and not any(b.concerns(name) for b in boundaries):
            there = others(TableName(*name), log.met)
            doubts.append(doubt("unknown_table", f"The log does not name this table{there}."))
        certain = state.rows.num_rows if state.determined and not doubts else 0
        if certain and missing:
            certain = _behind(missing, state.rows, reading.partial(name), named=_named(log, name))
        doubts += of_gaps(missing)
        notes = [noted("behind_end", told) for told in point.notes(history, transactions)]
        return TableState(
            name,
            state.rows,
            with_more(state.findings, doubts + notes),
            layout.columns,
            chosen,
            state.determined and not doubts,
            assumed(log, history.version),
            certain,
            reach,
        )


def changes_of(
    log: Streams, names: set[tuple[str, str]], sources: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    """The tables' changes, read again, up to damage, which is kept in ``log.damages``."""
    wanted = Filters(tables=tuple(TableName(*name) for name in names), sources=sources)
    for batch in log.batches_to_damage(log.reading(), wanted):
        yield batch.batch
    if log.unreadable is not None:
        raise log.unreadable


def full_name(history: History, table: str) -> tuple[str, str]:
    """(db, table) of a table that may be named without its database. UsageError: not one."""
    wanted = parse_table_name(table)
    if wanted.db is not None:
        return (wanted.db, wanted.table)
    found = sorted(n for n in history.layouts if n[1] == wanted.table)
    if len(found) != 1:
        listed = ", ".join(".".join(n) for n in found) or "no table of this name"
        raise UsageError(f"{table}: name the database ({listed})")
    return found[0]


def _behind(gaps: list[Gap], rows: pa.Table, partial: int, *, named: bool) -> int:
    """How many rows were last written as a whole after all gaps.

    None where DDL may be in one of them, unless table maps name the columns; none where images
    after them lack columns.
    """
    import pyarrow.compute as pc

    last = max(gap.seq for gap in gaps)
    if partial > last or not (named or all(gap.tables for gap in gaps)):
        return 0
    return pc.sum(pc.greater(rows["seq"], last)).as_py() or 0


def _named(log: Streams, name: Name) -> bool:
    """Whether table maps themselves name the table's columns."""
    columns = [column for schema in log.met.get(name, ()) for column in schema.columns]
    return bool(columns) and all(column.name_origin == Origin.METADATA for column in columns)


def transactional_of(engine: str | None) -> bool | None:
    """Whether an engine rolls back; None for one that is not known."""
    if engine is None:
        return None
    return {"INNODB": True, "NDBCLUSTER": True}.get(
        engine.upper(), False if engine.upper() in _NOT_TRANSACTIONAL else None
    )
