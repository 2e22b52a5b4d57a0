"""Our rows as batches: rendered as mysqlbinlog's text, as records only where those differ."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.conformance.cell import TableVersion, TableVersions
from binlogkit.analyses.conformance.our_records import (
    Key,
    OurEvents,
    OurRows,
    Record,
    Stream,
    Window,
    key_of,
)
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.row_texts import (
    RowForm,
    RowTexts,
    SingleDigits,
    absent_cells,
    row_texts,
)
from binlogkit.constants import EventType, TableId
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.generic import generic_rows
from binlogkit.frames.records import records_of
from binlogkit.frames.tables import generic_schema
from binlogkit.frames.text_columns import has_large_rows

Numbers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_ROWS, _BYTES = 8192, 8 << 20  # of the rows that are rendered at once
_FEW, _MANY = 16, 512  # rows that are made records at once: at first, and where all are
_INNER_BITS = 24
#: What the rows of one event have in common.
_IN_COMMON = (
    "end_pos", "timestamp", "commit_timestamp", "server_id", "gtid", "thread_id", "xid", "xa",
    "query",
)  # fmt: skip
_SMALL = 4096  # bytes of an event's record
_NO_PLACE = 1 << 62  # after every place that a number has


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of one event in a block: the first one's number in the event, and what they say of
    the event and its transaction."""

    key: Key
    number: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class RowBlock:
    """Some of the next rows, of one version of a table, and what mysqlbinlog must print of them.

    ``rows``: the rows of the group that they are; ``rules``: how many cells each rule explains;
    ``digits``: FLOAT cells.
    """

    group: _Group
    rows: range
    text: bytes
    cells: int
    rules: Mapping[str, int]
    digits: tuple[SingleDigits, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def table(self) -> TableId:
        """Its database and name."""
        return self.group.table

    @cached_property
    def _events(self) -> _Events:
        return _Events(self.batch)

    @property
    def alike(self) -> bool:
        """Whether all rows of one event say the same of it and of its transaction, and are numbered
        on."""
        return not self._events.breaks.any()

    def runs(self) -> Iterator[Run]:
        """The block's rows, event by event."""
        events = self._events
        for first, key, values in zip(events.starts, events.keys, events.values, strict=True):
            yield Run(key, int(events.numbers[first]), values)

    @property
    def last(self) -> tuple[Key, int]:
        """The last row's event, and its number there."""
        return self._events.keys[-1], int(self._events.numbers[-1])

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The rows."""
        return self.group.batch.slice(self.rows.start, len(self.rows))

    def ops(self) -> list[str]:
        """What each row's change is."""
        column = self.batch.column("op")
        words: list[str] = column.dictionary.to_pylist()
        return [words[i] for i in column.indices.to_pylist()]

    def forms(self, image: str) -> tuple[list[bool], bytes]:
        """Which rows have an image; of those what :attr:`StoredImage.form` says."""
        struct = self.batch.column(image)
        there, absent = np.asarray(struct.is_valid()), absent_cells(self.batch, image)
        cells = [np.asarray(struct.field(i).is_null()) for i in range(struct.type.num_fields)]
        nulls = np.stack(cells, axis=1)
        present = np.ones_like(nulls) if absent is None else ~absent
        bits = [np.packbits(part, axis=1, bitorder="little") for part in (present, nulls & present)]
        return there.tolist(), np.concatenate(bits, axis=1)[there].tobytes()

    def stored_digits(self, image: str) -> bytes:
        """The FLOAT cells of an image's rows as they must be stored, one after the other."""
        chosen = [digits for digits in self.digits if digits.image == image]
        if not chosen:
            return b""
        values = np.stack([digits.values for digits in chosen], axis=1).astype("<f4")
        return values[np.stack([digits.there for digits in chosen], axis=1)].tobytes()


class _Part(Protocol):
    """Some records of ours in the log's order, as batches."""

    def __len__(self) -> int: ...

    def records(self, start: int, stop: int) -> Iterator[Record]:
        """Those from ``start`` on, up to ``stop``."""


_P = TypeVar("_P", bound=_Part)


class _Batched(Stream, Generic[_P]):
    """Records that are made of batches as far as they are asked for."""

    def __init__(self, parts: Iterator[_P]) -> None:
        super().__init__(())
        self._source = parts
        self._parts: deque[_P] = deque()
        self._row = 0  # of the first part: the next that is taken
        self._at_once = _FEW

    def _fill(self, count: int) -> bool:
        while len(self._ahead) < count:
            at = self._row + len(self._ahead)
            for part in self._parts:
                if at < len(part):
                    break
                at -= len(part)
            else:
                if not self._more():
                    return False
                continue
            self._ahead.extend((key_of(r), r) for r in part.records(at, at + self._at_once))
            self._at_once = min(2 * self._at_once, _MANY)
        return True

    def _more(self) -> bool:
        part = next(self._source, None)
        if part is None:
            return False
        self._parts.append(part)
        return True

    def _first(self) -> _P | None:
        """The part of the next record, None after the last."""
        while not self._parts:
            if not self._more():
                return None
        return self._parts[0]

    def take_first(self) -> Record:
        """Take the next record, which must be held."""
        record = super().take_first()
        self._pass(1)
        return record

    def _pass_over(self, count: int) -> None:
        """Take records that were looked at as batches."""
        for _ in range(min(count, len(self._ahead))):
            self._ahead.popleft()
        self._pass(count)
        self._at_once = _FEW

    def _pass(self, count: int) -> None:
        self._row += count
        while self._parts and self._row >= len(self._parts[0]):
            self._row -= len(self._parts.popleft())


class OurBatches(_Batched["_Share"], OurRows):
    """``windows``: see :class:`RowWindows`."""

    def __init__(self, windows: Iterable[Window]) -> None:
        super().__init__(share for window in windows for share in _shares(window))
        self._forms: dict[TableId, RowForm] = {}

    def peek(self, last: Key, distance: int = 0) -> Record | None:
        """The row ``distance`` ahead if it stands at or before ``last``; one that does not is made
        no record."""
        share = self._first()
        if not self._ahead and share is not None and share.key(self._row) > last:
            return None
        return super().peek(last, distance)

    def learn(self, row: PrintedRow, facts: TableVersion | None) -> None:
        """Look at a printed row that agrees with ours, which is of the version ``facts``."""
        if facts is None:
            return
        name = (facts.db, facts.table)
        form = self._forms.get(name)
        if form is None or form.facts is not facts:
            form = self._forms[name] = RowForm(facts)
        form.learn(row)

    def block(self, last: Key, most: int, tables: TableVersions) -> RowBlock | None:
        """Up to ``most`` of the next rows, if they stand at or before ``last`` and can be rendered.

        ``tables``: which version the rows of a table are of.
        """
        share = self._first()
        if share is None:
            return None
        return share.block(self._row, last, most, self._forms, tables)

    def run(self, last: Key, tables: TableVersions) -> RowRun | None:
        """The next rows up to ``last``, None where there are none."""
        share = self._first()
        if share is None or share.key(self._row) > last:
            return None
        return share.run(self._row, last, self._forms, tables)

    def pass_over(self, rows: Sized) -> None:
        """Take the rows of a block or a run."""
        self._pass_over(len(rows))


class OurEventBatches(_Batched["EventPart"], OurEvents):
    """``taken``: the part of the event that was taken last, and its row there."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        super().__init__(EventPart(batch) for batch in _whole_transactions(batches))
        self.taken: tuple[EventPart, int] | None = None

    def take_first(self) -> Record:
        """Take the next record, which must be held."""
        self.taken = (self._parts[0], self._row)
        return super().take_first()

    def next(self) -> tuple[EventPart, int] | None:
        """The part of the next event and its row there, None after the last."""
        part = self._first()
        return None if part is None else (part, self._row)

    def pass_over(self, count: int) -> None:
        """Take events of the next one's part."""
        self._pass_over(count)


def _whole_transactions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same events: what follows the last transaction's end in a batch goes into the next, where
    events are small."""
    rest = None
    for batch in batches:
        if batch.nbytes > _SMALL * batch.num_rows:
            yield from (some for some in (rest, batch) if some is not None and len(some))
            rest = None
            continue
        whole = batch if rest is None else pa.concat_batches([rest, batch])
        ends = np.flatnonzero(np.asarray(whole.column("code")) == EventType.XID_EVENT)
        stop = int(ends[-1]) + 1 if len(ends) else len(whole)
        rest = whole.slice(stop) if stop < len(whole) else None
        if stop:
            yield whole.slice(0, stop)
    if rest is not None:
        yield rest


class EventPart:
    """Events as ``Streams.event_batches`` gives them, compact; ``numbers``: by column."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.numbers = {
            name: _numbers(batch, name)
            for name in ("pos", "end_pos", "inner", "size", "timestamp", "code", "server_id")
        }

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def records(self, start: int, stop: int) -> Iterator[Record]:
        """The events from ``start`` on, up to ``stop``."""
        return records_of([self.batch.slice(start, stop - start)], EVENT)


