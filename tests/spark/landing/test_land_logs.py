"""Landings whose tasks run on Spark, and the command."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

import binlogkit as bk
import binlogkit.spark
from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.spark.landing import Landing, land_logs
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import joined, pieces_of
from tests.spark.killing import killed
from tests.spark.landing.landings import land, landed
from tests.waiting import LONG, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from binlogkit.spark.landing.landing import Arrived

pytestmark = pytest.mark.spark
LOGS = golden.case("8.0-row-full", "transactions").path


@pytest.mark.gate
def test_tasks_on_spark_land_the_same(spark: SparkSession, tmp_path: Path) -> None:
    arrived = binlogkit.spark.land(spark, LOGS, tmp_path / "spark", task_bytes=3000)
    assert arrived.rows == land(LOGS, tmp_path / "here").rows
    found, expected = landed(tmp_path / "spark"), landed(tmp_path / "here")
    assert found == expected
    assert binlogkit.spark.land(spark, LOGS, tmp_path / "spark").batches == 0
    table = spark.read.parquet(str(tmp_path / "spark/tables/bank/account"))
    assert table.where("_change_type = 'insert'").count() == sum(
        row["_change_type"] == "insert" for row in expected["bank/account"]
    )


@pytest.mark.gate
def test_errors_of_tasks_are_ours(spark: SparkSession, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(LOGS, logs)
    data = bytearray((logs / "binlog.000002").read_bytes())
    binlogkit.spark.index(spark, logs, tmp_path / "out" / "ledger")
    # Where its ends do not show it, damage is met by the task that reads it.
    data[len(data) // 2] ^= 0xFF
    (logs / "binlog.000002").write_bytes(data)
    with pytest.raises(DamageError, match=r"binlog\.000002 "):
        binlogkit.spark.land(spark, logs, tmp_path / "out")
    assert not landed(tmp_path / "out")
    with pytest.raises(InputError):
        binlogkit.spark.land(spark, tmp_path / "nothing", tmp_path / "out")
    with pytest.raises(UsageError, match="a mask is"):
        binlogkit.spark.land(spark, LOGS, tmp_path / "out", masks=["nothing"])


def at_last(land: Callable[[], Arrived]) -> Arrived:
    """What it gives; Spark meets killed processes that it had kept for its next jobs."""
    for _ in range(5):
        with suppress(PySparkException, Py4JError):
            return land()
    return land()


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [4, pytest.param(15, marks=pytest.mark.campaign)])
@pytest.mark.gate(1)
def test_tasks_that_are_killed(spark: SparkSession, rounds: int, tmp_path: Path) -> None:
    """SIGKILL for all of Spark's Python processes, again and again while logs land."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    for i, log in enumerate(sorted(LOGS.glob("binlog.0*"))):
        shutil.copy(log, logs / f"binlog.{i + 1:06}")
    land(logs, tmp_path / "here")
    expected = landed(tmp_path / "here")
    failed = 0

    def land_again() -> None:
        nonlocal failed
        try:
            binlogkit.spark.land(spark, logs, out, task_bytes=3000, batch_bytes=8000)
        except Exception:  # noqa: BLE001  whatever Spark says of it
            failed += 1

    def killed_enough(those: list[int]) -> bool:
        land_again()
        return failed > 0 and len(those) > 3

    for number in range(rounds):
        shutil.rmtree(out, ignore_errors=True)
        with killed(number, 0.05, 0.4) as those:
            for _ in range(4):
                land_again()
            until(partial(killed_enough, those), "processes are killed at work", 5 * LONG)
        at_last(lambda: binlogkit.spark.land(spark, logs, out, task_bytes=3000, batch_bytes=8000))
        assert at_last(lambda: binlogkit.spark.land(spark, logs, out)).batches == 0
        assert landed(out) == expected


def test_logs_that_are_named_from_the_working_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is not that of Spark's processes, if it was another when they began. The second log
    commits an XA transaction of the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("binlog.000001", "binlog.000002"):
        shutil.copy(LOGS / name, tmp_path)
        arrived = binlogkit.spark.land(spark, name, "lake")
        assert arrived.rows and not arrived.lost
    land(tmp_path, tmp_path / "whole")
    assert landed(tmp_path / "lake") == landed(tmp_path / "whole")


