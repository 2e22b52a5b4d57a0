"""Compaction makes few files of many, and changes nothing of what is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from binlogkit.spark.landing import Landing, compact, current, keep_current
from binlogkit_fixtures import golden
from tests.spark.landing.currents import growing
from tests.spark.landing.landings import land, landed

ACCOUNTS = golden.case("8.0-row-full", "transactions")
EVOLVED = golden.case("8.0-row-full", "ddl")


def pieces(case: golden.GoldenCase, folder: Path, **options: Any) -> Path:
    """A landing of many small files."""
    for i, _ in enumerate(growing(case, folder / "logs", 1)):
        if i % 4 == 3:
            land(folder / "logs", folder / "lake", **options)
    land(folder / "logs", folder / "lake", **options)
    return folder / "lake"


def files(out: Path) -> int:
    logs = out.glob("tables/*/*/_delta_log")
    return sum(len(DeltaTable(log.parent).file_uris()) for log in logs)


def test_few_files_hold_the_same_rows(tmp_path: Path) -> None:
    out = pieces(ACCOUNTS, tmp_path, name="a b/c")
    keep_current(out)
    before, count = landed(out), files(out)
    done = compact(out)
    assert {one.folder for one in done} > {"landings", "landed", "tables/bank/ledger"}
    assert landed(out) == before
    assert files(out) < count / 2
    assert compact(out) == []
    assert land(tmp_path / "logs", out, name="a b/c").batches == 0
    assert {k.how for k in keep_current(out)} == {"unchanged"}
    assert len(current(out, "bank.ledger")) == len(Landing(out).state("bank.ledger").rows)


@pytest.mark.slow
def test_logs_without_a_source_are_compacted(tmp_path: Path) -> None:
    out = pieces(ACCOUNTS, tmp_path)
    before, count = landed(out), files(out)
    assert compact(out)
    assert files(out) < count / 2 and landed(out) == before


@pytest.mark.slow
def test_rows_written_before_a_column_stay_as_they_are(tmp_path: Path) -> None:
    """Files of a day in which a column was added keep telling which rows are older."""
    out = pieces(EVOLVED, tmp_path)
    before = landed(out)
    landing = Landing(out)
    changes = {t: landing.state(t).rows.to_pylist() for t in landing.tables()}
    done = {one.folder: one for one in compact(out)}
    assert any(one.left for one in done.values())
    assert landed(out) == before
    landing = Landing(out)
    assert {t: landing.state(t).rows.to_pylist() for t in landing.tables()} == changes
