"""Record batches as the contract's records: Arrow values to JSON values, and to JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

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
from binlogkit.reports._values import json_text, plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JSON_COLUMNS", "cells", "is_constant", "json_lines", "records", "with_safe_json"]

#: Text columns of the generic forms whose text is JSON.
JSON_COLUMNS = frozenset(f.name for f in (*ROW, *EVENT, *STATE) if written_type(f) != f.type)

_Convert = Callable[[Any], Any]


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each row of ``batch`` as a plain record; text that is JSON stays text."""
    columns = [cells(batch.column(i), batch.schema.field(i)) for i in range(batch.num_columns)]
    names = batch.schema.names
    if not columns:
        yield from ({} for _ in range(batch.num_rows))
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


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
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        return bool(column.null_count == len(column))
    simple = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
    return simple and bool(pc.all(pc.equal(column, column[0])).as_py())


def with_safe_json(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, JSON in its text columns written as JSON lines have it."""
    import pyarrow as pa

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
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        words = [*_json_cells(array.dictionary, field.with_type(kind.value_type)), "null"]
        return [words[-1 if i is None else i] for i in array.indices.to_pylist()]
    if pa.types.is_integer(kind):
        return ["null" if cell is None else str(cell) for cell in array.to_pylist()]
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text and field.name in JSON_COLUMNS:
        return ["null" if cell is None else _one_line(cell) for cell in array.to_pylist()]
    return [json_text(cell) for cell in cells(array, field)]


def _one_line(text: str) -> str:
    """JSON text as it is when it is safe as it stands, else written again."""
    if text.isprintable():
        return text
    return json_text(json.loads(text))


def cells(array: pa.Array, field: pa.Field) -> list[Any]:
    """A column's values as plain records have them."""
    convert = _converter(field)
    values = array.to_pylist()
    if convert is None:
        return list(values)
    return [None if value is None else convert(value) for value in values]


def _converter(field: pa.Field) -> _Convert | None:
    """What turns a Python value of ``field`` into a JSON value; None where it already is one."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_dictionary(kind):
        return _converter(field.with_type(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_float64(kind):
        return None
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        return _narrow_float
    if pa.types.is_struct(kind):
        return _struct(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _list(kind)
    if pa.types.is_temporal(kind) and not pa.types.is_date(kind):
        scale = (field.metadata or {}).get(b"binlogkit:scale")
        return _temporal(None if scale is None else int(scale))
    return plain


def _narrow_float(value: float) -> Any:
    """A FLOAT by the shortest digits that read back to the same 32 bits."""
    import numpy as np

    return plain(np.float32(value))


def _struct(kind: pa.StructType) -> _Convert:
    converters = {field.name: _converter(field) for field in kind}

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: f(value[name]) if f is not None and value[name] is not None else value[name]
            for name, f in converters.items()
        }

    return convert


def _list(kind: pa.ListType) -> _Convert | None:
    inner = _converter(kind.value_field)
    if inner is None:
        return None
    return lambda value: [None if item is None else inner(item) for item in value]


def _temporal(scale: int | None) -> _Convert:
    """The server's text, with the column's declared fraction digits where they are known."""

    def convert(value: Any) -> str:
        whole, _, fraction = str(plain(value)).partition(".")
        if scale is None:
            return f"{whole}.{fraction}" if fraction else whole
        return f"{whole}.{fraction.ljust(scale, '0')[:scale]}" if scale else whole

    return convert
