"""What the compiled kernel is told of one version of a table."""

from __future__ import annotations

from collections.abc import Sequence

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit.rows.schema import Column, TableSchema
from binlogkit.sources.log_format import version_tuple

__all__ = ["cell_spec", "table_plan"]


def table_plan(
    schema: TableSchema, server_version: str = "", wanted: Sequence[int] | None = None
) -> TablePlan:
    """The plan of a table; ``wanted``: indexes of the columns asked for, None for all.

    ``server_version``: of the log, as its format description tells it: 5.7 prints JSON otherwise.
    """
    as_5_7 = version_tuple(server_version)[:2] == (5, 7)
    specs = [cell_spec(column, as_5_7) for column in schema.columns]
    return TablePlan(specs, [column.name for column in schema.columns], wanted)


def cell_spec(column: Column, as_5_7: bool = False) -> CellSpec:
    """What the decoder of a column needs."""
    return CellSpec(
        column.type,
        column.meta,
        column.unsigned,
        column.length,
        column.precision,
        column.scale,
        column.charset,
        column.labels,
        as_5_7,
    )