def test_another_log_of_a_name_that_has_landed(tmp_path: Path) -> None:
    """As after RESET MASTER: the ledger would lose what the first one said."""
    log, lake = tmp_path / "binlog.000001", tmp_path / "lake"
    data = (LOGS / log.name).read_bytes()
    log.write_bytes(data[: len(data) // 2])
    binlogkit.spark.land(None, log, lake)
    pieces = pieces_of(data)
    pieces[0].data[:4] = (1 + int.from_bytes(pieces[0].data[:4], "little")).to_bytes(4, "little")
    log.write_bytes(joined(pieces))
    before = landed(lake)
    for _ in range(2):
        with pytest.raises(InputError, match="is another log than the one of this name that has"):
            binlogkit.spark.land(None, log, lake)
    assert landed(lake) == before and Landing(lake).tables()
    log.write_bytes(data)
    assert binlogkit.spark.land(None, log, lake).rows


@pytest.mark.parametrize("cell", ["8.0-row-full", "5.7-row-no-gtid"])
def test_a_damaged_log_that_landed_and_is_whole_again(cell: str, tmp_path: Path) -> None:
    """Its rows would come twice, or what the damage took never; but one that was whole when it
    landed is the same again."""
    case = golden.case(cell, "transactions")
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    shutil.copytree(case.path, logs, ignore=shutil.ignore_patterns("*.json"))
    log = logs / case.binlogs[1].name
    whole = log.read_bytes()
    events = bk.open(log).event_records()
    *_, at = (one["pos"] for one in events if one["type"] == "TABLE_MAP_EVENT")
    damaged = whole[: at + 21] + b"\xff" + whole[at + 22 :]

    def lands(out: str, *given: Path) -> int:
        arrived = binlogkit.spark.land(None, given, tmp_path / out, on_damage="report")
        return arrived.batches

    log.write_bytes(damaged)
    assert lands("damaged", logs)
    log.write_bytes(whole)
    shutil.copytree(logs, elsewhere)
    log.write_bytes(whole[:-1])  # as it grows, so that its stamp is another one
    with pytest.raises(InputError, match="has other transactions than when it landed: it was"):
        lands("damaged", logs)
    if "no-gtid" in cell:
        with pytest.raises(InputError, match="had more or other transactions when it landed"):
            lands("damaged", elsewhere)
    log.write_bytes(whole)
    assert lands("whole", logs)
    log.write_bytes(damaged[:-1])
    with suppress(InputError):  # without GTIDs it is another log
        lands("whole", logs)
    log.write_bytes(whole)
    assert not lands("whole", logs)


def test_a_log_whose_format_description_is_damaged_does_not_land(tmp_path: Path) -> None:
    """No ledger can keep it: what follows from it would be lost."""
    first, second = golden.case("8.0-row-full", "transactions").binlogs
    data = bytearray(second.read_bytes())
    data[30] ^= 4
    log = tmp_path / second.name
    log.write_bytes(data)
    for _ in range(2):
        arrived = binlogkit.spark.land(None, [first, log], tmp_path / "out", on_damage="report")
        assert [*arrived.updated.left] == [str(log)]
    landing = Landing(tmp_path / "out")
    assert landing.audit()["by_table"].num_rows
    assert {row["file"] for row in landing.transactions().to_pylist()} == {str(first)}
    with pytest.raises(DamageError):
        binlogkit.spark.land(None, [first, log], tmp_path / "other")


@pytest.mark.gate
def test_many_logs_land_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what one landing of all gives, and its counts."""
    logs = [str(log) for log in golden.case("8.0-row-full", "transactions").binlogs]
    whole = binlogkit.spark.land(None, logs, tmp_path / "whole")
    monkeypatch.setattr(land_logs, "_TOGETHER", 1)
    found = binlogkit.spark.land(None, logs, tmp_path / "turns")
    assert landed(tmp_path / "turns") == landed(tmp_path / "whole")
    assert (found.rows, found.waiting, found.updated) == (whole.rows, [], whole.updated)
    assert (whole.batches, found.batches) == (1, 2)
    assert [one.file for one in found.spans] == logs
    again = binlogkit.spark.land(None, logs, tmp_path / "turns")
    assert (again.batches, again.updated.knew) == (0, 2)
