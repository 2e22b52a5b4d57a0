"""The canonical schema as far as Spark's Arrow transport can carry it.

Found by running PySpark 4.3 (docs/spark.md, "Types"): dictionaries and unsigned integers fail in
transport, DECIMAL has at most 38 digits. So text stands for dictionaries and for longer
decimals, the next wider signed type for unsigned integers, decimal(20,0) for 64 bits of them.
"""

from __future__ import annotations

import json

import pyarrow as pa

from binlogkit._kernel.value_text import decimal_text
from binlogkit.errors import SchemaError
from binlogkit.frames.projection import IMAGES, rearranged


def carry(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A canonical batch in ``schema``: columns and image fields chosen by name, types as it says.

    An image field that this version of the table lacks is *not in the image*; the states and the
    raw cells are numbered as the image fields of ``schema``. SchemaError: values do not fit the
    type.
    """
    table = ".".join(json.loads(batch.schema.metadata[b"binlogkit:table"]))
    own = {field.name: field for field in batch.schema.field("before").type}
    there = [image for image in IMAGES if image in schema.names]
    # Without an image its states are those of the other's fields, without both of the table's.
    other = schema.field(there[0]).type if there else own.values()
    images = [
        list(schema.field(image).type) if image in there else [own.get(f.name, f) for f in other]
        for image in IMAGES
    ]
    columns = rearranged(batch, images, lambda c, f: fit(c, f.type, f"{table}.{f.name}"))
    return pa.RecordBatch.from_arrays(
        [fit(columns[field.name], field.type, field.name) for field in schema], schema=schema
    )


def fit(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """A column in another type. SchemaError: a value does not fit it."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type):
        return fit(column.dictionary_decode(), kind, name)
    try:
        if pa.types.is_decimal(column.type) and pa.types.is_string(kind):
            texts = (None if v is None else decimal_text(v) for v in column.to_pylist())
            return pa.array(texts, pa.string())  # as the server writes them: never an exponent
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as exc:
        raise SchemaError(f"{name} is {column.type}, which does not go into {kind}: {exc}") from exc
