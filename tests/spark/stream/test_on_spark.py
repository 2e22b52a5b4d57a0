"""The same with Spark: real queries with checkpoints, stopped, killed and begun again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from binlogkit_fixtures import golden
from tests.spark.stream.sink import Sink, key_of
from tests.spark.stream.streams import batch_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CASE = golden.case("8.0-row-full", "transactions")


def wanted(*paths: Path, **options: str) -> list[dict[str, Any]]:
    return sorted(batch_of(*paths, **options)[0], key=key_of)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    made = tmp_path / "logs"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    "options",
    [
        {"records": "rows"},
        {"records": "changelog", "table": "bank.account"},
        {"records": "changelog", "table": "bank.account", "mask": "bank.account.owner=truncate:2"},
        {"records": "events"},
    ],
    ids=lambda options: options["records"],
)
def test_what_is_available_again_and_again(
    options: dict[str, str], spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    sink = Sink(spark, logs, tmp_path, **options)
    first, second = CASE.binlogs
    shutil.copy(first, logs)
    sink.run()
    assert sink.rows == wanted(logs, **options)
    (logs / second.name).write_bytes(second.read_bytes()[:4000])
    sink.run()
    shutil.copy(second, logs)
    sink.run()
    sink.run()
    assert sink.rows == wanted(logs, **options)


def test_batches_of_few_logs_or_bytes(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    for log in CASE.binlogs:
        shutil.copy(log, logs)
    for name, value, count in (("maxFilesPerTrigger", "1", 2), ("maxBytesPerTrigger", "2000", 5)):
        out = tmp_path / name
        sink = Sink(spark, logs, out, records="rows", **{name: value})
        assert len([p for p in sink.run() if p.numInputRows]) >= count
        assert sink.rows == wanted(logs, records="rows")


def test_logs_that_are_written_while_a_query_runs(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    sink = Sink(spark, logs, tmp_path, records="rows")
    query = sink.begin(processingTime="0 seconds")
    try:
        for log in CASE.binlogs:
            data = log.read_bytes()
            with (logs / log.name).open("wb", buffering=0) as file:
                for number, at in enumerate(range(0, len(data), 1777)):
                    file.write(data[at : at + 1777])
                    if number % 3 == 2:
                        query.processAllAvailable()
        query.processAllAvailable()
    finally:
        query.stop()
    assert len([p for p in query.recentProgress if p.numInputRows]) > 1
    assert sink.rows == wanted(logs, records="rows")


@contextmanager
def fails(told: str) -> Iterator[None]:
    with pytest.raises(StreamingQueryException, match=told):
        yield


def test_errors_end_a_query_and_say_why(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    first, second = CASE.binlogs
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (logs / first.name).write_bytes(data)
    sink = Sink(spark, logs, tmp_path, records="rows")
    with fails(r"ChecksumError: .*binlog\.000001 (at|from) 5518"):
        sink.run()
    shutil.copy(first, logs)
    shutil.copy(second, logs)
    sink.run()  # goes on behind what was read before
    assert sink.rows == wanted(logs, records="rows")
    with fails("damages are those of logs as they are"):
        Sink(spark, logs, tmp_path / "other", records="damages").run()


def test_a_stream_from_now_on(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    first, second = CASE.binlogs
    shutil.copy(first, logs)
    sink = Sink(spark, logs, tmp_path, records="transactions", startingOffset="latest")
    sink.run()
    shutil.copy(second, logs)
    sink.run()
    got = pq.read_table(tmp_path / "rows").column("pos").to_pylist()
    assert sorted(got) == [
        row["pos"] for row in wanted(*CASE.binlogs, records="transactions")
        if row["file"] == str(second)
    ]  # fmt: skip
