"""The suspects of an audit: who, when, before and after, and the command that undoes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from binlogkit.reports._values import iso_time, moment
from binlogkit.reports.changes import changes_of
from binlogkit.reports.model import (
    Changes,
    Entry,
    Highlight,
    Part,
    Table,
    TimeLine,
    Tone,
    columns_of,
)

UNSUSPICIOUS = "nothing unusual was found in what was read"
LEADING = 3  # suspects that a page tells at length
EXAMPLES = 3  # rows of each
_SHOWN = 25
_GRAVE = 70  # the score of what is most suspicious
_OPS = ("inserts", "updates", "deletes")
_COLUMNS = (
    "score", "timestamp", "thread_id", "db", "table", "op", "rows", "what", "why", "file", "pos",
    "undo",
)  # fmt: skip
_TITLES = {"timestamp": "time", "thread_id": "connection", "op": "operation", "pos": "position"}


@dataclass(frozen=True, slots=True)
class SuspectExample:
    """Some rows of a suspect, as records; the columns of its table's key; and its statement."""

    rows: Sequence[Mapping[str, Any]] = ()
    key: Sequence[str] = ()
    query: str | None = None


def suspect_parts(
    rows: Sequence[Mapping[str, Any]],
    examples: Sequence[SuspectExample],
    minutes: Sequence[Mapping[str, Any]],
) -> Iterator[Part]:
    """The suspects, by rank; ``examples``: of the first of them; ``minutes``: row changes over
    time, among which they are marked."""
    for row, example in zip(rows, [*examples, *[SuspectExample()] * LEADING], strict=False):
        if row["rank"] <= LEADING:
            yield _finding(row, example)
    if minutes:
        counts = [(int(m["minute"]), {n: int(m.get(n) or 0) for n in _OPS}) for m in minutes]
        marked = [row for row in rows if row["timestamp"] is not None][:_SHOWN]
        yield TimeLine(counts, [(r["rank"], r["timestamp"], _heading(r)) for r in marked])
    columns = [replace(c, title=_TITLES.get(c.name, "")) for c in columns_of(rows, _COLUMNS)]
    caption = "All suspects as a table" * bool(rows)
    yield Table(
        rows, columns, caption, UNSUSPICIOUS, limit=_SHOWN, entry=_entry, folded=bool(rows)
    )  # fmt: skip


def first_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first suspect in a few words, empty if there is none."""
    return f"first: {_heading(rows[0])}" if rows else ""


def _heading(row: Mapping[str, Any]) -> str:
    return ", ".join(text for text in _what(row) if text)


def _what(row: Mapping[str, Any]) -> tuple[str, str]:
    """The operation with its table, and how many rows; empty where it is not known."""
    name = ".".join(text for text in (row.get("db"), row.get("table")) if text)
    counted = row.get("rows")
    rows = "" if counted is None else f"{counted:,} row{'s' * (counted != 1)}"
    return f"{row['op']} {name}".strip(), rows


def _tone(row: Mapping[str, Any]) -> Tone:
    return "bad" if row["score"] >= _GRAVE else "warn"


def _finding(row: Mapping[str, Any], example: SuspectExample) -> Highlight:
    thread, time = row["thread_id"], row["timestamp"]
    place = "" if row["pos"] is None else f" at {row['pos']}"
    several = row.get("transactions") or 0
    facts = [
        ("who", "" if thread is None else f"connection {thread}"),
        ("when", "" if time is None else moment(time)),
        ("where", f"{row['file'] or ''}{place}" + f", {several:,} transactions" * (several > 1)),
        ("GTID", row.get("gtid") or ""),
        ("what", row["what"] or ""),
        ("statement", example.query or ""),
        ("why", row["why"] or ""),
    ]
    changes = None
    if example.rows:
        shown = changes_of(example.rows, example.key)
        total = max(row["rows"] or 0, len(shown))
        caption = "before and after" + f" ({len(shown):,} of {total:,} rows)" * (total > len(shown))
        changes = Changes(shown, total, caption=caption)
    labelled = [(label, text) for label, text in facts if text]
    mark = f"{row['score']} of 100"
    return Highlight(row["rank"], _heading(row), mark, labelled, changes, row["undo"], _tone(row))


def _entry(row: Mapping[str, Any]) -> Entry:
    """A suspect in a few lines of a terminal."""
    thread = row["thread_id"]
    heading: list[str] = [
        f"{row['score']:3}",
        "" if row["timestamp"] is None else str(iso_time(row["timestamp"], "s")),
        "" if thread is None else f"connection {thread}",
        *_what(row),
        "" if row["pos"] is None else f"at {row['pos']}",
    ]
    texts = [text for text in (row["what"], row["why"]) if text]
    return Entry("  ".join(text for text in heading if text), texts, row["undo"], _tone(row))
