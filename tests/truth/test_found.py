"""What random workloads found once: the recorded logs against the server's own SELECT."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures.manifest import Table
from binlogkit_fixtures.records import from_json

DATA = Path(__file__).with_name("_data")
FOUND = sorted(p.name for p in DATA.iterdir())


def marks(name: str) -> list[dict[str, Any]]:
    return list(json.loads(lzma.decompress((DATA / name / "truth.json.xz").read_bytes())))


@pytest.mark.parametrize("name", FOUND)
def test_states_are_the_servers(name: str, checks: ModuleType) -> None:
    log = bk.open(str(DATA / name))
    notes: Counter[str] = Counter()
    compared = 0
    for mark in marks(name):
        at = f"{mark['file']}:{mark['pos']}"
        for full_name, record in mark["tables"].items():
            table = from_json(Table, record)
            pair = ("truth", full_name.removeprefix("truth."))
            assert list(checks.check_state(log, pair, table, at, notes)) == []
            compared += 1
    assert compared
    assert notes["rows determined"] == notes["rows"]
    assert log.problems == []
