"""The analyses over frames that the Spark data source reads, beside the same over Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses import audit
from binlogkit.analyses.point_in_time import replay, story
from binlogkit.analyses.undo import mappings, undo
from binlogkit_fixtures import golden

pytestmark = pytest.mark.spark

CASE = golden.case("8.0-row-full", "incident")
TABLE = "shop.orders"


@pytest.fixture
def log() -> bk.Log:
    return bk.open([str(path) for path in CASE.binlogs])


@pytest.fixture
def typed(spark: Any) -> Any:
    reader = spark.read.format("binlog").option("table", TABLE)
    return reader.load([str(path) for path in CASE.binlogs])


Rows = Callable[[Any], list[dict[str, Any]]]


def test_the_audit_is_the_same(typed: Any, log: bk.Log, rows_of: Rows) -> None:
    changes = log.changes(TABLE)
    assert rows_of(audit.by_table(typed)) == rows_of(audit.by_table(changes))
    assert rows_of(audit.by_minute(typed)) == rows_of(audit.by_minute(changes))
    assert rows_of(audit.by_key(typed, ["id"])) == rows_of(audit.by_key(changes, ["id"]))


def test_the_state_is_the_same(typed: Any, log: bk.Log, rows_of: Rows) -> None:
    wanted = replay(log.changes(TABLE), key=["id"]).rows
    found = rows_of(replay(typed, key=["id"]).rows)
    assert [(r["seq"], r["unknown"]) for r in found] == [
        (r["seq"], r["unknown"]) for r in wanted.to_pylist()
    ]
    assert [list(r["values"]) for r in found] == [list(r["values"]) for r in wanted.to_pylist()]


def test_a_story_is_the_same(typed: Any, log: bk.Log, rows_of: Rows) -> None:
    wanted = rows_of(story(log.changes(TABLE), ["id"], 1))
    assert wanted
    assert [r["seq"] for r in rows_of(story(typed, ["id"], 1))] == [r["seq"] for r in wanted]


def test_undo_is_the_same(typed: Any, log: bk.Log) -> None:
    changes = log.changes(TABLE)
    wanted = list(mappings(undo(changes)))
    found = list(mappings(undo(typed, key=["id"], schema=changes.schema)))
    assert found == wanted
