"""Landings whose tasks run on Spark, and the command."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import binlogkit.spark
from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
LOGS = golden.case("8.0-row-full", "transactions").path


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
