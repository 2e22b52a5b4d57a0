"""What an undo shows of each change: the row before it, now, and after the script."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from binlogkit.analyses.undoing.plans import Plans
from binlogkit.analyses.undoing.shown import shown
from binlogkit.analyses.undoing.undo import pieces

Make = Callable[..., pa.Table]
FIELDS = [
    pa.field("id", pa.int64(), metadata={"binlogkit:kind": "integer"}),
    pa.field("state", pa.string(), metadata={"binlogkit:kind": "text"}),
    pa.field("n", pa.int64(), metadata={"binlogkit:kind": "integer"}),
]


def test_each_kind_of_change(make_changes: Make) -> None:
    new, old = {"id": 1, "state": "new", "n": 5}, {"id": 1, "state": "old", "n": 5}
    rows: list[Any] = [
        ("insert", None, new),
        ("update", new, old),
        ("delete", old, None),
        ("update", new, new),
    ]
    changes = make_changes(FIELDS, rows)
    table = shown(Plans(pieces(changes.to_batches(), backwards=True), backwards=True))
    texts = table.select(["before", "now", "after"]).to_pylist()
    found = [{n: v and json.loads(v) for n, v in row.items()} for row in texts]
    assert found == [
        {"before": None, "now": new, "after": None},
        {"before": {"state": "new"}, "now": {"state": "old"}, "after": {"state": "new"}},
        {"before": old, "now": None, "after": old},
        {"before": {}, "now": None, "after": None},
    ]
    assert table["refused"].to_pylist() == [None, None, None, "no column changes"]
    assert table["op"].to_pylist() == [op for op, *_ in rows]


def test_a_redo_finds_the_row_as_before_the_change(make_changes: Make) -> None:
    new, old = {"id": 1, "state": "new", "n": 5}, {"id": 1, "state": "old", "n": 5}
    rows = [("insert", None, new), ("update", new, old), ("delete", old, None)]
    changes = make_changes(FIELDS, rows)
    table = shown(Plans(pieces(changes.to_batches(), backwards=False), backwards=False))
    texts = table.select(["before", "now", "after"]).to_pylist()
    assert [{n: v and json.loads(v) for n, v in row.items()} for row in texts] == [
        {"before": None, "now": None, "after": new},
        {"before": {"state": "new"}, "now": {"state": "new"}, "after": {"state": "old"}},
        {"before": old, "now": old, "after": None},
    ]


def test_a_statement_that_logged_no_rows(make_changes: Make) -> None:
    refused = {"seq": 5, "db": "s", "table": "t", "file": "b.1", "pos": 4, "row": 0,
               "timestamp": 0, "refused": "TRUNCATE logs no rows"}  # fmt: skip
    (row,) = shown(Plans(pieces([], [refused], backwards=True), backwards=True)).to_pylist()
    assert row["refused"] == "TRUNCATE logs no rows"
    assert [row[name] for name in ("op", "key", "before", "now", "after")] == [None] * 5
