"""The row images of a rows event, cell by cell.

An image is a bitmap of NULLs, one bit per column *present* (not per column of the table), then the
values of the present columns that are not NULL. The after image of a PARTIAL_UPDATE_ROWS_EVENT
begins with ``value_options:packed``; with bit 0 set a bitmap follows that has one bit per JSON
column of the table, present or not: 1 means that the cell is a diff (server's sources, 8.0.3+).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from binlogkit._kernel.cells import CellOverrun, NoArrowValue, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.json_diff import apply, diff_text, parse_diffs
from binlogkit.constants import ColumnType
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import Event
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.schema import TableSchema, cell_spec
from binlogkit.sources.log_format import version_tuple

__all__ = ["Decoders", "Image", "RawCell", "RowDecoder"]

VALUE, NULL, NOT_IN_IMAGE, UNDECODABLE, NO_ARROW_VALUE, JSON_DIFF = range(6)
_PARTIAL_JSON = 1
_JSON_LENGTH_WIDTH = 4


@dataclass(frozen=True, slots=True)
class RawCell:
    """What the value alone cannot say of a cell; see ``raw`` in frames/schema.py."""

    column: int
    data: bytes
    text: str


@dataclass(slots=True)
class Image:
    """One image: a value per column (None where there is none), and what is special.

    ``states``: one state per column, None where every cell is a value or NULL.
    """

    values: list[object]
    states: bytes | None
    raw: list[RawCell]


class RowDecoder:
    """Decodes the images of one version of a table.

    ``server_version``: of the log, as its format description tells it: 5.7 prints JSON otherwise.
    """

    def __init__(self, schema: TableSchema, server_version: str = "") -> None:
        self.schema = schema
        self._as_5_7 = version_tuple(server_version)[:2] == (5, 7)
        self._decoders: list[Callable[[bytes, int, int], tuple[object, int]] | None] = [None] * len(
            schema.columns
        )
        self._json = [c.index for c in schema.columns if c.type == ColumnType.JSON]

    def rows(
        self, event: Event, cursor: Cursor | None = None
    ) -> Iterator[tuple[Image | None, Image | None]]:
        """The before and after image of each row of ``event``, a :class:`RowsEvent`.

        ``cursor``: over the event's ``data``, where somebody wants to see what is read. Raises
        :class:`MalformedEventError` with the column's name where an image runs past the event's
        end.
        """
        body = event.body
        assert isinstance(body, RowsEvent)
        if body.column_count != len(self.schema.columns):
            raise MalformedEventError(
                event.raw.file,
                event.raw.pos,
                f"{body.column_count} columns, its table map has {len(self.schema.columns)}",
                "column_count",
            )
        if cursor is None:
            cursor = Cursor(body.data, event.raw.file, event.raw.pos)
        before = _present(body.before_columns, body.column_count)
        after = _present(body.after_columns, body.column_count)
        if not cursor.left and before is None and after == []:
            # INSERT … VALUES () with a minimal image: one row that has no bytes (5.7.22, 8.0.31).
            yield None, self._image(cursor, after)
        while cursor.left:
            start = cursor.pos
            first = self._image(cursor, before) if before is not None else None
            second = self._after(cursor, after, body.partial) if after is not None else None
            if first is not None and second is not None:
                self._apply(first, second)
            if cursor.pos == start:
                raise cursor.fail("rows", "a row of no bytes")
            yield first, second

    def _after(self, cursor: Cursor, present: list[int], partial: bool) -> Image:
        diffs: set[int] = set()
        if partial and cursor.packed("value_options") & _PARTIAL_JSON:
            bits = cursor.read((len(self._json) + 7) // 8, "partial_bits")
            diffs = {c for i, c in enumerate(self._json) if bits[i // 8] >> (i % 8) & 1}
        return self._image(cursor, present, diffs)

    def _image(
        self, cursor: Cursor, present: list[int], diffs: set[int] | frozenset[int] = frozenset()
    ) -> Image:
        nulls = cursor.read((len(present) + 7) // 8, "null_bitmap")
        count = len(self.schema.columns)
        values: list[object] = [None] * count
        states = bytearray([NOT_IN_IMAGE]) * count
        raw: list[RawCell] = []
        for i, column in enumerate(present):
            if nulls[i // 8] >> (i % 8) & 1:
                states[column] = NULL
            elif column in diffs:
                states[column] = self._diff(cursor, column, raw)
            else:
                states[column], values[column] = self._cell(cursor, column, raw)
        special = bool(raw) or len(present) < count
        return Image(values, bytes(states) if special else None, raw)

    @staticmethod
    def _apply(before: Image, after: Image) -> None:
        """Replace JSON diffs by their result, where the before image holds the document."""
        if after.states is None or JSON_DIFF not in after.states:
            return
        states = bytearray(after.states)
        for cell in list(after.raw):
            document = before.values[cell.column]
            if states[cell.column] != JSON_DIFF or not isinstance(document, str):
                continue
            try:
                after.values[cell.column] = apply(document, parse_diffs(cell.data))
            except ValueError:
                continue  # it does not fit: the diff stays what is known
            states[cell.column] = VALUE
            after.raw.remove(cell)
        special = any(state > NULL for state in states)
        after.states = bytes(states) if special else None

    def _cell(self, cursor: Cursor, column: int, raw: list[RawCell]) -> tuple[int, object]:
        decoder = self._decoders[column] or self._decoder(cursor, column)
        start = cursor.pos
        try:
            value, cursor.pos = decoder(cursor.data, start, cursor.end)
        except CellOverrun as exc:
            raise cursor.fail(self.schema.columns[column].name, str(exc)) from exc
        if isinstance(value, NoArrowValue):
            raw.append(RawCell(column, value.raw, value.text))
            return NO_ARROW_VALUE, None
        if isinstance(value, Undecodable):
            raw.append(RawCell(column, value.raw, value.reason))
            return UNDECODABLE, None
        return VALUE, value

    def _decoder(
        self, cursor: Cursor, index: int
    ) -> Callable[[bytes, int, int], tuple[object, int]]:
        column = self.schema.columns[index]
        try:
            decoder = decoder_for(cell_spec(column, self._as_5_7))
        except ValueError as exc:
            raise cursor.fail(column.name, str(exc)) from exc
        self._decoders[index] = decoder
        return decoder

    def _diff(self, cursor: Cursor, column: int, raw: list[RawCell]) -> int:
        name = self.schema.columns[column].name
        data = cursor.read(cursor.uint(_JSON_LENGTH_WIDTH, name), name)
        try:
            text = diff_text(data)
        except ValueError as exc:
            raw.append(RawCell(column, data, str(exc)))
            return UNDECODABLE
        raw.append(RawCell(column, data, text))
        return JSON_DIFF


class Decoders:
    """One :class:`RowDecoder` per version of a table and server."""

    def __init__(self) -> None:
        self._known: dict[tuple[TableSchema, str], RowDecoder] = {}

    def of(self, schema: TableSchema, server_version: str) -> RowDecoder:
        """The decoder, made when it is first asked for."""
        decoder = self._known.get((schema, server_version))
        if decoder is None:
            decoder = RowDecoder(schema, server_version)
            self._known[schema, server_version] = decoder
        return decoder


def _present(bitmap: bytes | None, count: int) -> list[int] | None:
    if bitmap is None:
        return None
    return [i for i in range(count) if bitmap[i // 8] >> (i % 8) & 1]