class _Events:
    """The events that a batch's rows are of: their first rows, their keys, and what these rows say
    of the event and its transaction.

    ``numbers``: of each row; ``breaks``: rows that say something else than the row before of their
    event, or whose number does not follow its.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        pos, inner, self.numbers = (_numbers(batch, name) for name in ("pos", "inner", "row"))
        begins = np.append(True, (np.diff(pos) != 0) | (np.diff(inner) != 0))
        firsts = np.flatnonzero(begins)
        self.starts: list[int] = firsts.tolist()
        self.keys = list(zip(pos[firsts].tolist(), inner[firsts].tolist(), strict=True))
        breaks = np.append(False, np.diff(self.numbers) != 1)
        columns = []
        for name in _IN_COMMON:
            column = batch.column(name)
            columns.append(column.take(pa.array(firsts)).to_pylist())
            if isinstance(column, pa.DictionaryArray):
                column = column.indices
            null = np.asarray(column.is_null())
            other = pc.not_equal(column[1:], column[:-1]).fill_null(False)
            breaks[1:] |= np.asarray(other) | (null[1:] != null[:-1])
        self.breaks = breaks & ~begins
        self.values = [
            dict(zip(_IN_COMMON, own, strict=True)) for own in zip(*columns, strict=True)
        ]


def _numbers(batch: pa.RecordBatch, name: str) -> Numbers:
    """A number of each row, -1 where it has none."""
    return np.asarray(batch.column(name).fill_null(-1), np.int64)


class _Group:
    """Rows of one batch in a share, and their texts by what was known of them then."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.table = (_first(batch, "db"), _first(batch, "table"))
        self._texts: RowTexts | None = None
        self._by: tuple[RowForm, int] | None = None

    def texts(self, form: RowForm, row: int) -> RowTexts | None:
        """The texts, made anew where more is known and ``row`` could not be rendered."""
        if self._by is None or self._by[0] is not form or self._grew(form, row):
            self._by = (form, form.seen)
            large = has_large_rows(self.batch.nbytes, self.batch.num_rows)
            self._texts = None if large else row_texts(self.batch, form)
        return self._texts

    def _grew(self, form: RowForm, row: int) -> bool:
        assert self._by is not None
        return self._by[1] != form.seen and (self._texts is None or bool(self._texts.odd[row]))


