"""Cells of a column as structs: null where one is not known, else its ``value``, which may be NULL.

A column with cells that no Arrow value can hold has more parts: ``state`` (CellState) of those
cells, the ``bytes`` that are stored of them, and a ``text``. So all that is known of a row's cell
is taken, filtered and joined as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags, Integers, column_codes, combined

STORED_PARTS = ("bytes", "text")


def cells_of(parts: Mapping[str, Any], known: Flags | None = None) -> pa.ChunkedArray:
    """The cells that have these parts; ``known``: which of them are, all if None."""
    table, at = pa.table(dict(parts)), 0
    if not table.num_rows:  # pyarrow 19 cannot make them of no chunks
        return pa.chunked_array([], pa.struct(list(table.schema)))
    cells = table.to_struct_array()
    if known is None or known.all():
        return cells
    found = []
    for chunk in cells.chunks:
        mask = pa.array(~known[at : at + len(chunk)])
        at += len(chunk)
        fields = list(chunk.type)
        found.append(pa.StructArray.from_arrays(chunk.flatten(), fields=fields, mask=mask))
    return pa.chunked_array(found, cells.type)


def parts_of(cells: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """The parts of cells, NULL in those that are not known."""
    return {field.name: pc.struct_field(cells, field.name) for field in cells.type}


def unknown(size: int, dtype: pa.DataType) -> pa.ChunkedArray:
    """Cells of a column of this type, of which none is known."""
    return pa.chunked_array([pa.nulls(size, pa.struct({"value": dtype}))])


def known(cells: pa.ChunkedArray) -> Flags:
    """Which cells are known."""
    return np.asarray(cells.is_valid())


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of cells one behind the other; a table without rows may have no columns."""
    tables = [table for table in tables if table.num_rows]
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def cell_codes(cells: pa.ChunkedArray) -> Integers:
    """Codes of cells, -1 where they are not known.

    Those without an Arrow value differ by what is stored.
    """
    parts = parts_of(cells)
    found = combined([column_codes(part) for name, part in parts.items() if name != "state"])
    found[~known(cells)] = -1
    return found


def index(places: Integers) -> pa.Array:
    """Places to take from, null for those below 0."""
    return pa.array(places, mask=places < 0)
