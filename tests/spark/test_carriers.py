"""Carriers on Spark: encrypted logs with their keyring, events in a text in any order."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import binlogkit as bk
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.plan import make_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parents[1]
ENCRYPTED = TESTS / "_encrypted" / "9-row-encrypted" / "transactions"
KEYS = TESTS / "_data" / "8.0-row-full" / "keys" / "binlog.000001"


@pytest.mark.spark
def test_encrypted_logs(spark: SparkSession) -> None:
    logs = str(ENCRYPTED / "binlog.*")
    reader = spark.read.format("binlog").option("keyring", str(ENCRYPTED / "keyring"))
    found = reader.load(logs).orderBy("file", "pos", "row").collect()
    ours = bk.open(logs, keyring=ENCRYPTED / "keyring").row_records()
    assert [(r["pos"], r["row"], r["op"]) for r in found] == [
        (r["pos"], r["row"], r["op"]) for r in ours
    ]


def test_keys_are_named_by_files_only() -> None:
    options = {"path": str(ENCRYPTED / "binlog.000001"), "keyFile": "some/file"}
    assert parse_options(options).keys.key_file == "some/file"
    with pytest.raises(bk.errors.UsageError, match="not both"):
        _ = parse_options({**options, "keyring": "other"}).keys


def test_events_in_any_order_are_all_planned(tmp_path: Path) -> None:
    """A later event first: no position then says where the text ended."""
    data = KEYS.read_bytes()
    parts = [data[157:234], data[126:157]]
    text = "".join(f"BINLOG '{base64.b64encode(p).decode()}';\n" for p in parts)
    for name, content in (("a", text), ("b", text)):
        (tmp_path / name).write_text(content)
    options = {"paths": f'["{tmp_path}/a", "{tmp_path}/b"]', "records": "events"}
    plan = make_plan(parse_options(options))
    assert [split.stop for split in plan.splits] == [None, None]
    windows = [window for split in plan.splits for window in plan.scan.reading(split).windows()]
    stretches = [window.stretch for window in windows if window.stretch is not None]
    assert [int(pos) for s in stretches for pos in s.positions] == [157, 126, 157, 126]