def _first(batch: pa.RecordBatch, name: str) -> str:
    return str(batch.column(name)[0].as_py())


class _Share:
    """Some rows of a window in the log's order: the number of each one's group, and its place
    there."""

    def __init__(self, groups: list[_Group], group: Numbers, place: Numbers) -> None:
        self.groups = groups
        self.group = group
        self.place = place
        self.pos, self.inner, self.number = (self._column(n) for n in ("pos", "inner", "row"))
        known = (self.inner + 1) >> _INNER_BITS == 0
        known &= self.pos < _NO_PLACE >> _INNER_BITS
        places = (self.pos << _INNER_BITS) + self.inner + 1
        self._places = np.where(known, places, _NO_PLACE)
        # Rows continue in one batch up to here.
        jumps = (np.diff(group) != 0) | (np.diff(place) != 1)
        self._ends = np.append(np.flatnonzero(jumps) + 1, len(group))
        self._in_order = bool((np.diff(self._places) >= 0).all())

    def __len__(self) -> int:
        return len(self.group)

    def _column(self, name: str) -> Numbers:
        """A number of each row, -1 where it has none."""
        found = np.empty(len(self.group), np.int64)
        for i, group in enumerate(self.groups):
            here = self.group == i
            found[here] = _numbers(group.batch, name)[self.place[here]]
        return found

    def key(self, row: int) -> Key:
        """Where a row stands."""
        return (int(self.pos[row]), int(self.inner[row]))

    def records(self, start: int, stop: int) -> Iterator[Record]:
        """The rows from ``start`` on, up to ``stop``."""
        group, place = self.group[start:stop], self.place[start:stop]
        some = [
            self.groups[i].batch.take(pa.array(place[group == i]))
            for i in np.unique(group).tolist()
        ]
        return records_of(generic_rows(some, generic_schema(), compact=True), ROW)

    def run(
        self, row: int, last: Key, forms: Mapping[TableId, RowForm], tables: TableVersions
    ) -> RowRun | None:
        """See :meth:`OurBatches.run`."""
        end = self._after(last)
        if end is None or end <= row:
            return None
        return RowRun(
            self.groups, self.group[row:end], self.place[row:end], forms, tables,
            open_end=end == len(self),
        )  # fmt: skip

    def _after(self, last: Key) -> int | None:
        """The first row after ``last``; None where that cannot be said."""
        if not self._in_order or not 0 <= last[1] + 1 < 1 << _INNER_BITS:
            return None
        place = (last[0] << _INNER_BITS) + last[1] + 1
        return int(np.searchsorted(self._places, place, "right"))

    def block(
        self, row: int, last: Key, most: int, forms: Mapping[TableId, RowForm],
        tables: TableVersions,
    ) -> RowBlock | None:  # fmt: skip
        """See :meth:`OurBatches.block`."""
        after = self._after(last)
        if after is None:
            return None
        end = int(self._ends[np.searchsorted(self._ends, row, "right")])
        end = min(end, row + most, after)
        group = self.groups[self.group[row]]
        form = forms.get(group.table)
        if end <= row or form is None or tables.current(*group.table) is not form.facts:
            return None
        start = int(self.place[row])
        texts = group.texts(form, start)
        if texts is None:
            return None
        stop = start + end - row
        odd = np.flatnonzero(texts.odd[start:stop])
        if len(odd):
            stop = start + int(odd[0])
        if stop <= start:
            return None
        return _made(group, texts, range(start, stop))


