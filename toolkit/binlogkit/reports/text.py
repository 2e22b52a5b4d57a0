"""Reports as text: for a terminal of some width, or plain for a file or a pipe.

Only printable characters of a log reach the terminal, and they are not parsed as markup.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from binlogkit.constants import TableId
from binlogkit.errors import printable
from binlogkit.frames.fields.field import written_schema
from binlogkit.frames.fields.rows import STATE, TABLE_STATE
from binlogkit.reports._destination import is_terminal, write_text
from binlogkit.reports._display import display, one_line, safe_lines, shortened
from binlogkit.reports._values import json_text
from binlogkit.reports.model import Items, Part, Report, Section, Table, Text, columns_of
from binlogkit.reports.output import Output, screen, write_batches, write_records

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.reports._table import Screen

_WIDTH = 80
_LAST = 4  # lines of what is left out
_CELL = 3  # lines of a cell, which may be a sentence
_INDENT = "  "


def render(report: Report, on: Screen | None = None) -> Iterator[str]:
    """The text of ``report``, in pieces that end with a line end.

    ``on``: the terminal to fit; None for plain text, with tables of full width and prose of 80
    columns.
    """
    width = on.width if on else _WIDTH
    yield from _head(report, width)
    for section in report.sections:
        yield from _section(section, on, width)


def brief(report: Report, on: Screen, lines: int, more: str) -> Iterator[str]:
    """The beginning of ``report``, and its sections in order that fit into so many ``lines``; what
    is left out is named, with where there is ``more``."""
    found = ["".join(_head(report, on.width))]
    room, left_out = lines - found[0].count("\n") - _LAST, list[str]()
    for section in report.sections:
        text = "".join(_section(section, on, on.width))
        if (size := text.count("\n")) <= room:
            found.append(text)
            room -= size
        else:
            left_out.append(section.title)
    yield from found
    if left_out:
        yield "\n"
        yield from _prose(f"Not shown: {', '.join(left_out)}. {more}", on.width)


def write(
    report: Report, path: str | os.PathLike[str] = "-", lines: int | None = None, more: str = ""
) -> None:
    """Write the text of ``report`` to ``path`` (mode 0600) or standard output (``-``).

    ``lines``, ``more``: on a terminal only so many lines, see :func:`brief`.

    UsageError: a path that cannot be written. A closed pipe ends it quietly.
    """
    if not is_terminal(path):
        write_text(path, render(report))
    elif lines is None:
        write_text(path, render(report, screen()))
    else:
        write_text(path, brief(report, screen(), lines, more))


def write_sections(report: Report, output: Output) -> None:
    """Show the sections of ``report`` alone on a terminal, of each table as many rows as the
    output takes. A closed pipe ends it quietly."""
    on = screen()
    parts = [
        replace(part, limit=output.most or len(part.rows)) if isinstance(part, Table) else part
        for section in report.sections
        for part in section.parts
    ]
    write_text(output.path, chain.from_iterable(_part(part, on, on.width) for part in parts))


class StateRows(Protocol):
    """A state's rows in the two forms in which they are written."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """``values`` and ``unknown`` as JSON text."""

    def typed(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The table's own columns."""


def write_state(state: StateRows, output: Output) -> int:
    """Write a state's rows; returns how many.

    As a table: one column per column of the table, NULL as ``NULL``, an empty string as ``''``, and
    ``?`` for what the log does not determine. JSON lines: the contract's form. csv, Parquet, Arrow:
    the table's own columns, typed.
    """
    if output.format == "table":
        return write_records(flat(state.batches()), output)
    if output.format == "jsonl":
        return write_batches(written_schema(STATE), state.batches(), output)
    return write_batches(*state.typed(), output)


def write_states(tables: Iterable[tuple[TableId, Iterable[pa.RecordBatch]]], output: Output) -> int:
    """Write the rows of several tables, by (db, table), each row with its table's name; returns how
    many.

    Values are JSON text even in a table: the tables' columns differ.
    """
    return write_batches(written_schema(TABLE_STATE), _named(tables), output)


def _named(
    tables: Iterable[tuple[TableId, Iterable[pa.RecordBatch]]],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    names = [field.name for field in TABLE_STATE]
    for table, batches in tables:
        for batch in batches:
            said = [pa.repeat(pa.scalar(name, pa.string()), batch.num_rows) for name in table]
            yield pa.RecordBatch.from_arrays([*said, *batch.columns], names=names)


def flat(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """A state's rows for people: one column per value."""
    for batch in batches:
        columns = (batch.column(field.name).to_pylist() for field in STATE)
        for values, unknown in zip(*columns, strict=True):
            flat = {name: _state_cell(value) for name, value in json.loads(values).items()}
            yield flat | dict.fromkeys(json.loads(unknown), "?")


def _state_cell(value: Any) -> Any:
    if value is None:
        return "NULL"
    return json_text(value) if isinstance(value, Mapping) else value


def _head(report: Report, width: int) -> Iterator[str]:
    yield from _heading(report.title, "=", width)
    if report.subtitle:
        yield from _prose(report.subtitle, width)
    for pairs in (report.facts, [(c.label, _joined(c.value, c.note)) for c in report.cards]):
        if pairs:
            yield "\n"
            yield from _pairs(pairs, width)


def _section(section: Section, on: Screen | None, width: int) -> Iterator[str]:
    yield "\n"
    yield from _heading(section.title, "-", width)
    if section.intro:
        yield from _prose(section.intro, width)
    for part in section.parts:
        yield from _part(part, on, width)


def _joined(value: str, note: str) -> str:
    return f"{value} ({note})" if note else value


def _heading(text: str, line: str, width: int) -> Iterator[str]:
    shown = one_line(text)
    yield f"{shown}\n{line * min(len(shown), width)}\n"


def _prose(text: str, width: int) -> Iterator[str]:
    lines = textwrap.wrap(one_line(text), max(20, width - 1), break_on_hyphens=False)
    yield from (f"{line}\n" for line in lines)


def _pairs(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Label and value on a line; long values below each other."""
    labels = [one_line(label) for label, _ in pairs]
    column = min(max(map(len, labels), default=0), width // 3) + 2
    for label, (_, value) in zip(labels, pairs, strict=True):
        room = max(20, width - column - 1)
        lines = textwrap.wrap(one_line(value), room, break_on_hyphens=False) or [""]
        head = label.ljust(column)
        if len(label) + 2 > column:
            yield f"{label}\n"
            head = " " * column
        for line in lines:
            yield f"{head}{line}".rstrip() + "\n"
            head = " " * column


def _part(part: Part, on: Screen | None, width: int) -> Iterator[str]:
    if isinstance(part, Table):
        yield from _table(part, on, width)
    elif isinstance(part, Items):
        if part.items:
            yield from _pairs(part.items, width)
        else:
            yield from _prose(part.empty, width)
    elif isinstance(part, Text):
        if part.code:
            yield textwrap.indent(shortened(safe_lines(part.text)), _INDENT) + "\n"
        else:
            mark = {"bad": "!! ", "warn": "! "}.get(part.tone, "")
            yield from _prose(mark + part.text, width)
    # Others are for a page: a table beside them has what they show.


def _table(part: Table, on: Screen | None, width: int) -> Iterator[str]:
    from binlogkit.reports._table import entries, plain_table, screen_table

    if part.caption:
        yield "\n"
        yield from _prose(part.caption, width)
    shown = list(part.rows[: part.limit])
    if not shown:
        yield from _prose(part.empty, width)
        return
    if on is not None and part.entry is not None:
        yield from entries(map(part.entry, shown), on)
        yield from _rest(part, len(shown))
        return
    columns = columns_of(shown) if part.columns is None else list(part.columns)
    names = [printable(column.heading) for column in columns]
    numeric = [column.kind in ("number", "plain") for column in columns]
    rows: list[list[object]] = [
        [_one_line(display(row.get(column.name), column)) for column in columns] for row in shown
    ]
    if on is None:
        yield from plain_table(names, rows, len(rows), numeric)
    else:
        count = _columns_that_fit(names, rows, numeric, on)
        part_of = [row[:count] for row in rows]
        yield from screen_table(names[:count], part_of, on, len(rows), numeric[:count], lines=_CELL)
        if count < len(names):
            left_out = ", ".join(names[count:])
            yield from _prose(f"(not shown in {on.width} columns: {left_out})", width)
    yield from _rest(part, len(shown))


def _rest(part: Table, shown: int) -> Iterator[str]:
    if len(part.rows) > shown:
        yield f"{len(part.rows) - shown:,} more rows are not shown here.\n"


def _columns_that_fit(
    names: Sequence[str], rows: Sequence[Sequence[object]], numeric: Sequence[bool], on: Screen
) -> int:
    """How many of the columns a terminal can show side by side; all if two do not fit.

    A report's tables have important columns first, so the last ones are dropped.
    """
    from rich.cells import cell_len

    from binlogkit.reports._table import fit

    natural = [
        max(cell_len(str(cell or "")) for cell in column)
        for column in zip(names, *rows, strict=True)
    ]
    for count in range(len(names), 1, -1):
        if fit(natural[:count], numeric[:count], on.width, narrow=False) is not None:
            return count
    return len(names)


def _one_line(text: str) -> str | None:
    """A statement's lines as one; None for an empty cell, which is shown as nothing."""
    return " ".join(text.split("\n")) or None
