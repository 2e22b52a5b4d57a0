"""Values of a report's tables as safe text: no control characters, UTC times, cut when huge."""

from __future__ import annotations

import datetime as dt
from typing import Any

from binlogkit.errors import printable
from binlogkit.reports._values import cell_text
from binlogkit.reports.model import Column, Kind

__all__ = ["display", "safe_lines", "shortened"]

_LONGEST = 10_000  # characters of a title or a paragraph
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def display(value: Any, column: Column) -> str:
    """``value`` as text in a report; empty where there is none."""
    kind = column.kind
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value, kind)
    if isinstance(value, dt.datetime) and kind in ("time", "microtime"):
        since = value.astimezone(dt.UTC) - _EPOCH
        unit = dt.timedelta(seconds=1) if kind == "time" else dt.timedelta(microseconds=1)
        return _number(since // unit, kind)
    text = ", ".join(map(str, value)) if _names(value) else cell_text(value)
    return shortened(safe_lines(text) if kind == "code" else printable(text), column.longest)


def _names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _number(value: float, kind: Kind) -> str:
    if kind == "number" and isinstance(value, int):
        return f"{value:,}"
    if kind in ("time", "microtime"):
        micro = kind == "microtime"
        try:
            whole, part = divmod(int(value), 1_000_000 if micro else 1)
            text = f"{dt.datetime.fromtimestamp(whole, dt.UTC):%Y-%m-%d %H:%M:%S}"
        except (OverflowError, ValueError, OSError):
            return str(value)
        return f"{text}.{part:06}" if micro else text
    return cell_text(value)


def safe_lines(text: str) -> str:
    """Printable text whose line ends and tabs stay, for statements."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(printable, lines))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The first ``longest`` characters, and how many there are."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… (cut: {len(text):,} characters in all)"
