"""The findings of a verification as a report: the verdict first, then what is wrong, then notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from binlogkit.reports.model import Card, Column, Part, Report, Section, Table, Text, Tone

_TONES: Mapping[str, Tone] = {"damage": "bad", "warning": "warn", "note": "plain"}
_VERDICTS: Mapping[str, tuple[Tone, str]] = {
    "note": ("good", "All well: there are only notes."),
    "warning": ("warn", "The logs can be read, but something about them is not as it should be."),
    "damage": ("bad", "The logs are damaged: something in them is missing or cannot be trusted."),
}
_FOUND = (
    Column("grade"), Column("code"), Column("file"), Column("pos", "from", "plain"),
    Column("end_pos", "to", "plain"), Column("found", longest=500), Column("gtid", kind="code"),
)  # fmt: skip
_FILES = (
    Column("file"), Column("kind"), Column("server_version"), Column("server_id", kind="plain"),
    Column("events", kind="number"), Column("size", "bytes", "number"),
    Column("ok", "checksums good", "number"), Column("bad", kind="number"),
    Column("none", "without", "number"), Column("ended", "ends with"),
    Column("damages", "damaged ranges", "number"),
)  # fmt: skip

_IMAGES = (
    Column("table"), Column("changes", kind="number"), Column("compared", kind="number"),
    Column("contradictions", kind="number"), Column("reason", "not compared, since"),
)  # fmt: skip
_COMPARED = (
    "Row changes whose before image was compared with the row's last values in the log. Rows from"
    " before the log cannot be compared, nor MINIMAL images except for their key."
)


def verification_report(
    findings: Sequence[Mapping[str, Any]],
    files: Sequence[Mapping[str, Any]],
    images: Sequence[Mapping[str, Any]] = (),
    unreadable: str | None = None,
) -> Report:
    """The report of a verification's findings and files (records), for html and text.

    ``unreadable``: notes on inputs that were not read.
    """
    grades = Counter(str(row["grade"]) for row in findings)
    worst = next((grade for grade in ("damage", "warning") if grades[grade]), "note")
    tone, words = _VERDICTS[worst]
    serious = [row for row in findings if row["grade"] != "note"]
    notes = [row for row in findings if row["grade"] == "note"]
    verdict = [Text(words, tone=tone)]
    if unreadable is not None:
        verdict.append(Text(f"Not read: {unreadable}", tone="bad"))
    sections = [Section("Verdict", verdict)]
    if serious:
        sections.append(Section("Findings", _findings(serious)))
    sections.append(Section("Notes", _findings(notes)))
    if images:
        sections.append(Section("Images", [Text(_COMPARED), Table(images, _IMAGES)]))
    if files:
        sections.append(Section("Files", [Table(files, _FILES)]))
    cards = [
        Card(name, f"{grades[grade]:,}", tone=_TONES[grade] if grades[grade] else "good")
        for grade, name in (("damage", "damage"), ("warning", "warnings"), ("note", "notes"))
    ]
    return Report(title="Verification", cards=cards, sections=sections)


def _findings(rows: Sequence[Mapping[str, Any]]) -> list[Part]:
    """The findings, and the meaning of each of their codes."""
    columns = [c for c in _FOUND if any(row.get(c.name) is not None for row in rows)]
    meanings = list(dict.fromkeys((row["code"], row["meaning"]) for row in rows))
    parts: list[Part] = [Table(rows, columns, tone_by="grade", tones=_TONES, limit=1000)]
    if meanings:
        shown = [{"code": code, "meaning": meaning} for code, meaning in meanings]
        parts.append(Table(shown, caption="What they mean for the data"))
    return parts
