"""Cells that are no plain value: in ``_cells`` of flat rows, and as images and states have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.frames.arrays import lists, one_array, text_array
from binlogkit.frames.fields.field import arrow_schema, names
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.schema import CellState, state_matrix

Integers = NDArray[np.int64]

#: The column of cells that are no plain value.
CELLS = "_cells"
CELLS_TYPE = arrow_schema(CHANGELOG).field(CELLS).type
#: The words of ``_cells`` for cells that are no plain value.
STATES = {
    CellState.NOT_IN_IMAGE: "not_in_image",
    CellState.UNDECODABLE: "undecodable",
    CellState.NO_ARROW_VALUE: "no_arrow_value",
    CellState.JSON_DIFF: "json_diff",
}
_RESERVED = frozenset(
    name.lower() for name in (*names(CHANGELOG), "_day")
)  # _day: of landed tables
_ESCAPED, _AT, _UNDERSCORE = "@00", "@0040", "@005f"
_WORDS = text_array([*STATES.values()])  # pa.array would load pandas
_CODES = np.array([*STATES], np.uint8)
_KEPT = ("bytes", "text")  # of a cell that Arrow cannot hold


def flat_name(column: str) -> str:
    """What a table's column is called in flat rows.

    If one of ours is called so, its first character is written as in the server's file names
    (``_day`` is ``@005fday``), and so is that of a name that could be taken for such a one.
    """
    if column.startswith(_ESCAPED):
        return f"{_AT}{column[1:]}"
    return f"{_UNDERSCORE}{column[1:]}" if column.lower() in _RESERVED else column


def own_name(column: str) -> str:
    """What a column of flat rows is called in its table."""
    for written, plain in ((_AT, "@"), (_UNDERSCORE, "_")):
        if column.startswith(written):
            return f"{plain}{column.removeprefix(written)}"
    return column


def states_of(cells: pa.ListArray, image: pa.StructArray) -> tuple[pa.Array, pa.Table]:
    """The states of images from their ``_cells``, None where all of their cells are values or NULL,
    and the stored cells: ``at``, ``column``, bytes and text."""
    odd = np.flatnonzero(np.asarray(cells.is_valid()))
    flat, row = cells.flatten(), np.searchsorted(odd, pc.list_parent_indices(cells))
    names = pa.array([flat_name(one.name) for one in image.type], pa.string())
    column = pc.index_in(flat.field("column"), names)
    known = np.flatnonzero(np.asarray(column.is_valid()))
    flat, column = flat.take(pa.array(known)), np.asarray(column.take(known))
    there, row = np.unique(row[known], return_inverse=True)
    odd = odd[there]
    valid = [np.asarray(image.field(i).is_valid())[odd] for i in range(image.type.num_fields)]
    states = np.where(np.array(valid).T, CellState.VALUE, CellState.NULL).astype(np.uint8)
    states = states.reshape(len(odd), image.type.num_fields)
    states[row, column] = _CODES[np.asarray(pc.index_in(flat.field("state"), _WORDS))]
    at, place = np.repeat(odd, states.shape[1]), pa.array(states.ravel())
    stored = pa.table({"at": odd[row], "column": column} | {n: flat.field(n) for n in _KEPT})
    forms = stored.filter(pc.or_(stored["bytes"].is_valid(), stored["text"].is_valid()))
    return _lists(at, place, len(cells), pa.list_(pa.uint8())), forms


def raw_of(stored: Sequence[pa.Table], size: int, kind: pa.DataType) -> pa.ListArray:
    """The raw cells of so many changes; ``stored``: of each image, with its number."""
    both = pa.concat_tables(stored)
    parts = [both[one.name].combine_chunks().cast(one.type) for one in kind.value_type]
    values = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
    return _lists(np.asarray(both["at"]), values, size, kind)


def has_cells(rows: pa.Table) -> bool:
    """Whether a row of a state has a cell that is neither a value nor NULL."""
    lists = rows["value_state"], rows["unknown"]
    return any(len(chunk.flatten()) for column in lists for chunk in column.chunks)


def with_cells(rows: pa.Table, *, always: bool = False) -> pa.Table:
    """A state's rows with the table's own columns, and :data:`CELLS`, ``always`` or where a row has
    a cell that is neither a value nor NULL. A column that is called so itself is ``@005fcells``
    then."""
    values = one_array(rows["values"])
    called = {one.name: one.name for one in values.type}
    table = pa.Table.from_arrays(values.flatten(), schema=pa.schema(values.type))
    if not always and not has_cells(rows):
        return table
    called |= {name: flat_name(name) for name in called if name.lower() == CELLS}
    cells = cells_of(rows, called, CELLS_TYPE)
    return table.rename_columns([*called.values()]).append_column(CELLS, cells)


def cells_of(rows: pa.Table, called: Mapping[str, str], kind: pa.DataType) -> pa.ListArray:
    """The ``_cells`` of a state's rows; ``called``: its columns, and what they are called there."""
    names = [*called]
    states = state_matrix(one_array(rows["value_state"]), len(names))
    lacking = one_array(rows["unknown"])
    column = pc.index_in(lacking.flatten(), pa.array(names, pa.string()))
    states[np.asarray(pc.list_parent_indices(lacking)), column] = CellState.NOT_IN_IMAGE
    raw = one_array(rows["raw"])
    stored, where = raw.flatten(), np.full(states.shape, -1)
    row = np.asarray(pc.list_parent_indices(raw))
    where[row, np.asarray(stored.field("column"))] = np.arange(len(stored))
    at, column = np.nonzero(states > CellState.NULL)
    place = where[at, column]
    parts = {
        "column": pa.array(called.values(), pa.string()).take(pa.array(column)),
        "state": _WORDS.take(pa.array(np.searchsorted(_CODES, states[at, column]))),
    } | {n: stored.field(n).take(pa.array(place, mask=place < 0)) for n in _KEPT}
    return _lists(at, _cells(parts, kind), len(rows), kind)


def with_absent(cells: pa.ChunkedArray, names: Sequence[str]) -> pa.ListArray:
    """The ``_cells`` of rows written before the table had some columns: these are in no image."""
    whole, size = one_array(cells), len(cells)
    absent = {
        "column": pa.array([*names] * size, pa.string()),
        "state": pa.repeat(STATES[CellState.NOT_IN_IMAGE], size * len(names)),
    } | {name: pa.nulls(size * len(names)) for name in _KEPT}
    values = pa.concat_arrays([whole.flatten(), _cells(absent, cells.type)])
    own = np.repeat(np.arange(size), len(names))
    at = np.concatenate([np.asarray(pc.list_parent_indices(whole)), own])
    return _lists(at, values, size, cells.type)


def _cells(parts: dict[str, Any], kind: pa.DataType) -> pa.StructArray:
    fields = list(kind.value_type)
    return pa.StructArray.from_arrays([parts[f.name].cast(f.type) for f in fields], fields=fields)


def _lists(at: Integers, values: pa.Array, size: int, kind: pa.DataType) -> pa.ListArray:
    """So many lists, NULL where nothing is; ``at``: in which each value is."""
    if (np.diff(at) < 0).any():
        order = np.argsort(at, kind="stable")
        at, values = at[order], values.take(pa.array(order))
    return lists(at, values, np.bincount(at, minlength=size) == 0, kind)
