"""Which changes are taken together while rows before them are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from binlogkit.analyses.point_in_time.before import Before

Make = Callable[..., pa.Table]
FIELDS = [
    pa.field(name, pa.int64(), metadata={"binlogkit:kind": "integer"}) for name in ("id", "n")
]


@pytest.mark.parametrize(
    ("keys", "chosen", "parts"),
    [
        ([1, 2, 3, 4], [2, 3], [(2, False), (2, True)]),
        ([1, 2, 3, 4], [1], [(1, False), (1, True), (2, False)]),
        ([1, 2, 2, 4], [1, 2], [(1, False), (1, True), (1, True), (1, False)]),
        ([1, 2, 3, 4], [], [(4, False)]),
    ],
    ids=["the last", "one", "of one row", "none"],
)
def test_chosen_changes_of_different_rows_are_one_part(
    make_changes: Make, keys: list[int], chosen: list[int], parts: list[tuple[int, bool]]
) -> None:
    rows: list[Any] = [("update", {"id": key}, {"n": 5}) for key in keys]
    (batch,) = make_changes(FIELDS, rows).to_batches()
    before = Before(lambda seqs: np.isin(seqs, chosen))
    found = list(before.parts(batch, ("id",)))
    assert [(part.num_rows, wanted) for part, wanted in found] == parts
    assert pa.Table.from_batches([part for part, _ in found]).equals(pa.Table.from_batches([batch]))
