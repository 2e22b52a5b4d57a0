"""Whatever ends a landing, and wherever another one runs beside it: no row twice, torn or missing.

``BINLOGKIT_CAMPAIGNS=1 python -m pytest tests/spark/landing/test_faults.py`` dies at every step.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.tables import files_of, opened
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import STEPS, UNLOCKED, at_step

LOGS = golden.case("8.0-row-full", "transactions").path
EVOLVED = golden.case("8.0-row-full", "ddl").path
SIZES: dict[str, Any] = {"batch_bytes": 12_000}


class Died(BaseException):
    """As KeyboardInterrupt: no handler of errors takes it."""


def dies() -> None:
    raise Died


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("whole")
    assert land(LOGS, out, **SIZES).batches == 2
    return landed(out)


def steps_of(out: Path, source: Path = LOGS, steps: list[Any] = STEPS) -> list[str]:
    with at_step(0, "before", dies, steps) as met:
        land(source, out, **SIZES)
    return met


def check(out: Path, expected: dict[str, Any]) -> None:
    """The next landing makes it whole, and the one after that has nothing to do."""
    land(LOGS, out, **SIZES)
    assert land(LOGS, out, **SIZES).batches == 0
    assert landed(out) == expected
    assert not dead_files(out)


def dead_files(out: Path) -> list[Path]:
    """The Parquet files of tables that Delta does not know."""
    return [
        path
        for folder in {log.parent for log in out.rglob("_delta_log")} | {*out.glob("tables/*/*")}
        for path in folder.rglob("*.parquet")
        if "_delta_log" not in path.parts and path not in known_files(folder)
    ]


def known_files(folder: Path) -> set[Path]:
    table = opened(Folder(folder))
    known = [] if table is None else files_of(table, Folder(folder))
    return {Path(str(one)) for one in known}


def dies_and_goes_on(out: Path, number: int, when: str, expected: dict[str, Any]) -> None:
    with at_step(number, when, dies), pytest.raises(Died):
        land(LOGS, out, **SIZES)
    check(out, expected)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_landing_that_ends_at_a_step(when: str, tmp_path: Path, expected: dict[str, Any]) -> None:
    count = len(steps_of(tmp_path / "counted"))
    assert count > 40
    for number in range(1, count + 1, 11):
        dies_and_goes_on(tmp_path / str(number), number, when, expected)


@pytest.mark.campaign
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_landing_that_ends_at_any_step_and_again_on_its_way_back(
    when: str, tmp_path: Path, expected: dict[str, Any]
) -> None:
    count = len(steps_of(tmp_path / "counted"))
    for number in range(1, count + 1):
        out = tmp_path / str(number)
        with at_step(number, when, dies), pytest.raises(Died):
            land(LOGS, out, **SIZES)
        for again in (3, 11):
            with at_step(again, when, dies) as met:
                try:
                    land(LOGS, out, **SIZES)
                except Died:
                    continue
                assert len(met) < again
        check(out, expected)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_another_landing_beside_it_at_a_step(
    when: str, tmp_path: Path, expected: dict[str, Any]
) -> None:
    count = len(steps_of(tmp_path / "counted", steps=UNLOCKED))
    for number in range(2, count + 1, 13):
        beside(tmp_path / str(number), number, when, expected)


@pytest.mark.campaign
@pytest.mark.parametrize("when", ["before", "after"])
def test_another_landing_beside_it_at_any_step(
    when: str, tmp_path: Path, expected: dict[str, Any]
) -> None:
    count = len(steps_of(tmp_path / "counted", steps=UNLOCKED))
    for number in range(1, count + 1):
        beside(tmp_path / str(number), number, when, expected)


def beside(out: Path, number: int, when: str, expected: dict[str, Any]) -> None:
    others: list[int] = []

    def other() -> None:
        others.append(land(LOGS, out, **SIZES).batches)

    with at_step(number, when, other, UNLOCKED):
        land(LOGS, out, **SIZES)
    assert len(others) == 1
    check(out, expected)


def test_columns_that_are_added_while_another_landing_adds_them(tmp_path: Path) -> None:
    """The log's DDL in batches, so that each widens tables that are there."""
    whole = tmp_path / "whole"
    steps = steps_of(whole, EVOLVED, UNLOCKED)
    adding = [i + 1 for i, name in enumerate(steps) if name == "add_columns"]
    for number in adding[:3]:
        out = tmp_path / str(number)
        other = partial(land, EVOLVED, out, **SIZES)
        with at_step(number, "before", other, UNLOCKED):
            land(EVOLVED, out, **SIZES)
        assert landed(out) == landed(whole)


@pytest.mark.campaign
def test_programs_that_are_killed(tmp_path: Path, expected: dict[str, Any]) -> None:
    """A process that dies at a step, with no time to clean up; 50 of them."""
    count = len(steps_of(tmp_path / "counted"))
    deaths = 0
    for when in ("before", "after"):
        for number in range(1, count + 1, max(1, 2 * count // 50)):
            out = tmp_path / f"{when}-{number}"
            done = killed(out, number, when)
            deaths += done == 9
            check(out, expected)
    assert deaths >= 45


def test_a_program_that_is_killed(tmp_path: Path, expected: dict[str, Any]) -> None:
    assert killed(tmp_path, 25, "after") == 9
    check(tmp_path, expected)


def killed(out: Path, number: int, when: str) -> int:
    """The exit status of a landing that dies at a step."""
    program = [sys.executable, "-m", "tests.spark.landing.steps"]
    where = Path(__file__).parents[3]
    return subprocess.run(
        [*program, str(LOGS), str(out), str(number), when], check=False, cwd=where
    ).returncode


@pytest.mark.slow
@pytest.mark.parametrize("times", [3, pytest.param(10, marks=pytest.mark.campaign)])
def test_programs_that_land_at_the_same_time(
    times: int, tmp_path: Path, expected: dict[str, Any]
) -> None:
    program = [sys.executable, "-m", "tests.spark.landing.steps", str(LOGS)]
    for i in range(times):
        out = tmp_path / str(i)
        running = [
            subprocess.Popen([*program, str(out), "0", "before"], cwd=Path(__file__).parents[3])
            for _ in range(2)
        ]
        assert [one.wait() for one in running] == [0, 0]
        check(out, expected)
        shutil.rmtree(out)
