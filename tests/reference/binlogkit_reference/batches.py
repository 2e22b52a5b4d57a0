"""Column buffers -> ``pyarrow.RecordBatch`` in the canonical schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.schema import PROVENANCE
from binlogkit.rows.schema import TableSchema

if TYPE_CHECKING:
    from tests.reference.binlogkit_reference.changes import ColumnBatch, ImageColumns

__all__ = ["record_batch"]

# The order of ColumnBatch.provenance; source, db and table are the batch's own.
_FACTS = (
    "file", "pos", "end_pos", "inner", "row", "timestamp", "commit_timestamp", "server_id",
    "gtid", "thread_id", "xid", "xa", "op", "query", "seq", "tx",
)  # fmt: skip


def record_batch(batch: ColumnBatch) -> pa.RecordBatch:
    """The batch as Arrow; one row per change, in log order."""
    schema = empty_batch(batch.schema).schema
    count = len(batch)
    facts: dict[str, Sequence[Any]] = dict(
        zip(_FACTS, zip(*batch.provenance, strict=True), strict=True)
        if count
        else ((name, ()) for name in _FACTS)
    )
    facts["source"] = [batch.source] * count
    facts["db"] = [batch.schema.db] * count
    facts["table"] = [batch.schema.table] * count
    arrays = [_plain(facts[name], schema.field(name).type) for name in (*PROVENANCE, "seq", "tx")]
    for image, name in ((batch.before, "before"), (batch.after, "after")):
        arrays.append(_struct(image, schema.field(name).type, batch.schema))
    for image in (batch.before, batch.after):
        arrays.append(
            pa.array([None if s is None else list(s) for s in image.states], pa.list_(pa.uint8()))
        )
    arrays.append(_raw(batch, schema.field("raw").type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, kind)


def _struct(image: ImageColumns, kind: pa.StructType, schema: TableSchema) -> pa.StructArray:
    children = [
        _column(values, kind.field(i).type, schema.columns[i].labels)
        for i, values in enumerate(image.values)
    ]
    missing = pa.array([not there for there in image.present], pa.bool_())
    fields = [kind.field(i) for i in range(kind.num_fields)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=missing)


def _column(values: list[Any], kind: pa.DataType, labels: tuple[str, ...] | None) -> pa.Array:
    types = pa.types
    if types.is_dictionary(kind):
        # Index 0 is the empty string that the server stores for a value that is no member.
        names = ("", *(labels or ()))
        index = {name: i for i, name in reversed(list(enumerate(names)))}
        codes = [None if v is None else index[v] for v in values]
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))
    if types.is_timestamp(kind) or types.is_duration(kind):
        return pa.array(values, pa.int64()).view(kind)
    if types.is_date32(kind):
        return pa.array(values, pa.int32()).view(kind)
    return pa.array(values, kind)


def _raw(batch: ColumnBatch, kind: pa.DataType) -> pa.Array:
    rows = [
        None
        if cells is None
        else [
            {"image": image, "column": c.column, "bytes": c.data, "text": c.text}
            for image, c in cells
        ]
        for cells in batch.raw
    ]
    return pa.array(rows, kind)
