"""The differences of a table between two points of a log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time import compared
from binlogkit.analyses.point_in_time.difference import Compared, difference_table
from binlogkit.analyses.point_in_time.known_cells import index
from binlogkit.constants import TableId
from binlogkit.frames.flat_cells import with_cells
from binlogkit.frames.generic import state_rows
from binlogkit.log.filter_warnings import warn_of_unknown
from binlogkit.log.states.doubts import noted, with_more
from binlogkit.log.states.point import Point, PointArg, TableArgs, point_args
from binlogkit.log.states.table_state import TableState
from binlogkit.log.states.table_states import states_of
from binlogkit.overview import Overview, Overviewed, yes_or_no
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.analyses.point_in_time.shared import FoldedState
    from binlogkit.frames.natural import Decimals
    from binlogkit.log.states.backwards import Back
    from binlogkit.log.states.forwards import States
    from binlogkit.log.streams import Streams

_IMAGES = ("before", "after")
_ROWS = 8192
_OTHER_COLUMNS = "Only one of the points has these columns, which are not compared: {}"
_OTHER_KEY = "The key differs at the second point: rows are compared in all columns."


@dataclass(frozen=True, slots=True, repr=False)
class TableDifference(Overviewed):
    """The differences of a table between two points.

    ``rows``: as analyses.point_in_time.DIFFERENCE says, ``before`` and ``after`` as structs of the
    table's columns; ``before``, ``after``: the states at the points, of which Spark's tasks keep
    rows that do not differ; ``findings``: of both, one of
    each kind; ``key``: the columns by which rows were compared, empty for a multiset.
    """

    table: TableId
    rows: pa.Table
    findings: pa.Table
    before: TableState
    after: TableState
    key: tuple[str, ...]
    _compared: Compared

    @property
    def determined(self) -> bool:
        """Whether the log determines which rows differ, and every cell of them."""
        rows = self.before.rows_determined and self.after.rows_determined
        return rows and not self.uncertain and not self.unknown_cells

    @property
    def unknown_cells(self) -> int:
        """How many cells of the differing rows the log does not determine."""
        sides = zip((self.before, self.after), self._compared.there, strict=True)
        lists = (state.rows["unknown"].take(at[at >= 0]) for state, at in sides)
        return sum(len(chunk.flatten()) for column in lists for chunk in column.chunks)

    @property
    def uncertain(self) -> int:
        """How many rows have cells that could not be compared."""
        uncertain = pc.greater(pc.list_value_length(self.rows["uncertain"]), 0)
        return pc.sum(uncertain).as_py() or 0

    @property
    def assumes(self) -> tuple[str, ...]:
        """The answer's assumptions, a sentence each: the log cannot prove or disprove them."""
        return self.after.assumes

    def records(self) -> Iterator[dict[str, Any]]:
        """One dict per row that differs, as ``diff --format jsonl``."""
        for start in range(0, self.rows.num_rows, _ROWS):
            part = self.rows.slice(start, _ROWS).select(["difference", "count"]).to_pydict()
            images = [self._images(side, start) for side in range(len(_IMAGES))]
            names = (self.rows[n].slice(start, _ROWS).to_pylist() for n in ("changed", "uncertain"))
            columns = (*part.values(), *images, *names)
            for values in zip(*columns, strict=True):
                yield dict(zip(self.rows.column_names, values, strict=True))

    def _images(self, side: int, start: int) -> list[dict[str, Any] | None]:
        """The rows of one of the states."""
        rows = (self.before, self.after)[side].rows
        places = self._compared.there[side][start : start + _ROWS]
        there = rows.take(index(places[places >= 0]))
        texts = [text for batch in state_rows(there) for text in batch["values"].to_pylist()]
        found = iter(json.loads(text) for text in texts)
        return [next(found) if at >= 0 else None for at in places.tolist()]

    def overview(self) -> Overview:
        """How many rows differ and how, what changed in words."""
        from binlogkit.reports.changes import change_text

        rows = (
            {"difference": one["difference"], "changes": change_text(one, self.key)}
            for one in self.records()
        )
        kinds = Counter(self.rows["difference"].to_pylist())
        return Overview(
            f"differences of {'.'.join(self.table)}",
            [*sorted(kinds.items()), ("determined", yes_or_no(self.determined))],
            rows,
        )

    def typed(self) -> pa.Table:
        """``difference``, ``count``, ``changed``, ``uncertain``, and the table's columns at both
        points, ``before.id``, ``after.id`` …; where a row has a cell that is neither a value nor
        NULL, also ``before._cells``, ``after._cells`` (docs/records.md, "state")."""
        plain = self.rows.select(["difference", "count", "changed", "uncertain"])
        pairs = zip(_IMAGES, (self.before, self.after), self._compared.there, strict=True)
        for image, state, there in pairs:
            here = state.rows.take(pa.array(there[there >= 0]))
            places = pa.array(np.cumsum(there >= 0) - 1, mask=there < 0)
            flat = with_cells(here).take(places)
            for field, column in zip(flat.schema, flat.columns, strict=True):
                plain = plain.append_column(field.with_name(f"{image}.{field.name}"), column)
        return plain

    def frame(self, *, decimals: Decimals = "exact") -> pd.DataFrame:
        """The same as pandas. ``decimals``: ``exact`` or ``float``."""
        from binlogkit.frames.natural import natural

        return natural(self.typed(), decimals=decimals)


