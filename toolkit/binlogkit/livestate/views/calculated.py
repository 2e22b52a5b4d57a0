"""A query's result from all rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import UndeterminedError
from binlogkit.livestate.views.engine import QueryEngine
from binlogkit.livestate.views.plan import QueryPlan, ResultColumn
from binlogkit.livestate.views.relations import TouchedTable
from binlogkit.livestate.views.result import Result, Row


def calculated(
    plan: QueryPlan, engine: QueryEngine, tables: Mapping[TableId, TouchedTable]
) -> Result:
    """A query's result from all rows, its subqueries' first. UndeterminedError."""
    known = dict(tables)
    for part in plan.parts:
        rows = calculated(part.plan, engine, known).ordered()
        if part.single and len(rows) > 1:
            raise UndeterminedError(plan.sql, ("a subquery has more than one row",))
        table = _as_table(part.plan, rows)
        known["", part.name] = TouchedTable(table, table, None, None)
    result = Result(plan)
    engine.whole(plan, known)
    result.take(engine)
    return result


def _as_table(plan: QueryPlan, rows: list[Row]) -> pa.Table:
    """A subquery's rows as other tables' are. UndeterminedError: a number is too large."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(plan.columns)
    try:
        arrays = [
            pa.array(values, _arrow_type(output))
            for values, output in zip(columns, plan.columns, strict=True)
        ]
    except (pa.ArrowInvalid, OverflowError) as exc:
        raise UndeterminedError(plan.sql, (str(exc),)) from exc
    return pa.Table.from_arrays(arrays, names=plan.names())


def _arrow_type(output: ResultColumn) -> pa.DataType:
    kind = output.kind
    if kind.name in ("decimal", "quotient"):
        return pa.decimal128(38, kind.scale)
    if kind.name in ("integer", "year", "boolean"):
        return pa.uint64() if kind.unsigned else pa.int64()
    return _ARROW[kind.name]


_ARROW = {
    "text": pa.string(), "enum": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "datetime": pa.timestamp("us"), "double": pa.float64(),
}  # fmt: skip
