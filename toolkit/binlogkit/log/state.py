"""A table of a log as of a point: which changes, columns and key the analysis is given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.errors import UsageError
from binlogkit.log.contradictions import UNLOGGED, unlogged
from binlogkit.log.filter_warnings import others
from binlogkit.log.gaps import CASCADES_LOGGED, Reach, assumed
from binlogkit.log.history import MERGE, History, TableFacts
from binlogkit.log.point import Point, PointArgs
from binlogkit.rows.filter_args import check_names, texts
from binlogkit.rows.filters import Filters, TableName, parse_table_name
from binlogkit.rows.schema import Origin
from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.frames.natural import Decimals
    from binlogkit.log.streams import Streams

Name = tuple[str, str]

_LIKE = re.compile(r"\bLIKE\b", re.IGNORECASE)
_BLACKHOLE = "The table's engine is BLACKHOLE, which keeps no rows: these are what was written."
_MERGE = "The table's engine is MERGE: its rows are those of the tables that its UNION names."
_MERGED = "Rows were written to the MERGE table {}: whether they lie in this table is not tracked."
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
    log: Streams, tables: Iterable[str], **given: Unpack[PointArgs]
) -> Iterator[TableState]:
    """See :meth:`Log.state`; the log is read once for all tables, and once more for a table that
    the first reading shows to have been another, or to have had another key."""
    from binlogkit.analyses.point_in_time import lineage, replay
    from binlogkit.analyses.point_in_time.findings import Findings
    from binlogkit.analyses.point_in_time.until import Counting
    from binlogkit.log.outcomes import Outcomes
    from binlogkit.log.state_reading import StateReading

    point, key, transactional = Point(log, given), given.get("key"), given.get("transactional")
    if isinstance(key, str):
        raise UsageError(f"key is a list of names, not {key!r}")
    tables = list(tables)
    sources = frozenset(texts("source", given.get("source")))
    reading = StateReading(log, tables, Outcomes(point, transactional), key, sources)
    history, transactions, boundaries = reading.history, reading.transactions, reading.boundaries
    until, gaps = point.until(transactions), log.gaps
    ended = Counting(transactions, until, Findings())
    counted = frozenset([*ended.committed.tolist(), *ended.rolled_back.tolist()])
    reach = Reach(log.files, transactions, counted, until)
    gaps = [*gaps, *(found.gap() for found in unlogged(log, reading.images, gaps))]
    notes = point.notes(history, transactions)
    for table in tables:
        name = _full_name(history, table)
        names = set(lineage(boundaries, name))
        met = [history.sources.get(one, set()) for one in names]
        log.one_history(set[str]().union(*met), f"{table} is")
        layout = history.layout(name, counted)
        if key is not None and layout.columns is not None:
            check_names(key, layout.columns, "column")
        chosen = tuple(key) if key is not None else layout.key
        engine = _transactional(layout.engine) if transactional is None else transactional
        state = replay(
            _changes(log, names, sources),
            boundaries,
            key=chosen,
            transactions=transactions,
            statements=reading.statements,
            table=name,
            until=until,
            columns=layout.columns,
            transactional=engine,
            cascades=layout.parents,
            cascades_logged=history.version >= CASCADES_LOGGED,
            forward=reading.table(name),
            given=reading.given,
        )
        standing = _gaps(gaps, boundaries, name, names, reach)
        doubts = _doubts(layout, history, counted)
        if name not in history.layouts and not any(b.concerns(name) for b in boundaries):
            there = others(TableName(*name), log.met)
            doubts.append(_doubt("unknown_table", f"The log does not name this table{there}."))
        certain = state.rows.num_rows if state.determined and not doubts else 0
        if certain and standing:
            certain = _behind(standing, state.rows, reading.partial(name), named=_named(log, name))
        doubts += _of_gaps(standing)
        yield TableState(
            name,
            state.rows,
            _with_more(state.findings, doubts + [_note("behind_end", told) for told in notes]),
            layout.columns,
            chosen,
            state.determined and not doubts,
            assumed(log, history.version),
            certain,
            reach,
        )


def _changes(
    log: Streams, names: set[tuple[str, str]], sources: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    """The tables' changes, read again, up to damage, which is kept in ``log.damages``."""
    wanted = Filters(tables=tuple(TableName(*name) for name in names), sources=sources)
    for batch in log.batches_to_damage(log.reading(), wanted):
        yield batch.batch
    if log.unreadable is not None:
        raise log.unreadable


