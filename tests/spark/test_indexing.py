"""An index that Spark's tasks make is the one made here; the format reads through it."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import binlogkit as bk
from binlogkit.errors import UnmetWarning
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index import Index
from binlogkit.sources.carriers import Carrier
from binlogkit.spark import index
from binlogkit.spark.indexing import _tasks
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CASES = [case for case in golden.cases() if case.scenario in ("transactions", "keys")]


@pytest.mark.gate
def test_tasks_make_the_index_and_the_driver_reads_through_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs = []
    for case in CASES:
        folder = tmp_path / case.cell / case.scenario
        folder.mkdir(parents=True)
        logs += [str(shutil.copy(path, folder)) for path in case.binlogs]
    out = tmp_path / "index"
    told = index(spark, logs, out, task_bytes=20_000)
    assert (told.knew, told.read, told.left) == (0, len(logs), {})
    assert index(spark, logs, out).knew == len(logs)
    here = Index(tmp_path / "here")
    here.update(bk.open(logs).carriers)
    assert here.table("changes").num_rows == Index(out).table("changes").num_rows
    columns = ["file", "events", "gtids", "part_transactions", "stop"]
    order = [("file", "ascending")]
    assert Index(out).table("logs").select(columns).sort_by(order) == here.table("logs").select(
        columns
    ).sort_by(order)
    frame = spark.read.format("binlog").option("index", str(out)).load(logs)
    assert frame.count() == bk.open(logs).rows(engine="pyarrow").num_rows
    for name in INDEX:
        assert spark.read.parquet(str(out / name)).count() == Index(out).table(name).num_rows
    read = spark.read.format("binlog").options(index=str(out), table="keyed.pk", where="id=1")
    with pytest.warns(UnmetWarning, match="logged as text"):
        rows = bk.open(logs).rows("keyed.pk", where="id=1", engine="pyarrow")
    assert read.load(logs).count() == rows.num_rows > 0


def test_relay_logs_that_go_on_belong_together(spark: SparkSession, tmp_path: Path) -> None:
    for name, data in committed()["rows/5.6.24-relay"].files().items():
        (tmp_path / name).write_bytes(data)
    logs = sorted(str(path) for path in tmp_path.iterdir())
    out = tmp_path / "index"
    told = index(spark, logs, out, task_bytes=1)
    assert (told.read, told.left) == (len(logs), {})
    (part,) = Index(out).parts(bk.open(logs).carriers)
    assert part.names == tuple(logs)


def test_damaged_logs_are_named(spark: SparkSession, tmp_path: Path) -> None:
    path = Path(shutil.copy(CASES[0].binlogs[0], tmp_path))
    path.write_bytes(path.read_bytes()[:-10])
    told = index(spark, path, tmp_path / "index")
    assert (told.read, told.left, list(told.damaged)) == (1, {}, [str(path)])


def test_a_task_opens_what_a_name_does_not_show() -> None:
    url = "http://127.0.0.1/binlog.000001?token=hunter2"
    carrier = Carrier("http://127.0.0.1/binlog.000001?token=…", BytesIO, location=url)
    assert list(_tasks([carrier], 1)) == [[url]]
