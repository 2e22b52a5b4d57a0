"""Plans made by the column are those made of one change after the other."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.analyses._planner import Facts, Planner
from binlogkit.analyses.undo import mappings
from tests.analyses.plan_cases import changes
from tests.analyses.rowwise_plans import plans_of

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


def comparable(plan: dict[str, Any]) -> dict[str, Any]:
    """With the signs of zeros, which are equal."""
    items = [item for part in ("set", "where") for item in plan[part]]
    signs = [math.copysign(1, i["value"]) for i in items if isinstance(i["value"], float)]
    return plan | {"signs": signs}
