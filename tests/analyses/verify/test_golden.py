"""Nothing but notes is found in a golden log, alone or in its series."""

from __future__ import annotations

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden

CASES = golden.cases()
# Event times follow the story's clock, sessions side by side; XA transactions are decided or left.
USUAL = {"time_goes_back", "xa_unresolved", "xa_unprepared"}
OF_A_CELL = {"5.7-row-no-checksum": {"no_checksums"}, "8.0-row-no-checksum": {"no_checksums"}}
OF_A_SCENARIO = {"crash": {"in_use", "not_closed"}}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_golden_log_is_well(case: golden.GoldenCase) -> None:
    allowed = USUAL | OF_A_CELL.get(case.cell, set()) | OF_A_SCENARIO.get(case.scenario, set())
    found = bk.verify([str(path) for path in case.binlogs])
    assert found.well, found.records()
    assert {f.code for f in found.findings} <= allowed
    if case.scenario == "crash":
        assert {f.code for f in found.findings} >= {"in_use", "not_closed"}
    assert [joint.status for joint in found.joints] == ["continuous"] * (len(case.binlogs) - 1)
    assert sum(facts.events for facts in found.files) > 0
