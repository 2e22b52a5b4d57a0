"""The log's own bytes of row images, cut into cells: where each cell begins and ends, no more.

Apart from the decoder under test: of events the layout is taken as ``events/`` reads it (bitmaps,
types, metadata as bytes), of the kernel nothing. A cell's length follows from its type, the type's
metadata and the length in front of the value (``calc_field_size`` in the server's
``rpl_utility.cc``, 8.0).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

from binlogkit.constants import ColumnType
from binlogkit.events.base import Event
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap

T = ColumnType
Key = tuple[int, int]
Image = dict[int, "StoredCell"]


class StoredError(ValueError):
    """The bytes cannot be cut into cells; never leaves this package."""


@dataclass(frozen=True, slots=True)
class StoredType:
    """A column's type, and its metadata as numbers.

    ``size``: bytes of the value, or (``prefixed``) of the length in front of it; ``precision``:
    DECIMAL's digits; ``scale``: digits of its fraction, or of a time's.
    """

    type: ColumnType
    size: int
    prefixed: bool = False
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class StoredCell:
    """``content``: the value's bytes without the length in front of them, None for NULL;
    ``diff``: they are a partial JSON update's operations."""

    type: StoredType
    content: bytes | None
    diff: bool = False


@dataclass(slots=True)
class StoredImage:
    """An image whose cells were passed over: it begins at ``at`` of an event's images.

    ``digits``: the bytes of its FLOAT cells, one after the other; ``diffs``: columns whose cells
    are a partial JSON update's operations.
    """

    data: bytes
    at: int
    cut: _Cut
    digits: bytes
    diffs: tuple[int, ...] = ()

    @property
    def form(self) -> bytes:
        """Which columns are in the image and which of those are NULL: a bit for each column, lowest
        first, twice."""
        return self.cut.form

    def cells(self) -> Image:
        """The cells by 0-based column."""
        data, found = _Bytes(self.data, self.at), Image()
        for column, kind, is_null in self.cut.columns:
            if is_null:
                found[column] = StoredCell(kind, None)
                continue
            length = int.from_bytes(data.take(kind.size), "little") if kind.prefixed else kind.size
            found[column] = StoredCell(kind, data.take(length), column in self.diffs)
        return found


@dataclass(slots=True)
class StoredRow:
    """One row change: ``old`` and ``new`` as they were passed over, None without that image."""

    key: Key
    db: str
    table: str
    op: str
    old: StoredImage | None
    new: StoredImage | None

    @property
    def before(self) -> Image | None:
        """The cells before the change by 0-based column."""
        return None if self.old is None else self.old.cells()

    @property
    def after(self) -> Image | None:
        """The cells after the change by 0-based column."""
        return None if self.new is None else self.new.cells()


_FIXED = {
    T.NULL: 0, T.TINY: 1, T.YEAR: 1, T.SHORT: 2, T.INT24: 3, T.DATE: 3, T.NEWDATE: 3, T.TIME: 3,
    T.LONG: 4, T.TIMESTAMP: 4, T.LONGLONG: 8, T.DATETIME: 8,
}  # fmt: skip
_PREFIXED = {T.TINY_BLOB: 1, T.MEDIUM_BLOB: 3, T.LONG_BLOB: 4}
_TIMES = {T.TIME2: 3, T.TIMESTAMP2: 4, T.DATETIME2: 5}
# Bytes of metadata; other types have none.
SINGLE = 4  # bytes of a FLOAT
_METADATA = {
    **dict.fromkeys((T.FLOAT, T.DOUBLE, *_PREFIXED, T.BLOB, T.JSON, T.GEOMETRY, T.VECTOR), 1),
    **dict.fromkeys(_TIMES, 1),
    **dict.fromkeys((T.VARCHAR, T.VAR_STRING, T.STRING, T.ENUM, T.SET, T.BIT, T.NEWDECIMAL), 2),
}
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of 0 to 9 decimal digits
# CHAR of more than 255 bytes: two bits of its length stand inverted in the real type.
_LENGTH_BITS = 0x30
_PARTIAL_JSON = 1
_MOST_COLUMNS = 1 << 16  # of the cuts kept of one form of images, one for each set of NULLs
_MOST_TABLES = 16


