"""How the arrays of one version of a table are made; kept beside the table's plan."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.columns import TablePlan
from binlogkit.frames.arrays import integers, text_array
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.schema import batch_schema
from binlogkit.rows.schema import Column, TableSchema


def schema_of(schema: TableSchema, fields: Sequence[pa.Field]) -> pa.Schema:
    """The canonical batch schema of one version of a table with the ``fields`` of its columns."""
    facts = {
        "table": json.dumps([schema.db, schema.table]),
        "schema_version": str(schema.version),
        "key": json.dumps(list(schema.key)),
        "key_kind": schema.key_kind,
        "key_origin": str(schema.key_origin),
    }
    if schema.twice:
        facts["twice"] = "1"
    if schema.supposed:
        facts["supposed"] = json.dumps([one.name for one in schema.supposed])
    metadata = {f"binlogkit:{k}".encode(): v.encode() for k, v in facts.items()}
    return batch_schema(fields, metadata)


def empty_batch(schema: TableSchema, asked: Container[str] | None = None) -> pa.RecordBatch:
    """A batch without a row, of one version of a table; ``asked``: names of columns, None: all."""
    fields = [column_field(c) for c in schema.columns if asked is None or c.name in asked]
    return pa.RecordBatch.from_pylist([], schema_of(schema, fields))


class ColumnLayout:
    """How the arrays of one column are made; ``stored``: as what type the kernel has them.

    ``places``: of an ENUM the text of each index; ``firsts``: the first index of the same text,
    where two have one.
    """

    __slots__ = ("by_codec", "field", "firsts", "kind", "labels", "name", "places", "stored")

    def __init__(self, column: Column, by_codec: bool) -> None:
        self.field = column_field(column)
        self.kind = self.field.type
        self.name = str(self.kind)
        self.labels = column.labels
        self.by_codec = by_codec
        self.stored = pa.binary() if by_codec else self.kind
        self.places: pa.Array | None = None
        self.firsts: pa.Array | None = None
        if pa.types.is_dictionary(self.kind):
            self.stored = pa.int32()
            # Index 0 is the empty string that the server stores for a value that is no member.
            names = ("", *(column.labels or ()))
            self.places = text_array(names)
            if len(set(names)) < len(names):
                self.firsts = integers(np.array([names.index(name) for name in names]))
        elif self.labels is not None:
            self.stored = pa.uint64()


class Layout:
    """The columns that are asked for.

    ``schema``: of the table's batches; ``image``: the struct that the columns make.
    """

    __slots__ = ("columns", "image", "schema")

    def __init__(self, schema: TableSchema, plan: TablePlan) -> None:
        columns, plans = schema.columns, plan.columns
        self.columns = [
            (_shared if columns[i].small else ColumnLayout)(columns[i], plans[i].by_codec)
            for i in plan.wanted
        ]
        self.schema: pa.Schema = schema_of(schema, [c.field for c in self.columns])
        self.image: Any = self.schema.field("before").type


#: The same for a column of each of the tables that are alike.
_shared = lru_cache(4096)(ColumnLayout)


def layout_of(schema: TableSchema, plan: TablePlan) -> Layout:
    """The layout of a table's plan, made once."""
    if plan.layout is None:
        plan.layout = Layout(schema, plan)
    layout: Layout = plan.layout
    return layout
