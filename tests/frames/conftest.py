"""Batches made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.frames.schema import batch_schema

Image = dict[str, Any] | None


@pytest.fixture
def make_batch() -> Callable[..., pa.RecordBatch]:
    """Builds a batch from columns (name, kind, type) and rows (op, before, after)."""

    def build(
        columns: Sequence[tuple[str, str, pa.DataType]], rows: Sequence[tuple[str, Image, Image]]
    ) -> pa.RecordBatch:
        fields = [
            pa.field(
                name, kind, metadata={"binlogkit:kind": word, "binlogkit:mysql_type": word.upper()}
            )
            for name, word, kind in columns
        ]
        schema = batch_schema(fields, {b"binlogkit:table": json.dumps(["shop", "orders"]).encode()})
        place = {"file": "binlog.000001", "db": "shop", "table": "orders", "server_id": 1, "row": 0}
        records = [
            {
                **place, "pos": 100 * i + 4, "end_pos": 100 * i + 104, "timestamp": 1700000000 + i,
                "op": op, "seq": i, "tx": i, "xid": i, "before": before, "after": after,
            }
            for i, (op, before, after) in enumerate(rows)
        ]  # fmt: skip
        return pa.RecordBatch.from_pylist(records, schema=schema)

    return build
