"""The golden logs of ``types`` and ``json`` again, with the server's SELECT after each statement.

A golden log's marks are a few. Here the same story is written to the same log while another
session asks the server for every table after every statement, and each answer is what the rows of
the log up to there leave.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import How, capture_cell
from binlogkit_fixtures.differences import UNEXPLAINED, explain_differences
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Mark, Sql

pytestmark = [pytest.mark.server, pytest.mark.slow]

CASES = [
    case
    for case in golden.cases()
    if case.scenario in ("types", "json") and case.settings.format == "ROW"
]
SAMPLE = ("8.0-row-minimal/json",)
NUMBERED = {f"manifest {name}" for name in ("errors", "marks", "not_run", "warnings")}  # by steps


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if str(case) in SAMPLE else pytest.mark.campaign)
        for case in CASES
    ],
    ids=str,
)
def test_the_server_agrees_after_every_statement(case: golden.GoldenCase, tmp_path: Path) -> None:
    story = load(case.scenario)
    watched = story.watched()
    assert sum(isinstance(s, Mark) for s in watched.steps) >= sum(
        isinstance(s, Sql) for s in watched.steps
    )
    (captured,) = capture_cell(case.settings, [watched], tmp_path, How(expected=True))
    assert captured.problems == ()
    folder = tmp_path / str(case)
    manifest = mf.read(folder)
    done = [s for n, s in enumerate(watched.steps) if n not in manifest.not_run]
    assert [mark.name for mark in manifest.marks] == [s.name for s in done if isinstance(s, Mark)]
    assert len(manifest.marks) >= sum(isinstance(s, Sql) for s in done)
    tables = sum(len(mark.tables) for mark in manifest.marks)
    (counts,) = captured.proved.values()
    assert (counts["states"], counts["states_open"]) == (tables, 0)
    # It is the golden log of which this was asked.
    unexplained = {d.where for d in explain_differences(case.path, folder) if d.kind == UNEXPLAINED}
    assert {where.partition(":")[0] for where in unexplained} <= NUMBERED
