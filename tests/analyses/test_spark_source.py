"""The analyses over frames that the Spark data source reads, beside the same over Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses import audit
from binlogkit.analyses.point_in_time import story
from binlogkit.analyses.undoing.undo import mappings, undo
from binlogkit_fixtures import golden

pytestmark = pytest.mark.spark

CASE = golden.case("8.0-row-full", "incident")
TABLE = "shop.orders"


def _parameter(case: golden.GoldenCase) -> Any:
    marks = [] if str(case) in (str(CASE), "8.0-mixed-full/statements") else [pytest.mark.campaign]
    return pytest.param(case, marks=marks, id=str(case))


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


@pytest.mark.parametrize("case", [_parameter(case) for case in golden.cases()])
def test_the_audit_of_ledgers_is_the_same(
    case: golden.GoldenCase, spark: Any, rows_of: Rows
) -> None:
    """Every section of an audit, from the frames of the data source and from the log's."""
    paths = [str(path) for path in case.binlogs]
    log = bk.open(paths)
    theirs = {
        kind: spark.read.format("binlog").option("records", kind).load(paths)
        for kind in ("changes", "transactions", "statements", "boundaries")
    }
    ours = {
        name: getattr(log, name)(engine="pyarrow")
        for name in ("transactions", "statements", "boundaries")
    } | {"changes": log.rows(engine="pyarrow")}
    sections: dict[str, tuple[Callable[[Any], Any], ...]] = {
        "transactions": (
            audit.summary, audit.by_thread, audit.by_gtid_source, audit.hops, audit.formats,
            audit.format_changes, audit.largest, audit.longest, audit.quiet, audit.missing_gtids,
        ),
        "statements": (audit.settings, audit.statement_dml),
        "changes": (audit.by_table, audit.by_minute, audit.by_statement, audit.bursts),
    }  # fmt: skip
    for kind, several in sections.items():
        for section in several:
            assert rows_of(section(theirs[kind])) == rows_of(section(ours[kind])), section.__name__
    found, wanted = (
        rows_of(audit.limits(one["transactions"], boundaries=one["boundaries"]))
        for one in (theirs, ours)
    )
    assert found == wanted


def test_a_story_is_the_same(typed: Any, log: bk.Log, rows_of: Rows) -> None:
    wanted = rows_of(story(log.changes(TABLE), ["id"], 1))
    assert wanted
    assert [r["seq"] for r in rows_of(story(typed, ["id"], 1))] == [r["seq"] for r in wanted]


def test_undo_is_the_same(typed: Any, log: bk.Log) -> None:
    changes = log.changes(TABLE)
    wanted = list(mappings(undo(changes)))
    found = list(mappings(undo(typed, key=["id"], schema=changes.schema)))
    assert found == wanted
