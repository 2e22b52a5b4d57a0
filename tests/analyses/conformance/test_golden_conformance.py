"""Our decoder against mysqlbinlog's stored text (9.7.4), over every golden log.

Each log is judged in full: event structure, then the values of its rows, or the statements where
the format has no rows. What mysqlbinlog itself cannot read is listed with where it gave up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit.analyses import conformance
from binlogkit_fixtures import matrices

GOLDEN = Path(__file__).parents[2] / "_data"
TEXTS = sorted(GOLDEN.glob("*/*/*.mysqlbinlog.txt.xz"))
NAMES = [
    (text.parts[-3], text.parts[-2], text.name.removesuffix(".mysqlbinlog.txt.xz"))
    for text in TEXTS
]

# In unit runs: one log of each kind of cell. All of them:
# BINLOGKIT_CAMPAIGNS=1 pytest -m "slow or campaign".
QUICK = {
    ("5.6-row-small-caches", "lost-events"),
    ("5.7-row-full", "keys"),
    ("5.7-row-minimal", "transactions"),
    ("5.7-row-no-checksum", "keys"),
    ("5.7-row-v1-events", "transactions"),
    ("5.7-statement-full", "statements"),
    ("8.0-mixed-full", "transactions"),
    ("8.0-row-compressed", "transactions"),
    ("8.0-row-full-metadata", "keys"),
    ("8.0-row-no-gtid", "transactions"),
    ("8.0-row-rows-query", "keys"),
    ("8.0-statement-full", "transactions"),
}


def _parameter(name: tuple[str, str, str]) -> Any:
    marks = [pytest.mark.quick] if name[:2] in QUICK else []
    return pytest.param(*name, marks=marks, id="/".join(name))


def test_there_are_golden_logs() -> None:
    assert len(NAMES) > 100
    assert {cell.partition("-")[0] for cell, _, _ in NAMES} >= {"5.7", "8.0"}
    assert {name[:2] for name in NAMES} >= QUICK


@pytest.mark.sampled(0, len(NAMES) // 8)
@pytest.mark.parametrize(("cell", "scenario", "log"), [_parameter(name) for name in NAMES])
def test_golden_log(golden_case: Callable[..., Any], cell: str, scenario: str, log: str) -> None:
    case = golden_case(cell, scenario, log)
    events, rows = case.events(), case.rows()
    result = conformance.against_mysqlbinlog(
        events, rows, case.schemas(), case.lines(), file=f"{cell}/{scenario}/{log}",
        stored=case.stored(),
    )  # fmt: skip
    summary = result.summary
    counting = [d for d in result.differences.to_pylist() if d["kind"] in ("ours", "unexplained")]
    assert counting == []
    if case.failure:
        _gave_up(cell, summary)
        return
    assert summary.exit_status == 0
    assert summary.events == len(events)
    assert summary.rows == len(rows)
    assert summary.rows_not_judged == 0
    _is_judged_by(cell, events, summary)


def _gave_up(cell: str, summary: Any) -> None:
    """mysqlbinlog 9.7.4 reads no V1 rows events (``log_bin_use_v1_row_events``)."""
    assert matrices.cell(cell).settings["log-bin-use-v1-row-events"] == "1"
    assert summary.verdict == conformance.Verdict.INCOMPLETE
    assert summary.problem is not None
    # The second of a compressed transaction.
    assert any(e in summary.problem for e in ("Could not read entry", "Error decoding Payload"))
    assert summary.events > 0


def _is_judged_by(cell: str, events: list[dict[str, Any]], summary: Any) -> None:
    """Something of the cell's own kind was compared."""
    kinds = {event["type"] for event in events}
    if any(kind.endswith("_ROWS_EVENT") for kind in kinds):
        assert summary.cells > 0
    else:
        assert "QUERY_EVENT" in kinds or len(events) < 10
        assert summary.rows == 0