class RowRun:
    """Rows that stand next to each other.

    ``odd``: those that are judged one by one; ``cells``: how many each row has; ``rules``: how many
    of a row's a rule explains; ``group``: which of ``tables`` each row is of; ``open``: more rows
    of the last one's event may follow.
    """

    def __init__(
        self, groups: Sequence[_Group], group: Numbers, place: Numbers,
        forms: Mapping[TableId, RowForm], tables: TableVersions, *, open_end: bool,
    ) -> None:  # fmt: skip
        count = len(group)
        self.open = open_end
        self.odd, self.cells = np.zeros(count, bool), np.zeros(count, np.int64)
        self.rules: dict[str, Numbers] = {}
        self.tables = [one.table for one in groups]
        self.group = group
        self._singles: list[tuple[str, Numbers, Numbers, npt.NDArray[np.float32]]] = []
        self._parts: list[tuple[_Group, Booleans, Numbers, RowTexts | None]] = []
        for i, one in enumerate(groups):
            here = group == i
            if not here.any():
                continue
            these, texts, form = place[here], None, forms.get(one.table)
            if form is not None and tables.current(*one.table) is form.facts:
                texts = one.texts(form, int(these[0]))
            self._parts.append((one, here, these, texts))
            self._judge(here, these, texts)
        # Row by row: where the parts, one after the other, have it.
        order = np.concatenate([np.flatnonzero(here) for _, here, _, _ in self._parts])
        self._order = None if len(self._parts) == 1 else pa.array(np.argsort(order))

    def _judge(self, here: Booleans, these: Numbers, texts: RowTexts | None) -> None:
        if texts is None:
            self.odd |= here
            return
        self.odd[here] = texts.odd[these]
        self.cells[here] = texts.cells[these]
        rows = np.flatnonzero(here)
        for digits in texts.digits:
            there = digits.there[these]
            place = rows[there], np.full(int(there.sum()), digits.column)
            self._singles.append((digits.image, *place, digits.values[these][there]))
        for rule, counts in texts.rules.items():
            self.rules.setdefault(rule, np.zeros(len(here), np.int64))[here] = counts[these]

    def __len__(self) -> int:
        return len(self.group)

    def column(self, name: str, count: int) -> pa.Array:
        """A column of the first rows; of a dictionary the texts."""
        columns = [_some(one.batch.column(name), these) for one, _, these, _ in self._parts]
        if columns and isinstance(columns[0], pa.DictionaryArray):
            columns = [column.dictionary_decode() for column in columns]
        return self._in_order(columns).slice(0, count)

    def singles(self, count: int) -> bool:
        """Whether any of the first rows has FLOAT cells."""
        return any((rows < count).any() for _, rows, _, _ in self._singles)

    def stored_digits(self, image: str, count: int) -> bytes:
        """The FLOAT cells of the first rows' image as they must be stored, one after the other."""
        some = [(rows, columns, values) for i, rows, columns, values in self._singles if i == image]
        if not some:
            return b""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*some, strict=True))
        order = np.lexsort((columns, rows))
        return bytes(values[order[: int((rows < count).sum())]].astype("<f4").tobytes())

    def texts(self, count: int) -> pa.Array:
        """What mysqlbinlog must print of each of the first rows, as bytes; none of them is odd."""
        found = []
        for _, _, these, texts in self._parts:
            if texts is None:
                found.append(pa.nulls(len(these), pa.binary()))
                continue
            buffers = [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)]
            whole = pa.Array.from_buffers(pa.binary(), len(texts.offsets) - 1, buffers)
            found.append(_some(whole, these))
        return self._in_order(found).slice(0, count)

    def _in_order(self, columns: list[pa.Array]) -> pa.Array:
        whole = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        return whole if self._order is None else whole.take(self._order)


