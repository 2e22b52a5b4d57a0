"""Spark reads a store's objects with options that no plan of it shows."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

import binlogkit as bk
from tests.sources.carried import KEYS
from tests.sources.stores.conftest import SECRET, Bucket

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_options_reach_the_workers_and_no_plan(
    spark: SparkSession, bucket: Bucket, options: dict[str, Any]
) -> None:
    url = bucket.put("logs/binlog.000001", KEYS.read_bytes())
    reading = spark.read.format("binlog").option("storageOptions", json.dumps(options))
    frame = reading.option("splitBytes", "8192").load(url)
    assert frame.count() == len(bk.open(KEYS).rows())
    shown = StringIO()
    with redirect_stdout(shown):
        frame.explain(extended=True)
        frame.explain(mode="formatted")
    assert "binlog" in shown.getvalue()
    assert SECRET not in shown.getvalue()
    with pytest.raises(Exception, match="no such file") as caught:
        reading.load(f"s3://{bucket.name}/logs/binlog.000009").count()
    assert SECRET not in str(caught.value)
