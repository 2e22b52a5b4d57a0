"""Streams of records as tables, JSON lines, CSV, Parquet and Arrow: the output of every command.

``table``: for people, widths from the first records, times as ISO 8601 in UTC; on a terminal in
pages, else plain columns.
``jsonl``: one object a line, UTF-8. ``csv``: RFC 4180, guarded for spreadsheets, times as ISO 8601.
``parquet``: zstd.
``arrow``: an IPC stream. In table, CSV and Parquet a nested value of a record (``before``,
``after``, ``fields``) is its JSON as text. Memory is bounded by a page, or by a row group.

Forms: docs/records.md; guards: docs/hostile-input.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from binlogkit.errors import BinlogKitError, UsageError, printable
from binlogkit.frames.fields.field import TIMES, Fields
from binlogkit.frames.fields.field import names as field_names
from binlogkit.reports._columns import ABSENT, Picker, parse_columns, picker
from binlogkit.reports._destination import ByteSink, destination, is_terminal, write_text
from binlogkit.reports._values import iso_time, json_text

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.reports._table import Screen
    from binlogkit.reports.model import Entry

__all__ = [
    "FORMATS",
    "Output",
    "destination",
    "parse_columns",
    "screen",
    "write_batches",
    "write_entries",
    "write_records",
    "write_text",
]

FORMATS = ("table", "jsonl", "csv", "parquet", "arrow")
SCREENFUL = 40  # records of a table on a terminal
_T = TypeVar("_T")
_BINARY = frozenset({"parquet", "arrow"})
_LINES = 8192


@dataclass(frozen=True, slots=True)
class Output:
    """The common output options.

    ``format``: one of :data:`FORMATS`; ``path``: a file or ``-``; ``columns``: names in order, None
    for all; ``limit``: how many records, 0 for all, by default :data:`SCREENFUL` of a table on a
    terminal and else all; ``csv_raw``: no guard for spreadsheets. UsageError: an unknown format.
    """

    format: str = "table"
    path: str | os.PathLike[str] = "-"
    columns: Sequence[str] | None = None
    limit: int | None = None
    csv_raw: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise UsageError(f"format {self.format!r} is not one of {', '.join(FORMATS)}")

    @property
    def on_terminal(self) -> bool:
        """Whether it is a table that a terminal shows."""
        return self.format == "table" and is_terminal(self.path)

    @property
    def typed(self) -> bool:
        """Whether it is a file that has one table's own columns, not its images as JSON."""
        images = {"before", "after", "changes"} & set(self.columns or ())
        return self.format in ("csv", "parquet", "arrow") and not images

    @property
    def most(self) -> int | None:
        """How many records are written, None for all."""
        default = SCREENFUL if self.on_terminal else None
        return default if self.limit is None else self.limit or None


def write_records(
    records: Iterable[Mapping[str, Any]],
    output: Output,
    *,
    names: Sequence[str] | None = None,
    view: Sequence[str] | None = None,
    declared: Fields = (),
) -> int:
    """Write plain records in the contract's JSON form; returns how many there are, of which
    ``output`` may take the first.

    ``declared``: the columns' types in Parquet and Arrow, which otherwise follow the first records.
    ``names``: the columns in order, by default the declared ones, else those of the first record (a
    column missing in a record is empty; one that only later records have appears in JSON lines
    only). ``view``: the columns that a table shows when the user names none.

    An error of ``records`` is raised again after the records before it were written. UsageError: an
    unknown column, or one inside objects that no record had; a file that cannot be written.
    SchemaError: a column's type changes in Parquet or Arrow. A closed pipe ends the writing
    quietly, and 0 is returned.
    """
    readable = _UpToError(records)
    wanted = _First(readable, output.most)
    stream = iter(wanted)
    first = next(stream, None)
    if first is None:
        readable.complain()
    else:
        stream = chain((first,), stream)
    names = names or field_names(declared) or None
    met = _Met()
    count = _write_records(first, stream, output, names, view, declared, met)
    count = wanted.of_all(count, output)
    readable.complain()
    if count and not wanted.left:
        met.complain()
    return count


