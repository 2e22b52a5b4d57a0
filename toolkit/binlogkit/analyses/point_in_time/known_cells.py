"""Cells of a column as structs: null if not known, else with a ``value``, which may be NULL.

A column with cells that no Arrow value can hold has more parts: ``state`` (CellState) of those
cells, their stored ``bytes``, and a ``text``. So everything about a row's cell is taken, filtered
and joined together.
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
    """Cells with these parts; ``known``: which of them are known, all if None."""
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
    """Unknown cells of a column of this type."""
    return pa.chunked_array([pa.nulls(size, pa.struct({"value": dtype}))])


def known(cells: pa.ChunkedArray) -> Flags:
    """Which cells are known."""
    return np.asarray(cells.is_valid())


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of cells concatenated; a table without rows may have no columns."""
    tables = [table for table in tables if table.num_rows]
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def cell_codes(cells: pa.ChunkedArray) -> Integers:
    """Codes of cells, -1 for unknown ones.

    Those without an Arrow value differ by their stored bytes.
    """
    parts = parts_of(cells)
    found = combined([column_codes(part) for name, part in parts.items() if name != "state"])
    found[~known(cells)] = -1
    return found


def index(places: Integers) -> pa.Array:
    """Indices for take, null for those below 0."""
    return pa.array(places, mask=places < 0)
