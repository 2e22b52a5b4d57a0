"""Each logged statement of steps.sql gives the definitions that information_schema showed then."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit.rows.ddl import Catalog

HERE = Path(__file__).parent


def same_engine(tracked: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """``tracked`` with the recorded engine where the statement named none: no log tells it."""
    return tracked if "engine" in tracked else tracked | {"engine": recorded["engine"]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_tracked_schema_equals_information_schema(series: str, recorder: ModuleType) -> None:
    recorded = json.loads((HERE / f"recorded_{series}.json").read_text("utf-8"))
    assert recorded["script"] == recorder.fingerprint(), "run recorder.py after changing steps.sql"
    catalog = Catalog(recorded["version"])
    expected: dict[str, Any] = {}
    for step in recorded["steps"]:
        for arguments in step["statements"]:
            told = {"default_db": None} | arguments
            changes = catalog.apply(told.pop("sql"), **told)
            assert [c for c in changes if c.action == "unknown"] == []
        expected |= step["changed"]
        for name in step["dropped"]:
            del expected[name]
        tracked = recorder.tables(catalog)
        assert tracked.keys() == expected.keys(), step["statements"]
        for name in expected:
            assert same_engine(tracked[name], expected[name]) == expected[name], step["statements"]
