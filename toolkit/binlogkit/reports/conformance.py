"""A comparison as a report and as lines: the verdict first, then the differences that count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from binlogkit.analyses.conformance import ConformanceSummary
from binlogkit.reports.model import Card, Column, Part, Report, Section, Table, Text, Tone, tool

#: By kind: how serious it is, and what it says about the decoder under test.
_KINDS: Mapping[str, tuple[Tone, str]] = {
    "ours": ("bad", "The decoder is wrong: the log's bytes say so."),
    "unexplained": ("bad", "No rule says which side is wrong."),
    "under_determined": ("warn", "Neither the judge nor the log's bytes decide."),
    "theirs": ("plain", "The judge is known to be wrong here."),
    "representation": ("plain", "The same value, written in another way."),
}
_VERDICTS: Mapping[str, tuple[Tone, str]] = {
    "agree": ("good", "The decoder agrees with the judge."),
    "explained": ("good", "The differences are not the decoder's."),
    "differ": ("bad", "The decoder's output differs from what the log holds, or may differ."),
    "unjudged": ("warn", "A part of the decoder's output was not judged."),
    "incomplete": ("bad", "The judge gave up: what comes after was not judged."),
}
_DIFFERENCES = (
    Column("file"), Column("pos", "position", "plain"), Column("inner", kind="plain"),
    Column("row", kind="plain"), Column("column"), Column("rule"), Column("ours", kind="code"),
    Column("theirs", kind="code"), Column("reason"), Column("proof", longest=500),
)  # fmt: skip

_FIRST = 10  # differences that are not folded


def worth_listing(differences: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What no rule explains and what nobody decided, in the log's order; after it, of each rule by
    which the decoder is wrong, the first."""
    first: dict[str, Mapping[str, Any]] = {}
    for record in differences:
        if record["kind"] == "ours":
            first.setdefault(record["rule"], record)
    open_ones = [r for r in differences if r["kind"] in ("unexplained", "under_determined")]
    return [*open_ones, *first.values()]


def verdict_lines(
    summary: ConformanceSummary,
    differences: Sequence[Mapping[str, Any]],
    judge: str,
    decoder: str,
    *,
    explained: bool,
) -> list[str]:
    """The verdict and the counts, then each rule by which the decoder is wrong, then how much is
    not listed; ``explained``: all is."""
    kinds = ", ".join(
        f"{count} {'wrong in ' + decoder if kind == 'ours' and decoder != kind else kind}"
        for kind, count in sorted(summary.kinds.items())
    )
    verdict = (
        f"{summary.verdict}: {summary.events} events, {summary.rows} rows, {summary.cells} cells "
        f"compared with {judge}; differences: {kinds or 'none'}"
    )
    if summary.cells_by_bytes:
        verdict += f"; {summary.cells_by_bytes} cells decided by the log's bytes"
    if summary.rows_lacking:
        verdict += f"; rows of the log that {decoder} lacks: {summary.rows_lacking}"
    if summary.rows_invented:
        verdict += f"; rows that the log has not: {summary.rows_invented}"
    if summary.baselined:
        verdict += f"; {summary.baselined} known ones left out"
    if summary.rows_not_judged:
        verdict += f"; {summary.rows_not_judged} rows that nobody judged"
    lines = [verdict]
    if summary.problem is not None:
        lines.append(f"mysqlbinlog gave up: {summary.problem}")
    reasons = {record["rule"]: record["reason"] for record in differences if record["rule"]}
    wrong = {record["rule"] for record in differences if record["kind"] == "ours"}
    hidden = []
    for rule, count in summary.rules.items():
        if rule in wrong:
            lines.append(f"{count} {rule}: {reasons[rule]}")
        if rule in reasons and (rule not in wrong or count > 1):
            hidden.append(f"{count} {rule}")
    if hidden and not explained:
        lines.append(f"explained, and listed with --explained: {', '.join(hidden)}")
    return lines


def conformance_report(
    decoder: str,
    judge: str,
    differences: Sequence[Mapping[str, Any]],
    summary: ConformanceSummary,
    files: Sequence[str] = (),
) -> Report:
    """The report of a comparison, for html and text.

    ``decoder``, ``judge``: their names; ``differences``: the kept records; ``summary``: counts all;
    ``files``: the logs.
    """
    tone, words = _VERDICTS[str(summary.verdict)]
    verdict: list[Part] = [Text(words, tone=tone)]
    if summary.problem is not None:
        verdict.append(Text(f"mysqlbinlog gave up: {summary.problem}", tone="bad"))
    if summary.rows_not_judged:
        text = f"{summary.rows_not_judged:,} rows were not judged."
        verdict.append(Text(text, tone="warn"))
    if summary.baselined:
        text = f"{summary.baselined:,} differences in the baseline were left out."
        verdict.append(Text(text))
    sections = [Section("Verdict", verdict)]
    for kind, (grave, meaning) in _KINDS.items():
        if summary.kinds.get(kind):
            own = [record for record in differences if record["kind"] == kind]
            sections += _of_kind(kind, meaning, own, summary.kinds[kind], grave == "bad")
    rules = [{"rule": rule, "differences": count} for rule, count in summary.rules.items()]
    if rules:
        columns = (Column("rule"), Column("differences", kind="number"))
        note = f"{len(rules):,}"
        sections.append(Section("Rules", [Table(rules, columns)], note=note, folded=True))
    return Report(
        title=f"Conformance of {decoder}", sections=sections,
        facts=[tool(), ("judge", judge), ("log", ", ".join(files))],
        cards=[*_counts(summary), *_by_kind(summary)],
    )  # fmt: skip


def _of_kind(
    kind: str, meaning: str, rows: Sequence[Mapping[str, Any]], count: int, grave: bool
) -> Iterator[Section]:
    """The differences of a kind; of a ``grave`` one the first are not folded."""
    columns = [c for c in _DIFFERENCES if any(row.get(c.name) not in (None, "") for row in rows)]
    name, more = kind.replace("_", " "), count - len(rows)
    counted = [Text(f"{more:,} more of the same rules were counted only.")] * (more > 0)
    first = rows[:_FIRST] if grave else []
    note = f"{count:,}"
    if first:
        of = f"the first {len(first):,} of {note}" if len(first) < count else note
        yield Section(name, [Table(first, columns)], meaning, of)
    if not first or len(rows) > len(first) or counted:
        parts: list[Part] = [Table(rows, columns, limit=1000)] if rows else []
        title = f"all {name}" if first else name
        yield Section(title, [*parts, *counted], meaning, note, folded=True)


def _counts(summary: ConformanceSummary) -> list[Card]:
    cells = f"{summary.cells_by_bytes:,} of them by the log's bytes"
    return [
        Card("verdict", str(summary.verdict), tone=_VERDICTS[str(summary.verdict)][0]),
        Card("events compared", f"{summary.events:,}"),
        Card("rows compared", f"{summary.rows:,}"),
        Card("cells compared", f"{summary.cells:,}", cells if summary.cells_by_bytes else ""),
    ]


def _by_kind(summary: ConformanceSummary) -> list[Card]:
    return [
        Card(kind.replace("_", " "), f"{summary.kinds[kind]:,}", tone=tone)
        for kind, (tone, _) in _KINDS.items()
        if summary.kinds.get(kind)
    ]
