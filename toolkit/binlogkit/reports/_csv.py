"""Comma-separated values (RFC 4180) that a spreadsheet opens without running them.

NULL is an empty field and the empty string is ``""``. Lines end with CR LF. A text cell that a
spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection"); a number
stays a number, even as text, as a DECIMAL is, and a TIME a time. The guard works if the file is
opened as comma-separated; ``raw`` omits it for programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import printable
from binlogkit.frames.text_columns import has_large_rows, holds_quotes, is_plain, joined_rows
from binlogkit.reports._arrow import is_constant
from binlogkit.reports._columns import ABSENT
from binlogkit.reports._values import cell_text

# Full-width forms are normalised to the plain ones by spreadsheets of East Asian locales.
_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?\d{2,3}:\d\d:\d\d(\.\d+)?", re.ASCII
)
_QUOTED = re.compile(r'[",;\r\n\t\x00]|^\s|\s$|^$')
# The same for printable ASCII.
_PLAIN_FORMULA, _PLAIN_QUOTED = "^ *[=+@-]", '[",;]|^ | $|^$'


def csv_lines(
    names: Iterable[str], rows: Iterable[list[object]], *, raw: bool, terminal: bool
) -> Iterator[str]:
    """The header and one line per row; ``terminal`` escapes what a terminal would obey."""
    yield _line(list(names), raw, terminal)
    for row in rows:
        yield _line(row, raw, terminal)


def _line(cells: list[object], raw: bool, terminal: bool) -> str:
    fields = [_field(cell, raw, terminal) for cell in cells]
    if fields == [""]:  # most readers skip an empty line
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


def csv_block(batch: pa.RecordBatch, *, raw: bool) -> bytes:
    """The lines of ``csv_lines`` for the rows of a batch, without the header."""
    if batch.num_columns < 2 or has_large_rows(batch.nbytes, batch.num_rows):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return "".join(_line(list(row), raw, False) for row in rows).encode()
    parts = list[Any]()
    for column in batch.columns:
        parts += [",", _fields(column, raw)]
    return joined_rows([*parts[1:], "\r\n"], batch.num_rows)


def _fields(column: pa.Array, raw: bool) -> pa.StringArray | str:
    """Each cell of a column as a field; a single text if all are the same."""
    if len(column) and is_constant(column):
        return _field(column[0].as_py(), raw, False)
    if pa.types.is_integer(column.type):
        return pc.fill_null(column.cast(pa.string()), "")
    if pa.types.is_string(column.type) and is_plain(column):
        guarded = not raw and pc.any(pc.match_substring_regex(column, _PLAIN_FORMULA)).as_py()
        if not guarded:
            inside = column
            if holds_quotes(column):
                inside = pc.replace_substring(column, '"', '""')
            quoted = pc.binary_join_element_wise('"', inside, '"', "")
            needed = pc.match_substring_regex(column, _PLAIN_QUOTED)
            return pc.fill_null(pc.if_else(needed, quoted, column), "")
    return pa.array([_field(c, raw, False) for c in column.to_pylist()], pa.string())
