"""Record batches of the contract's records as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.arrays import one_text, text_array
from binlogkit.frames.fields.field import written_type
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.fields.rows import ROW, STATE
from binlogkit.frames.text_columns import (
    has_large_rows,
    holds_quotes,
    is_printable,
    joined_rows,
    json_lists,
)
from binlogkit.reports._values import json_text

#: Text columns of the generic forms whose text is JSON.
JSON_COLUMNS = frozenset(f.name for f in (*ROW, *EVENT, *STATE) if written_type(f) != f.type)


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Each row of ``batch`` as a JSON object on a line; text that is JSON becomes part of it."""
    none = not (batch.num_columns and batch.num_rows)
    if none or has_large_rows(batch.nbytes, batch.num_rows):
        return "".join(_lines(batch)).encode()
    parts = list[Any]()
    for column, field in zip(batch.columns, batch.schema, strict=True):
        parts += [f"{',' if parts else '{'}{json_text(field.name)}:"]
        constant = is_constant(column)
        parts += [
            _json_cells(column.slice(0, 1), field)[0] if constant else _json_texts(column, field)
        ]
    return joined_rows([*parts, "}\n"], batch.num_rows)


def is_constant(column: pa.Array) -> bool:
    """Whether all cells are the same, as far as that is quickly seen."""
    if column.null_count:
        return bool(column.null_count == len(column))
    simple = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
    return simple and bool(pc.all(pc.equal(column, column[0])).as_py())


def with_safe_json(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, JSON in its text columns written as JSON lines have it."""
    columns = list(batch.columns)
    for i, field in enumerate(batch.schema):
        column = columns[i]
        large = pa.types.is_large_string(field.type)
        is_json = field.name in JSON_COLUMNS and (large or pa.types.is_string(field.type))
        if is_json and (large or not is_printable(column)):
            texts = [None if t is None else _one_line(t) for t in column.to_pylist()]
            columns[i] = pa.array(texts, field.type)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _lines(batch: pa.RecordBatch) -> Iterator[str]:
    names = batch.schema.names
    texts = [_json_cells(batch.column(i), batch.schema.field(i)) for i in range(len(names))]
    keys = [f"{json_text(name)}:" for name in names]
    for cells in zip(*texts, strict=True):
        yield "{" + ",".join(map(str.__add__, keys, cells)) + "}\n"


def _json_texts(array: pa.Array, field: pa.Field) -> pa.Array:
    """Each cell of a column as JSON text, without a null."""
    kind, null = array.type, one_text("null")
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pc.fill_null(array.cast(pa.string()), null)
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type) and not array.null_count:
        return _json_lists(array)
    if pa.types.is_string(kind) and is_printable(array):
        if field.name in JSON_COLUMNS:
            return pc.fill_null(array, null)
        if not holds_quotes(array):
            mark = one_text('"')
            return pc.fill_null(pc.binary_join_element_wise(mark, array, mark, one_text("")), null)
    if pa.types.is_dictionary(kind):
        words = text_array(_json_cells(array.dictionary, field.with_type(kind.value_type)))
        return pc.fill_null(words.take(array.indices), null)
    return text_array(_json_cells(array, field))


def _json_lists(array: pa.ListArray) -> pa.Array:
    """Lists of texts, none of them null, as JSON arrays; each text is written once."""
    coded = array.flatten().dictionary_encode()
    words = text_array([json_text(word) for word in coded.dictionary.to_pylist()])
    return json_lists(array, words.take(coded.indices))


def _json_cells(array: pa.Array, field: pa.Field) -> list[str]:
    """Each cell of a column as JSON text; a dictionary's values are written once."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        words = [*_json_cells(array.dictionary, field.with_type(kind.value_type)), "null"]
        return [words[-1 if i is None else i] for i in array.indices.to_pylist()]
    if pa.types.is_integer(kind):
        return ["null" if cell is None else str(cell) for cell in array.to_pylist()]
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text and field.name in JSON_COLUMNS:
        return ["null" if cell is None else _one_line(cell) for cell in array.to_pylist()]
    return [json_text(cell) for cell in array.to_pylist()]


def _one_line(text: str) -> str:
    """JSON text as it is when it is safe as it stands, else written again."""
    if text.isprintable():
        return text
    return json_text(json.loads(text))
