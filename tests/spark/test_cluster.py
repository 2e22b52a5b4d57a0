"""A cluster's workers read with the environment that is sent to them, and say what they lack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden
from tests.spark.clusters import cluster, packaged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CASE = golden.case("8.0-row-full", "transactions")

READS = """
import json, sys
from pyspark.sql import SparkSession
from binlogkit.spark import land, register, settings

master, archive, path, lake = sys.argv[1:]
builder = SparkSession.builder.master(master)
for key, value in settings(memory="1g", brief=True).items():
    builder = builder.config(key, value)
builder = builder.config("spark.executor.memory", "512m").config("spark.cores.max", "2")
if archive:
    builder = builder.config("spark.archives", archive + "#environment")
spark = builder.getOrCreate()
if not archive:
    register(spark)
frame = spark.read.format("binlog").option("splitBytes", "16384").load(path)
told = {"rows": frame.count(), "tasks": frame.rdd.getNumPartitions()}
landed = land(spark, path, lake, task_bytes=16384)
told["landed"] = landed.rows

def where(rows):
    import os, sys
    import binlogkit
    yield os.path.dirname(binlogkit.__file__), sys.executable

places = spark.sparkContext.parallelize(range(8), 4).mapPartitions(where).collect()
told["places"] = sorted(set(places))
print(json.dumps(told))
spark.stop()
"""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


def run(folder: Path, python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))}
    own = {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    # The driver is this interpreter; planning runs in what PYSPARK_PYTHON names, in its folder.
    driver = [sys.executable, "-c", READS, *arguments]
    return subprocess.run(
        driver, env=kept | own, cwd=folder, capture_output=True, text=True, check=False,
        timeout=400,
    )  # fmt: skip


def test_workers_read_with_the_environment_that_is_sent(master: str, tmp_path: Path) -> None:
    archive = packaged(tmp_path)
    folder = tmp_path / "driver"
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "environment", filter="fully_trusted")
    python = "./environment/bin/python"
    done = run(folder, python, master, str(archive), str(CASE.path), str(tmp_path / "lake"))
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["rows"] == len(bk.open(CASE.path).rows())
    assert told["tasks"] > 1 and sum(told["landed"].values())
    assert all("worker-" in place for place, _ in told["places"]), told["places"]


def test_workers_without_it_name_their_python_and_the_remedy(master: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    done = run(tmp_path, python, master, "", str(CASE.path), str(tmp_path / "lake"))
    assert done.returncode
    said = done.stderr
    assert f"binlogkit is not installed for {python}, the Python of Spark's workers" in said, said
