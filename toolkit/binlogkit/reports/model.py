"""A report as data: titled sections of tables, findings and text, which html.py and text.py write.

Values are given as they come from a log. The writers escape them for their format, cut long ones,
and say so; nothing here is trusted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: The form of a column's values: ``number`` a count, with thousands separated; ``plain`` a number
#: that identifies something (a position); ``time`` and ``microtime`` seconds and microseconds since
#: 1970, shown in UTC; ``code`` a hash, a GTID or a statement, which keeps its line ends.
Kind = Literal["text", "code", "number", "plain", "time", "microtime"]
Tone = Literal["plain", "good", "warn", "bad"]

_NAMES: dict[Kind, str] = {
    "number": "rows inserts updates deletes transactions events size statements tables committed "
    "rolled_back prepared cut open missing bad ok none",
    "time": "timestamp end_timestamp first_timestamp last_timestamp minute start end",
    "microtime": "commit_timestamp",
    "code": "source sha256 gtid gtid_source query first_query statement before after key undo",
}
_LONGEST = {"first_query": 300}  # next to many other columns
_KINDS: dict[str, Kind] = {name: kind for kind, text in _NAMES.items() for name in text.split()}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the record's key, its heading and the form of its values.

    ``longest``: the most characters of a cell that a report shows.
    """

    name: str
    title: str = ""
    kind: Kind = "text"
    longest: int = 2000

    @property
    def heading(self) -> str:
        """The title, else the name with blanks for underscores."""
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record in a few lines: a heading, what there is to say, and a command to copy."""

    heading: str
    lines: Sequence[str]
    command: str | None = None
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """Records as rows. ``columns``: those shown, None for all; ``limit``: the most rows shown.

    ``tones``: the tone of a row by the value of its column ``tone_by``; ``entry``: what a terminal
    shows of a row, where that is no row of a table; ``folded``: a page shows its caption, until a
    reader opens it.
    """

    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[Column] | None = None
    caption: str = ""
    empty: str = "none"
    limit: int = 200
    tone_by: str = ""
    tones: Mapping[str, Tone] | None = None
    entry: Callable[[Mapping[str, Any]], Entry] | None = None
    folded: bool = False


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of a row: its ``name`` (the key), and of each cell the column, its text before
    and after (None: not there, or not known)."""

    name: str
    cells: Sequence[tuple[str, str | None, str | None]]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows before and after, cell by cell; a page shows it, a terminal has a table instead.

    ``total``: how many rows there are, if more than these; ``heads``: of the columns.
    """

    rows: Sequence[RowChange]
    total: int = 0
    heads: tuple[str, str, str, str] = ("row", "column", "before", "after")
    caption: str = ""
    empty: str = "none"


@dataclass(frozen=True, slots=True)
class Highlight:
    """Something to look at, in a page: its place in the list, a heading with a ``mark`` beside it,
    facts, the rows before and after, and a command to copy with what it does."""

    rank: int
    heading: str
    mark: str
    facts: Sequence[tuple[str, str]]
    changes: Changes | None = None
    command: str | None = None
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class TimeLine:
    """Counts over time, in a page, and what stands out.

    ``counts``: names and numbers by their time, seconds since 1970; ``marks``: times of the
    findings by their rank, with what they are.
    """

    counts: Sequence[tuple[int, Mapping[str, int]]]
    marks: Sequence[tuple[int, int, str]] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; ``code`` keeps line ends; ``tone`` marks good news and warnings."""

    text: str
    code: bool = False
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Items:
    """A list of points, each with a short heading."""

    items: Sequence[tuple[str, str]]
    empty: str = "none"


Part = Table | Text | Items | Changes | Highlight | TimeLine


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report.

    ``folded``: in a page, closed until a reader opens it; ``note``: its content in a few words,
    which a folded one shows.
    """

    title: str
    parts: Sequence[Part]
    intro: str = ""
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One important number. ``note``: a few words below it."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report: its subject, what it is made of, the sections, and the important numbers.

    ``facts``: pairs of label and value (tool and version, server, span); no time of making: the
    same input gives the same bytes.
    """

    title: str
    sections: Sequence[Section]
    subtitle: str = ""
    cards: Sequence[Card] = ()
    facts: Sequence[tuple[str, str]] = ()


def tool() -> tuple[str, str]:
    """The first of a report's facts: what made it."""
    whole = sys.modules["binlogkit"]  # to import it would be a circle
    return "tool", f"binlogkit {vars(whole)['__version__']}"


def logs(files: Sequence[str]) -> tuple[str, str]:
    """The fact that says which logs were read."""
    return "log" if len(files) == 1 else "logs", ", ".join(files)


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> list[Column]:
    """Columns for records of the analyses, by their names; ``names`` picks and orders them."""
    there = list(dict.fromkeys(name for row in rows for name in row))
    wanted = [name for name in names if name in there] if names else there
    return [
        Column(name, kind=_KINDS.get(name) or _guess(rows, name), longest=_LONGEST.get(name, 2000))
        for name in wanted
    ]


def _guess(rows: Sequence[Mapping[str, Any]], name: str) -> Kind:
    values = [row.get(name) for row in rows]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return "plain" if numbers and len(numbers) == len(values) - values.count(None) else "text"
