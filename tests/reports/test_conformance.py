"""A comparison's report: what counts is seen first, and nothing that was only counted is lost."""

from __future__ import annotations

import pytest

from binlogkit.analyses.conformance import ConformanceSummary, Verdict
from binlogkit.reports.conformance import conformance_report
from binlogkit.reports.html import render

RECORD = {
    "file": "binlog.000001", "pos": 120, "inner": None, "row": 3, "column": "note",
    "kind": "ours", "rule": "charset-damage", "ours": "<script>alert(1)</script>\x1b[2J",
    "theirs": "x", "reason": "ours differs", "proof": "0x78",
}  # fmt: skip


def test_all_is_well() -> None:
    summary = ConformanceSummary(Verdict.AGREE, events=30, rows=5, cells=1200, cells_by_bytes=7)
    page = render(conformance_report("binlogkit", "mysqlbinlog 8.0.31", [], summary))
    assert "<dt>judge</dt><dd>mysqlbinlog 8.0.31</dd>" in page
    assert "The decoder agrees with the judge." in page
    assert "1,200" in page and "7 of them by the log&#39;s bytes" in page
    assert 'class="card bad"' not in page


def test_what_was_only_counted_is_told() -> None:
    summary = ConformanceSummary(
        Verdict.INCOMPLETE, kinds={"ours": 1501, "representation": 40},
        rules={"charset-damage": 1501}, rows_not_judged=12, baselined=3, problem="it crashed",
    )  # fmt: skip
    page = render(conformance_report("ours", "mysqlbinlog", [RECORD], summary))
    assert "<script>" not in page and "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page
    for told in (
        "1,500 more of the same rules were counted only.", "40 more of the same rules",
        "12 rows were not judged.", "3 differences in the baseline",
        "mysqlbinlog gave up: it crashed", "The judge gave up",
    ):  # fmt: skip
        assert told in page
    assert page.index("The decoder is wrong") < page.index("written in another way")


def test_the_first_of_the_decoders_are_open_and_the_rest_folded() -> None:
    kinds = {"ours": 12, "theirs": 1}
    records = [{**RECORD, "row": n} for n in range(12)] + [{**RECORD, "kind": "theirs"}]
    report = conformance_report("a", "b", records, ConformanceSummary(Verdict.DIFFER, kinds=kinds))
    assert [(s.title, s.note, s.folded) for s in report.sections] == [
        ("Verdict", "", False), ("ours", "the first 10 of 12", False), ("all ours", "12", True),
        ("theirs", "1", True),
    ]  # fmt: skip


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_words(verdict: Verdict) -> None:
    assert render(conformance_report("a", "b", [], ConformanceSummary(verdict)))