def stored_types(table: TableMap) -> tuple[StoredType, ...]:
    """The columns of a table map. :class:`StoredError`: what no server writes."""
    return _types(table.types, table.metadata)


@lru_cache(_MOST_TABLES)
def _types(codes: bytes, metadata: bytes) -> tuple[StoredType, ...]:
    found, at = [], 0
    for code in codes:
        try:
            kind = ColumnType(code)
        except ValueError as exc:
            raise StoredError(f"column type {code}") from exc
        length = _METADATA.get(kind, 0)
        meta = metadata[at : at + length]
        if len(meta) != length:
            raise StoredError("the metadata of the columns ends too early")
        found.append(_type(kind, meta))
        at += length
    return tuple(found)


def _type(kind: ColumnType, meta: bytes) -> StoredType:
    if kind in _FIXED:
        return StoredType(kind, _FIXED[kind])
    if kind in _TIMES:
        return StoredType(kind, _TIMES[kind] + (meta[0] + 1) // 2, scale=meta[0])
    if kind in (T.FLOAT, T.DOUBLE):
        return StoredType(kind, meta[0])
    if kind is T.BIT:
        return StoredType(kind, meta[1] + bool(meta[0]))
    if kind is T.NEWDECIMAL:
        precision, scale = meta
        return StoredType(kind, decimal_bytes(precision, scale), False, precision, scale)
    if kind in (T.VARCHAR, T.VAR_STRING):
        return StoredType(kind, 1 if int.from_bytes(meta, "little") < 256 else 2, True)
    if kind in (T.STRING, T.ENUM, T.SET):
        return _string(kind, *meta)
    if kind in _METADATA:
        return StoredType(kind, _PREFIXED.get(kind, meta[0]), True)
    raise StoredError(f"column type {kind.name}")


def _string(kind: ColumnType, real: int, length: int) -> StoredType:
    if real and real & _LENGTH_BITS != _LENGTH_BITS:
        length |= ((real & _LENGTH_BITS) ^ _LENGTH_BITS) << 4
        real |= _LENGTH_BITS
    if real in (T.ENUM, T.SET):
        return StoredType(ColumnType(real), length)
    return StoredType(kind, 1 if length < 256 else 2, True)


def decimal_bytes(precision: int, scale: int) -> int:
    """How many bytes a DECIMAL takes: four for nine digits, on either side of the point."""
    whole = precision - scale
    if whole < 0:
        raise StoredError(f"DECIMAL({precision},{scale})")
    return sum(n // 9 * 4 + _DIGIT_BYTES[n % 9] for n in (whole, scale))


class _Bytes:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) != count:
            raise StoredError("an image runs past the end of its event")
        self.at += count
        return found

    @property
    def left(self) -> bool:
        return self.at < len(self.data)


def stored_rows(key: Key, event: RowsEvent, table: TableMap) -> Iterator[StoredRow]:
    """The row changes of an event. :class:`StoredError` where the bytes do not fit.

    An event without a byte of images is one row without columns: ``INSERT … VALUES ()`` with a
    minimal image.
    """
    types = stored_types(table)
    if event.column_count != len(types):
        raise StoredError(f"{event.column_count} columns, the table map has {len(types)}")
    before, after = (
        None if bits is None else _cuts(table.types, table.metadata, bits)
        for bits in (event.before_columns, event.after_columns)
    )
    data = _Bytes(event.data)
    first = True
    while data.left or (first and before is None and after is not None and not after.there):
        start, first = data.at, False
        old = None if before is None else before.image(data, ())
        new = None if after is None else after.image(data, _diffs(data, types, event))
        yield StoredRow(key, table.db, table.table, event.op, old, new)
        if data.left and data.at == start:
            raise StoredError("a row of no bytes")


def _there(bitmap: bytes, count: int) -> list[int]:
    return [i for i in range(count) if bitmap[i // 8] >> i % 8 & 1]


def _diffs(data: _Bytes, types: tuple[StoredType, ...], event: RowsEvent) -> tuple[int, ...]:
    """The JSON columns whose cells are operations; of all JSON columns one bit each."""
    if not event.partial or not data.take(1)[0] & _PARTIAL_JSON:
        return ()
    columns = [i for i, column in enumerate(types) if column.type is T.JSON]
    bits = data.take((len(columns) + 7) // 8)
    return tuple(column for i, column in enumerate(columns) if bits[i // 8] >> i % 8 & 1)


@dataclass(frozen=True, slots=True)
class _Cut:
    """How to pass over an image with these NULLs.

    ``columns``: each with its type and whether it is NULL; ``steps``: bytes of fixed size to pass
    over, bytes of the length that follows (0: none), and where in the former FLOATs begin.
    """

    columns: tuple[tuple[int, StoredType, bool], ...]
    steps: tuple[tuple[int, int, tuple[int, ...]], ...]
    form: bytes


class _Cuts:
    """The cuts of an event's images that have the columns ``there``."""

    def __init__(self, types: tuple[StoredType, ...], there: list[int]) -> None:
        self.there = there
        self._types = types
        self._bytes = (len(there) + 7) // 8
        self._known: dict[bytes, _Cut] = {}

    def image(self, data: _Bytes, diffs: tuple[int, ...]) -> StoredImage:
        """Pass over an image."""
        nulls, start = data.take(self._bytes), data.at
        cut = self._known.get(nulls) or self._cut(nulls)
        whole, at, digits = data.data, start, b""
        for fixed, length, floats in cut.steps:
            for place in floats:
                digits += whole[at + place : at + place + SINGLE]
            at += fixed
            if length == 1:
                at += 1 + (whole[at] if at < len(whole) else 1)
            elif length:
                at += length + int.from_bytes(whole[at : at + length], "little")
        data.take(at - start)
        return StoredImage(whole, start, cut, digits, diffs)

    def _cut(self, nulls: bytes) -> _Cut:
        columns, steps = [], list[tuple[int, int, tuple[int, ...]]]()
        fixed, floats = 0, list[int]()
        bits = (len(self._types) + 7) // 8
        form = bytearray(2 * bits)
        for place, column in enumerate(self.there):
            kind, is_null = self._types[column], bool(nulls[place // 8] >> place % 8 & 1)
            columns.append((column, kind, is_null))
            form[column // 8] |= 1 << column % 8
            form[bits + column // 8] |= is_null << column % 8
            if is_null:
                continue
            if kind.prefixed:
                steps.append((fixed, kind.size, tuple(floats)))
                fixed, floats = 0, []
                continue
            if kind.type is T.FLOAT:
                floats.append(fixed)
            fixed += kind.size
        steps.append((fixed, 0, tuple(floats)))
        if len(self._known) * len(columns) > _MOST_COLUMNS:
            self._known.clear()
        found = self._known[nulls] = _Cut(tuple(columns), tuple(steps), bytes(form))
        return found


@lru_cache(_MOST_TABLES)
def _cuts(codes: bytes, metadata: bytes, bitmap: bytes) -> _Cuts:
    """How images that have the columns of a bitmap are cut."""
    types = _types(codes, metadata)
    return _Cuts(types, _there(bitmap, len(types)))


@runtime_checkable
class StoredBytes(Protocol):
    """A log's events, of which some may be looked at as bytes instead.

    ``offset``: where the next begins that was not read; None where its bytes are not at hand;
    ``checksummed``: whether events have checksums.
    """

    @property
    def offset(self) -> int | None: ...

    @property
    def checksummed(self) -> bool: ...

    def __iter__(self) -> Iterator[Event]: ...

    def ahead(self, size: int) -> bytes:
        """The bytes from there on, fewer at the end."""

    def pass_over(self, size: int) -> None:
        """Resume after whole events of so many bytes."""


@dataclass(frozen=True, slots=True)
class _Held:
    """``event``: None of rows that were judged by their bytes; ``rows``: of a rows event its body,
    with its table map."""

    event: Event | None
    rows: RowsEvent | None
    table: TableMap | None


class StoredLog:
    """A log's events in order, which the judge asks for as mysqlbinlog's text proceeds.

    Held are the events between the one looked at and the rows that were taken last.
    """

    def __init__(self, events: Iterable[Event] | StoredBytes) -> None:
        self.bytes = events if isinstance(events, StoredBytes) else None
        self._events = iter(events)
        self._ahead: deque[Key] = deque()
        self._held: dict[Key, _Held] = {}
        self._maps: dict[int, TableMap] = {}  # as of the event that was read last
        self._passed: Key = (-1, -1)

    def pass_over(self, key: Key) -> None:
        """Events up to ``key`` are asked for no more."""
        self._passed = max(self._passed, key)
        while self._ahead and self._ahead[0] <= self._passed:
            self._take()

    def pass_to(self, key: Key, end: int) -> None:
        """Events up to ``key``, which ends at ``end``, were judged by their bytes."""
        self._go_on(end)
        self.pass_over(key)

    def hold(self, events: Iterable[tuple[Key, RowsEvent]], end: int) -> None:
        """Rows events next to each other, up to ``end``, were judged by their bytes; their rows are
        still asked for."""
        self._go_on(end)
        for key, rows in events:
            self._ahead.append(key)
            self._held[key] = _Held(None, rows, self._maps.get(rows.table_id))

    def _go_on(self, end: int) -> None:
        """Read on at ``end``: what stands before was looked at as bytes."""
        assert self.bytes is not None and self.bytes.offset is not None
        self.bytes.pass_over(end - self.bytes.offset)

    def _take(self) -> tuple[Key, _Held]:
        key = self._ahead.popleft()
        return key, self._held.pop(key)

    def find(self, key: Key) -> Event | None:
        """The event at ``key``, which is not taken."""
        while not self._ahead or self._ahead[-1] < key:
            if (place := self._read()) is None:
                return None
            if place < key and place <= self._passed:
                self._take()
        found = self._held.get(key)
        return None if found is None else found.event

    def names(self, key: Key) -> tuple[str, ...] | None:
        """The columns' names of the rows event at ``key``, None where its table map has none."""
        self.find(key)
        held = self._held.get(key)
        optional = None if held is None or held.table is None else held.table.optional
        return None if optional is None else optional.column_names

    def rows(self, key: Key) -> Iterator[StoredRow]:
        """Take what stands up to the rows event at ``key``; its row changes.

        :class:`StoredError`, also while they are read: there is no such event, or no table map.
        """
        self.find(key)
        while key in self._held:
            place, held = self._take()
            if place == key:
                if held.rows is None or held.table is None:
                    raise StoredError("no rows event with its table map")
                return stored_rows(key, held.rows, held.table)
        raise StoredError("no event at this position")

    def _read(self) -> Key | None:
        event = next(self._events, None)
        if event is None:
            return None
        raw, body = event.raw, event.body
        rows, table = None, None
        if isinstance(body, TableMap):
            self._maps[body.table_id] = body
        elif isinstance(body, RowsEvent):
            rows, table = body, self._maps.get(body.table_id)
        key = (raw.pos, -1 if raw.inner is None else raw.inner)
        self._ahead.append(key)
        self._held[key] = _Held(event, rows, table)
        return key
