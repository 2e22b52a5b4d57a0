"""Rows that were changed outside the logs, by what has landed: as ``verify --images`` of the logs
finds them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.log.verify import Verification
from binlogkit.spark.landing import Landing, erase, expire
from binlogkit.spark.landing.shared_landing import SharedLanding
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import Piece, joined, pieces_of
from tests.spark.landing.landings import land, land_in_parts

STATEMENTS = golden.case("8.0-row-full", "statements")
KEYS = golden.case("5.7-row-full", "keys")  # from 8.0.2 on GTID events tell what is missing


def unlogged(found: Verification) -> list[dict[str, Any]]:
    """The findings about images, but for those that a cascade may explain: a replay knows."""
    records = (one.record() for one in found.findings if one.code == "unlogged_change")
    return sorted((one for one in records if one["grade"] != "note"), key=str)


def told(found: Verification) -> dict[object, dict[str, Any]]:
    """What is said of each table that has changes."""
    return {one["table"]: one for one in found.image_records() if one["changes"]}


@pytest.mark.sampled(5, 12)
@pytest.mark.parametrize("case", golden.cases(), ids=str)
def test_golden_logs(case: golden.GoldenCase, tmp_path: Path) -> None:
    """More images are compared than by the logs, since a replay follows ALTER TABLE, until a
    statement leaves the table undetermined."""
    land(case.path, tmp_path)
    landing = Landing(tmp_path)
    found, wanted = landing.unlogged(), bk.open(case.path).verify(images=True)
    assert unlogged(found) == unlogged(wanted)
    mine, theirs = told(found), told(wanted)
    waiting = {one.table for one in landing.ledger.waiting}
    assert mine.keys() == theirs.keys() - waiting
    for table, one in mine.items():
        other = theirs[table]
        assert (one["source"], one["changes"]) == (other["source"], other["changes"]), table
        doubted = "from " in (one["reason"] or "")
        assert doubted or one["reason"] == other["reason"], table
        assert doubted or one["compared"] >= other["compared"], table


def without(pieces: list[Piece], every: int) -> Iterator[Piece]:
    """A log without the rows of some statements: the server did not log them, as it seems."""
    at, count = 0, 0
    while at < len(pieces):
        types = [piece.type for piece in pieces[at : at + 3]]
        alone = ["ROWS_EVENT" in one for one in types] == [False, True, False]
        count += alone
        if alone and types[0] == "TABLE_MAP_EVENT" and count % every == 0:
            at += 2
            continue
        yield pieces[at]
        at += 1


@pytest.fixture
def gappy(tmp_path: Path) -> Path:
    """A log that lacks row changes."""
    log = tmp_path / "logs" / "binlog.000001"
    log.parent.mkdir()
    log.write_bytes(joined(without(pieces_of(KEYS.binlogs[0].read_bytes()), 5)))
    return log


def test_changes_that_were_not_logged(gappy: Path, tmp_path: Path) -> None:
    land(gappy, tmp_path / "lake")
    wanted = unlogged(bk.open(gappy).verify(images=True))
    assert unlogged(Landing(tmp_path / "lake").unlogged()) == wanted
    assert len(wanted) > 5


@pytest.mark.spark
def test_on_spark(gappy: Path, spark: Any, tmp_path: Path) -> None:
    """Of tables with one file and of several, with a key and without, of a renamed one."""
    cases = (gappy, golden.case("5.7-row-full", "gh-ost").path, STATEMENTS.path)
    for i, logs in enumerate(cases):
        land(logs, tmp_path / f"lake{i}")
    land_in_parts(golden.case("8.0-row-full", "transactions"), tmp_path / "lake3")
    count = 0
    for i in range(len(cases) + 1):
        landing = Landing(tmp_path / f"lake{i}")
        found, wanted = (one.unlogged() for one in (SharedLanding(spark, landing), landing))
        assert found.records() == wanted.records(), i
        assert found.image_records() == wanted.image_records(), i
        count += len(wanted.findings)
    assert count > 6


def test_tables_that_cannot_be_compared_say_why(tmp_path: Path) -> None:
    """Nothing of them is taken for a change outside the logs."""
    terms = {
        "key": Terms(masks=parse_masks(["stmts.untraced.id=drop"])),
        "left": Terms(exclude=("stmts.untraced",)),
    }
    said = {}
    for name, one in terms.items():
        land(STATEMENTS.path, tmp_path / name, one)
        found = Landing(tmp_path / name).unlogged()
        assert not found.findings
        reasons = {record["table"]: record["reason"] for record in found.image_records()}
        said[name] = str(reasons["stmts.untraced"])
    assert "its key is masked" in said["key"]
    assert said["left"] == "it has not landed"
    renamed = golden.case("5.7-row-full", "gh-ost")
    land(renamed.path, tmp_path / "renamed", Terms(exclude=("ghost._item_gho",)))
    found = Landing(tmp_path / "renamed").unlogged()
    (reason,) = (one.reason for one in found.images if one.name[2] == "item")
    assert reason == "ghost._item_gho has not landed" and not found.findings


def test_cascades_from_a_table_that_does_not_land(tmp_path: Path) -> None:
    land(KEYS.path, tmp_path, Terms(tables=("keyed.child",)))
    found = Landing(tmp_path).unlogged()
    (child,) = (one for one in found.images if one.name[2] == "child")
    assert not found.findings and child.changes and not child.compared
    assert "foreign key" in str(child.reason)


def test_rows_that_wait(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "ring", "a-relay")
    land(case.path, tmp_path)
    (table,) = Landing(tmp_path).unlogged().images
    assert "wait and have not landed: the names" in str(table.reason)


def test_rows_that_were_erased_or_have_expired(tmp_path: Path) -> None:
    """What a later log says of an erased row fits nothing, and is not reported."""
    case = golden.case("8.0-row-full", "transactions")
    first, second = case.binlogs
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    shutil.copy(first, logs)
    land(logs, lake)
    changed = bk.open([first, second]).row_records(table="bank.account", op="update")
    key = next(row["before"]["id"] for row in changed if row["file"].endswith(second.name))
    erase(lake, [("bank.account", {"id": str(key)})])
    shutil.copy(second, logs)
    land(logs, lake)
    found = Landing(lake).unlogged()
    reasons = {one["table"]: str(one["reason"]) for one in found.image_records()}
    assert not found.findings and "were erased" in reasons["bank.account"]
    assert reasons["bank.ledger"] == "None"
    expire(lake, 1)
    found = Landing(lake).unlogged()
    reasons = {one["table"]: str(one["reason"]) for one in found.image_records()}
    assert not found.findings and "have expired" in reasons["bank.ledger"]
