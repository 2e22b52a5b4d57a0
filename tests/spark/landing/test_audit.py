"""The audit of a landing is that of its logs, as far as it knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.log.audit import SECTIONS, Audit
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.expiry import expire
from binlogkit.spark.landing.shared_audit import shared_audit
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, land_in_parts

TRANSACTIONS = golden.case("8.0-row-full", "transactions")
INCIDENT = golden.case("8.0-row-full", "incident")
CASES = [
    INCIDENT,
    *(
        golden.case(cell, scenario)
        for cell, scenario in (
            ("5.6-row-full", "transactions"),
            ("5.7-mixed-full", "statements"),
            ("5.7-row-minimal", "types"),
            ("8.0-row-partial-json", "json"),
            ("8.0-row-full", "ddl"),
            ("9-row-full", "modern"),
        )
    ),
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"op": "delete"},
    {"start_time": "2024-05-14T14:03:00", "stop_time": "2024-05-14T14:05:00"},
    {"start_position": 3000, "stop_position": 9000},
    {"server_id": [80, 57]},
    {"thread": [101, 103]},
]
#: Where, and when, rolled back changes of a table stand.
PLACES = {f"{end}_{what}" for end in ("first", "last") for what in ("timestamp", "file", "pos")}


def differences(found: Audit, expected: Audit, *beside: str) -> dict[str, list[Any]]:
    """By section what differs, but for hashes and what is said of the landing."""
    told = {}
    for name in found:
        mine, theirs = found[name].to_pylist(), expected[name].to_pylist()
        if name == "files":
            assert {row.pop("sha256") for row in mine} == {None}
            assert all(row.pop("sha256") for row in theirs)
        if name == "limits":
            mine = [row for row in mine if row["limit"] not in (*found.lacking, "not_in_tables")]
        left = [{k: v for k, v in row.items() if k not in beside} for row in (*mine, *theirs)]
        if left[: len(mine)] != left[len(mine) :]:
            told[name] = [mine, theirs]
    return told


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # of the logs
@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.cell}/{c.scenario}")
def test_it_is_the_logs(case: golden.GoldenCase, tmp_path: Path) -> None:
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    one = log.transactions(engine="pyarrow").slice(5, 1).to_pylist()[0]
    at = {"at": (one["file"], one["pos"])}
    for filters in (*FILTERS, at, {"table": landing.tables()[0]}, {"gtid": one["gtid"]}):
        found, expected = landing.audit(**filters), log.audit(**filters)
        assert differences(found, expected) == {}, filters
        assert {*found} | {*found.lacking} == {*SECTIONS}
    assert not any(row["limit"] == "not_in_tables" for row in landing.audit()["limits"].to_pylist())


@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "filters"),
    [
        pytest.param(TRANSACTIONS, [{"table": "bank.account"}], id="some"),
        *(
            pytest.param(case, FILTERS, marks=pytest.mark.campaign, id=str(case))
            for case in (TRANSACTIONS, *CASES)
        ),
    ],
)
def test_spark_counts_the_same(
    case: golden.GoldenCase, filters: list[dict[str, Any]], tmp_path: Path, spark: Any
) -> None:
    """Also changes that are not in the tables: they were rolled back, or their table does not
    land."""
    left = ("bank.ledger",) if case.scenario == "transactions" else ()
    land_in_parts(case, tmp_path / "lake", Terms(exclude=left))
    landing = Landing(tmp_path / "lake")
    for asked in filters:
        found, wanted = shared_audit(spark, landing, **asked), landing.audit(**asked)
        assert (found.sections, found.files, found.lacking) == (
            wanted.sections, wanted.files, wanted.lacking,
        )  # fmt: skip


@pytest.mark.parametrize("terms", [Terms(), Terms(exclude=("bank.account",))], ids=["all", "some"])
def test_changes_that_are_not_in_its_tables_count(terms: Terms, tmp_path: Path) -> None:
    """Those that were rolled back, and those of tables that do not land."""
    land(TRANSACTIONS.path, tmp_path, terms)
    found, expected = Landing(tmp_path).audit(), bk.open(TRANSACTIONS.path).audit()
    beside = {"by_minute", "limits"} if terms.exclude else set()
    assert differences(found, expected, *PLACES).keys() <= beside
    undone = [t["rows"] for t in expected["largest"].to_pylist() if t["outcome"] != "committed"]
    accounts = [t["rows"] for t in expected["by_table"].to_pylist() if t["table"] == "account"]
    said = {row["limit"]: row["evidence"] for row in found["limits"].to_pylist()}
    count = sum(accounts) if terms.exclude else sum(undone)
    assert said["not_in_tables"] == f"{count} row changes are known by their number alone"


def test_expired_changes_count(tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    before = Landing(tmp_path).audit()
    expire(tmp_path, 30)
    found = Landing(tmp_path).audit()
    assert differences(found, bk.open(INCIDENT.path).audit(), *PLACES).keys() <= {
        "by_table", "by_minute", "by_statement", "limits",
    }  # fmt: skip
    counts = [
        sorted((t["table"], t["rows"], t["bytes"]) for t in audit["by_table"].to_pylist())
        for audit in (before, found)
    ]
    assert counts[0] == counts[1]


def test_statements_behind_masks_are_not_zero(tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path, Terms(masks=parse_masks(["shop.customers.name=drop"], None)))
    found = Landing(tmp_path).audit()
    assert differences(found, bk.open(INCIDENT.path).audit(), "first_query").keys() == {"limits"}
    assert {"statements", "settings", "by_statement"} <= {*found.lacking}
    with pytest.raises(UsageError, match="no statements of a landing: its ledger keeps no"):
        found["statements"]
    with pytest.raises(UsageError, match="no integrity of a landing: no byte of the logs is read"):
        found["integrity"]
    assert "suspects" not in found.sections and "sections" in str(found)
    with pytest.raises(UsageError, match="where asks for rows"):
        Landing(tmp_path).audit(where="id=1")
