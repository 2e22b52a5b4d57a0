"""The canonical schema of a batch of row changes, and of the other frames.

A batch is a ``pyarrow.RecordBatch`` with one row per row change of one version of one table. Its
provenance comes first, then ``op``, the two images as structs (null where the event has none), and
what the values alone cannot say:

``before_state``, ``after_state``
    ``list<uint8>``, one :class:`CellState` per column; **null where every cell of the image is a
    value or NULL**, or where there is no image.
``raw``
    ``list<struct<image, column, bytes, text>>``, null where no cell needs it: for UNDECODABLE the
    stored ``bytes`` and the reason as ``text``; for NO_ARROW_VALUE the stored ``bytes`` and the
    server's ``text`` of the value; for JSON_DIFF the ``bytes`` of the diff and its JSON ``text``
    (a list of ``{"op", "path", "value"}``). ``image`` is 0 for before and 1 for after, ``column``
    the index in the struct.

Field metadata (all keys bytes, prefix ``binlogkit:``) of each image field: ``mysql_type``,
``scale`` (fraction digits or DECIMAL scale), ``kind`` (see :data:`KINDS`), ``name_origin``,
``sign_origin``, ``charset``, ``charset_origin``, ``labels_origin``; ``unsigned`` is ``1`` or ``0``.
Schema metadata: ``binlogkit:table`` (JSON list of db and table), ``binlogkit:schema_version``,
``binlogkit:key`` (JSON list of names), ``binlogkit:key_kind``, ``binlogkit:key_origin``.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "KINDS",
    "OPS",
    "PROVENANCE",
    "CellState",
    "batch_schema",
    "common_types",
    "provenance_fields",
    "raw_type",
    "undecodable_cells",
]


class CellState(IntEnum):
    """What a cell of an image is."""

    VALUE = 0
    NULL = 1
    NOT_IN_IMAGE = 2
    UNDECODABLE = 3
    NO_ARROW_VALUE = 4
    JSON_DIFF = 5


OPS = ("insert", "update", "delete")

# The value of an image field's `binlogkit:kind`: how its Arrow values read as MySQL values.
KINDS = (
    "integer",  # (u)int8 … (u)int64
    "float",  # float32
    "double",  # float64
    "decimal",  # decimal128 up to 38 digits, decimal256 above
    "bit",  # uint64
    "year",  # int16
    "date",  # date32
    "time",  # duration[us]
    "datetime",  # timestamp[us]
    "timestamp",  # timestamp[us, UTC]
    "text",  # string
    "binary",  # binary
    "enum",  # dictionary<int32, string>, or uint16 when the labels are not known
    "set",  # string (labels joined by commas), or uint64 when the labels are not known
    "json",  # string, the server's own text
    "geometry",  # binary: SRID + WKB as stored
    "vector",  # binary: little-endian floats as stored
)

PROVENANCE = (
    "source",
    "file",
    "pos",
    "end_pos",
    "inner",
    "row",
    "timestamp",
    "commit_timestamp",
    "server_id",
    "gtid",
    "thread_id",
    "xid",
    "xa",
    "db",
    "table",
    "op",
    "query",
)


def provenance_fields() -> list[pa.Field]:
    """The Arrow fields of :data:`PROVENANCE`.

    ``timestamp``: integer seconds; ``commit_timestamp``: integer microseconds of the immediate
    commit (8.0.1+), null where the log has none; ``inner``: null outside a payload; ``row``:
    0-based in its event; strings are dictionary-encoded.
    """
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return [
        pa.field("source", text),
        pa.field("file", text),
        pa.field("pos", pa.int64()),
        pa.field("end_pos", pa.int64()),
        pa.field("inner", pa.int32()),
        pa.field("row", pa.int32()),
        pa.field("timestamp", pa.int64()),
        pa.field("commit_timestamp", pa.int64()),
        pa.field("server_id", pa.int64()),
        pa.field("gtid", text),
        pa.field("thread_id", pa.int64()),
        pa.field("xid", pa.uint64()),
        pa.field("xa", text),
        pa.field("db", text),
        pa.field("table", text),
        pa.field("op", text),
        pa.field("query", text),
    ]


@lru_cache(1)
def raw_type() -> pa.DataType:
    """The Arrow type of ``raw``."""
    import pyarrow as pa

    return pa.list_(
        pa.struct(
            [
                pa.field("image", pa.uint8()),
                pa.field("column", pa.uint16()),
                pa.field("bytes", pa.binary()),
                pa.field("text", pa.string()),
            ]
        )
    )


def batch_schema(image: list[pa.Field], metadata: dict[bytes, bytes] | None = None) -> pa.Schema:
    """The schema of a batch whose two images have the fields ``image``.

    Behind the provenance, ``seq``: the global order of changes and table boundaries over all logs
    read together; ``tx``: the number of the change's transaction in the transactions frame, null
    outside any.
    """
    import pyarrow as pa

    images = pa.struct(image)
    first, last = _common_fields()
    return pa.schema(
        [*first, pa.field("before", images), pa.field("after", images), *last], metadata=metadata
    )


@lru_cache(1)
def _common_fields() -> tuple[list[pa.Field], list[pa.Field]]:
    """What all batches have in front of the images, and behind them."""
    import pyarrow as pa

    states = pa.list_(pa.uint8())
    return (
        [*provenance_fields(), pa.field("seq", pa.int64()), pa.field("tx", pa.int64())],
        [
            pa.field("before_state", states),
            pa.field("after_state", states),
            pa.field("raw", raw_type()),
        ],
    )


@lru_cache(1)
def common_types() -> dict[str, pa.DataType]:
    """The types of a batch's columns, but for the images."""
    return {field.name: field.type for fields in _common_fields() for field in fields}


def undecodable_cells(batch: pa.RecordBatch) -> int:
    """How many cells of a batch could not be decoded."""
    count = 0
    for name in ("before_state", "after_state"):
        states = batch.column(name)
        if states.null_count < len(states):
            import pyarrow.compute as pc

            flat = states.flatten()
            count += pc.sum(pc.equal(flat, int(CellState.UNDECODABLE))).as_py() or 0
    return count
