"""Changes restored from landed tables are those of the logs, the analyses' answers the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import InputError, SchemaError
from binlogkit.log.index.part import parts_of
from binlogkit.spark.landing.restoring import Landing
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land

CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("5.7-row-full", "transactions"),
        ("5.7-row-minimal", "types"),
        ("8.0-row-compressed", "keys"),
        ("8.0-row-full", "incident"),
        ("8.0-row-full", "types"),
        ("8.0-row-partial-json", "json"),
        ("8.0-row-full", "ddl"),
        ("9-row-full", "modern"),
    )
]


@pytest.mark.sampled(0)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.cell}/{c.scenario}")
def test_restored_changes_are_the_logs(case: golden.GoldenCase, tmp_path: Path) -> None:
    log = bk.open(case.path)
    land(case.path, tmp_path)
    landing = Landing(tmp_path)
    committed = {t["tx"] for t in log.transaction_records() if t["outcome"] == "committed"}
    assert landing.tables() == sorted(log.table_names())
    for table in log.table_names():
        try:
            expected = log.changes(table)
        except SchemaError:
            with pytest.raises(SchemaError, match="nothing in common"):
                landing.changes(table)
            continue
        rows = [row for row in expected.to_pylist() if row["tx"] in committed]
        found = landing.changes(table)
        assert found.schema.equals(expected.schema), table
        for mine, theirs in zip(found.to_pylist(), rows, strict=True):
            mine.pop("seq"), theirs.pop("seq")
            assert str(mine) == str(theirs), table
    assert landing.transactions().equals(log.transactions(engine="pyarrow"))


def test_transactions_of_a_log_in_segments_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = golden.case("8.0-row-full", "transactions")
    monkeypatch.setattr(parts_of, "__kwdefaults__", {"segment": 4096, "counting": False})
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    assert any(len(part.segments) > 1 for part in landing.ledger.parts)
    assert landing.transactions().equals(log.transactions(engine="pyarrow"))
    found, expected = landing.state("bank.account"), log.state("bank.account")
    assert [*found.batches()] == [*expected.batches()]


def test_an_audit_of_what_landed_is_the_logs(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "incident")
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    for table in landing.tables():
        found, expected = landing.changes(table), log.changes(table)
        assert bk.audit.by_table(found).to_pylist() == bk.audit.by_table(expected).to_pylist()
    found, expected = (
        bk.point_in_time.state(changes, key=["id"], transactions=log.transactions(engine="pyarrow"))
        for changes in (landing.changes("shop.orders"), log.changes("shop.orders"))
    )
    assert len(found) > 100
    assert found.drop(["seq"]).to_pylist() == expected.drop(["seq"]).to_pylist()


def test_where_nothing_has_landed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing has landed there"):
        Landing(tmp_path)
