"""Undo and redo of landed changes make the plans that they make of the logs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import (
    BinlogKitError,
    GapError,
    InputError,
    SchemaError,
    UnmetWarning,
    UsageError,
)
from binlogkit.log.undoing import dependents
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.expiry import expire
from binlogkit.spark.landing.shared_landing import SharedLanding
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, land_in_parts

INCIDENT = golden.case("8.0-row-full", "incident")
_QUICK = {
    "8.0-row-full/keys",  # keys that change, cascades
    "8.0-row-full/ddl",  # renames, columns that were converted
    "8.0-row-minimal/transactions",  # rows completed from states; prepared, rolled back
    "5.7-mixed-full/statements",  # writes that are logged as text
    "9-row-full/modern",
}
CASES = [
    pytest.param(case, id=str(case), marks=[pytest.mark.quick] if str(case) in _QUICK else ())
    for case in golden.cases()
]
MODES: list[dict[str, Any]] = [
    *({"mode": mode} for mode in ("refuse", "skip", "cascade", "force", "merge")),
    {"by_transaction": True},
]


def made(asked: Any, done: str = "undo", **how: Any) -> Any:
    """The plans, or why there are none; without what is the landing's own: the order's numbers,
    and changes that were not committed, which have no plan and do not land."""
    try:
        plans = getattr(asked, done)(**how)
    except (BinlogKitError, UnmetWarning) as error:
        return type(error), str(error)
    kept = [
        {name: value for name, value in plan.items() if name not in ("step", "source")}
        for plan in plans
        if not (plan["refused"] or "").startswith("its transaction was not committed")
    ]
    texts = [re.sub(r"/\S*/", "", json.dumps(plan, default=str)) for plan in kept]
    return texts, plans.needs, plans.undefined, plans.later, plans.references, plans.known


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(0, 12)
def test_plans_are_the_logs(case: golden.GoldenCase, tmp_path: Path) -> None:
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open([str(one) for one in case.binlogs])
    for how in MODES:
        found, wanted = (made(one, despite_gaps=True, **how) for one in (landing, log))
        if landing.ledger.waiting:  # names of columns are not known, so that none has a statement
            assert found[0] is InputError and "changes of" in found[1] and "wait" in found[1]
            assert all(json.loads(plan)["refused"] for plan in wanted[0])
        else:
            assert found == wanted, how


@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "hows"),
    [
        # a row whose key changes twice, in files that several tasks read; and all tables
        pytest.param(
            golden.case("8.0-row-full", "keys"),
            [
                {"table": "keyed.pk", "op": "insert", "where": "id=1", "mode": "cascade"},
                {"mode": "cascade"},
            ],
            id="some",
        ),
        *(
            pytest.param(
                case,
                [*MODES, {"op": "update"}, {"where": "id=2"}, {"where": "id=x"}],
                marks=pytest.mark.campaign,
                id=str(case),
            )
            for case in golden.cases()
            if str(case) in _QUICK
        ),
    ],
)
def test_spark_makes_the_same(
    case: golden.GoldenCase,
    hows: list[dict[str, Any]],
    tmp_path: Path,
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        dependents, "FEW_BYTES", 0
    )  # also of few changes no other ones leave the tasks
    land_in_parts(case, tmp_path / "lake", parts=8)
    landing = Landing(tmp_path / "lake")
    for how in hows:
        wanted = made(landing, despite_gaps=True, **how)
        assert made(SharedLanding(spark, landing), despite_gaps=True, **how) == wanted, how
        assert isinstance(wanted[0], list) is (how.get("where") != "id=x")
    again = [
        made(one, "redo", despite_gaps=True) for one in (landing, SharedLanding(spark, landing))
    ]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    "filters",
    [
        {"table": "shop.orders"},
        {"table": "shop.orders", "op": "delete"},
        {"exclude_table": "shop.orders"},
        {"thread": 106},
        {"thread": 106, "by_transaction": True},
        {"where": "id=150"},
        {"where": "id=150", "by_transaction": True, "table": "shop.orders"},
        {"at": f"{INCIDENT.binlogs[0].name}:76096"},
        {"gtid": "80808080-0080-11ee-8080-808080808080:20-40"},
        {"start_time": "2024-05-14T14:03:00", "stop_time": "2024-05-14T14:05:00"},
        {"start_position": 76096, "stop_position": 90764},
        {"server_id": 80},
        {"table": "shop.nothing"},
    ],
    ids=str,
)
def test_filters_mean_the_same(filters: dict[str, Any], tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open([str(one) for one in INCIDENT.binlogs])
    assert made(landing, **filters) == made(log, **filters)
    assert made(landing, "redo", **filters) == made(log, "redo", **filters)


def test_a_value_is_of_the_type_that_a_table_has(tmp_path: Path) -> None:
    """One that fits a column of one table, and none of another's, is no error."""
    case = golden.case("8.0-row-full", "ddl")
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open([str(one) for one in case.binlogs])
    found, wanted = (made(one, where="a=x", despite_gaps=True) for one in (landing, log))
    assert found == wanted and found[0] is not UsageError
    for one in (landing, log):
        error, why = made(one, where="b=x", despite_gaps=True)
        assert error is UsageError and "b is int, compared with a number" in why


def test_what_did_not_land_is_a_gap(tmp_path: Path) -> None:
    """Also of a table that foreign keys join with the chosen ones: its later changes may depend on
    them."""
    case = golden.case("8.0-row-full", "keys")
    whole, part = tmp_path / "whole", tmp_path / "part"
    land(case.path, whole)
    (parent, child), *_ = [
        (".".join(key.parent), ".".join(key.child))
        for key in Landing(whole).undo(despite_gaps=True).known or ()
        if key.parent != key.child
    ]
    land(case.path, part, Terms(exclude=(child,)))
    with pytest.raises(GapError, match=f"changes of {child} are in the logs, and did not land"):
        Landing(part).undo(table=parent)
    plans = Landing(part).undo(table=parent, despite_gaps=True)
    assert len(plans) and any(child in gap for gap in plans.gaps)
    assert Landing(whole).undo(table=parent).gaps == ()


def test_why_there_is_none(tmp_path: Path) -> None:
    masked, whole = tmp_path / "masked", tmp_path / "whole"
    land(INCIDENT.path, masked, Terms(masks=parse_masks(["shop.customers.name=drop"], None)))
    with pytest.raises(SchemaError, match=r"columns of shop\.customers are masked"):
        Landing(masked).undo()
    assert len(Landing(masked).undo(exclude_table="shop.customers", table="shop.heartbeat"))
    land(INCIDENT.path, whole)
    with pytest.raises(UsageError, match="a landing has no logs to play"):
        Landing(whole).undo(table="shop.orders").prove()
    expire(whole, days=30)
    with pytest.raises(GapError, match="expired"):
        Landing(whole).undo()
