"""The rows of a rows event: each image, its bitmap bit by bit, each cell with type and value.

An image is a bitmap of NULLs, one bit per column *present* (not per column of the table), then the
values of the present columns that are not NULL. The after image of a PARTIAL_UPDATE_ROWS_EVENT
begins with ``value_options:packed``; with bit 0 set a bitmap follows that has one bit per JSON
column of the table, present or not: 1 means that the cell is a diff (server's sources, 8.0.3+).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from binlogkit._kernel.cells import Decoder, NoArrowValue, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.json_diff import diff_text
from binlogkit._kernel.value_text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T
from binlogkit.errors import DamageError
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.fields import COLUMNS, section_of
from binlogkit.events.explain.parts import FieldPart, fill
from binlogkit.events.explain.shape import meaning_of
from binlogkit.events.explain.walk import EventWalk
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.explain.columns import bitmap_details
from binlogkit.rows.explain.documents import diff_parts, json_parts
from binlogkit.rows.schema import Column, Origin, TableSchema, cell_spec, columns_in
from binlogkit.sources.log_format import version_tuple

#: Cells of an event, and bytes of a JSON document, that are explained one by one: a part takes some
#: hundred bytes of memory, and an event can hold gigabytes.
MOST_CELLS = 50_000
MOST_JSON = 1 << 18
_MORE = "not explained one by one: `binlogkit rows` shows them"
_ONE_BYTE_LENGTH = 255
_PARTIAL_JSON = 1
_JSON_LENGTH_WIDTH = 4
_TEXTS = frozenset({T.VARCHAR, T.VAR_STRING, T.STRING})
_LENGTHS_IN_FRONT = frozenset(
    {T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.JSON, T.TYPED_ARRAY, T.GEOMETRY, T.VECTOR}
)


def explain_rows(walk: EventWalk, schema: TableSchema, server_version: str) -> None:
    """Take the rows of an event apart; what cannot be read is among the walk's problems."""
    body, part = walk.body, walk.root.find("rows")
    assert isinstance(body, RowsEvent)
    if part is None:
        return
    recorder = Recorder(body.data, walk.raw.file, walk.raw.pos, base=part.start)
    rows = _Rows(body, schema, server_version, recorder)
    problem = rows.read()
    count = len(recorder.parts)
    part.parts = recorder.parts or [FieldPart("", part.start, part.start)]
    if problem:
        fill(part, "rest", "not read", problem)
        walk.problems.append(problem)
    else:
        fill(part, "more rows", _MORE)
    part.parts = [row for row in part.parts if row.field]
    part.value = f"{count} row" if count == 1 else f"{count} rows"
    part.meaning = f"of {schema.db}.{schema.table}"
    if part.parts and part.parts[-1].field == "more rows":
        walk.notes.append(f"of its rows the first {count} are explained one by one")
    walk.problems += rows.problems
    for name in ("columns_present", "columns_present_after"):
        present = walk.root.find(name)
        if present is not None and isinstance(present.value, bytes):
            says = ("not in the image", "in the image")
            present.details = bitmap_details(present.value, schema.columns, says)


