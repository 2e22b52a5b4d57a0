"""The life of a row of a landed table is that of the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import SchemaError, UsageError
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.expiry import expire
from binlogkit.spark.landing.shared_life import shared_life
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, land_in_parts

INCIDENT = golden.case("8.0-row-full", "incident")
CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("8.0-row-full", "keys"),  # keys that change, cascades
        ("8.0-row-full", "ddl"),  # renames
        ("8.0-row-minimal", "keys"),
        ("5.7-row-full", "transactions"),
        ("8.0-row-partial-json", "json"),
    )
]


def told(life: Callable[..., Any], table: str, key: list[Any]) -> Any:
    """The life of a row, or why there is none."""
    try:
        found = life(table, key)
    except UsageError as error:
        return str(error)
    return [*found.records()], found.findings.to_pylist(), found.table, found.key, found.names


def asked(landing: Landing, log: bk.Log) -> Iterator[tuple[str, list[Any]]]:
    """Some keys of each table, that its rows had at any time."""
    for table in landing.tables():
        rows = [*log.row_records(table=table)]
        (*_, names) = [
            s.key for s in log.table_schemas() if s.name == (rows[0]["db"], rows[0]["table"])
        ]
        keys: dict[str, list[Any]] = {}
        for image in (row[side] for row in rows for side in ("before", "after")):
            if image is not None and {*names} <= {*image}:
                keys.setdefault(str(key := [image[name] for name in names]), key)
        yield from ((table, key) for key in [*keys.values()][:: max(1, len(keys) // 4)])


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # of the logs
@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.cell}/{c.scenario}")
def test_lives_are_the_logs(case: golden.GoldenCase, tmp_path: Path) -> None:
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    lives = 0
    for table, key in asked(landing, log):
        found, wanted = (told(one.life, table, key) for one in (landing, log))
        assert found == wanted, (table, key)
        lives += not isinstance(found, str)
    assert lives > 5


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")
@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "tables"),
    [
        # keys that go from row to row; a child whose parents' keys change
        pytest.param(CASES[0], {"keyed.pk": [4], "keyed.child": [1]}, id="some"),
        *(pytest.param(case, {}, marks=pytest.mark.campaign, id=str(case)) for case in CASES),
    ],
)
def test_spark_finds_the_same(
    case: golden.GoldenCase, tables: dict[str, Any], tmp_path: Path, spark: Any
) -> None:
    """Also if changes by which a row got other keys are in files that several tasks read."""
    logs = land_in_parts(case, tmp_path / "lake")
    landing, lives = Landing(tmp_path / "lake"), 0
    look = partial(shared_life, spark, landing)
    for table, key in tables.items() or asked(landing, bk.open(logs)):
        wanted = told(landing.life, table, key)
        assert told(look, table, key) == wanted, (table, key)
        lives += not isinstance(wanted, str)
    assert lives > 1


def test_what_expired_is_a_gap(tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    before = Landing(tmp_path).life("shop.orders", 150)
    assert before.determined and before.rows.num_rows > 1
    assert before.assumes[0].startswith("All that the logs hold of the table has landed")
    expire(tmp_path, 30)
    after = Landing(tmp_path).life("shop.orders", 150)
    assert not after.determined and {*after.findings["finding"].to_pylist()} >= {"gap"}


def test_what_is_masked_is_left_out(tmp_path: Path) -> None:
    masks = parse_masks(["shop.customers.name=drop", "shop.orders.id=drop"], None)
    land(INCIDENT.path, tmp_path, Terms(masks=masks))
    landing, log = Landing(tmp_path), bk.open(INCIDENT.path)
    found, expected = (one.life("shop.customers", 2) for one in (landing, log))
    for mine, theirs in zip(found.records(), expected.records(), strict=True):
        assert mine["query"] is None or mine["op"] not in ("insert", "update", "delete")
        for image in ("before", "after"):
            plain = theirs[image] and {k: v for k, v in theirs[image].items() if k != "name"}
            assert mine[image] == plain
    with pytest.raises(SchemaError, match="orders: its key is masked"):
        landing.life("shop.orders", 150)
    with pytest.raises(UsageError, match="nothing names no database"):
        landing.life("nothing", 1)
