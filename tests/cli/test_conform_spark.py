"""Logs that Spark's tasks judge with mysqlbinlog have the verdict and the differences of one
process."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import pytest

from binlogkit.errors import InputError, OracleError
from binlogkit.spark.conformance import shared_conformance
from binlogkit_fixtures import golden
from tests.cli.conftest import Ran

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., Ran]
CASES = [golden.case("8.0-row-full", name) for name in ("transactions", "keys")]


@pytest.mark.spark
@pytest.mark.oracle
def test_it_is_that_of_one_process(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    """Of several logs, one of them compressed, with differences by the baseline left out."""
    packed = tmp_path / "binlog.000007.gz"
    other = golden.case("8.0-row-minimal", "types").binlogs[0]
    packed.write_bytes(gzip.compress(other.read_bytes()))
    logs = [str(log) for log in (*(log for case in CASES for log in case.binlogs), packed)]
    baseline = tmp_path / "known.jsonl"
    baseline.write_text(json.dumps({"kind": "theirs"}) + "\n")
    asked = (*logs, "--baseline", baseline, "--explained", "--format", "jsonl")
    wanted, found = (run("conform", *asked, *more) for more in ((), ("--engine", "spark")))
    assert (found.status, found.records) == (wanted.status, wanted.records)
    assert len(found.records) > 20 and f"{found.complaint}" == f"{wanted.complaint}"
    result = shared_conformance(spark, logs, baseline=[{"kind": "theirs"}])
    damaged = tmp_path / "binlog.000001"
    damaged.write_bytes(b"no log at all")
    with pytest.raises(InputError, match="not a binary log"):
        shared_conformance(spark, damaged)
    assert result.summary.baselined and result.differences.to_pylist() == wanted.records


@pytest.mark.spark
@pytest.mark.oracle
def test_logs_that_cannot_be_read_are_named_after_the_others_results(
    run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    (log,) = CASES[1].binlogs
    empty, other = tmp_path / "binlog.000008", tmp_path / "binlog.000009"
    empty.touch()
    other.write_bytes(b"no log at all")
    alone = run("conform", log, "--explained", "--format", "jsonl")
    asked = ("conform", empty, log, other, "--explained", "--format", "jsonl")
    for more in ((), ("--engine", "spark")):
        found = run(*asked, *more)
        assert (found.status, found.records) == (2, alone.records)
        of_empty, of_other = found.err.splitlines()[-2:]
        assert of_empty == f"binlogkit: {empty}: the file is empty"
        assert of_other.startswith(f"binlogkit: {other}: not a binary log")
    with pytest.raises(InputError, match="the file is empty"):
        shared_conformance(spark, [log, empty])


@pytest.mark.spark
def test_what_keeps_a_task_from_it_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (log,) = CASES[1].binlogs
    told = f"worker {gethostname()}: each worker needs mysqlbinlog on its PATH: "
    with pytest.raises(OracleError, match=told + ".* does not run"):
        shared_conformance(spark, log, program=str(tmp_path / "none"))


def test_it_is_for_our_rows_and_mysqlbinlog(run: Run) -> None:
    for more in (("--against", "golden"), ("--decoded", "x"), ("--rules",)):
        done = run("conform", CASES[1].binlogs[0], "--engine", "spark", *more)
        assert done.status == 2
        assert "compares our rows with mysqlbinlog, and with nothing else" in done.complaint
