"""Which Python reads the logs of a session that a plain builder made, each in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

import binlogkit as bk
from binlogkit_fixtures import golden
from tests.waiting import LONG

CASE = golden.case("8.0-row-full", "keys")
ROOT = Path(__file__).parents[2]

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from binlogkit import spark as bks

quiet = bks.settings(memory="1g", brief=True)
builder = SparkSession.builder.master("local[2]")
for key, value in quiet.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
how, path = sys.argv[1:]
told = {"exec": spark.sparkContext.pythonExec}
getattr(bks, how)(*[spark] if how == "register" else [])
told["rows"] = spark.read.format("binlog").load(path).count()
typed = spark.read.format("binlog").option("table", "keyed.pk").load(path)
told["typed"] = typed.count()
told["exec behind"] = spark.sparkContext.pythonExec
print(json.dumps(told))
spark.stop()
"""

UNPICKLE = """
import sys
from pyspark import cloudpickle
cloudpickle.loads(sys.stdin.buffer.read())
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ``python3`` of the same version that has no packages."""
    home = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    return home / "bin" / "python3"


def environment(bare: Path, **more: str) -> dict[str, str]:
    """One where ``python3`` is the bare one, and nothing names another."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))}
    path = os.pathsep.join([str(bare.parent), kept["PATH"]])
    return {**kept, "PATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **more}


def run(how: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # The sources' place is added here, as PYTHONPATH would reach the bare interpreter, too.
    places = f"import sys; sys.path[:0] = {[str(ROOT / 'toolkit'), str(ROOT / 'fixtures_gen')]!r}\n"
    return subprocess.run(
        [sys.executable, "-c", places + SCRIPT, how, str(CASE.path)],
        env=variables, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("how", ["register", "session"])
def test_a_plain_local_session_reads_with_this_interpreter(bare: Path, how: str) -> None:
    assert told(run(how, environment(bare))) == {
        "exec": "python3",
        "rows": len(bk.open(CASE.path).rows()),
        "typed": len(bk.open(CASE.path).rows("keyed.pk")),
        "exec behind": "python3",  # functions of the session's owner are not concerned
    }


@pytest.mark.spark
@pytest.mark.slow
def test_workers_without_binlogkit_say_so(bare: Path) -> None:
    """PYSPARK_PYTHON is obeyed, even where it is of no use."""
    done = run("register", environment(bare, PYSPARK_PYTHON=str(bare)))
    assert done.returncode != 0
    assert f"binlogkit is not installed for {bare}, the Python of Spark's workers" in done.stderr
    assert "PYSPARK_PYTHON before the Spark session begins" in done.stderr


def test_what_reads_says_so_too(bare: Path) -> None:
    """A reader that was planned where binlogkit is, in a worker of another machine."""
    from pyspark import cloudpickle
    from pyspark.sql.types import LongType, StructField, StructType

    from binlogkit.spark.source import BinlogDataSource

    schema = StructType([StructField("pos", LongType())])
    reader = BinlogDataSource({"path": str(CASE.path)}).reader(schema)
    shipped = cloudpickle.dumps((len, reader))  # type: ignore[no-untyped-call]
    again = cloudpickle.loads(shipped)[1]
    assert type(again) is type(reader)
    assert again.partitions() == []  # each task has its own
    assert reader.partitions()
    libraries = Path(pyspark.__file__).parent / "python" / "lib"
    path = os.pathsep.join(map(str, sorted(libraries.glob("*.zip"))))
    done = subprocess.run(
        [str(bare), "-c", UNPICKLE], input=shipped, env=environment(bare, PYTHONPATH=path),
        capture_output=True, check=False, timeout=LONG,
    )  # fmt: skip
    *_, last = done.stderr.decode().splitlines()
    assert last.startswith(f"ModuleNotFoundError: binlogkit is not installed for {bare}, the ")
