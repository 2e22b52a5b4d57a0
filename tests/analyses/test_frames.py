"""Frames of any engine: what is handed to Spark, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from binlogkit.frames.arrow_types import carried_schema

TYPES: list[tuple[Any, Any]] = [
    (pa.uint8(), pa.int16()),
    (pa.uint16(), pa.int32()),
    (pa.uint32(), pa.int64()),
    (pa.uint64(), pa.decimal128(20, 0)),
    (pa.int8(), pa.int8()),
    (pa.int64(), pa.int64()),
    (pa.decimal128(38, 4), pa.decimal128(38, 4)),
    (pa.decimal256(40, 4), pa.string()),
    (pa.dictionary(pa.int32(), pa.string()), pa.string()),
    (pa.binary(), pa.binary()),
    (pa.bool_(), pa.bool_()),
    (pa.list_(pa.uint8()), pa.list_(pa.int16())),
    (pa.struct([("a", pa.uint32())]), pa.struct([("a", pa.int64())])),
]


@pytest.mark.parametrize(("kind", "carried"), TYPES, ids=str)
def test_what_spark_carries_of_a_type(kind: Any, carried: Any) -> None:
    """The same for the analyses as for the data source."""
    assert carried_schema(pa.schema([("c", kind)])).field("c").type == carried
