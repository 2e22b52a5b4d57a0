"""How the arrays of one version of a table are made; kept beside the table's plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.columns import TablePlan
from binlogkit.frames.arrays import integers, text_array
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.schema import batch_schema
from binlogkit.rows.schema import Column, TableSchema


def schema_of(schema: TableSchema, columns: Sequence[int] | None = None) -> pa.Schema:
    """The canonical batch schema of one version of a table; ``columns``: indexes, None for all."""
    facts = {
        "table": json.dumps([schema.db, schema.table]),
        "schema_version": str(schema.version),
        "key": json.dumps(list(schema.key)),
        "key_kind": schema.key_kind,
        "key_origin": str(schema.key_origin),
    }
    metadata = {f"binlogkit:{k}".encode(): v.encode() for k, v in facts.items()}
    wanted = schema.columns if columns is None else [schema.columns[i] for i in columns]
    return batch_schema([column_field(c) for c in wanted], metadata)


class ColumnLayout:
    """How the arrays of one column are made; ``stored``: as what type the kernel has them.

    ``places``: of an ENUM the text of each index; ``firsts``: the first index of the same text,
    where two have one.
    """

    __slots__ = ("by_codec", "firsts", "kind", "labels", "name", "places", "stored")

    def __init__(self, column: Column, by_codec: bool) -> None:
        self.kind = column_field(column).type
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

    ``schema``: of the table's batches; ``image``: the struct that the columns make; ``db``,
    ``table``: the names as arrays of one text.
    """

    __slots__ = ("columns", "db", "image", "schema", "table")

    def __init__(self, schema: TableSchema, plan: TablePlan) -> None:
        columns, plans = schema.columns, plan.columns
        self.columns = [
            (_shared if columns[i].small else ColumnLayout)(columns[i], plans[i].by_codec)
            for i in plan.wanted
        ]
        self.schema: pa.Schema = schema_of(schema, plan.wanted)
        self.image: Any = self.schema.field("before").type
        self.db, self.table = text_array([schema.db]), text_array([schema.table])


#: The same for a column of each of the tables that are alike.
_shared = lru_cache(4096)(ColumnLayout)


def layout_of(schema: TableSchema, plan: TablePlan) -> Layout:
    """The layout of a table's plan, made once."""
    if plan.layout is None:
        plan.layout = Layout(schema, plan)
    layout: Layout = plan.layout
    return layout
