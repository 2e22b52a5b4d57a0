"""The canonical schema as far as Spark's Arrow transport can carry it.

Found by running PySpark 4.3 (docs/spark.md, "Types"): dictionaries and unsigned integers fail in
transport, DECIMAL has at most 38 digits. So text stands for dictionaries and for longer
decimals, the next wider signed type for unsigned integers, decimal(20,0) for 64 bits of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binlogkit._kernel.value_text import decimal_text
from binlogkit.errors import SchemaError
from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["carried_schema", "carry", "fit"]

IMAGES = ("before", "after")
_UINT64_DIGITS = 20


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with a type that Spark carries for each; metadata kept."""
    import pyarrow as pa

    return pa.schema([_carried_field(f) for f in schema], metadata=schema.metadata)


def _carried_field(field: pa.Field) -> pa.Field:
    import pyarrow as pa

    return pa.field(field.name, _carried_type(field.type), metadata=field.metadata)


def _carried_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _carried_type(kind.value_type)
    if types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wider.get(kind.bit_width) or pa.decimal128(_UINT64_DIGITS, 0)
    if types.is_decimal256(kind):
        return pa.string()
    if types.is_struct(kind):
        return pa.struct([_carried_field(f) for f in kind])
    if types.is_list(kind):
        return pa.list_(_carried_type(kind.value_type))
    return kind


def carry(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A canonical batch in ``schema``: columns and image fields chosen by name, types as it says.

    An image field that this version of the table lacks is *not in the image*; the states and the
    raw cells are numbered as the image fields of ``schema``. SchemaError: values do not go
    into the type.
    """
    import pyarrow as pa

    own = [field.name for field in batch.schema.field("before").type]
    columns = []
    for field in schema:
        image = field.name.removesuffix("_state")
        column = batch.column(field.name)
        if field.name in IMAGES:
            column = _image(column, field.type, _table(batch))
        elif image in IMAGES:
            target = _image_names(schema, image, own)
            column = fit(_states(batch, image, own, target), field.type, field.name)
        elif field.name == "raw":
            column = fit(_raw(column, schema, own), field.type, field.name)
        else:
            column = fit(column, field.type, field.name)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _image_names(schema: pa.Schema, image: str, own: Sequence[str]) -> list[str]:
    """The image's fields in ``schema``; without the image itself, all of the table's."""
    if image not in schema.names:
        other = next((i for i in IMAGES if i in schema.names), None)
        return list(own) if other is None else [f.name for f in schema.field(other).type]
    return [field.name for field in schema.field(image).type]


def _table(batch: pa.RecordBatch) -> str:
    db, table = json.loads(batch.schema.metadata[b"binlogkit:table"])
    return f"{db}.{table}"


def _image(struct: pa.StructArray, kind: pa.DataType, table: str) -> pa.Array:
    import pyarrow as pa

    place = {field.name: i for i, field in enumerate(struct.type)}
    children = [
        fit(struct.field(place[f.name]), f.type, f"{table}.{f.name}")
        if f.name in place
        else pa.nulls(len(struct), f.type)
        for f in kind
    ]
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=struct.is_null())


def _states(
    batch: pa.RecordBatch, image: str, own: Sequence[str], target: Sequence[str]
) -> pa.Array:
    """The states of an image for the fields ``target``, null where each is a value or NULL."""
    import pyarrow as pa

    states = batch.column(f"{image}_state")
    if list(own) == list(target):
        return states
    struct = batch.column(image)
    place = {name: i for i, name in enumerate(own)}
    wanted = [place.get(name) for name in target]
    nulls = {i: struct.field(i).is_null().to_pylist() for i in wanted if i is not None}
    rows: list[list[int] | None] = []
    for row, (there, known) in enumerate(
        zip(struct.is_valid().to_pylist(), states.to_pylist(), strict=True)
    ):
        if not there or (known is None and None not in wanted):
            rows.append(None)
            continue
        moved = [
            int(CellState.NOT_IN_IMAGE)
            if i is None
            else known[i]
            if known is not None
            else int(nulls[i][row])
            for i in wanted
        ]
        rows.append(moved if any(state > CellState.NULL for state in moved) else None)
    return pa.array(rows, states.type)


def _raw(column: pa.Array, schema: pa.Schema, own: Sequence[str]) -> pa.Array:
    """The raw cells that belong to a wanted field, under its number in ``schema``."""
    import pyarrow as pa

    names = [_image_names(schema, image, own) for image in IMAGES]
    if all(list(own) == target for target in names) or column.null_count == len(column):
        return column
    place = [{name: i for i, name in enumerate(target)} for target in names]
    rows = []
    for cells in column.to_pylist():
        kept = [
            {**cell, "column": place[cell["image"]][own[cell["column"]]]}
            for cell in cells or ()
            if own[cell["column"]] in place[cell["image"]]
        ]
        rows.append(kept or None)
    return pa.array(rows, column.type)


def fit(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """A column in another type. SchemaError: a value does not go into it."""
    import pyarrow as pa

    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type):
        return fit(column.dictionary_decode(), kind, name)
    try:
        if pa.types.is_decimal(column.type) and pa.types.is_string(kind):
            return _decimal_texts(column)
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as exc:
        raise SchemaError(f"{name} is {column.type}, which does not go into {kind}: {exc}") from exc


def _decimal_texts(column: pa.Array) -> pa.Array:
    """Decimals as the server writes them: full scale, never an exponent."""
    import pyarrow as pa

    texts = [None if v is None else decimal_text(v) for v in column.to_pylist()]
    return pa.array(texts, pa.string())
