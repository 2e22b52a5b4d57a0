"""The evidence report: what is suspicious, what was read, whether it is whole, what it shows and
cannot show.

It takes the audit's tables as they are; a missing one has no section. Only totals of columns are
computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from binlogkit.reports._frames import records_of
from binlogkit.reports._values import moment
from binlogkit.reports.model import (
    Card,
    Column,
    Items,
    Part,
    Report,
    Section,
    Table,
    Text,
    Tone,
    columns_of,
    tool,
)
from binlogkit.reports.suspects import SuspectExample, first_of, suspect_parts

Rows: TypeAlias = Sequence[Mapping[str, Any]]
#: The audit's sections, each as records.
Found: TypeAlias = Mapping[str, Rows]

_TONES: Mapping[str, Tone] = {
    "bad": "bad", "damage": "bad", "missing": "bad", "error": "bad", "finding": "bad",
    "applies": "warn", "warning": "warn", "gap": "bad", "unknown": "warn", "cut": "warn",
    "prepared": "warn", "rolled_back": "warn",
}  # fmt: skip
_CHECKSUMS = ("ok", "bad", "none")


def evidence_report(
    sections: Mapping[str, Any],
    title: str = "What this binary log shows",
    *,
    chosen: str = "",
    examples: Sequence[SuspectExample] = (),
) -> Report:
    """The report of an audit's sections (log.audit.SECTIONS), for html.render and text.render.

    ``sections``: by name frames of any engine, or lists of records; ``chosen``: the filters;
    ``examples``: rows of the first suspects.
    """
    found = {name: records_of(frame) for name, frame in sections.items()}
    facts = [tool(), *_facts(found), ("only", chosen)]
    return Report(
        title=title,
        cards=list(_cards(found)),
        sections=list(_sections(found, examples)),
        facts=[(label, value) for label, value in facts if value],
    )


def _facts(found: Found) -> Iterator[tuple[str, str]]:
    """The logs, the server and the span, as far as they are known."""
    files, threads = found.get("files", ()), found.get("by_thread", ())
    names = [str(row["file"]) for row in files if row.get("file")]
    listed = [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more"] if names[_NAMED:] else [])]
    yield "logs" if len(names) > 1 else "log", ", ".join(listed)
    versions = dict.fromkeys(str(v) for row in files if (v := row.get("server_version")))
    ids = dict.fromkeys(str(v) for row in threads if (v := row.get("server_id")) is not None)
    numbered = f"server id {' and '.join(ids)}" if 0 < len(ids) <= _NAMED else ""
    yield "server", ", ".join(filter(None, [*versions, numbered]))
    ends = ("first_timestamp", "last_timestamp")
    times = [row[name] for row in files for name in ends if row.get(name) is not None]
    if times:
        yield "span", " to ".join(moment(time) for time in (min(times), max(times)))


def _sections(found: Found, examples: Sequence[SuspectExample]) -> Iterator[Section]:
    if "suspects" in found:
        parts = suspect_parts(found["suspects"], examples, found.get("by_minute", ()))
        yield Section("Suspects", list(parts), _INTROS["Suspects"])
    for names, title, make in _SECTIONS:
        there = [name for name in names if name in found]
        if there:
            counts = [(len(found[name]), _UNITS[name]) for name in there if name in _UNITS]
            note = ", ".join(f"{n:,} {unit}{'s' * (n != 1)}" for n, unit in counts if n)
            note = note or "nothing found" * ("integrity" in there)
            yield Section(title, list(make(found)), _INTROS.get(title, ""), note, True)
    if "limits" in found:
        limits = Table(found["limits"], _LIMITS, tone_by="grade", tones=_TONES)
        yield Section("What this log cannot show", [limits], _GRADES, folded=True)
    if "assumes" in found:
        assumed = [("", row["assumed"]) for row in found["assumes"]]
        yield Section("Assumptions", [Items(assumed)], folded=True)


def _files(found: Found) -> Iterator[Part]:
    if "files" in found:
        files, checked = found["files"], _checked(found)
        yield _table([{n: v for n, v in row.items() if n not in _CHECKSUMS} for row in files])
        if any(row.get("bad") for row in checked):
            yield Text("Events whose CRC32 does not match their bytes are in this log.", tone="bad")
        if checked:
            yield _table(checked, caption="Checksums of events")
    if "continuity" in found:
        yield _table(found["continuity"], caption="Continuity", empty="no gap was found")


def _checked(found: Found) -> Rows:
    """The checksums of each file."""
    kept = ("file", *_CHECKSUMS)
    return [{n: row[n] for n in kept if n in row} for row in found.get("files", ()) if "ok" in row]


def _integrity(found: Found) -> Iterator[Part]:
    rows = found["integrity"]
    good = Text("No damage, no gap, nothing that cannot be read.", tone="good")
    yield _table(rows) if rows else good


def _minutes(found: Found) -> Iterator[Part]:
    rows = sorted(found["by_minute"], key=lambda row: -int(row.get("rows") or 0))
    yield _table(rows, _MINUTES, limit=20, caption="Busiest minutes, UTC")


def _transactions(found: Found) -> Iterator[Part]:
    if "largest" in found:
        yield _table(found["largest"], _LARGEST, limit=50, caption="Largest transactions")
    if "by_thread" in found:
        yield _table(found["by_thread"], caption="By connection", limit=50)


def _statements(found: Found) -> Iterator[Part]:
    if "statements" in found:
        caption = "DDL, and changes that are logged as statements: their effect is in no row event"
        yield _table(found["statements"], _STATEMENTS, limit=200, caption=caption)
    if "by_statement" in found:
        caption = "Statements of row changes, as far as the log has their text"
        rows, unknown = found["by_statement"], _unknown_statements(found)
        empty = unknown or "none"
        yield _table(rows, _BY_STATEMENT, limit=100, caption=caption, empty=empty)
        if rows and unknown:
            yield Text(unknown)
    if "settings" in found:
        caption = "Settings, accounts and administration"
        yield _table(found["settings"], caption=caption, limit=100)


def _unknown_statements(found: Found) -> str:
    """How many of the changes that are counted by table have no text of their statement."""
    known = found["by_statement"]
    every = _sum(found.get("by_table", ()), "rows")
    unknown = every - _sum(known, "rows")
    if unknown <= 0:
        return ""
    if known:
        text = f"The log has no statement text for {unknown:,} of {every:,} row changes."
    else:
        text = f"The log has no statement texts: it has none for its {every:,} row changes."
    return f"{text} A server logs texts only with binlog_rows_query_log_events."


_UNITS = {
    "files": "file", "integrity": "finding", "by_table": "table", "by_minute": "minute",
    "by_thread": "connection", "statements": "statement", "settings": "setting",
}  # fmt: skip
_NAMED = 3
_GRADES = "“applies”: the log itself proves it. “may apply”: no log could ever show it."
_INTROS = {
    "Suspects": "What to look at first. What is usual follows from the log; a score is no proof.",
    "By minute": "An event's time is the start of its statement, to the second, by the clock of"
    " the server where it was made.",
    "Transactions": "A connection number does not identify a person: pools share one among many,"
    " and on a replica it is the applier's.",
}
_SUMMARY = (
    "file", "first_timestamp", "last_timestamp", "transactions", "rows", "inserts", "updates",
    "deletes", "committed", "rolled_back", "prepared", "cut", "open",
)  # fmt: skip
_MINUTES = ("minute", "rows", "inserts", "updates", "deletes")
_BY_TABLE = (
    "db", "table", "rows", "inserts", "updates", "deletes", "bytes", "first_timestamp",
    "last_timestamp", "first_file", "first_pos",
)  # fmt: skip
_LARGEST = (
    "file", "pos", "gtid", "thread_id", "timestamp", "outcome", "size", "rows", "tables",
    "first_query",
)  # fmt: skip
_STATEMENTS = (
    "timestamp", "thread_id", "kind", "db", "error_code", "gtid", "file", "pos", "query",
)  # fmt: skip
_BY_STATEMENT = (
    "query", "statement", "rows", "inserts", "updates", "deletes", "tables", "timestamp", "file",
    "pos",
)  # fmt: skip


_LIMITS = (
    Column("grade", "applies?"), Column("meaning", "what cannot be known"),
    Column("evidence", "why"), Column("file", "first seen in"), Column("pos", "at", "plain"),
)  # fmt: skip


_SECTIONS: tuple[tuple[tuple[str, ...], str, Callable[[Found], Iterator[Part]]], ...] = (
    (("files", "continuity"), "Files", _files),
    (("integrity",), "Integrity", _integrity),
    (("summary",), "What is in the files", lambda s: iter([_table(s["summary"], _SUMMARY)])),
    (("by_table",), "By table", lambda s: iter([_table(s["by_table"], _BY_TABLE)])),
    (("by_minute",), "By minute", _minutes),
    (("largest", "by_thread"), "Transactions", _transactions),
    (("by_statement", "statements", "settings"), "Statements", _statements),
)


def _table(
    rows: Rows,
    names: Sequence[str] = (),
    *,
    caption: str = "",
    empty: str = "none",
    limit: int = 200,
) -> Table:
    """A table of ``names`` (of all columns if none of them exists), with bad rows marked."""
    columns = columns_of(rows, names) or columns_of(rows)
    there = rows[0] if rows else {}
    tone_by = next((n for n in ("outcome", "status", "grade") if n in there), "")
    return Table(
        rows, columns, caption=caption, empty=empty, limit=limit, tone_by=tone_by, tones=_TONES
    )


def _cards(found: Found) -> Iterator[Card]:
    """The most important numbers, from what is given."""
    if "suspects" in found:
        rows = found["suspects"]
        yield Card("suspects", f"{len(rows):,}", first_of(rows), "warn" if rows else "good")
    if "integrity" in found:
        doubts = len(found["integrity"])
        value = f"{doubts:,} findings" if doubts > 1 else "1 finding" if doubts else "intact"
        yield Card("integrity", value, tone="bad" if doubts else "good")
    if "files" in found:
        files = found["files"]
        yield Card("files", f"{len(files):,}", f"{_sum(files, 'size'):,} bytes")
    if rows := _checked(found):
        bad = _sum(rows, "bad")
        note = f"{_sum(rows, 'ok'):,} good, {_sum(rows, 'none'):,} without"
        yield Card("bad checksums", f"{bad:,}", note, "bad" if bad else "good")
    if "summary" in found:
        yield from _totals(found["summary"])
    if "limits" in found:
        rows = found["limits"]
        proved = sum(row.get("grade") == "applies" for row in rows)
        more = len(rows) - proved
        yield Card("limits that apply", f"{proved:,}", f"{more:,} more may apply", "warn")


def _totals(rows: Rows) -> Iterator[Card]:
    yield Card("transactions", f"{_sum(rows, 'transactions'):,}")
    each = [f"{_sum(rows, name):,} {name}" for name in ("inserts", "updates", "deletes")]
    yield Card("row changes", f"{_sum(rows, 'rows'):,}", ", ".join(each))
    loose = {name: _sum(rows, name) for name in ("rolled_back", "prepared", "cut", "open")}
    texts = [f"{count:,} {name.replace('_', ' ')}" for name, count in loose.items() if count]
    if texts:
        yield Card("not committed", f"{sum(loose.values()):,}", ", ".join(texts), "warn")


def _sum(rows: Rows, name: str) -> int:
    return sum(int(row.get(name) or 0) for row in rows)
