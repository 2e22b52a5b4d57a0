"""What an extra brings and is not installed: one sentence at every door, with the command."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.livestate.copies import duckdb_module
from binlogkit.spark import session
from binlogkit.spark.landing.landing_path import needed
from binlogkit_fixtures.servers.daemon import open_client

ROOT = Path(__file__).resolve().parents[1]

NOTHING = pd.DataFrame(columns=["minute", "inserts", "updates", "deletes"])


def client() -> None:
    with open_client():
        pass


@pytest.mark.parametrize(
    ("library", "extra", "door"),
    [
        ("matplotlib.pyplot", "plot", lambda: bk.plot.timeline(NOTHING)),
        ("duckdb", "live", duckdb_module),
        ("pyspark.sql", "spark", session),
        ("deltalake", "land", needed),
        ("docker", "fixtures", client),
        ("s3fs", "s3", lambda: bk.open("s3://bucket/binlog.000001").rows()),
        ("aiohttp", "http", lambda: bk.open("https://127.0.0.1:1/binlog.000001").rows()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_missing_is_said_with_the_command(
    library: str, extra: str, door: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = vars(importlib.import_module("fsspec.registry"))["_registry"]
    for name in ("s3", "http", "https"):  # of libraries that were imported before
        monkeypatch.delitem(known, name, raising=False)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        BinlogKitError, match=rf"is not installed: pip install 'binlogkit\[{extra}\]'"
    ):
        door()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert extra in project["optional-dependencies"]
