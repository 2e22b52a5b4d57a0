"""A user's value beside the cells of a landed column: equal where ``where`` takes it for equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.arrow_types import column_kind
from binlogkit.frames.flat_cells import flat_name
from binlogkit.frames.user_values import Misfit, as_written, pair_of
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.landing.shape import plain_schema

#: Kinds of columns that no version of the table in the ledger has, as --schema may name them.
_BY_TYPE = (
    (pa.types.is_date, "date"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_string, "text"),
    (pa.types.is_floating, "double"),
    (lambda one: pa.types.is_timestamp(one) and one.tz is None, "datetime"),
    (pa.types.is_timestamp, "timestamp"),
)


@dataclass(frozen=True, slots=True)
class Sought:
    """A value, None for NULL; ``kinds``: those of the column in the versions of the table that one
    folder has (frames/schema.py); ``written``: a date that no calendar has, as the server writes
    it, which is in ``_cells``."""

    value: Any
    kinds: tuple[str, ...]
    written: str | None = None

    def is_written(self, cells: pa.StructArray) -> pa.Array:
        """Which of ``_cells`` hold such a date, of whatever fraction."""
        texts = cells.field("text").cast(pa.string())
        same = [one for one in texts.unique().to_pylist() if as_written(one) == self.written]
        return pc.is_in(texts, pa.array(same, pa.string()))

    def equal(self, column: pa.ChunkedArray | pa.Array) -> Flags:
        """Which cells hold it; NULL also where there is no value."""
        if self.value is None:
            return np.asarray(pc.is_null(column))
        cells = one_array(column)
        found = np.zeros(len(cells), bool)
        for kind in self.kinds:
            as_kind = cells
            if kind == "time":  # lands as microseconds
                as_kind = cells.cast(pa.duration("us"))
            found |= np.asarray(pc.fill_null(pc.equal(*pair_of(as_kind, kind, self.value)), False))
        return found


def sought(table: str, field: pa.Field, value: Any, kinds: Mapping[str, str]) -> Sought:
    """A value of a folder's column; ``kinds``: of :func:`kinds_of`. UsageError: the column holds no
    such value."""
    fitting, why, written = [], "", None
    for kind, name in kinds.items():
        try:
            Sought(value, (kind,)).equal(pa.array([], field.type))
            fitting.append(kind)
        except Misfit as exc:
            why = f"{field.name} is {name}, compared with {exc}"
            if kind in ("date", "datetime", "timestamp") and as_written(value):
                written = as_written(value)
    if written is not None:
        return Sought(value, tuple(kinds), written)
    if not fitting:
        raise UsageError(f"{table}: {field.name}={value}: {why}")
    return Sought(value, tuple(fitting))


def kinds_of(field: pa.Field, versions: Iterable[TableSchema]) -> dict[str, str]:
    """What a folder's column is in those versions of its table of which the folder has rows, and
    how MySQL calls each kind."""
    known = {
        column_kind(column): column.mysql_type
        for version in versions
        if version.named
        for column in version.columns
        if flat_name(column.name).lower() == field.name.lower()
        and plain_schema(version).field(flat_name(column.name)).type == field.type
    }
    kind = next((kind for fits, kind in _BY_TYPE if fits(field.type)), "integer")
    return known or {kind: str(field.type)}
