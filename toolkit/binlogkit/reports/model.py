"""A report as data: titled sections of tables, figures and text, which html.py and text.py write.

Values are given as they come from a log. The writers escape them for their format, cut long ones,
and say so; nothing here is trusted.
"""

from __future__ import annotations

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
    shows of a row, where that is no row of a table.
    """

    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[Column] | None = None
    caption: str = ""
    empty: str = "none"
    limit: int = 200
    tone_by: str = ""
    tones: Mapping[str, Tone] | None = None
    entry: Callable[[Mapping[str, Any]], Entry] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: the bytes of a PNG, and its content in words."""

    png: bytes
    caption: str


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


Part = Table | Figure | Text | Items


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report."""

    title: str
    parts: Sequence[Part]
    intro: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One important number. ``note``: a few words below it."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report: its subject, the important numbers, the sections, and how it was made.

    ``made``: pairs of label and value (tool and version, command, time).
    """

    title: str
    sections: Sequence[Section]
    subtitle: str = ""
    cards: Sequence[Card] = ()
    made: Sequence[tuple[str, str]] = ()


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
