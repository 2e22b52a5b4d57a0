"""States that Spark's tasks fold are those of one machine, value by value, findings included."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses._tasks import SparkTasks
from binlogkit.analyses.point_in_time import AtPosition, State, replay
from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit_fixtures import golden

pytestmark = pytest.mark.spark

QUICK = {
    "5.7-row-full/transactions", "8.0-row-minimal-partial-json/json", "8.0-row-minimal/keys",
}  # fmt: skip


def _parameter(case: golden.GoldenCase) -> Any:
    marks = [] if str(case) in QUICK else [pytest.mark.campaign]
    return pytest.param(case, marks=marks, id=str(case))


@pytest.mark.parametrize("case", [_parameter(case) for case in golden.cases()])
def test_states_of_real_logs(case: golden.GoldenCase, spark: Any) -> None:
    """Of every table at the end, and of one mark; the frame is the data source's."""
    paths = [str(path) for path in case.binlogs]
    log = bk.open(paths)
    ledgers = {
        name: getattr(log, name)(engine="pyarrow")
        for name in ("boundaries", "transactions", "statements")
    }
    marks = case.manifest.marks
    for name in log.table_names():
        try:
            changes = log.changes(name)
        except SchemaError:  # versions that do not unite have no frame
            continue
        frame = spark.read.format("binlog").option("table", name).load(paths)
        keys = [m.tables[name].primary_key for m in marks[::-1] if name in m.tables]
        for until in (None, AtPosition(paths[-1], marks[-1].pos)):
            how = {
                **ledgers,
                "key": [*keys, ()][0],
                "table": tuple(name.split(".", 1)),
                "until": until,
            }
            same(frame, changes, how)


def same(frame: Any, changes: pa.Table, how: dict[str, Any]) -> None:
    """What both give, rows or an error."""
    try:
        wanted = replay(changes, **how)
    except UsageError as exc:
        with pytest.raises(UsageError, match=str(exc)):
            replay(frame, **how)
        return
    found = replay(frame, **how)
    equal(found, wanted)


def equal(found: State[Any], wanted: State[pa.Table]) -> None:
    """Rows in their order, with every column, and what is not certain."""
    rows = found.rows.toArrow()
    expected = wanted.rows.cast(carried_schema(wanted.rows.schema)) if len(wanted.rows) else None
    assert rows.to_pylist() == ([] if expected is None else expected.to_pylist())
    assert found.findings.toArrow().to_pylist() == wanted.findings.to_pylist()
    assert found.determined == wanted.determined
    assert found.definition == wanted.definition
    unknown = sum(len(one.flatten()) for one in wanted.rows["unknown"].chunks)
    assert found.folded is not None
    assert (found.folded.result.rows, found.folded.result.unknown) == (
        wanted.rows.num_rows,
        unknown,
    )


@pytest.mark.parametrize("count", [2, 4, 7, 16])
def test_each_share_is_a_task(count: int, spark: Any) -> None:
    from pyspark.sql import functions as sql

    rows = spark.range(count).select(sql.col("id").alias("share"), *map(sql.lit, (1, 2)))
    tasks = SparkTasks(rows.toDF("share", "at", "last")).together(count)
    assert tasks.frame.select(sql.spark_partition_id()).distinct().count() == count