def _some(column: pa.Array, places: Numbers) -> pa.Array:
    """The values at places in rising order."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return column.slice(first, len(places))
    return column.take(pa.array(places))


def _made(group: _Group, texts: RowTexts, rows: range) -> RowBlock:
    these = slice(rows.start, rows.stop)
    rules = {rule: int(counts[these].sum()) for rule, counts in texts.rules.items()}
    return RowBlock(
        group,
        rows,
        text=bytes(texts.data[texts.offsets[rows.start] : texts.offsets[rows.stop]]),
        cells=int(texts.cells[these].sum()),
        rules={rule: count for rule, count in rules.items() if count},
        digits=tuple(
            SingleDigits(d.image, d.column, d.values[these], d.there[these]) for d in texts.digits
        ),
    )


def _shares(window: Window) -> Iterator[_Share]:
    """The rows of a window in the log's order, so many as are rendered at once."""
    rows = sum(batch.num_rows for batch in window)
    if not rows:
        return
    size = sum(batch.nbytes for batch in window)
    most = max(1, min(_ROWS, _BYTES * rows // max(size, 1)))
    order = np.argsort(np.concatenate([batch.column("seq") for batch in window]), kind="stable")
    starts = np.cumsum([0, *(batch.num_rows for batch in window)])
    batch_of = np.searchsorted(starts, order, "right") - 1
    for start in range(0, rows, most):
        batches, places = batch_of[start : start + most], order[start : start + most]
        places = places - starts[batches]
        groups: list[_Group] = []
        group, place = np.empty_like(batches), np.empty_like(places)
        for i in np.unique(batches).tolist():
            here = batches == i
            first, last = int(places[here].min()), int(places[here].max())
            group[here], place[here] = len(groups), places[here] - first
            groups.append(_Group(window[i].slice(first, last - first + 1)))
        yield _Share(groups, group, place)
