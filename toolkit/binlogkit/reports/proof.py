"""The proof of an undo as a report: whether it is right, then the differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from binlogkit.reports._values import json_text
from binlogkit.reports.model import Column, Part, Report, Section, Table, Text, Tone

_TABLES = (
    Column("table"), Column("before", "rows before", "number"),
    Column("after", "rows after", "number"), Column("inserted", kind="number"),
    Column("updated", kind="number"), Column("deleted", kind="number"),
    Column("as_logged", "before as logged"), Column("wrong", "wrong rows after", "number"),
)  # fmt: skip
_ROWS = (
    Column("table"), Column("kind"), Column("key", kind="code"),
    Column("before", kind="code", longest=300), Column("after", kind="code", longest=300),
)  # fmt: skip
_SECTIONS = {
    "undo": "What the script changed",
    "play": "Not as the log says, before the script: log, server",
    "images": "Not what the undone changes' images demand: demanded, found",
    "replay": "Not as without the undone transactions: replayed, found",
}


def facts_of(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The proof's record without tables and rows, as pairs of label and text."""
    equal = "the tables are what they should be" if record["equal"] else "NOT equal"
    held = "the changes' images"
    if record["replayed"]:
        held += ", and a replay without the undone transactions"
    facts = [
        ("result", equal), ("script", record["verdict"]), ("statement", record["statement"]),
        ("error", record["error"]), ("server", f"MySQL {record['server']}"),
        ("log", f"of MySQL {record['log_version']}"), ("held against", held),
        *(("note", note) for note in record["notes"]),
    ]  # fmt: skip
    return [(label, str(text)) for label, text in facts if text is not None]


def proof_report(record: Mapping[str, Any]) -> Report:
    """The report of a proof's record, for text and html."""
    tone: Tone = "good" if record["equal"] else "bad"
    facts = facts_of(record)
    first: list[Part] = [Text(f"{label}: {text}") for label, text in facts[1:]]
    sections = [
        Section("Result", [Text(facts[0][1].capitalize() + ".", tone=tone), *first]),
        Section("Tables", [Table(record["tables"], _TABLES)]),
    ]
    for between, title in _SECTIONS.items():
        rows = [
            {
                **row, "table": f"{row['db']}.{row['table']}",
                **{n: row[n] and json_text(row[n]) for n in ("key", "before", "after")},
            }
            for row in record["differences"]
            if row["between"] == between
        ]  # fmt: skip
        if rows:
            sections.append(Section(title, [Table(rows, _ROWS)]))
    return Report("Proof of an undo", sections)
