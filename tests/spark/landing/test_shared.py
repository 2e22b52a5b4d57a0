"""States of landed tables that Spark's tasks fold, and their differences, are those of one machine,
value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binlogkit.errors import BinlogKitError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.log.states.diff import TableDifference
from binlogkit.log.states.table_state import TableState
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.shared import (
    SharedState,
    shared_difference,
    shared_state,
)
from binlogkit.spark.landing.terms import Terms
from binlogkit_fixtures import golden, manifest
from tests.spark.landing.landings import land

QUICK = {"8.0-row-full/ddl", "8.0-row-minimal-partial-json/json"}


def _parameter(case: golden.GoldenCase) -> Any:
    marks = [] if str(case) in QUICK else [pytest.mark.campaign]
    return pytest.param(case, marks=marks, id=str(case))


@pytest.mark.spark
@pytest.mark.parametrize("case", [_parameter(case) for case in golden.cases()])
def test_states_of_real_logs(case: golden.GoldenCase, spark: Any, tmp_path: Path) -> None:
    """Of every table that landed, at the end and at a mark."""
    land(case.path, tmp_path)
    landing, marks = Landing(tmp_path), manifest.read(case.path).marks
    points = [None, (marks[len(marks) // 2].file, marks[len(marks) // 2].pos)]
    for table in landing.tables():
        for at in points:
            try:
                wanted = landing.state(table, at=at)
            except BinlogKitError as exc:
                with pytest.raises(type(exc)) as met:
                    shared_state(spark, landing, table, at)
                assert str(met.value) == str(exc)
            else:
                same(shared_state(spark, landing, table, at), wanted)
                if at is not None:
                    difference = shared_difference(spark, landing, table, at)
                    same_difference(difference, landing.diff(table, at))


@pytest.mark.spark
def test_a_column_of_types_that_have_nothing_in_common(spark: Any, tmp_path: Path) -> None:
    """An ENUM that became text: one task folds all."""
    land(golden.case("8.0-row-full", "ddl").path, tmp_path, Terms(tables=("evolve.item",)))
    landing = Landing(tmp_path)
    same(shared_state(spark, landing, "evolve.item"), landing.state("evolve.item"))


def same_difference(found: TableDifference, wanted: TableDifference) -> None:
    """Records in their order, and what is said of them."""
    assert list(found.records()) == list(wanted.records())
    assert found.typed().to_pylist() == wanted.typed().to_pylist()
    assert found.findings.to_pylist() == wanted.findings.to_pylist()
    for name in ("table", "key", "determined", "uncertain", "unknown_cells", "assumes"):
        assert getattr(found, name) == getattr(wanted, name), name


def same(found: SharedState, wanted: TableState) -> None:
    """Rows in their order, in Spark's types and as text; and what is said of them."""
    carried = carried_schema(wanted.rows.schema)
    rows = wanted.rows.cast(carried).to_pylist() if len(wanted.rows) else []
    assert found.rows.toArrow().to_pylist() == rows
    texts = [row for batch in wanted.batches() for row in batch.to_pylist()]
    assert [row for batch in found.batches() for row in batch.to_pylist()] == texts
    assert found.state.findings.to_pylist() == wanted.findings.to_pylist()
    assert (found.row_count, found.unknown_cells) == (len(wanted.rows), wanted.unknown_cells)
    assert found.determined == wanted.determined
    for name in (
        "table", "columns", "key", "rows_determined", "determined_rows", "assumes",
        "definition",
    ):  # fmt: skip
        assert getattr(found.state, name) == getattr(wanted, name), name