def _write_records(
    first: Mapping[str, Any] | None,
    stream: Iterator[Mapping[str, Any]],
    output: Output,
    names: Sequence[str] | None,
    view: Sequence[str] | None,
    declared: Fields,
    met: _Met,
) -> int:
    known = list(names if names is not None else first or ())
    columns = _chosen(output, known, view)
    with destination(output.path, binary=output.format in _BINARY) as sink:
        if output.format == "jsonl":
            return _write_lines(sink, _object_lines(stream, output, known, met), output)
        pick = met.noting(picker(columns, known), columns)
        if output.format in _BINARY:
            from binlogkit.reports import _columnar

            made = _columnar.batches_of(stream, columns, pick, declared)
            return _columnar.write_columnar(sink, *made, output.format)
        rows: Iterator[list[Any]] = map(pick, stream)
        rows = _with_times(rows, columns, declared)
        return _write_cells(sink, columns, rows, output)
    return 0  # a closed pipe


def _with_times(
    rows: Iterator[list[Any]], columns: Sequence[str], declared: Fields
) -> Iterator[list[Any]]:
    """The rows with times as people read them."""
    units = {field.name: TIMES[field.type] for field in declared if field.type in TIMES}
    times = [(i, units[name]) for i, name in enumerate(columns) if name in units]
    for row in rows:
        for i, unit in times:
            row[i] = iso_time(row[i], unit)
        yield row


def write_batches(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], output: Output, declared: Fields = ()
) -> int:
    """Write Arrow record batches of the contract's records, or of one table's typed rows
    (frames/tables.py:flat_batches); returns how many rows.

    Text columns named ``before``, ``after``, ``flags``, ``fields``, ``values`` or ``unknown`` hold
    JSON. ``declared``: says which integers are times in csv. Errors as in :func:`write_records`.
    """
    readable = _UpToError(batches)
    wanted = _FirstRows(readable, output.most)
    count = wanted.of_all(_write_batches(schema, wanted, output, declared), output)
    readable.complain()
    return count


def _write_batches(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], output: Output, declared: Fields
) -> int:
    import pyarrow as pa

    from binlogkit.reports import _arrow, _columnar

    columns = _chosen(output, schema.names, None)
    if columns != schema.names:
        missing = next((name for name in columns if name not in schema.names), None)
        if missing is not None:
            there = ", ".join(schema.names)
            raise UsageError(f"no column {printable(missing)}; there are: {there}")
    if output.format == "csv":
        from binlogkit.frames.flat_texts import with_texts
        from binlogkit.frames.tables import with_times

        batches = (with_texts(with_times(batch, declared), columns) for batch in batches)
    elif columns != schema.names:
        schema = pa.schema([schema.field(name) for name in columns], schema.metadata)
        batches = (batch.select(columns) for batch in batches)
    with destination(output.path, binary=output.format in _BINARY) as sink:
        if output.format in _BINARY:
            safe = map(_arrow.with_safe_json, batches)
            return _columnar.write_columnar(sink, schema, safe, output.format)
        if output.format == "jsonl":
            return _write_blocks(sink, batches, output)
        if output.format == "csv" and not is_terminal(output.path):
            sink.write("".join(_pieces(columns, iter(()), output)).encode())
            return _write_blocks(sink, map(_arrow.with_safe_json, batches), output)
        cells = (zip(*(c.to_pylist() for c in batch.columns), strict=True) for batch in batches)
        return _write_cells(sink, columns, map(list, chain.from_iterable(cells)), output)
    return 0  # a closed pipe


class _UpToError(Iterable[_T]):
    """The items before an error of our own, which is kept until they are written.

    A page of a table, or a row group, must not be lost because the record after it is damaged.
    """

    def __init__(self, items: Iterable[_T]) -> None:
        self._items = items
        self._error: BinlogKitError | None = None

    def __iter__(self) -> Iterator[_T]:
        try:
            yield from self._items
        except BinlogKitError as exc:
            self._error = exc

    def complain(self) -> None:
        """Raise the error that ended the items, if one did."""
        if self._error is not None:
            raise self._error


class _Met:
    """Which columns inside objects (``after.total``) records had."""

    def __init__(self) -> None:
        self._lacking: dict[int, str] = {}

    def noting(self, pick: Picker, columns: Sequence[str]) -> Picker:
        """``pick``, that notes which it finds."""
        lacking = self._lacking = {i: name for i, name in enumerate(columns) if "." in name}
        if not lacking:
            return pick

        def noted(record: Mapping[str, Any]) -> list[Any]:
            cells = pick(record)
            for i in [i for i in lacking if cells[i] is not ABSENT]:
                del lacking[i]
            return cells

        return noted

    def complain(self) -> None:
        """UsageError: a column that was in no record."""
        for name in self._lacking.values():
            raise UsageError(f"no record has a column {printable(name)}")


