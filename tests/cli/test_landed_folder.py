"""Commands that are asked of the folder of a landing: the logs' answer, or why there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.cli.conftest import Ran
from tests.spark.landing.landings import land

Run = Callable[..., Ran]
CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("8.0-row-full", "transactions"),
        ("5.7-row-no-gtid", "transactions"),
        ("5.6-row-full", "transactions"),
        ("9-row-full", "modern"),
        ("5.7-mixed-full", "statements"),
        ("8.0-row-compressed", "transactions"),
    )
]
INCIDENT = golden.case("8.0-row-full", "incident")


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_transactions_are_the_logs(run: Run, tmp_path: Path, case: golden.GoldenCase) -> None:
    land(case.path, tmp_path)
    found = run("transactions", tmp_path, "--format", "jsonl")
    wanted = run("transactions", *case.binlogs, "--format", "jsonl")
    assert found.status in (wanted.status, 0)
    assert found.records == wanted.records and len(found.records) > 10


@pytest.mark.parametrize(
    "asked",
    [
        ("--table", "shop.orders"),
        ("--thread", "106"),
        ("--at", f"{INCIDENT.binlogs[0].name}:76096"),
        ("--op", "delete"),
        ("--start-time", "2024-05-14T14:03:00", "--stop-time", "2024-05-14T14:05:00"),
        ("--columns", "pos,tables,gtid", "--gtid", "80808080-0080-11ee-8080-808080808080:20-40"),
    ],
    ids=lambda asked: asked[0],
)
def test_filters_mean_the_same(run: Run, tmp_path: Path, asked: tuple[str, ...]) -> None:
    land(INCIDENT.path, tmp_path)
    found, wanted = (
        run("transactions", source, *asked, "--format", "jsonl")
        for source in (tmp_path, INCIDENT.binlogs[0])
    )
    assert (found.status, found.records) == (wanted.status, wanted.records)
    assert found.records


def test_the_audit_is_the_logs(run: Run, tmp_path: Path) -> None:
    """But for what only the logs can show, which is said."""
    log = Path(shutil.copy(INCIDENT.binlogs[0], tmp_path))
    lake = tmp_path / "lake"
    land(log, lake)
    wanted = run("audit", log, "--format", "jsonl").records
    log.unlink()
    found = run("audit", lake, "--format", "jsonl")
    assert (found.status, found.err) == (
        0, "note: no suspects, continuity, integrity of a landing: name its logs; the limits say "
        "why\n"
    )  # fmt: skip
    lacking = {"suspects", "continuity", "integrity"}
    said = {r["limit"] for r in found.records if r["section"] == "limits"}
    assert lacking <= said
    assert [r for r in found.records if r.get("limit") not in lacking and "sha256" not in r] == [
        r for r in wanted if r["section"] not in lacking and "sha256" not in r
    ]
    page = tmp_path / "page.html"
    assert run("audit", lake, "--html", page, "--table", "shop.orders").status == 0
    assert "No integrity: no byte of the logs is read" in page.read_text("utf-8")
    one = run("audit", lake, "--section", "by_table", "--format", "csv", "--op", "delete")
    assert (one.status, one.err) == (0, "") and len(one.lines) > 1
    told = run("audit", lake, "--section", "integrity")
    assert (told.status, told.out) == (2, b"") and "no integrity of a landing" in told.complaint
    done = run("audit", lake, "--html", page, "--mask", "shop.customers.city=drop")
    assert (done.status, "--mask is not for a landing" in done.complaint) == (2, True)
    assert b"No suspects" in run("audit", lake, "--all").out


def test_a_difference_is_the_logs(run: Run, tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    (log,) = INCIDENT.binlogs
    asked = ("--table", "shop.orders", "--from", f"{log.name}:76096")
    page = tmp_path / "page.html"
    for more in (
        ("--format", "jsonl"),
        ("--to", f"{log.name}:90764", "--format", "table"),
        ("--format", "csv"),
        ("--html", page),
    ):
        found, wanted = (run("diff", one, *asked, *more) for one in (tmp_path, log))
        assert (found.status, found.out, found.err) == (wanted.status, wanted.out, wanted.err)
        assert found.out or page.exists()
    done = run("diff", tmp_path, *asked[:2], "--from", "2024-05-14T14:03:00")
    assert (done.status, "a point of a landing is FILE:POS" in done.complaint) == (2, True)
    done = run("diff", tmp_path, *asked, "--base", "x")
    assert (done.status, "--base is not for a landing" in done.complaint) == (2, True)
    done = run("diff", tmp_path, *asked, "--html", page, "--mask", "shop.orders.total=drop")
    assert (done.status, "--mask is not for a landing" in done.complaint) == (2, True)


def test_a_life_is_the_logs(run: Run, tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    asked = ("--table", "shop.orders", "--key", "150")
    for more in (("--format", "jsonl"), ("--format", "table"), ("--key-columns", "id")):
        found, wanted = (run("life", one, *asked, *more) for one in (tmp_path, *INCIDENT.binlogs))
        assert (found.status, found.out, found.err) == (wanted.status, wanted.out, wanted.err)
        assert len(found.lines) > 1
    done = run("life", tmp_path, *asked, "--schema", "x.sql")
    assert (done.status, "--schema is not for a landing" in done.complaint) == (2, True)
    none = run("life", tmp_path, "--table", "shop.orders", "--key", "987654")
    assert (none.status, "No change that counts" in none.err) == (0, True)


def test_scripts_are_those_of_the_logs(run: Run, tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    (log,) = INCIDENT.binlogs
    page = tmp_path / "page.html"
    for command, *asked in (
        ("undo", "--table", "shop.orders", "--op", "delete", "--mode", "skip"),
        ("undo", "--thread", "106", "--by-transaction", "--despite-refused", "--commit"),
        ("redo", "--table", "shop.orders", "--start-position", "76096"),
        ("undo", "--table", "shop.none"),
    ):
        found, wanted = (run(command, one, *asked) for one in (tmp_path, log))
        assert found.status == wanted.status
        assert [*_statements(found)] == [*_statements(wanted)]
        assert found.err == wanted.err
        assert run(command, tmp_path, *asked, "--html", page).status == found.status
    assert "nothing to undo: no change was chosen; asked for: --table shop.none" in found.err
    assert "What the redo would change" in page.read_text("utf-8")
    for option, why in (
        (("--prove",), "a landing has no logs to play"),
        (("--html", page, "--mask", "shop.orders.total=drop"), "--mask is not for a landing"),
        (("--schema", "x.sql"), "--schema is not for a landing"),
    ):
        done = run("undo", tmp_path, *option)
        assert (done.status, why in done.complaint) == (2, True)


def _statements(done: Ran) -> Iterator[str]:
    """A script but for what says how it was made."""
    own = ("-- made by", "-- assumed: All that the logs hold of the table")
    return (line for line in done.lines if not line.startswith(own))


@pytest.mark.parametrize(
    "asked",
    [
        (),
        ("--table", "bank.account", "--op", "update"),
        ("--table", "bank.account", "--where", "id=3"),
        ("--table", "bank.account", "--where", "id=987654"),
        ("--minutes", "--columns", "file,minute,table,rows"),
    ],
    ids=" ".join,
)
def test_which_logs_touched_a_row_is_the_index(
    run: Run, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    """Also where a table does not land, and where the logs are gone."""
    case, lake, index = CASES[0], tmp_path / "lake", tmp_path / "index"
    logs = [shutil.copy(path, tmp_path) for path in case.binlogs]
    assert run("land", *logs, "--out", lake, "--exclude-table", "bank.ledger").status == 0
    assert run("index", *logs, "--out", index).status == 0
    for log in logs:
        Path(log).unlink()
    found, wanted = (
        run("touched", one, *asked, "--format", "jsonl").records for one in (lake, index)
    )
    for record in (*found, *wanted):
        record.pop("read_at", None)
    assert found == wanted and bool(found) == ("id=987654" not in asked)


def test_touched_behind_masks(run: Run, tmp_path: Path) -> None:
    """Counts, but no keys: whatever it is asked, no log is left out or named for nothing."""
    lake = tmp_path / "lake"
    land(INCIDENT.path, lake, Terms(masks=parse_masks(["shop.customers.name=drop"], None)))
    told = run("touched", lake, "--table", "shop.orders", "--where", "id=150")
    assert (told.status, told.out) == (2, b"")
    assert "keeps no keys of rows, since columns are masked: leave out where" in told.complaint
    assert len(run("touched", lake, "--format", "jsonl").records) > 4
    other = tmp_path / "other"
    land(INCIDENT.path, other)
    assert run("touched", other, "--where", "id=150").status == 0
    assert run("erase", other, "--row", "shop.customers", "id=2").status == 0
    told = run("touched", other, "--where", "id=150")
    assert (told.status, "since rows were erased" in told.complaint) == (2, True)
    told = run("touched", tmp_path, "--ledger", tmp_path / "none")
    assert told.status == 2


def test_transactions_do_not_expire(run: Run, tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    before = run("transactions", tmp_path, "--format", "jsonl")
    assert run("expire", tmp_path, "--days", "30").status == 0
    after = run("transactions", tmp_path, "--format", "jsonl")
    assert (after.status, after.records) == (before.status, before.records)


@pytest.mark.parametrize("form", ["table", "csv"])
def test_forms_are_the_same(run: Run, tmp_path: Path, form: str) -> None:
    land(INCIDENT.path, tmp_path)
    found, wanted = (
        run("transactions", source, "--format", form) for source in (tmp_path, INCIDENT.binlogs[0])
    )
    assert found.out == wanted.out and found.out


def test_images_are_compared_as_of_the_logs(run: Run, tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "statements")
    land(case.path, tmp_path)
    found, wanted = (
        run("verify", "--images", source, "--format", "jsonl") for source in (tmp_path, case.path)
    )
    assert (found.status, found.records) == (wanted.status, wanted.records) == (1, found.records)
    report = run("verify", "--images", tmp_path).out
    assert b"stmts.untraced" in report and b"its engine keeps no rows" in report
    assert b"Files" not in report


def test_what_a_landing_cannot_answer(run: Run, tmp_path: Path) -> None:
    """Each command says why, and names the logs if they are still there."""
    log = Path(shutil.copy(INCIDENT.binlogs[0], tmp_path))
    lake = tmp_path / "lake"
    land(log, lake)
    told = {
        ("conform", "--against", "golden"): "it is about the logs' bytes",
        ("verify",): "with --images alone it takes one, else it is about the logs' bytes",
        ("verify", "--rows", "--images"): "with --images alone it takes one",
        ("events",): "it is about the logs' bytes",
        ("rows",): "it also gives changes that were rolled back",
        ("explain", "--at", "4"): "it is about the logs' bytes",
    }
    for (command, *more), why in told.items():
        done = run(command, lake, *more)
        assert done.status == 2
        assert f"{lake} is a landing: {why}" in done.complaint, command
        assert (
            f"Name its logs: {log}; audit, diff, life, redo, state, touched, transactions and undo "
            "take it" in done.complaint
        )
    log.unlink()
    assert "none of the 1 is where it was" in run("verify", lake).complaint
    done = run("transactions", lake, "--where", "id=1")
    assert (done.status, "where asks for rows" in done.complaint) == (2, True)
    done = run("transactions", lake, "--schema", "x.sql")
    assert (done.status, "--schema is not for a landing" in done.complaint) == (2, True)
    assert json.loads(run("transactions", lake, "--format", "jsonl").lines[0])["tx"] == 0
    empty = tmp_path / "empty"
    assert run("land", INCIDENT.binlogs[0], "--out", empty, "--table", "shop.none").status == 2
    assert "and a landing has none. Name the logs; audit" in run("events", empty).complaint


def test_an_index_and_a_landing_have_folders_of_their_own(run: Run, tmp_path: Path) -> None:
    """Rows that are erased from a landing would stay in an index beside its tables."""
    land(INCIDENT.path, tmp_path / "lake")
    before = {*(tmp_path / "lake").iterdir()}
    done = run("index", *INCIDENT.binlogs, "--out", tmp_path / "lake")
    assert (done.status, "is a landing, which has its own index" in done.err) == (2, True)
    with pytest.raises(UsageError, match="is a landing, which has its own index"):
        bk.index(INCIDENT.binlogs, tmp_path / "lake")
    assert {*(tmp_path / "lake").iterdir()} == before
    assert run("index", *INCIDENT.binlogs, "--out", tmp_path / "index").status == 0
    done = run("land", *INCIDENT.binlogs, "--out", tmp_path / "index")
    assert (done.status, "is an index of logs: land in another folder" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("id=2,id=3", "id is named twice: give each row a --row of its own"),
        ("ID=2,`id`=2", "id is named twice"),
        ("id", "a row is given as COLUMN=VALUE"),
        ("city=Köln, am Rhein", "\"COLUMN=VALUE\" in quotes if a comma is in it, not ' am Rhein'"),
        ("`a=b`=2", "shop.customers has no column a=b in all of its versions"),
        ("since=soon", "since is date, compared with a date"),
        ('"city=Köln, ""am\nRhein"""', "note: shop.customers: no such row"),
        ("city=NULL", "4 images of changes and 0 current rows erased"),
        ("id= 2,since=20120303", "1 images of changes and 0 current rows erased"),
    ],
)
def test_how_a_row_to_erase_is_given(run: Run, tmp_path: Path, row: str, told: str) -> None:
    land(INCIDENT.path, tmp_path)
    done = run("erase", tmp_path, "--row", "shop.customers", row)
    assert told in done.err
    assert done.status == (0 if "note: " in done.err else 2)
