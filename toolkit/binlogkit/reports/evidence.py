"""The evidence report: what is suspicious, what was read, whether it is whole, what it shows and
cannot show.

:class:`Evidence` takes the frames of the analyses as they are; a missing frame has no section. Only
totals of columns are computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from binlogkit.reports.suspects import Example, first_of, suspect_parts

_TONES: Mapping[str, Tone] = {
    "bad": "bad", "damage": "bad", "missing": "bad", "error": "bad", "finding": "bad",
    "applies": "warn", "warning": "warn", "gap": "bad", "unknown": "warn", "cut": "warn",
    "prepared": "warn", "rolled_back": "warn",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """The pieces of an evidence report; frames of any engine, or lists of records.

    ``suspects``: what to look at first, by rank; ``files``: one row per file (``file, sha256, size,
    server_version`` …); ``checksums``: results per file (``file, ok, bad, none``); ``continuity``:
    one row per pair of files or per gap; ``integrity``: damage, gaps and what cannot be read, empty
    if there is none; ``summary, by_table, by_minute, by_thread, largest, by_statement, statements,
    settings, limits, assumes``: the audit's; ``more``: additional sections, before the limits.
    ``examples``: rows of the first suspects; ``chosen``: the filters.
    """

    title: str = "What this binary log shows"
    subtitle: str = ""
    suspects: Any = None
    files: Any = None
    checksums: Any = None
    continuity: Any = None
    integrity: Any = None
    summary: Any = None
    by_table: Any = None
    by_minute: Any = None
    by_thread: Any = None
    largest: Any = None
    by_statement: Any = None
    statements: Any = None
    settings: Any = None
    limits: Any = None
    assumes: Any = None
    more: Sequence[Section] = ()
    chosen: str = ""
    examples: Sequence[Example] = ()


def evidence_report(evidence: Evidence) -> Report:
    """The report of ``evidence``, for html.render and text.render."""
    facts = [tool(), *_facts(evidence), ("only", evidence.chosen)]
    return Report(
        title=evidence.title,
        subtitle=evidence.subtitle,
        cards=list(_cards(evidence)),
        sections=list(_sections(evidence)),
        facts=[(label, value) for label, value in facts if value],
    )


def _facts(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """The logs, the server and the span, as far as they are known."""
    files = [] if evidence.files is None else records_of(evidence.files)
    threads = [] if evidence.by_thread is None else records_of(evidence.by_thread)
    names = [str(row["file"]) for row in files if row.get("file")]
    told = [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more"] if names[_NAMED:] else [])]
    yield "logs" if len(names) > 1 else "log", ", ".join(told)
    versions = dict.fromkeys(str(v) for row in files if (v := row.get("server_version")))
    ids = dict.fromkeys(str(v) for row in threads if (v := row.get("server_id")) is not None)
    numbered = f"server id {' and '.join(ids)}" if 0 < len(ids) <= _NAMED else ""
    yield "server", ", ".join(filter(None, [*versions, numbered]))
    ends = ("first_timestamp", "last_timestamp")
    times = [row[name] for row in files for name in ends if row.get(name) is not None]
    if times:
        yield "span", " to ".join(moment(time) for time in (min(times), max(times)))


def _sections(evidence: Evidence) -> Iterator[Section]:
    for given, title, make in _SECTIONS:
        frames = {name: f for name in given if (f := getattr(evidence, name)) is not None}
        if frames:
            counts = {name: len(records_of(frame)) for name, frame in frames.items()}
            told = [(n, _UNITS[name]) for name, n in counts.items() if name in _UNITS]
            note = ", ".join(f"{n:,} {unit}{'s' * (n != 1)}" for n, unit in told if n)
            note = note or "nothing found" * ("integrity" in counts)
            folded = "suspects" not in counts
            yield Section(title, list(make(evidence)), _INTROS.get(title, ""), note, folded)
    yield from evidence.more
    if evidence.limits is not None:
        rows = records_of(evidence.limits)
        yield Section("What this log cannot show", [_limits(rows)], _GRADES, folded=True)
    if evidence.assumes is not None:
        assumed = [("", row["assumed"]) for row in records_of(evidence.assumes)]
        yield Section("Assumptions", [Items(assumed)], folded=True)


def _files(evidence: Evidence) -> Iterator[Part]:
    if evidence.files is not None:
        yield _table(evidence.files)
    if evidence.checksums is not None:
        rows = records_of(evidence.checksums)
        if any(row.get("bad") for row in rows):
            yield Text("Events whose CRC32 does not match their bytes are in this log.", tone="bad")
        yield _table(rows, caption="Checksums of events")
    if evidence.continuity is not None:
        yield _table(evidence.continuity, caption="Continuity", empty="no gap was found")


def _suspects(evidence: Evidence) -> Iterator[Part]:
    rows = records_of(evidence.suspects)
    minutes = [] if evidence.by_minute is None else records_of(evidence.by_minute)
    yield from suspect_parts(rows, evidence.examples, minutes)


def _integrity(evidence: Evidence) -> Iterator[Part]:
    rows = records_of(evidence.integrity)
    if rows:
        yield _table(rows)
    else:
        yield Text("No damage, no gap, nothing that cannot be read.", tone="good")


def _tables(evidence: Evidence) -> Iterator[Part]:
    yield _table(evidence.by_table, _BY_TABLE)


def _minutes(evidence: Evidence) -> Iterator[Part]:
    rows = sorted(records_of(evidence.by_minute), key=lambda row: -int(row.get("rows") or 0))
    yield _table(rows, _MINUTES, limit=20, caption="Busiest minutes, UTC")


def _transactions(evidence: Evidence) -> Iterator[Part]:
    if evidence.largest is not None:
        yield _table(evidence.largest, _LARGEST, limit=50, caption="Largest transactions")
    if evidence.by_thread is not None:
        yield _table(evidence.by_thread, caption="By connection", limit=50)


def _statements(evidence: Evidence) -> Iterator[Part]:
    if evidence.statements is not None:
        caption = "DDL, and changes that are logged as statements: their effect is in no row event"
        yield _table(evidence.statements, _STATEMENTS, limit=200, caption=caption)
    if evidence.by_statement is not None:
        caption = "Statements of row changes, as far as the log has their text"
        rows = records_of(evidence.by_statement)
        unknown = _unknown_statements(evidence, rows)
        empty = unknown or "none"
        yield _table(rows, _BY_STATEMENT, limit=100, caption=caption, empty=empty)
        if rows and unknown:
            yield Text(unknown)
    if evidence.settings is not None:
        yield _table(evidence.settings, caption="Settings, accounts and administration", limit=100)


def _unknown_statements(evidence: Evidence, known: Sequence[Mapping[str, Any]]) -> str:
    """How many of the changes that are counted by table have no text of their statement."""
    every = 0 if evidence.by_table is None else _sum(records_of(evidence.by_table), "rows")
    unknown = every - _sum(known, "rows")
    if unknown <= 0:
        return ""
    if known:
        found = f"The log has no statement text for {unknown:,} of {every:,} row changes."
    else:
        found = f"The log has no statement texts: it has none for its {every:,} row changes."
    return f"{found} A server logs texts only with binlog_rows_query_log_events."


def _summary(evidence: Evidence) -> Iterator[Part]:
    yield _table(evidence.summary, _SUMMARY)


_Make = Callable[[Evidence], Iterator[Part]]
_SECTIONS: tuple[tuple[tuple[str, ...], str, _Make], ...] = (
    (("suspects",), "Suspects", _suspects),
    (("files", "checksums", "continuity"), "Files", _files),
    (("integrity",), "Integrity", _integrity),
    (("summary",), "What is in the files", _summary),
    (("by_table",), "By table", _tables),
    (("by_minute",), "By minute", _minutes),
    (("largest", "by_thread"), "Transactions", _transactions),
    (("by_statement", "statements", "settings"), "Statements", _statements),
)
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


def _table(
    frame: Any,
    names: Sequence[str] = (),
    *,
    caption: str = "",
    empty: str = "none",
    limit: int = 200,
) -> Table:
    """A table of ``names`` (of all columns if none of them exists), with bad rows marked."""
    rows = records_of(frame)
    columns = columns_of(rows, names) or columns_of(rows)
    tone_by = next((n for n in ("outcome", "status", "grade") if n in _keys(rows)), "")
    return Table(
        rows, columns, caption=caption, empty=empty, limit=limit, tone_by=tone_by, tones=_TONES
    )


def _keys(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    return list(rows[0]) if rows else ()


def _limits(rows: Sequence[Mapping[str, Any]]) -> Part:
    if rows and {"limit", "grade", "meaning"} <= set(rows[0]):
        columns = [
            Column("grade", "applies?"),
            Column("meaning", "what cannot be known"),
            Column("evidence", "why"),
            Column("file", "first seen in"),
            Column("pos", "at", "plain"),
        ]
        return Table(rows, columns, tone_by="grade", tones=_TONES)
    return Items([("", str(value)) for row in rows for value in row.values()])


def _cards(evidence: Evidence) -> Iterator[Card]:
    """The most important numbers, from what is given."""
    if evidence.suspects is not None:
        found = records_of(evidence.suspects)
        yield Card("suspects", f"{len(found):,}", first_of(found), "warn" if found else "good")
    if evidence.integrity is not None:
        doubts = len(records_of(evidence.integrity))
        value = f"{doubts:,} findings" if doubts > 1 else "1 finding" if doubts else "intact"
        yield Card("integrity", value, tone="bad" if doubts else "good")
    if evidence.files is not None:
        files = records_of(evidence.files)
        yield Card("files", f"{len(files):,}", f"{_sum(files, 'size'):,} bytes")
    if evidence.checksums is not None:
        rows = records_of(evidence.checksums)
        bad = _sum(rows, "bad")
        note = f"{_sum(rows, 'ok'):,} good, {_sum(rows, 'none'):,} without"
        yield Card("bad checksums", f"{bad:,}", note, "bad" if bad else "good")
    if evidence.summary is not None:
        yield from _totals(records_of(evidence.summary))
    if evidence.limits is not None:
        rows = records_of(evidence.limits)
        proved = sum(row.get("grade") == "applies" for row in rows)
        more = len(rows) - proved
        yield Card("limits that apply", f"{proved:,}", f"{more:,} more may apply", "warn")


def _totals(rows: Sequence[Mapping[str, Any]]) -> Iterator[Card]:
    yield Card("transactions", f"{_sum(rows, 'transactions'):,}")
    each = [f"{_sum(rows, name):,} {name}" for name in ("inserts", "updates", "deletes")]
    yield Card("row changes", f"{_sum(rows, 'rows'):,}", ", ".join(each))
    loose = {name: _sum(rows, name) for name in ("rolled_back", "prepared", "cut", "open")}
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in loose.items() if count]
    if told:
        yield Card("not committed", f"{sum(loose.values()):,}", ", ".join(told), "warn")


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(int(row.get(name) or 0) for row in rows)
