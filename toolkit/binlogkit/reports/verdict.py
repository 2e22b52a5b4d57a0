"""The outcome of a conformance run as a report: the verdict first, then what differs and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from binlogkit.reports._frames import records_of
from binlogkit.reports.model import Card, Column, Report, Section, Table, Text, Tone

if TYPE_CHECKING:
    from binlogkit.analyses.conformance.result import ConformanceResult, ConformanceSummary

_WORDS: Mapping[str, tuple[Tone, str]] = {
    "agree": ("good", "Both sides agree."),
    "explained": ("warn", "They differ, but no difference is the decoder's."),
    "differ": ("bad", "They differ, and the decoder or nothing explains it."),
    "incomplete": ("bad", "The judge gave up: the rest was not compared."),
}
_KINDS: Mapping[str, Tone] = {"ours": "bad", "unexplained": "bad", "theirs": "warn"}
_COLUMNS = (
    Column("kind"), Column("file"),
    *(Column(name, kind="plain") for name in ("pos", "inner", "row")),
    Column("column"), *(Column(name, kind="code", longest=500) for name in ("ours", "theirs")),
    Column("rule"), Column("reason"),
)  # fmt: skip


def conformance_report(
    result: ConformanceResult, *, title: str = "Conformance", made: Sequence[tuple[str, str]] = ()
) -> Report:
    """The report of a result of ``analyses.conformance``, for html.render and text.render."""
    summary = result.summary
    tone, words = _WORDS[str(summary.verdict)]
    rows = sorted(records_of(result.differences), key=lambda row: str(row["kind"]) not in _KINDS)
    sections = [Section("Verdict", [Text(words, tone=tone), *_problem(summary)])]
    if summary.kinds:
        kinds = [{"kind": kind, "differences": n} for kind, n in summary.kinds.items()]
        rules = [{"rule": rule, "differences": n} for rule, n in summary.rules.items()]
        count = Column("differences", kind="number")
        by_rule = "By the rule that explains them"
        parts = [
            Table(kinds, (Column("kind"), count)),
            Table(rules, (Column("rule"), count), caption=by_rule),
        ]
        sections.append(Section("Differences by kind", parts))
    columns = [c for c in _COLUMNS if any(row.get(c.name) is not None for row in rows)]
    table = Table(rows, columns, empty="none that was kept", tone_by="kind", tones=_KINDS)
    sections.append(Section("Differences", [table]))
    return Report(title=title, cards=list(_cards(summary)), sections=sections, made=made)


def _problem(summary: ConformanceSummary) -> list[Text]:
    return [Text(summary.problem, code=True, tone="bad")] if summary.problem else []


def _cards(summary: ConformanceSummary) -> Iterator[Card]:
    tone, _ = _WORDS[str(summary.verdict)]
    yield Card("verdict", str(summary.verdict), tone=tone)
    yield Card("events compared", f"{summary.events:,}")
    yield Card("rows compared", f"{summary.rows:,}")
    yield Card("cells compared", f"{summary.cells:,}")
    if summary.rows_not_judged:
        yield Card("rows not judged", f"{summary.rows_not_judged:,}", tone="warn")
    if summary.baselined:
        yield Card("known differences", f"{summary.baselined:,}", "in the baseline")
