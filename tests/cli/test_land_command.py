"""``binlogkit land`` in this process: no PySpark is needed; what is wrong is reported first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from binlogkit.cli import progress
from binlogkit.spark.landing import current, landed
from binlogkit_fixtures import golden
from tests.cli.conftest import Ran
from tests.waiting import LONG

Run = Callable[..., Ran]
CASE = golden.case("8.0-row-full", "incident")
LOG = CASE.binlogs[0]


@pytest.fixture
def without_spark(tmp_path: Path, program: str) -> Run:
    """Run the command where importing PySpark fails."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "pyspark.py").write_text("raise ImportError('there is no PySpark')\n")
    path = os.pathsep.join([str(shadow), *filter(None, [os.environ.get("PYTHONPATH")])])

    def runner(*arguments: object) -> Ran:
        done = subprocess.run(
            [program, *map(str, arguments)], env={**os.environ, "PYTHONPATH": path},
            capture_output=True, timeout=LONG, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    return runner


def test_it_lands_without_pyspark(without_spark: Run, run: Run, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first, again = (without_spark("land", LOG, "--out", lake, "--current") for _ in range(2))
    assert (first.status, again.status) == (0, 0)
    assert "463 rows of shop.orders" in first.err and "0 logs in 0 batches" in again.err
    asked = ("--table", "shop.orders", "--format", "jsonl")
    states = [run("state", source, *asked) for source in (lake, LOG)]
    assert states[0].out == states[1].out and states[0].status == 0
    assert current(lake, "shop.orders").num_rows == len(states[0].lines)
    told = without_spark("land", LOG, "--out", tmp_path / "other", "--engine", "spark")
    assert told.status == 2
    assert "PySpark is not installed: pip install 'binlogkit[spark]'" in told.complaint


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--mask", "shop.orders.total=drop"], "this landing has --mask none, not "),
        (["--mask", "nothing"], "a mask is"),
        (
            ["--out", "s3://bucket/lake"],
            "a landing in a store needs --ledger DIR",
        ),
        (["--out", "hdfs://host/lake"], "a landing goes to a folder, or to s3://, gs://, az://"),
        (["missing.000001"], "missing.000001: no such file"),
    ],
    ids=str,
)
def test_what_is_asked_wrongly_is_told_before_spark_is_started(
    without_spark: Run, run: Run, tmp_path: Path, more: list[str], told: str
) -> None:
    lake = tmp_path / "lake"
    assert run("land", LOG, "--out", lake).status == 0
    done = without_spark("land", LOG, "--out", lake, "--engine", "spark", *more)
    assert done.status == 2
    assert told in done.complaint


def test_a_master_is_of_spark(run: Run, tmp_path: Path) -> None:
    for command in ("land", "index"):
        done = run(command, LOG, "--out", tmp_path, "--engine", "local", "--master", "local")
        assert (done.status, "--master is of --engine spark" in done.complaint) == (2, True)


def test_large_logs_are_for_spark(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is new of them; here any byte is large, and Spark's session is refused."""
    monkeypatch.setattr("binlogkit.cli.engine.SPARK_BYTES", 1)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for command in ("land", "index"):
        asked = (command, LOG, "--out", tmp_path / command)
        done = run(*asked)
        assert (done.status, "PySpark is not installed" in done.complaint) == (2, True)
        assert run(*asked, "--engine", "local").status == 0
        assert run(*asked).status == 0  # nothing is new


@pytest.mark.parametrize("name", ["a b", "ü #?", "50%", "a=b;c'd\"e"])
def test_folders_of_any_name(run: Run, tmp_path: Path, name: str) -> None:
    lake = tmp_path / name
    for _ in range(2):
        assert run("land", LOG, "--out", lake, "--current", "--compact").status == 0
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert landed(lake, "shop.orders").num_rows == 463
    assert run("state", lake, "--table", "shop.orders", "--format", "jsonl").status == 0


def test_whose_logs_they_are(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's name, or the path of its logs, wherever the command runs."""
    shutil.copy(LOG, tmp_path)
    monkeypatch.chdir(tmp_path)
    logs = (LOG.name, "a", None), (tmp_path / LOG.name, "b", None), (LOG, "c", "db1")
    for log, lake, name in logs:
        more = () if name is None else ("--name", name)
        assert run("land", log, "--out", lake, *more).status == 0
        sources = set(landed(lake, "shop.orders")["_source"].to_pylist())
        assert sources == {name or str(tmp_path / "binlog")}


@pytest.mark.parametrize("name", ["a%20b", "a[b]", "a\\b", "a^b", "a|b", "a\nb", "a\udcff"])
def test_folders_that_the_library_does_not_take(run: Run, tmp_path: Path, name: str) -> None:
    done = run("land", LOG, "--out", tmp_path / name)
    assert done.status == 2
    assert "a landing's path has no control character" in done.complaint
    assert not [*tmp_path.iterdir()]


def test_the_bar_of_a_batch(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, int]] = []
    make = progress.batches_done

    def noted() -> Callable[[int, int], None]:
        reached = make()

        def told(done: int, of: int) -> None:
            drawn.append((done, of))
            reached(done, of)

        return told

    monkeypatch.setattr("binlogkit.cli.land.batches_done", noted)
    monkeypatch.setattr("binlogkit.cli.progress.PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    done = run("land", *CASE.binlogs, "--out", tmp_path / "lake")
    assert done.status == 0
    assert drawn and drawn[-1][0] == drawn[-1][1] > 100_000
    hidden, shown = done.err.count("\x1b[?25l"), done.err.count("\x1b[?25h")
    assert hidden == shown > 0