class _First(Iterable[_T]):
    """The first items, all if ``most`` is None; ``left`` counts the others, which are read too:
    what they show of the log is reported."""

    def __init__(self, items: Iterable[_T], most: int | None) -> None:
        self._items, self._most = items, most
        self.left = 0

    def __iter__(self) -> Iterator[_T]:
        for number, item in enumerate(self._items):
            if self._most is None or number < self._most:
                yield item
            else:
                self.left += 1

    def of_all(self, count: int, output: Output) -> int:
        """How many items there are, ``count`` of them written; a terminal shows both."""
        total = count + self.left
        if output.on_terminal and self.left:
            print(f"({count:,} of {total:,} shown: --limit N shows N, --limit 0 all)")
        return total


class _FirstRows(_First["pa.RecordBatch"]):
    """The same of batches, by rows."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        room = self._most
        for batch in self._items:
            part = batch if room is None else batch.slice(0, room)
            room = None if room is None else room - part.num_rows
            self.left += batch.num_rows - part.num_rows
            if part.num_rows:
                yield part


def _chosen(output: Output, known: Sequence[str], view: Sequence[str] | None) -> list[str]:
    """The columns to show: the user's, else a table's view if present, else all."""
    if output.columns is not None:
        columns = list(output.columns)
        if known:
            picker(columns, known)
        return columns
    if view is not None and output.format == "table":
        return [name for name in view if name in known] or list(known)
    return list(known)


def _object_lines(
    records: Iterable[Mapping[str, Any]], output: Output, known: Sequence[str], met: _Met
) -> Iterator[str]:
    if output.columns is None:
        for record in records:
            yield json_text(record) + "\n"
        return
    columns = list(output.columns)
    pick = met.noting(picker(columns, known or columns), columns)
    for record in records:
        pairs = zip(columns, pick(record), strict=True)
        yield json_text({name: cell for name, cell in pairs if cell is not ABSENT}) + "\n"


def _write_lines(sink: ByteSink, lines: Iterable[str], output: Output) -> int:
    """Write each line; at once if somebody waits for it."""
    at_once = is_terminal(output.path)
    count = 0
    for line in lines:
        sink.write(line.encode("utf-8"))
        count += 1
        if at_once:
            sink.flush()
    return count


def _write_blocks(sink: ByteSink, batches: Iterable[pa.RecordBatch], output: Output) -> int:
    """Write the lines of each batch, of JSON or CSV; returns how many."""
    from binlogkit.reports._arrow import json_lines
    from binlogkit.reports._csv import csv_block

    lines = json_lines if output.format == "jsonl" else partial(csv_block, raw=output.csv_raw)
    at_once = is_terminal(output.path)
    count = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _LINES):  # which bounds the lines in memory
            part = batch.slice(start, _LINES)
            sink.write(lines(part))
            count += part.num_rows
            if at_once:
                sink.flush()
    return count


def _write_cells(
    sink: ByteSink, columns: Sequence[str], rows: Iterable[list[Any]], output: Output
) -> int:
    """Write CSV or a table; returns the number of rows, which may differ from the pieces of
    text."""
    count = 0

    def counted() -> Iterator[list[Any]]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    _write_lines(sink, _pieces(columns, counted(), output), output)
    return count


def _pieces(columns: Sequence[str], rows: Iterator[list[Any]], output: Output) -> Iterator[str]:
    terminal = is_terminal(output.path)
    if output.format == "csv":
        from binlogkit.reports._csv import csv_lines

        return csv_lines(columns, rows, raw=output.csv_raw, terminal=terminal)
    from binlogkit.reports import _table

    if terminal:
        return _table.screen_table(
            columns, rows, screen(), min(_table.PAGE, output.most or _table.PAGE)
        )
    return _table.plain_table(columns, rows)


def write_entries(found: Iterable[Entry], output: Output) -> None:
    """Write records for a terminal, a few lines each, with a line of each to copy."""
    from binlogkit.reports._table import entries

    write_text(output.path, entries(islice(found, output.limit or None), screen()))


def screen() -> Screen:
    """The terminal at standard output, as rich finds it (``COLUMNS``, ``NO_COLOR``, ``TERM``)."""
    from rich.console import Console

    from binlogkit.reports._table import COLOURS, Screen

    console = Console(file=sys.stdout)
    colour = next((c for c in COLOURS if c == console.color_system), None)
    return Screen(console.width, None if console.no_color else colour)
