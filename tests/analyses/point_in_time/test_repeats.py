from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.point_in_time.repeats import repeated

Make = Callable[..., pa.Table]
A, B, NONE = ({"id": 1, "up": up} for up in (1, 2, None))
OTHER = {"id": 2, "up": 1}


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ([("update", A, NONE), ("delete", A, None)], [0]),
        ([("update", A, B), ("update", B, NONE), ("delete", A, None)], [0, 1]),
        ([("update", A, B), ("update", B, NONE), ("delete", B, None)], [1]),
        ([("delete", OTHER, None), ("delete", A, None), ("delete", A, None)], [1]),
        ([("update", OTHER, {**OTHER, "id": 1}), ("delete", {**OTHER, "id": 1}, None)], []),
        ([("update", A, NONE), ("delete", NONE, None)], []),
        ([("update", A, NONE), ("update", NONE, A), ("delete", A, None)], []),
        ([("delete", A, None), ("insert", None, A), ("delete", A, None)], []),
        ([("update", A, OTHER), ("update", OTHER, A), ("delete", A, None)], []),
        ([("update", A, NONE), ("delete", B, None)], []),  # by what the log lacks
        ([("update", A, NONE), ("insert", None, OTHER)], []),
    ],
)
def test_what_a_delete_says_once_more(
    make_changes: Make, changes: list[tuple[Any, ...]], again: list[int]
) -> None:
    rows = [(*change, {"tx": 5}) for change in changes]
    columns = {"id": pa.int32(), "up": pa.int32()}
    (batch,) = make_changes(columns, rows, key=["id"]).combine_chunks().to_batches()
    facts = {**(batch.schema.metadata or {}), b"binlogkit:twice": b"1"}
    marked = batch.replace_schema_metadata(facts)
    assert repeated(marked).nonzero()[0].tolist() == again
    assert not repeated(batch).any()
    apart = marked.set_column(
        batch.schema.get_field_index("tx"), "tx", pa.array(range(len(rows)), pa.int64())
    )
    assert not repeated(apart).any()
