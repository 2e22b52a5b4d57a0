"""Landed changes that pass file by file are those that are read at once, with the same numbers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from binlogkit.constants import TableId
from binlogkit.frames.schema import table_of
from binlogkit.spark.landing import Landing, passing
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land

CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("8.0-row-full", "keys"),
        ("8.0-row-full", "ddl"),  # renames, versions in folders of their own
        ("5.7-row-full", "transactions"),  # prepared ones, which land at the place of their commit
        ("8.0-row-compressed", "transactions"),
    )
]


def rows_of(batches: list[pa.RecordBatch]) -> dict[TableId, list[dict[str, object]]]:
    """The changes of each table, in their order."""
    found: dict[TableId, list[dict[str, object]]] = {}
    for batch in batches:
        found.setdefault(table_of(batch), []).extend(batch.to_pylist())
    return found


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.cell}/{c.scenario}")
def test_files_pass_one_by_one(
    case: golden.GoldenCase, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(case.path, tmp_path, task_bytes=1, batch_bytes=1, file_bytes=1)
    landing = Landing(tmp_path)
    names = sorted(name for name in landing.ledger.met if landing.ledger.has(name))
    once = landing.passing(names, whole=whole)
    wanted = rows_of([*once])
    assert len(wanted) > 1
    assert rows_of([*once]) == wanted  # kept
    monkeypatch.setattr(passing, "AT_ONCE", 0)
    parts = landing.passing(names, whole=whole)
    assert rows_of([*parts]) == wanted == rows_of([*parts])
    for name in names:
        assert rows_of([*parts.of([name])]) == {k: v for k, v in wanted.items() if k == name}
        assert rows_of([*once.of([name])]) == {k: v for k, v in wanted.items() if k == name}
