"""``binlogkit status``: where a landing stands, as the logs and the Delta tables have it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import binlogkit as bk
from binlogkit.events.gtid_set import GtidSet
from binlogkit.spark.landing import keep_current, landed
from binlogkit.spark.landing.journal import read_landed
from binlogkit.spark.landing.store import place_of
from binlogkit_fixtures import golden
from tests.cli.conftest import Ran
from tests.schemas.test_schemas import check
from tests.spark.landing.landings import land
from tests.spark.landing.steps import UNLOCKED, at_step

Run = Callable[..., Ran]
CASE = golden.case("8.0-row-full", "transactions")


def sections(done: Ran) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in done.records:
        found.setdefault(record["section"], []).append(record)
    return found


def test_it_is_what_the_logs_and_tables_say(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    land(CASE.binlogs[0], lake)
    land(CASE.path, lake)
    keep_current(lake)
    last = bk.open(CASE.path).transactions(engine="pyarrow").to_pylist()[-1]
    later = last["commit_timestamp"] + 90_500_000
    monkeypatch.setattr("binlogkit.spark.landing.standing.now", lambda: later)
    done = run("status", lake, "--format", "jsonl")
    assert done.status == 0
    assert check("status", iter(done.records)) > 4
    found = sections(done)
    [own], [source] = found["landing"], found["sources"]
    assert (own["batch"], own["ended"]) == (2, True)
    assert own["done_at"] == max(read_landed(place_of(lake))["done_at"].to_pylist())
    transactions = bk.open(CASE.path).transactions(engine="pyarrow").to_pylist()
    assert (source["file"], source["pos"]) == (str(CASE.binlogs[-1]), last["end_pos"])
    assert source["commit_timestamp"] == last["commit_timestamp"]
    assert source["lag"] == 90.5
    gtids = {one["gtid"] for one in transactions if one["outcome"] != "cut"}
    told = GtidSet.parse(source["gtids"])
    assert not told.subtract(GtidSet.of(gtids))
    for one in found["tables"]:
        table = DeltaTable(lake / one["folder"])
        assert one["version"] == table.version()
        assert one["files"] == len(table.file_uris())
        if one["folder"].startswith("tables/"):
            rows = landed(lake, one["table"])
            assert one["rows"] == rows.num_rows and one["determined"] is None
            assert all(gtid in told for gtid in rows["_gtid"].to_pylist())
            assert [one["first_day"], one["last_day"]] == [
                str(edge(rows["_day"].to_pylist())) for edge in (min, max)
            ]
    assert "waiting" not in found


def test_what_waits_and_is_lost_has_its_remedy(run: Run, tmp_path: Path) -> None:
    first, second = (Path(shutil.copy(log, tmp_path)) for log in CASE.binlogs)
    lake = tmp_path / "lake"
    land(second, lake)
    done = run("status", lake, "--section", "waiting", "--format", "jsonl")
    assert done.status == 1
    assert {one["table"] for one in done.records} == {"bank.account", "bank.ledger"}
    for one in done.records:
        assert (one["file"], one["lost"]) == (str(second), False)
        assert "--schema-from" in one["remedy"] and one["rows"] > 0
    second.unlink()
    land(first, lake)
    done = run("status", lake, "--section", "waiting", "--format", "jsonl")
    assert done.status == 1
    for one in done.records:
        assert one["lost"] and "--retry" in one["remedy"] and "--schema" not in one["remedy"]
    done = run("state", lake, "--table", "bank.account")
    assert (done.status, "changes of bank.account are lost: their log" in done.err) == (
        1,
        True,
    )


def test_a_landing_that_has_not_ended(run: Run, tmp_path: Path) -> None:
    def died() -> None:
        raise KeyboardInterrupt

    with at_step(0, "before", died, UNLOCKED) as met:
        land(CASE.path, tmp_path / "counted")
    with pytest.raises(KeyboardInterrupt), at_step(len(met), "before", died, UNLOCKED):
        land(CASE.path, tmp_path / "lake")
    done = run("status", tmp_path / "lake", "--section", "landing", "--format", "jsonl")
    assert (done.status, done.records[0]["ended"]) == (1, False)
    land(CASE.path, tmp_path / "lake")
    assert run("status", tmp_path / "lake").status == 0


def test_the_report(run: Run, tmp_path: Path) -> None:
    land(CASE.path, tmp_path)
    done = run("status", tmp_path)
    assert done.status == 0
    text = done.out.decode()
    for title in ("Landing", "Sources", "Tables", "Rows that wait\n--------------\nnone"):
        assert f"\n{title}\n" in text
    assert "tables/bank/ledger" in text


def test_what_is_asked_wrongly(run: Run, tmp_path: Path) -> None:
    done = run("status", tmp_path)
    assert (done.status, "nothing has landed there" in done.complaint) == (2, True)
    done = run("status", tmp_path, "--format", "csv")
    assert (done.status, "--format csv takes exactly one --section" in done.complaint) == (2, True)
    done = run("status", tmp_path, "--limit", "3")
    assert (done.status, "--columns and --limit are for records" in done.complaint) == (2, True)
