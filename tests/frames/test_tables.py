"""Batches of one table as one."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from binlogkit.frames.schema import key_columns
from binlogkit.frames.tables import united_schema

NUMBER = pa.field("id", pa.int32(), metadata={b"binlogkit:scale": b"0"})


@pytest.mark.parametrize("others", [[], [pa.field("v", pa.int32(), metadata=NUMBER.metadata)]])
@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ([["id"], ["id"]], ["id"]),
        ([["id"], ["w"]], ["id", "w"]),
        ([["id"], []], []),
    ],
)
def test_a_key_identifies_rows_of_all_versions(
    others: list[pa.Field], keys: list[list[str]], key: list[str]
) -> None:
    images = [pa.struct([NUMBER]), pa.struct([NUMBER, *others])]
    schemas = [
        pa.schema([("before", image), ("after", image)], {
            "binlogkit:table": json.dumps(["shop", "t"]),
            "binlogkit:schema_version": str(number),
            "binlogkit:key": json.dumps(own),
        })
        for number, (image, own) in enumerate(zip(images, keys, strict=True))
    ]  # fmt: skip
    assert key_columns(united_schema(schemas, "shop.t")) == key