def _full_name(history: History, table: str) -> tuple[str, str]:
    wanted = parse_table_name(table)
    if wanted.db is not None:
        return (wanted.db, wanted.table)
    found = sorted(n for n in history.layouts if n[1] == wanted.table)
    if len(found) != 1:
        listed = ", ".join(".".join(n) for n in found) or "no table of this name"
        raise UsageError(f"{table}: name the database ({listed})")
    return found[0]


def _doubts(layout: TableFacts, history: History, counted: frozenset[int]) -> list[dict[str, Any]]:
    """What the changes of the table itself do not show."""
    engine = (layout.engine or "").upper()
    if engine == "BLACKHOLE":
        return [_doubt("blackhole", _BLACKHOLE)]
    if engine == MERGE:
        return [_doubt("merge", _MERGE)]
    merged = [m for m in history.merged.values() if m.tx is None or m.tx in counted]
    if not merged or engine not in ("", "MYISAM"):
        return []
    names = ", ".join(sorted({".".join(m.name) for m in merged}))
    told = _MERGED.format(names)
    return [_doubt("merge", told, len(merged), merged[0].file, merged[0].pos)]


def _gaps(
    gaps: list[Gap], boundaries: list[Boundary], name: Name, names: set[Name], reach: Reach
) -> list[Gap]:
    """The gaps after which the table's rows are not determined: they stand before the point, and
    the table was not made or emptied since. One that may hold DDL: not made, by a statement that
    says all of it."""
    emptied = [b for b in boundaries if b.empties and b.name == name and reach.counts(b.tx)]
    if names != {name}:
        emptied = []
    made = [b.seq for b in emptied if b.definition is not None and not _LIKE.search(b.statement)]
    anew = max(made, default=-1)
    first = max((b.seq for b in emptied), default=-1)
    told = [".".join(one) for one in names]
    return [
        gap
        for gap in gaps
        if gap.seq > (anew if gap.tables is None else first)
        and gap.concerns(told)
        and reach.holds(gap.file, gap.pos)
    ]


def _of_gaps(gaps: list[Gap]) -> list[dict[str, Any]]:
    """The gaps as findings; changes outside the log as one, of the first of them."""
    unlogged = [gap for gap in gaps if gap.code == UNLOGGED]
    found = [_doubt("gap", g.found, file=g.file, pos=g.pos) for g in gaps if g.code != UNLOGGED]
    if unlogged:
        first = unlogged[0]
        told = f"Changed outside of these logs: {first.found}"
        found.append(_doubt("unlogged", told, len(unlogged), first.file, first.pos))
    return found


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


def _doubt(
    name: str, meaning: str, count: int = 1, file: str | None = None, pos: int | None = None
) -> dict[str, Any]:
    told = {"finding": name, "determined": False, "meaning": meaning, "count": count}
    return told | {"file": file, "pos": pos}


def _note(name: str, meaning: str) -> dict[str, Any]:
    return _doubt(name, meaning) | {"determined": True}


def _with_more(findings: pa.Table, more: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    if not more:
        return findings
    return pa.concat_tables([findings, pa.Table.from_pylist(more, schema=findings.schema)])


def _transactional(engine: str | None) -> bool | None:
    """Whether an engine rolls back; None for one that is not known."""
    if engine is None:
        return None
    return {"INNODB": True, "NDBCLUSTER": True}.get(
        engine.upper(), False if engine.upper() in _NOT_TRANSACTIONAL else None
    )
