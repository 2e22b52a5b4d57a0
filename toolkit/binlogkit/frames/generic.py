"""Windows of batches -> the generic rows (``frames/tables.py:generic_schema``), and the rows of a
state -> their records (:data:`~binlogkit.frames.fields.rows.STATE`), column by column.

What ``frames/records.py`` and ``json.dumps`` make of one row after the other, for many at once:
provenance stays in Arrow, an image's JSON text is joined from its columns' texts. Rows with cells
that are no plain value, and windows of very large ones, are made as records are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import LimitError, printable
from binlogkit.frames.fields.field import written_schema
from binlogkit.frames.fields.rows import STATE
from binlogkit.frames.records import cell_values, struct_records
from binlogkit.frames.text_columns import (
    LARGE,
    has_large_rows,
    holds_controls,
    holds_quotes,
    json_lists,
    value_texts,
)

_IMAGES = ("before", "after")
_AFTER = _IMAGES.index("after")
_STATE_ROWS = 8192
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e10  # between which no exponent is written
_Dump = Callable[[object], str]


def generic_rows(
    window: Sequence[pa.RecordBatch], schema: pa.Schema, *, compact: bool = False
) -> Iterator[pa.RecordBatch]:
    """The changes of a window in the log's order.

    ``schema``: columns of the generic rows, also ``source``, ``seq`` and ``tx``, which analyses
    order by; ``compact``: no blanks in JSON text, which then is a large string where it is more
    than 2 GB. Else such a row is a LimitError.
    """
    separators = (",", ":") if compact else (", ", ": ")
    dump = partial(json.dumps, ensure_ascii=False, separators=separators)
    size, rows = sum(batch.nbytes for batch in window), sum(map(len, window))
    if not rows:
        return
    order = np.argsort(np.concatenate([batch.column("seq") for batch in window]), kind="stable")
    if has_large_rows(size, rows):
        every = [batch.slice(i, 1) for batch in window for i in range(len(batch))]
        make = partial(_large_image_text, dump=dump)
        for i in order.tolist():
            row = _with_texts(every[i], schema, make)
            if row.schema != schema and not compact:
                where = f"{printable(row['file'][0].as_py())}, at {row['pos'][0]}"
                raise LimitError(f"{where}: an image of a row is more than 2 GB of text")
            yield row
        return
    make = partial(_image_texts, dump=dump, separators=separators)
    table = pa.Table.from_batches([_with_texts(b, schema, make) for b in window], schema)
    if len(window) > 1:
        table = table.take(pa.array(order))
    yield from table.combine_chunks().to_batches()


def _with_texts(
    batch: pa.RecordBatch, schema: pa.Schema, make: Callable[..., pa.Array]
) -> pa.RecordBatch:
    """The batch, its images as ``make`` writes them: the image, states, raw cells, and which."""
    arrays = []
    for field in schema:
        array = batch.column(field.name)
        if field.name in _IMAGES:
            states, image = batch.column(f"{field.name}_state"), _IMAGES.index(field.name)
            array = make(array, states, batch.column("raw"), image)
        else:
            array = array.cast(field.type)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _large_image_text(
    struct: pa.StructArray, states: pa.ListArray, raw: pa.ListArray, image: int, dump: _Dump
) -> pa.Array:
    """The one image as JSON text."""
    (record,) = struct_records(struct, states, raw, image)
    return _large_text(None if record is None else dump(record))


def _large_text(text: str | None) -> pa.Array:
    """One text, a large string where a string array cannot hold it."""
    try:
        return pa.array([text], pa.string())
    except pa.ArrowCapacityError:
        return pa.array([text], pa.large_string())


def state_rows(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a state (``values``, ``value_state``, ``raw``, ``unknown``) as records.

    Values and the names of unknown columns are JSON text without blanks.
    """
    schema = written_schema(STATE)
    separators = (",", ":")
    dump = partial(json.dumps, ensure_ascii=False, separators=separators)
    count = max(1, min(_STATE_ROWS, LARGE * rows.num_rows // max(rows.nbytes, 1)))
    for batch in rows.to_batches(max_chunksize=count):
        values, states, raw = (batch.column(name) for name in ("values", "value_state", "raw"))
        unknown = batch.column("unknown")
        unknown = json_lists(unknown, _quoted(unknown.flatten()))
        if has_large_rows(batch.nbytes, batch.num_rows):
            records = struct_records(values, states, raw, _AFTER)
            for record, names in zip(records, unknown.to_pylist(), strict=True):
                texts = [_large_text(dump(record or {})), _large_text(names)]
                yield pa.RecordBatch.from_arrays(texts, names=schema.names)
        else:
            texts = _image_texts(values, states, raw, _AFTER, dump, separators)
            texts = pc.fill_null(texts, "{}")
            yield pa.RecordBatch.from_arrays([texts, unknown], schema=schema)


def _image_texts(
    struct: pa.StructArray,
    states: pa.ListArray,
    raw: pa.ListArray,
    image: int,
    dump: _Dump,
    separators: tuple[str, str],
) -> pa.Array:
    """The images as JSON text, null where there is none; ``image``: which of a change's two."""
    names = [field.name for field in struct.type]
    odd = np.asarray(states.is_valid())
    if not names or len(set(names)) < len(names):
        odd = np.asarray(struct.is_valid())
    rows = np.flatnonzero(odd)
    special: list[str | None] = []
    if len(rows):
        chosen = pa.array(rows)
        records = struct_records(struct.take(chosen), states.take(chosen), raw.take(chosen), image)
        special = [None if r is None else dump(r) for r in records]
    if len(rows) == len(struct):
        return pa.array(special, pa.string())
    texts = _joined(struct, *separators)
    if len(rows):
        texts = pc.replace_with_mask(texts, pa.array(odd), pa.array(special, pa.string()))
    return pc.if_else(struct.is_valid(), texts, pa.scalar(None, pa.string()))


def _joined(struct: pa.StructArray, comma: str, colon: str) -> pa.Array:
    """The structs as JSON objects, as if each cell had a value or were NULL."""
    parts: list[Any] = []
    for i, field in enumerate(struct.type):
        start = "{" if i == 0 else comma
        parts += [f"{start}{json.dumps(field.name, ensure_ascii=False)}{colon}"]
        parts += [pc.fill_null(json_texts(struct.field(i), field), "null")]
    return pc.binary_join_element_wise(*parts, "}", "")


def json_texts(array: pa.Array, field: pa.Field) -> pa.Array:
    """A column's values as JSON text, null where there is none."""
    types = pa.types
    if types.is_integer(array.type):
        return array.cast(pa.string())
    if types.is_dictionary(array.type):
        return _quoted(array.dictionary.cast(pa.string())).take(array.indices)
    if types.is_string(array.type) or types.is_large_string(array.type):
        return _quoted(array.cast(pa.string()))
    if types.is_floating(array.type):
        return _numbers(array, field)
    texts = value_texts(array, field)
    if texts is not None:
        return pc.binary_join_element_wise('"', texts, '"', "")
    return _one_by_one(array, field)


def _one_by_one(array: pa.Array, field: pa.Field) -> pa.StringArray:
    values = cell_values(array, field)
    return pa.array([None if v is None else _dumped(v) for v in values], pa.string())


def _numbers(array: pa.FloatingPointArray, field: pa.Field) -> pa.StringArray:
    """FLOAT and DOUBLE with the fewest digits that read back, as Python writes them: Arrow does
    the same in the middle of their range, but for a fraction of 0."""
    size = np.abs(np.asarray(array.fill_null(1)))
    odd = ~((size >= _LEAST_PLAIN) & (size < _MOST_PLAIN))
    texts = array.cast(pa.string())
    whole = pc.invert(pc.match_substring(texts, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if not odd.any():
        return texts
    chosen = pa.array(odd)
    return pc.replace_with_mask(texts, chosen, _one_by_one(array.filter(chosen), field))


def _dumped(value: object) -> str:
    return repr(value) if type(value) is float and isfinite(value) else json.dumps(value)


def _quoted(texts: pa.Array) -> pa.Array:
    """Strings as JSON has them."""
    if holds_controls(texts):
        values = texts.to_pylist()
        return pa.array(
            [None if v is None else json.dumps(v, ensure_ascii=False) for v in values], pa.string()
        )
    if holds_quotes(texts):
        for character in ("\\", '"'):
            texts = pc.replace_substring(texts, character, "\\" + character)
    return pc.binary_join_element_wise('"', texts, '"', "")
