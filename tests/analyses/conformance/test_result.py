"""What a comparison shows of itself in the Python prompt and in a notebook."""

from __future__ import annotations

from binlogkit.analyses.conformance.result import ConformanceResult, Differences
from binlogkit.analyses.conformance.rule import Difference, Kind

HOSTILE = "<script>\x1b[31m"


def result(*kinds: Kind, problem: str | None = None) -> ConformanceResult:
    found = Differences("binlog.000001", keep=2)
    for kind in kinds:
        told = Difference(kind, "", HOSTILE, f"{kind} {HOSTILE}", "b", "because", "proof")
        found.report((4, -1), 0, told)
    return found.result(problem, events=3, rows=2, cells=1)


def test_a_line_has_the_verdict_and_counts() -> None:
    assert repr(result()) == (
        "<conformance: verdict: agree; events: 3; rows: 2; cells: 1; differences: none>"
    )
    shown = repr(result(Kind.THEIRS, Kind.OURS, Kind.THEIRS, problem="no \x1b event"))
    assert "verdict: differ;" in shown and "differences: 1 ours, 2 theirs;" in shown
    assert shown.endswith("mysqlbinlog gave up: no \\x1b event>")


def test_a_notebook_shows_first_what_counts() -> None:
    page = result(Kind.REPRESENTATION, Kind.THEIRS, Kind.OURS)._repr_html_()
    order = [page.index(f"<td>{kind} &lt;") for kind in ("ours", "theirs", "representation")]
    assert order == sorted(order)
    assert "<script" not in page and "\x1b" not in page and "&lt;script&gt;\\x1b" in page
