"""Comma-separated values (RFC 4180) that a spreadsheet opens without running them.

NULL is an empty field and the empty string is ``""``. Lines end with CR LF. A text cell that a
spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection"); a number
stays a number, also where it is text, as a DECIMAL is. The guard holds where the file is opened as
what it is, comma-separated; ``raw`` leaves it out for programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from binlogkit.errors import printable
from binlogkit.reports._columns import ABSENT
from binlogkit.reports._values import cell_text

__all__ = ["csv_lines"]

# Full-width forms are normalised to the plain ones by spreadsheets of East Asian locales.
_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED = re.compile(r'[",;\r\n\t\x00]|^\s|\s$|^$')


def csv_lines(
    names: Iterable[str], rows: Iterable[list[object]], *, raw: bool, terminal: bool
) -> Iterator[str]:
    """The header and one line per row; ``terminal`` escapes what a terminal would obey."""
    yield _line(list(names), raw, terminal)
    for row in rows:
        yield _line(row, raw, terminal)


def _line(cells: list[object], raw: bool, terminal: bool) -> str:
    fields = [_field(cell, raw, terminal) for cell in cells]
    if fields == [""]:  # a line with nothing on it is no record to most readers
        fields = ['""']
    return ",".join(fields) + "\r\n"


def _field(cell: object, raw: bool, terminal: bool) -> str:
    if cell is None or cell is ABSENT:
        return ""
    text = cell_text(cell)
    if isinstance(cell, int | float):
        return text
    if terminal:
        text = printable(text)
    if not raw and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    if _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
