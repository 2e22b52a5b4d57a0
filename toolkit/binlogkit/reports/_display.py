"""Values of a report's tables as safe text: no control characters, UTC times, cut when very
long."""

from __future__ import annotations

from typing import Any

from binlogkit.errors import printable
from binlogkit.reports._values import cell_text, iso_time
from binlogkit.reports.model import Column, Kind

CELL = 2000  # characters of a value
_LONGEST = 10_000  # characters of a title or a paragraph
_UNITS: dict[Kind, str] = {"time": "s", "microtime": "us"}


def display(value: Any, column: Column) -> str:
    """``value`` as text in a report; empty if there is none."""
    kind = column.kind
    if value is None:
        return ""
    if kind in _UNITS:
        value = iso_time(value, _UNITS[kind])
    elif kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = ", ".join(map(str, value)) if _names(value) else cell_text(value)
    return shortened(safe_lines(text) if kind == "code" else printable(text), column.longest)


def _names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def safe_lines(text: str) -> str:
    """Printable text that keeps line ends and tabs, for statements."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(printable, lines))


def one_line(text: str) -> str:
    """Printable text on one line, cut when very long."""
    return shortened(printable(text))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The first ``longest`` characters, and how many there are."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… (cut: {len(text):,} characters in all)"
