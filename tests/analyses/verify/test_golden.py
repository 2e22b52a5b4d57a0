"""Nothing but notes is found in a golden log, alone or in its series."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden

CASES = golden.cases()
# Event times follow the story's clock, sessions side by side; XA transactions are decided or left.
USUAL = {"time_goes_back", "xa_unresolved", "xa_unprepared"}
KILLED = {"in_use", "not_closed"}
OTHERS = {"several_servers", "relay_log"}
OF_A_SCENARIO = {
    "crash": KILLED, "restarts": KILLED, "lost-events": {"incident"}, "chain": OTHERS,
    "ring": OTHERS,
}  # fmt: skip


@pytest.mark.sampled(24, 24)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_golden_log_is_well(case: golden.GoldenCase) -> None:
    allowed = USUAL | OF_A_SCENARIO.get(case.scenario, set())
    if case.settings.options.get("binlog-checksum") == "NONE":
        allowed = allowed | {"no_checksums"}
    found = bk.verify([str(path) for path in case.binlogs])
    assert found.well == (case.scenario != "lost-events"), found.records()
    assert {f.code for f in found.findings} <= allowed
    assert any(f.code == "relay_log" for f in found.findings) == case.manifest.relay
    if case.scenario == "crash":
        assert {f.code for f in found.findings} >= {"in_use", "not_closed"}
    assert [joint.status for joint in found.joints] == ["continuous"] * (len(case.binlogs) - 1)
    assert sum(facts.events for facts in found.files) > 0


def test_encrypted_logs_are_well_and_say_what_cannot_be_known() -> None:
    """AES-CTR has no authentication."""
    folder = Path(__file__).parents[2] / "_encrypted" / "9-row-encrypted"
    for case in sorted(folder.iterdir()):
        logs = sorted(case.glob("binlog.0*"))
        keyring = next(p for p in case.iterdir() if p.name.startswith("keyring"))
        found = bk.verify(
            [str(log) for log in logs if log.suffix[1:].isdigit()], keyring=str(keyring)
        )
        assert found.well, found.records()
        assert [f.code for f in found.findings].count("encrypted") == len(found.files) > 0
