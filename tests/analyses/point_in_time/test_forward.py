"""A table's rows, folded while its log is read: what the log's end confirms, and what not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.forward import COUNTS, LEFT_OUT, OPEN, Forward

Make = Callable[..., pa.Table]
NAME = ("shop", "orders")
FIELDS = {"id": pa.int32()}


def forward(make: Make, known: Sequence[int]) -> Forward:
    """One that took a row of each transaction, of which that is known."""
    at = np.array(known, np.uint8)
    found = Forward(NAME, lambda numbers, _: at[numbers], {})
    rows = [("insert", None, {"id": n}) for n in range(len(known))]
    for batch in make(FIELDS, rows).to_batches():
        found.take(batch, ["id"], [])
    return found


def confirmed(found: Forward, *numbers: int, **other: Any) -> list[int] | None:
    """The rows' keys where the assumptions hold; ``numbers``: the transactions that count."""
    known = {"key": ["id"], "names": [NAME], "happened": [], "undone": [], **other}
    run = found.confirmed(numbers=np.array(numbers, np.int64), **known)
    if run is None:
        return None
    fold = run.finish()
    rows = [] if fold is None else fold.settled().table["id"].to_pylist()
    return [cell["value"] for cell in rows]


@pytest.mark.parametrize(
    ("known", "numbers", "rows"),
    [
        ([COUNTS, COUNTS], [0, 1], [0, 1]),
        ([COUNTS, LEFT_OUT], [0], [0]),
        ([COUNTS, OPEN, COUNTS], [0, 1, 2], [0, 1, 2]),
        ([COUNTS, OPEN, COUNTS], [0, 2], [0, 2]),
        ([COUNTS, COUNTS], [0], None),
        ([COUNTS, LEFT_OUT], [0, 1], None),
        ([LEFT_OUT], [0], None),
        ([OPEN], [], []),
    ],
)
def test_which_transactions_count_turns_out(
    make_changes: Make, known: list[int], numbers: list[int], rows: list[int] | None
) -> None:
    assert confirmed(forward(make_changes, known), *numbers) == rows


def test_what_else_was_assumed(make_changes: Make) -> None:
    """That the table had one name and this key, and that nothing was taken back."""

    def found(**other: Any) -> list[int] | None:
        return confirmed(forward(make_changes, [COUNTS]), 0, **other)

    assert found() == [0]
    assert found(names=[NAME, ("shop", "shadow")]) is None
    assert found(key=["name"]) is None
    assert found(undone=[Undone("binlog.000001", (4, -1), (104, -1))]) is None
