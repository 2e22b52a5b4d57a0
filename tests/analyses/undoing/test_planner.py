"""Plans made by the column are those made of one change after the other."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing._planner import Facts, Planner
from binlogkit.analyses.undoing.undo import mappings
from tests.analyses.undoing.plan_cases import batch_of, changes
from tests.analyses.undoing.rowwise_plans import plans_of

OUTCOMES = st.dictionaries(st.integers(0, 5), st.sampled_from(["rolled_back", "prepared"]))


@settings(deadline=None, max_examples=150)
@given(changes(), OUTCOMES, st.booleans())
def test_any_changes(batch: pa.RecordBatch, outcomes: dict[int, str], backwards: bool) -> None:
    planner = Planner(Facts.of(batch.schema, None), batch.schema, backwards, outcomes)
    found = sorted(mappings(planner(batch)), key=lambda plan: plan["pos"] * 2 + plan["row"])
    expected = list(plans_of(batch, outcomes, backwards=backwards))
    assert list(map(comparable, found)) == list(map(comparable, expected))


@settings(deadline=None, max_examples=10)
@given(changes())
def test_changes_that_do_not_tell_their_transaction(batch: pa.RecordBatch) -> None:
    """A frame of a user's own choice of columns: none is refused for how its transaction ended."""
    bare = batch.drop_columns(["tx"])
    planner = Planner(Facts.of(bare.schema, None), bare.schema, True, {0: "rolled_back"})
    expected = plans_of(batch, {}, backwards=True)
    found = sorted(mappings(planner(bare)), key=lambda plan: plan["pos"] * 2 + plan["row"])
    assert [plan["refused"] for plan in found] == [plan["refused"] for plan in expected]


@pytest.mark.parametrize(
    ("kind", "key", "guarded"),
    [
        ("update", {"on_update": "SET NULL"}, [True, False]),
        ("update", {"on_update": "SET NULL", "child": ("shop", "orders")}, []),
        ("update", {"on_update": "CASCADE", "on_delete": "SET NULL"}, [True, False]),
        ("insert", {"on_delete": "CASCADE"}, [True, True]),
        ("insert", {"on_update": "SET NULL"}, []),
        ("delete", {"on_delete": "CASCADE", "on_update": "SET NULL"}, []),
    ],
)
def test_rows_that_others_may_refer_to(kind: str, key: dict[str, Any], guarded: list[bool]) -> None:
    """An update is guarded where it sets what is referred to."""
    same, other = {"id": 1, "Code": 5}, {"id": 1, "Code": 6}
    kinds: dict[str, list[Any]]
    kinds = {"update": [(same, other), (same | {"n": 0}, same | {"n": 1})],
             "insert": [(None, same)] * 2, "delete": [(same, None)] * 2}  # fmt: skip
    fields = [
        pa.field(name, pa.int64(), metadata={"binlogkit:kind": "integer"})
        for name in ("id", "Code", "n")
    ]
    images = [tuple(row and {"n": 0} | row for row in pair) for pair in kinds[kind]]
    batch = batch_of(fields, [(kind, *pair) for pair in images])
    table = json.loads(batch.schema.metadata[b"binlogkit:table"])
    child = tuple(table) if "child" in key else ("shop", "items")
    reference = Reference(**({"columns": ("parent",), "parent": tuple(table),
                              "referenced": ("code",)} | key | {"child": child}))  # fmt: skip
    planner = Planner(Facts.of(batch.schema, None), batch.schema, True, {}, referring=[reference])
    ((_, plans),) = planner.columns(batch)
    assert [rows.tolist() for _, rows in plans.unreferred] == [guarded] * bool(guarded)


def comparable(plan: dict[str, Any]) -> dict[str, Any]:
    """With the signs of zeros, which are equal."""
    items = [item for part in ("set", "where") for item in plan[part]]
    signs = [math.copysign(1, i["value"]) for i in items if isinstance(i["value"], float)]
    return plan | {"signs": signs}
