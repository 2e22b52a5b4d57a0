"""What differs between two states, and what an undo would do, as reports: the rows come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

from binlogkit.reports.changes import changes_of
from binlogkit.reports.model import (
    Card,
    Changes,
    Column,
    Items,
    Part,
    Report,
    RowChange,
    Section,
    Table,
    Text,
    Tone,
    tool,
)

Heads: TypeAlias = tuple[str, str, str, str]

SHOWN = 200  # rows of a page
_FIRST = 8  # of them that are not folded
_TONES: Mapping[str, Tone] = {
    "added": "good", "removed": "bad", "changed": "plain", "uncertain": "warn",
}  # fmt: skip
_FINDINGS = (
    Column("finding"), Column("meaning", longest=500), Column("file"), Column("pos", kind="plain"),
)  # fmt: skip


def difference_report(
    title: str,
    facts: Sequence[tuple[str, str]],
    rows: Iterable[Mapping[str, Any]],
    counts: Mapping[str, int],
    doubts: Sequence[str],
    findings: Sequence[Mapping[str, Any]],
    key: Sequence[str] = (),
) -> Report:
    """The report of a difference, for html: ``rows``: its records; ``counts``: how many of each
    kind; ``doubts``: what is not certain of it, a sentence each; ``findings``: of the states."""
    first = list(islice(rows, SHOWN))
    shown = [
        replace(change, tone=_TONES[row["difference"]], name=_named(change, row))
        for change, row in zip(changes_of(first, key), first, strict=True)
    ]
    total = sum(counts.values())
    sections = [
        Section("Differences", [*_doubts(doubts), _first(shown, total)]),
        *_all(shown, total),
        Section("Findings", [Table(findings, _FINDINGS)], note=f"{len(findings):,}", folded=True),
    ]
    cards = [
        Card(kind, f"{counts.get(kind, 0):,}", tone=tone if counts.get(kind) else "plain")
        for kind, tone in _TONES.items()
    ]
    return Report(title, sections, cards=cards, facts=[tool(), *facts])


def _named(change: RowChange, row: Mapping[str, Any]) -> str:
    """The row's key, how it differs, and how often, where several are alike."""
    several = f" × {row['count']}" if (row.get("count") or 1) > 1 else ""
    return ", ".join(text for text in (change.name, row["difference"]) if text) + several


def plan_report(
    title: str,
    facts: Sequence[tuple[str, str]],
    rows: Iterable[Mapping[str, Any]],
    counts: Mapping[str, int],
    notes: Mapping[str, Sequence[str]],
    commands: Sequence[str],
) -> Report:
    """The report of an undo or a redo, for html: ``rows``: what it changes, each with its ``key``,
    ``now``, ``after`` and ``refused``; ``counts``: statements, refused ones and others; ``notes``:
    sentences by their heading; ``commands``: that make and run the script."""
    shown = [_planned(row) for row in islice(rows, SHOWN)]
    refused, total = counts.get("refused", 0), counts["statements"] + counts.get("refused", 0)
    total += counts.get("skipped", 0)
    verdict = Text("No change is refused.", tone="good")
    if refused:
        verdict = Text(f"{refused:,} of {total:,} changes are refused.", tone="bad")
    heads = ("row", "column", "now", "after the script")
    sections = [
        Section("Plan", [verdict, _first(shown, total, heads)]),
        Section("The script", [Text("\n".join(commands), code=True)], _SCRIPT),
        *_all(shown, total, heads),
    ]
    for heading, sentences in notes.items():
        if sentences:
            items = Items([("", sentence) for sentence in sentences])
            note = f"{len(sentences):,}"
            sections.append(Section(heading, [items], note=note, folded=heading not in _OPEN))
    cards = [
        Card(name, f"{n:,}", tone="bad" if name == "refused" and n else "plain")
        for name, n in counts.items()
    ]
    return Report(title, sections, cards=cards, facts=[tool(), *facts])


_OPEN = ("Refused", "Changes may be missing", "Needed first")
_SCRIPT = "It rolls back unless each statement does exactly what was meant and it is to commit."
_HEADS = ("row", "column", "before", "after")


def _first(rows: Sequence[RowChange], total: int, heads: Heads = _HEADS) -> Changes:
    caption = f"the first {_FIRST} of {total:,} rows" * (total > _FIRST)
    return Changes(rows[:_FIRST], min(total, _FIRST), heads, caption)


def _all(rows: Sequence[RowChange], total: int, heads: Heads = _HEADS) -> list[Section]:
    if total <= _FIRST:
        return []
    note = f"{total:,}" if total == len(rows) else f"the first {len(rows):,} of {total:,}"
    return [Section("All rows", [Changes(rows, total, heads)], note=note, folded=True)]


def _planned(row: Mapping[str, Any]) -> RowChange:
    key = tuple(row["key"] or ())
    images = {"before": row["now"], "after": row["after"]}
    named = {**(row["key"] or {}), **(row["now"] or {}), **(row["after"] or {})}
    change = changes_of([images], key)[0]
    name = ", ".join(f"{column} {named[column]}" for column in key)
    words = [f"{row.get('table') or ''} {name or change.name}".strip(), row.get("op") or ""]
    title = ", ".join(word for word in words if word)
    if row.get("refused"):
        return RowChange(title, [("refused", None, row["refused"])], "bad")
    return replace(change, name=title, tone="warn" if row.get("skipped") else "plain")


def _doubts(doubts: Sequence[str]) -> list[Part]:
    if not doubts:
        return [Text("The log determines every row and cell of it.", tone="good")]
    return [Text(doubt, tone="warn") for doubt in doubts]
