"""Commands with ``--engine spark`` of a landing: both engines write the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit_fixtures import golden, manifest
from tests.cli.conftest import Ran
from tests.spark.landing.landings import land

CASE = golden.case("8.0-row-full", "incident")
MARK = manifest.read(CASE.path).marks[0]
Run = Callable[..., Ran]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    land(CASE.path, tmp_path)
    return tmp_path


def test_it_is_the_logs_state(run: Run, lake: Path) -> None:
    asked = ["--table", "shop.orders", "--at", f"{MARK.file}:{MARK.pos}", "--format", "jsonl"]
    found, wanted = run("state", lake, *asked), run("state", *CASE.binlogs, *asked)
    assert (found.status, found.out) == (wanted.status, wanted.out)
    assert len(found.records) > 100


@pytest.mark.spark
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_spark_writes_the_same(run: Run, lake: Path, spark: Any, form: str) -> None:
    asked = ["--table", "shop.orders", "--at", f"{MARK.file}:{MARK.pos}", "--format", form]
    outs = [lake / "one", lake / "other"]
    here = run("state", lake, *asked, "--output", outs[0])
    there = run("state", lake, *asked, "--output", outs[1], "--engine", "spark")
    assert (here.status, here.err) == (there.status, there.err)
    assert here.status == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    asked = ["--table", "shop.orders", "--from", f"{MARK.file}:{MARK.pos}", "--format", form]
    here = run("diff", lake, *asked, "--output", outs[0])
    there = run("diff", lake, *asked, "--output", outs[1], "--engine", "spark")
    assert (here.status, here.err) == (there.status, there.err)
    assert outs[0].read_bytes() == outs[1].read_bytes() != b""


@pytest.mark.spark
@pytest.mark.parametrize(
    "command",
    [
        ["life", "--key", "150", "--format", "jsonl"],
        ["audit", "--op", "delete", "--format", "jsonl"],
        ["undo", "--where", "id=150"],
        ["verify", "--images"],
    ],
    ids=" ".join,
)
def test_spark_says_the_same(run: Run, lake: Path, spark: Any, command: list[str]) -> None:
    asked = [*command, *(["--table", "shop.orders"] if "verify" not in command else [])]
    here, there = (run(*asked, lake, "--engine", one) for one in ("local", "spark"))
    assert (here.status, here.err, here.out) == (there.status, there.err, there.out)
    assert len(here.lines) > 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--table", "shop.orders", "--base", "x"], "--base is not for a landing"),
        ([], "one --table is asked for"),
        (["--table", "shop.orders", "--at", "x:y"], "not a position"),
    ],
)
def test_what_is_asked_wrongly(run: Run, lake: Path, more: list[str], told: str) -> None:
    done = run("state", lake, *more)
    assert done.status == 2
    assert told in done.complaint


@pytest.mark.parametrize(
    "command",
    [["state"], ["diff", "--from", "x:4"], ["life", "--key", "1"], ["audit"], ["undo"], ["redo"]],
)
def test_spark_is_for_landings(
    run: Run, lake: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Which is said before Java starts."""
    monkeypatch.setattr("binlogkit.spark.session", pytest.fail)
    asked = [*command, "--table", "shop.orders"]
    done = run(*asked, *CASE.binlogs, "--engine", "spark")
    assert (done.status, "land the logs first" in done.complaint) == (2, True)
    done = run(*asked, lake, "--master", "local")
    assert (done.status, "--master is of --engine spark" in done.complaint) == (2, True)
    done = run(*asked, lake, "--engine", "spark", "--schema", "x.sql")
    assert (done.status, "--schema is not for a landing" in done.complaint) == (2, True)