def difference_of(
    log: Streams, table: str, a: PointArg, b: PointArg, timezone: str | None, how: TableArgs
) -> TableDifference:
    """See :meth:`Log.diff`."""
    points = [Point(log, {**point_args(point, timezone), **how}) for point in (a, b)]
    states = states_of(log, [table], points, how)
    return difference_between(states, points, table, back=how.get("back_from") is not None)


def difference_between(
    states: States | Back,
    points: Sequence[Point],
    table: str,
    *,
    back: bool = False,
    held: Callable[[Point, TableState], FoldedState | None] = lambda _point, _state: None,
) -> TableDifference:
    """The differences between two of the points of states.

    ``back``: they were computed backwards; ``held``: the rows of one that a cluster's tasks hold.
    """
    other = states.at(points[1], table)
    one = _earlier(states, points[0], points[1], other.table)
    tasks = [held(point, state) for point, state in zip(points, (one, other), strict=True)]
    filled = [
        bool(state.rows.num_rows if there is None else there.result.rows)
        for state, there in zip((one, other), tasks, strict=True)
    ]
    same = one.key == other.key or not all(filled)
    key = other.key if same else ()
    counts = [states.reach(point).counts for point in points]
    # Backwards it is not known which change made a row.
    altered = back or any(
        boundary.action == "alter" and counts[0](boundary.tx) != counts[1](boundary.tx)
        for boundary in states.reading.boundaries
    )
    if any(tasks):
        from binlogkit.analyses.point_in_time.differing_rows import differing

        rows = differing(tasks, key, altered=altered)
        one, other = (
            state if there is None else replace(state, rows=some)
            for state, there, some in zip((one, other), tasks, rows, strict=True)
        )
    found = compared(one.rows, other.rows, key, altered=altered)
    rows = difference_table(found, one.rows, other.rows)
    findings = _findings(one, other, same=same, filled=all(filled))
    warn_of_unknown(findings, written_table_name(*other.table), level=4)
    return TableDifference(other.table, rows, findings, one, other, key, found)


def _earlier(states: States | Back, first: Point, second: Point, name: TableId) -> TableState:
    """The state at the first point of the table that has the name at the second.

    If no table had the name, it is the table that was renamed to it since; otherwise there was
    none.
    """
    there, reaches = states.there(first), [states.reach(point) for point in (first, second)]
    if written_table_name(*name) in there:
        return states.at(first, written_table_name(*name))
    before = name
    for boundary in reversed(states.reading.boundaries):
        since = reaches[1].counts(boundary.tx) and not reaches[0].counts(boundary.tx)
        if since and boundary.action == "rename" and boundary.new_name == before:
            before = boundary.name
    if written_table_name(*before) in there:
        return states.at(first, written_table_name(*before))
    return states.at(first, written_table_name(*name))


def _findings(one: TableState, other: TableState, *, same: bool, filled: bool) -> pa.Table:
    """The findings of both states, and what could not be compared; ``filled``: both have rows."""
    names = [[f.name for f in s.rows.schema.field("values").type] for s in (one, other)]
    alone = sorted({*names[0]} ^ {*names[1]}) if filled else []
    found = {
        row["finding"]: row for row in [*one.findings.to_pylist(), *other.findings.to_pylist()]
    }
    more = []
    if alone:
        more.append(noted("other_columns", _OTHER_COLUMNS.format(", ".join(alone))))
    if not same:
        more.append(noted("other_key", _OTHER_KEY))
    return with_more(pa.Table.from_pylist(list(found.values()), other.findings.schema), more)
