"""The relations of a step: the columns of tables' rows that queries need, as DuckDB takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import decoded
from binlogkit.analyses.point_in_time.known_cells import parts_of
from binlogkit.constants import TableId
from binlogkit.errors import UndeterminedError
from binlogkit.frames.arrow_types import column_field
from binlogkit.livestate.views.plan import JoinedTable
from binlogkit.rows.defined import column_of

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.rows import Delta
    from binlogkit.rows.schema import TableDefinition

WEIGHT = "w"
Side = Literal["old", "new", "delta"]


@dataclass(frozen=True, slots=True)
class TouchedTable:
    """A table in a step: its rows before and after it (Rows.table), and what went and came, None
    where it did not change; ``definition``: None of a subquery's rows."""

    before: pa.Table
    after: pa.Table
    deltas: Sequence[Delta] | None
    definition: TableDefinition | None


class Relations:
    """What a step's queries read, each made once, however many of them read it."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._names: dict[tuple[TableId, tuple[str, ...], Side], str] = {}

    def name_of(self, side: Side, joined: JoinedTable, touched: TouchedTable) -> str:
        """The name of the relation: ``c0`` … of ``joined.columns``; of a delta with :data:`WEIGHT`
        −1 or 1. Errors: UndeterminedError."""
        key = (joined.table, joined.columns, side)
        if key not in self._names:
            if side == "delta":
                rows = _delta(touched.deltas or (), joined, touched.definition)
            else:
                rows_then = touched.before if side == "old" else touched.after
                rows = plain(rows_then, joined, touched.definition)
            name = f"r{len(self._names)}"
            self._session.register(name, rows)
            self._names[key] = name
        return self._names[key]

    def forget(self) -> None:
        """The step is over."""
        for name in self._names.values():
            self._session.unregister(name)
        self._names.clear()


def plain(rows: pa.Table, joined: JoinedTable, definition: TableDefinition | None) -> pa.Table:
    """The needed columns of rows as DuckDB takes them; those of a subquery, without a definition,
    are so. UndeterminedError: a cell is not known, or
    no type here holds it (a date of zeros)."""
    count, arrays = rows.num_rows, []
    for column in joined.columns:
        if definition is None:
            arrays.append(rows[column])
            continue
        if not count:
            one = next(c for c in definition.columns if c.name == column)
            arrays.append(_usable(pa.chunked_array([], column_field(column_of(one)).type)))
            continue
        if column not in rows.column_names:
            raise _odd(definition, column, "not in what was read")
        cells = rows[column]
        if cells.null_count:
            raise _odd(definition, column, "not known in some rows")
        parts = parts_of(cells)
        if "state" in parts and parts["state"].null_count < count:
            raise _odd(definition, column, "one that no type here holds (a date of zeros)")
        arrays.append(_usable(decoded(parts["value"])))
    if not arrays:  # COUNT(*) needs how many
        return pa.table({"_": pa.nulls(count, pa.int8())})
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _odd(definition: TableDefinition, column: str, why: str) -> UndeterminedError:
    name = f"{definition.db}.{definition.table}.{column}"
    return UndeterminedError(name, (f"its value is {why}",))


def _usable(column: Any) -> Any:
    """A column in a type that DuckDB compares as it is."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp("us"))
    if pa.types.is_duration(kind):
        return column.cast(pa.int64())
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_decimal256(kind):
        return column.cast(pa.string())
    return column


def _delta(
    deltas: Sequence[Delta], joined: JoinedTable, definition: TableDefinition | None
) -> pa.Table:
    """Rows that went and came, with their weights."""
    found = []
    for gone, came in deltas:
        for weight, part in ((-1, gone), *((1, part) for part in came)):
            if part.num_rows:
                table = plain(part, joined, definition)
                found.append(weighted(table, weight))
    if not found:
        empty = plain(pa.table({}), joined, definition)
        return empty.append_column(WEIGHT, pa.array([], pa.int8()))
    return pa.concat_tables(found, promote_options="permissive")


def weighted(rows: pa.Table, weight: int) -> pa.Table:
    """With the same weight for each."""
    weights = pa.repeat(pa.scalar(weight, pa.int8()), rows.num_rows)
    return rows.append_column(WEIGHT, weights)
