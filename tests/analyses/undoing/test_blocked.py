"""What stays of the changes that were chosen, and what stays with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.undoing.blocked import staying
from binlogkit.analyses.undoing.plans import Plans
from binlogkit.analyses.undoing.undo import pieces

Make = Callable[..., pa.Table]
FIELDS = [
    pa.field("id", pa.int64(), metadata={"binlogkit:kind": "integer"}),
    pa.field("state", pa.string(), metadata={"binlogkit:kind": "text"}),
]
WHOLE: dict[str, Any] = {"id": 1, "state": "new"}


@pytest.mark.parametrize(
    ("whole", "stay"), [(False, [0, 2]), (True, [0, 2, 3])], ids=["changes", "transactions"]
)
def test_what_is_refused_stays_with_its_transaction(
    make_changes: Make, whole: bool, stay: list[int]
) -> None:
    """Changes without a transaction are not one transaction, nor that of another number."""
    rows: list[Any] = [
        ("delete", {"id": 1}, None, {"tx": None}),
        ("insert", None, WHOLE, {"tx": None}),
        ("delete", {"id": 2}, None, {"tx": 0}),
        ("insert", None, WHOLE, {"tx": 0}),
        ("insert", None, WHOLE, {"tx": 1}),
        ("update", WHOLE, WHOLE, {"tx": 1}),
    ]
    batches = make_changes(FIELDS, rows).to_batches()
    plans = Plans(pieces(batches, backwards=True), backwards=True)
    assert staying(plans, whole=whole).tolist() == stay
