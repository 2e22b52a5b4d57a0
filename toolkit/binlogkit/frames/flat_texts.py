"""The columns of flat batches (``frames/tables.py:flat_batch``) as csv has them.

Times are ISO 8601: those of the log and TIMESTAMP in UTC with a ``Z``, DATETIME without a zone.
DECIMAL, TIME, DATE, bytes and floats are text in the contract's form. A cell that has no Arrow
value is its text: the server's of a zero date, JSON of what cannot be decoded and of JSON diffs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.value_text import hex_text
from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.flat_cells import CELLS, CELLS_TYPE, STATES
from binlogkit.frames.projection import IMAGES
from binlogkit.frames.records import cell_values, special_value
from binlogkit.frames.schema import CellState
from binlogkit.frames.text_columns import LARGE, value_texts

_SECONDS = len("2026-01-02T03:04:05")


def with_texts(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """The ``columns`` of a batch, flat or of plain records, as csv has them."""
    schema = batch.schema
    texts = {name: _texts(batch.column(name), schema.field(name)) for name in columns}
    if "raw" in schema.names:
        for name, cells in _special_cells(batch).items():
            _put(texts, name, cells)
    for own in [f.name for f in schema if f.type == CELLS_TYPE and f.name.endswith(CELLS)]:
        for name, cells in _cells_by_name(batch.column(own)).items():
            _put(texts, f"{own.removesuffix(CELLS)}{name}", cells)
        if own in texts:
            texts[own] = _as_json(batch.column(own))
    return pa.RecordBatch.from_arrays([*texts.values()], names=[*texts])


def _texts(array: pa.Array, field: pa.Field) -> pa.Array:
    """A column as text; integers, text and lists as they are."""
    types = pa.types
    if types.is_timestamp(array.type):
        return _iso(array, int(field_facts(field).get("scale", "6")))
    if types.is_integer(array.type) or types.is_string(array.type) or types.is_nested(array.type):
        return array
    texts = value_texts(array, field) if array.nbytes <= LARGE else None
    if texts is None and field_facts(field).get("kind"):
        values = cell_values(array, field)
        return pa.array([None if v is None else str(v) for v in values], pa.large_string())
    return array if texts is None else texts


def _iso(times: pa.TimestampArray, scale: int) -> pa.StringArray:
    """Times with so many digits of a second."""
    local = times.cast(pa.int64()).cast(pa.timestamp("us"))
    texts = pc.replace_substring(local.cast(pa.string()), " ", "T", max_replacements=1)
    whole = pc.utf8_slice_codeunits(texts, 0, _SECONDS + scale + 1 if scale else _SECONDS)
    return whole if times.type.tz is None else pc.binary_join_element_wise(whole, "Z", "")


def _put(texts: dict[str, pa.Array], name: str, cells: Mapping[int, str]) -> None:
    """Put the texts of some rows' cells into a column."""
    if name in texts:
        plain = texts[name].cast(pa.large_string()).to_pylist()
        there = [cells.get(row, text) for row, text in enumerate(plain)]
        texts[name] = pa.array(there, pa.large_string())


def _cells_by_name(rows: pa.ListArray) -> dict[str, dict[int, str]]:
    """By column, the texts of the rows whose cell has no Arrow value."""
    found = defaultdict[str, dict[int, str]](dict)
    no_value = STATES[CellState.NO_ARROW_VALUE]
    for row in np.flatnonzero(rows.is_valid()).tolist():
        for cell in rows[row].as_py():
            if cell["state"] == no_value and cell["text"] is not None:
                found[cell["column"]][row] = cell["text"]
    return found


def _as_json(rows: pa.ListArray) -> pa.Array:
    """``_cells`` as JSON, bytes as ``0x…``."""
    texts = [None if cells is None else json.dumps(cells, default=hex_text, ensure_ascii=False)
             for cells in rows.to_pylist()]  # fmt: skip
    return pa.array(texts, pa.large_string())


def _special_cells(batch: pa.RecordBatch) -> dict[str, dict[int, str]]:
    """By column, the texts of the rows whose cell has no Arrow value."""
    raw, found = batch.column("raw"), defaultdict[str, dict[int, str]](dict)
    columns = {i: [n for n in batch.schema.names if n.startswith(f"{i}.")] for i in IMAGES}
    for row in np.flatnonzero(raw.is_valid()).tolist():
        for cell in raw[row].as_py():
            image, number = IMAGES[cell["image"]], cell["column"]
            value = special_value(batch.column(f"{image}_state")[row].as_py()[number], cell)
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found[columns[image][number]][row] = text
    return found