class _Rows:
    """The rows of one event, read through ``cursor``; ``problems``: cells that have no value."""

    def __init__(
        self, body: RowsEvent, schema: TableSchema, server_version: str, cursor: Recorder
    ) -> None:
        self.body = body
        self.columns = schema.columns
        self.cursor = cursor
        self.problems: list[str] = []
        self._as_5_7 = version_tuple(server_version)[:2] == (5, 7)
        self._json = [column for column in schema.columns if column.type == T.JSON]
        self._decoders: dict[int, Decoder] = {}
        self._cells = 0

    def read(self) -> str:
        """Put what is read of each row together; why the reading ended early, else empty."""
        body, cursor = self.body, self.cursor
        try:
            if body.column_count != len(self.columns):
                reason = f"{body.column_count} columns, its table map has {len(self.columns)}"
                raise cursor.fail("column_count", reason)
            before, after = self._present(body.before_columns), self._present(body.after_columns)
            # INSERT … VALUES () with a minimal image: one row that has no bytes (5.7.22, 8.0.31).
            empty = not cursor.left and before is None and after == []
            while (cursor.left or empty) and self._cells <= MOST_CELLS:
                self._row(before, after, empty)
                empty = False
        except DamageError as error:
            return f"{error.field}: {error.reason}" if error.field else error.reason
        return ""

    def _present(self, bitmap: bytes | None) -> list[Column] | None:
        return None if bitmap is None else columns_in(bitmap, self.columns)

    def _row(self, before: list[Column] | None, after: list[Column] | None, empty: bool) -> None:
        cursor = self.cursor
        start, number = cursor.pos, len(cursor.parts)
        try:
            if before is not None:
                self._image("before", "the row as it was", before)
            if after is not None:
                self._image("after", "the row as it is since", after, self._diffs())
            if cursor.pos == start and not empty:
                raise cursor.fail("rows", "a row of no bytes")
        finally:
            images = cursor.parts[number:]
            if images:
                first, end = images[0].start, images[-1].end
                row = FieldPart(f"row {number}", first, end, None, self.body.op, images)
                cursor.parts[number:] = [row]

    def _diffs(self) -> list[Column]:
        """The columns whose cells in the after image that follows are differences."""
        if not self.body.partial:
            return []
        options = self.cursor.packed("value_options")
        self._explain()
        if not options & _PARTIAL_JSON:
            return []
        bits = self.cursor.read((len(self._json) + 7) // 8, "partial_bits")
        self._explain().details = bitmap_details(
            bits, self._json, ("a whole document", "differences")
        )
        return [column for i, column in enumerate(self._json) if bits[i // 8] >> (i % 8) & 1]

    def _explain(self) -> FieldPart:
        """The field that was read last, with its meaning."""
        part = self.cursor.parts[-1]
        meaning_of(part, section_of("RowsEvent")[part.field])
        return part

    def _image(
        self, name: str, meaning: str, present: list[Column], diffs: Sequence[Column] = ()
    ) -> None:
        """An image's bitmap and cells, the NULLs, which have no bytes, among them."""
        cursor = self.cursor
        count = len(cursor.parts)
        self._cells += len(present)
        nulls = cursor.read((len(present) + 7) // 8, "null_bitmap")
        self._explain().details = bitmap_details(nulls, present, ("a value", "NULL"))
        try:
            for i, column in enumerate(present):
                if nulls[i // 8] >> (i % 8) & 1:
                    null = cursor.note(cursor.pos, column.name)
                    null.meaning = f"NULL, which has no bytes: {column.mysql_type}"
                elif column in diffs:
                    self._diff(column)
                else:
                    self._cell(column)
        finally:
            parts = cursor.parts[count:]
            image = FieldPart(name, parts[0].start, parts[-1].end, None, meaning, parts)
            cursor.parts[count:] = [image]

    def _cell(self, column: Column) -> None:
        cursor = self.cursor
        start = cursor.pos
        decode = self._decoders.get(column.index)
        try:
            if decode is None:
                decode = decoder_for(cell_spec(column, self._as_5_7))
                self._decoders[column.index] = decode
            value, cursor.pos = decode(cursor.data, start, cursor.end)
        except ValueError as exc:  # also of a cell that runs past the event
            raise cursor.fail(column.name, str(exc)) from exc
        part = cursor.note(start, column.name)
        if isinstance(value, NoArrowValue):
            part.value = value.text
        elif isinstance(value, Undecodable):
            self._wrong(part, value.reason)
        else:
            shown = None if value is None else _FORMATS.get(column.type)
            part.value = value if shown is None else shown(value, column.scale)
        note = COLUMNS.get(column.type.name)
        part.meaning = f"{column.mysql_type}: {note}" if note else column.mysql_type
        if column.charset_origin is Origin.ASSUMED and isinstance(part.value, str):
            part.meaning += ", its character set assumed"
        width = column.length if column.type in _LENGTHS_IN_FRONT else 0
        if column.type in _TEXTS:
            width = 1 if column.length <= _ONE_BYTE_LENGTH else 2
        if width:
            _with_length(part, column, width, cursor.data[start : cursor.pos])

    def _wrong(self, part: FieldPart, reason: str) -> None:
        part.problem = reason
        self.problems.append(f"{part.field} cannot be decoded: {reason}")

    def _diff(self, column: Column) -> None:
        cursor = self.cursor
        start, count = cursor.pos, len(cursor.parts)
        try:
            data = cursor.read(cursor.uint(_JSON_LENGTH_WIDTH, column.name), column.name)
        finally:
            del cursor.parts[count:]
        part = cursor.note(start, column.name)
        part.meaning = f"{column.mysql_type}: differences to the value before"
        content = part.end - len(data)
        parts, problem = diff_parts(data, content)
        part.parts = [FieldPart("length", part.start, content, len(data), "bytes"), *parts]
        fill(part, "rest", "not read", problem)
        if problem:
            self._wrong(part, problem)
        else:
            part.value = json.loads(diff_text(data))


def _with_length(part: FieldPart, column: Column, width: int, data: bytes) -> None:
    """The length in front of a value, and the value, a JSON document with its structure."""
    content = FieldPart("content", part.start + width, part.end, data[width:])
    part.parts = [
        FieldPart(
            "length", part.start, part.start + width, len(data) - width, "bytes of the value"
        ),
        content,
    ]
    if column.type in (T.JSON, T.TYPED_ARRAY):
        content.field, content.meaning = "document", "binary JSON"
        if len(data) - width <= MOST_JSON:
            content.parts, content.problem = json_parts(data[width:], content.start)
        content.value = None if content.parts else content.value
    else:
        content.meaning = f"in {column.charset}" if column.charset else ""


def _single(value: float, _: int) -> float:
    import numpy as np

    return float(str(np.float32(value)))


# (value, fraction digits) -> the contract's form.
_FORMATS: dict[T, Callable[[Any, int], object]] = {
    T.FLOAT: _single,
    **dict.fromkeys((T.TIME, T.TIME2), time_text),
    **dict.fromkeys((T.DATETIME, T.DATETIME2, T.TIMESTAMP, T.TIMESTAMP2), datetime_text),
    **dict.fromkeys((T.NEWDECIMAL, T.DECIMAL), lambda value, _: decimal_text(value)),
    **dict.fromkeys((T.DATE, T.NEWDATE), lambda value, _: date_text(value)),
}
