"""The rows of a rows event: each image, its bitmap bit by bit, each cell with type and value.

The images are read by :class:`RowDecoder` itself; of a cell only how many bytes it has and what its
value is are taken from the decoding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.value_text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T
from binlogkit.errors import DamageError
from binlogkit.events.base import Event
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.fields import COLUMNS, section_of
from binlogkit.events.explain.parts import Detail, FieldPart, fill
from binlogkit.events.explain.shape import meaning_of
from binlogkit.events.explain.walk import EventWalk
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.explain.columns import bitmap_details
from binlogkit.rows.explain.documents import diff_parts, json_parts
from binlogkit.rows.images import NO_ARROW_VALUE, UNDECODABLE, Image, RawCell, RowDecoder
from binlogkit.rows.schema import Column, Origin, TableSchema

__all__ = ["explain_rows", "value_text"]

#: Cells of an event, and bytes of a JSON document, that are explained one by one: a part takes some
#: hundred bytes of memory, and an event can hold gigabytes.
MOST_CELLS = 50_000
MOST_JSON = 1 << 18
_MORE = "not explained one by one: `binlogkit rows` shows them"
_ONE_BYTE_LENGTH = 255
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
    decoder = _Recording(schema, server_version, body)
    recorder = Recorder(body.data, walk.raw.file, walk.raw.pos, base=part.start)
    problem = _take_rows(decoder, Event(walk.raw, body), recorder)
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
    walk.problems += decoder.problems
    _columns_present(walk, schema)


def _take_rows(decoder: _Recording, event: Event, recorder: Recorder) -> str:
    """Put what is read of each row together; why the reading ended early, else empty."""
    assert isinstance(event.body, RowsEvent)
    rows = decoder.rows(event, recorder)
    problem, number, more = "", 0, True
    while more and decoder.cells <= MOST_CELLS:
        try:
            more = next(rows, None) is not None
        except DamageError as error:
            problem = f"{error.field}: {error.reason}" if error.field else error.reason
            more = False
        items = recorder.parts[number:]
        if items:
            row = FieldPart(
                f"row {number}", items[0].start, items[-1].end, None, event.body.op, items
            )
            recorder.parts[number:] = [row]
            number += 1
    return problem


def _columns_present(walk: EventWalk, schema: TableSchema) -> None:
    for name in ("columns_present", "columns_present_after"):
        part = walk.root.find(name)
        if part is not None and isinstance(part.value, bytes):
            part.details = _bits(part.value, schema.columns, ("not in the image", "in the image"))


def _bits(data: bytes, columns: Sequence[Column], says: tuple[str, str]) -> list[Detail]:
    return bitmap_details(data, columns, lambda _, bit: says[bit])


class _Recording(RowDecoder):
    """A decoder that explains what it reads through a :class:`Recorder`."""

    def __init__(self, schema: TableSchema, server_version: str, body: RowsEvent) -> None:
        super().__init__(schema, server_version)
        self.problems: list[str] = []
        self.cells = 0
        self._after_image = body.before_columns is None
        self._cells: dict[int, FieldPart] = {}

    def _after(self, cursor: Cursor, present: list[int], partial: bool) -> Image:
        assert isinstance(cursor, Recorder)
        count = len(cursor.parts)
        self._after_image = True
        try:
            return super()._after(cursor, present, partial)
        finally:
            self._after_image = False
            for part in cursor.parts[count:]:
                known = section_of("RowsEvent").get(part.field)
                if known is not None:
                    meaning_of(part, known)
                if part.field == "partial_bits" and isinstance(part.value, bytes):
                    json_columns = [self.schema.columns[i] for i in self._json]
                    part.details = _bits(
                        part.value, json_columns, ("a whole document", "differences")
                    )

    def _image(
        self, cursor: Cursor, present: list[int], diffs: set[int] | frozenset[int] = frozenset()
    ) -> Image:
        assert isinstance(cursor, Recorder)
        count, self._cells = len(cursor.parts), {}
        self.cells += len(present)
        name = "after" if self._after_image else "before"
        try:
            return super()._image(cursor, present, diffs)
        finally:
            self._group(cursor, count, name, present)

    def _group(self, cursor: Recorder, count: int, name: str, present: list[int]) -> None:
        """Put an image's bitmap and cells together, the NULLs, which have no bytes, among them."""
        found = cursor.parts[count:]
        if not found:
            return
        bitmap = found[0]
        columns = [self.schema.columns[i] for i in present]
        if isinstance(bitmap.value, bytes):
            meaning_of(bitmap, section_of("RowsEvent")["null_bitmap"])
            bitmap.details = _bits(bitmap.value, columns, ("a value", "NULL"))
        parts, at = [bitmap], bitmap.end
        nulls = bitmap.value if isinstance(bitmap.value, bytes) else b""
        for i, column in enumerate(columns):
            cell = self._cells.get(column.index)
            if cell is None and i // 8 < len(nulls) and nulls[i // 8] >> (i % 8) & 1:
                cell = FieldPart(
                    column.name, at, at, None, f"NULL, which has no bytes: {column.mysql_type}"
                )
            if cell is None:
                break
            parts.append(cell)
            at = cell.end
        image = FieldPart(name, found[0].start, at, None, "the row as it was", parts)
        if name == "after":
            image.meaning = "the row as it is since"
        cursor.parts[count:] = [image]

    def _cell(self, cursor: Cursor, column: int, raw: list[RawCell]) -> tuple[int, object]:
        assert isinstance(cursor, Recorder)
        start, kept = cursor.pos, len(raw)
        state, value = super()._cell(cursor, column, raw)
        described = self.schema.columns[column]
        part = cursor.note(start, described.name)
        self._cells[column] = part
        if state == NO_ARROW_VALUE:
            part.value = raw[kept].text
        elif state == UNDECODABLE:
            part.value, part.problem = None, raw[kept].text
            self.problems.append(f"{described.name} cannot be decoded: {part.problem}")
        else:
            part.value = value_text(described, value)
        self._describe(part, described, cursor.data[start : cursor.pos])
        return state, value

    @staticmethod
    def _describe(part: FieldPart, column: Column, data: bytes) -> None:
        note = COLUMNS.get(column.type.name)
        part.meaning = f"{column.mysql_type}: {note}" if note else column.mysql_type
        if column.charset_origin is Origin.ASSUMED and isinstance(part.value, str):
            part.meaning += ", its character set assumed"
        width = _length_width(column)
        if width:
            _with_length(part, column, width, data)

    def _diff(self, cursor: Cursor, column: int, raw: list[RawCell]) -> int:
        assert isinstance(cursor, Recorder)
        start, kept, count = cursor.pos, len(raw), len(cursor.parts)
        state = super()._diff(cursor, column, raw)
        del cursor.parts[count:]
        described = self.schema.columns[column]
        part = cursor.note(start, described.name)
        self._cells[column] = part
        cell = raw[kept]
        part.meaning = f"{described.mysql_type}: differences to the value before"
        parts, problem = diff_parts(cell.data, part.end - len(cell.data))
        part.parts = [
            FieldPart("length", part.start, part.end - len(cell.data), len(cell.data), "bytes"),
            *parts,
        ]
        fill(part, "rest", "not read", problem)
        if problem:
            part.problem = problem
            self.problems.append(f"{described.name} cannot be decoded: {problem}")
        else:
            part.value = json.loads(cell.text)
        return state


def _length_width(column: Column) -> int:
    if column.type in _TEXTS:
        return 1 if column.length <= _ONE_BYTE_LENGTH else 2
    return column.length if column.type in _LENGTHS_IN_FRONT else 0


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


def _single(value: float) -> float:
    import numpy as np

    return float(str(np.float32(value)))


# (value, fraction digits) -> the contract's form.
_FORMATS: dict[T, Callable[[Any, int], object]] = {
    **dict.fromkeys((T.TIME, T.TIME2), time_text),
    **dict.fromkeys((T.DATETIME, T.DATETIME2, T.TIMESTAMP, T.TIMESTAMP2), datetime_text),
}
_PLAIN_FORMATS: dict[T, Callable[[Any], object]] = {
    T.FLOAT: _single,
    **dict.fromkeys((T.NEWDECIMAL, T.DECIMAL), decimal_text),
    **dict.fromkeys((T.DATE, T.NEWDATE), date_text),
}


def value_text(column: Column, value: Any) -> object:
    """A cell's value as the row records of the public contract have it."""
    if value is None:
        return None
    if column.type in _FORMATS:
        return _FORMATS[column.type](value, column.scale)
    plain = _PLAIN_FORMATS.get(column.type)
    return value if plain is None else plain(value)
