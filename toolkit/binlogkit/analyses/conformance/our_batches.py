"""Our rows as batches: rendered as mysqlbinlog's text, as records only where those differ."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.conformance.cell import Tables, TableVersion
from binlogkit.analyses.conformance.our_records import Key, OurRows, Record, Window, key_of
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.row_texts import (
    RowForm,
    RowTexts,
    SingleDigits,
    absent_cells,
    row_texts,
)
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
_NO_PLACE = 1 << 62  # after every place that a number has


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of one event in a block: the first one's number in the event, and what they say of
    the event and its transaction."""

    key: Key
    number: int
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Block:
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
    def table(self) -> tuple[str, str]:
        """Its database and name."""
        return self.group.table

    @property
    def alike(self) -> bool:
        """Whether all rows of one event say the same of it and of its transaction, and are numbered
        on."""
        return not self.group.events.breaks[self.rows.start : self.rows.stop].any()

    def runs(self) -> Iterator[Run]:
        """The block's rows, event by event."""
        events, start, stop = self.group.events, self.rows.start, self.rows.stop
        for i in range(events.of(start), events.of(stop - 1) + 1):
            first = max(events.starts[i], start)
            yield Run(events.keys[i], int(events.numbers[first]), events.told[i])

    @property
    def last(self) -> tuple[Key, int]:
        """The last row's event, and its number there."""
        events, last = self.group.events, self.rows[-1]
        return events.keys[events.of(last)], int(events.numbers[last])

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


class OurBatches(OurRows):
    """``windows``: see :class:`RowWindows`."""

    def __init__(self, windows: Iterable[Window]) -> None:
        super().__init__(())
        self._windows = iter(windows)
        self._shares: deque[_Share] = deque()
        self._row = 0  # of the first share: the next that is taken
        self._forms: dict[tuple[str, str], RowForm] = {}
        self._at_once = _FEW

    # ---- one by one

    def peek(self, last: Key, distance: int = 0) -> Record | None:
        """The row ``distance`` ahead if it stands at or before ``last``; one that does not is made
        no record."""
        while not self._shares and self._more():
            pass
        if not self._ahead and self._shares and self._shares[0].key(self._row) > last:
            return None
        return super().peek(last, distance)

    def _fill(self, count: int) -> bool:
        while len(self._ahead) < count:
            at = self._row + len(self._ahead)
            for share in self._shares:
                if at < len(share):
                    break
                at -= len(share)
            else:
                if not self._more():
                    return False
                continue
            self._ahead.extend((key_of(r), r) for r in share.records(at, at + self._at_once))
            self._at_once = min(2 * self._at_once, _MANY)
        return True

    def _more(self) -> bool:
        window = next(self._windows, None)
        if window is None:
            return False
        self._shares.extend(_shares(window))
        return True

    def take_first(self) -> Record:
        """Take the next record, which must be held."""
        record = super().take_first()
        self._pass(1)
        return record

    def _pass(self, count: int) -> None:
        self._row += count
        while self._shares and self._row >= len(self._shares[0]):
            self._row -= len(self._shares.popleft())

    # ---- many at once

    def learn(self, row: PrintedRow, facts: TableVersion | None) -> None:
        """Look at a printed row that agrees with ours, which is of the version ``facts``."""
        if facts is None:
            return
        name = (facts.db, facts.table)
        form = self._forms.get(name)
        if form is None or form.facts is not facts:
            form = self._forms[name] = RowForm(facts)
        form.learn(row)

    def block(self, last: Key, most: int, tables: Tables) -> Block | None:
        """Up to ``most`` of the next rows, if they stand at or before ``last`` and can be rendered.

        ``tables``: which version the rows of a table are of.
        """
        while not self._shares:
            if not self._more():
                return None
        share = self._shares[0]
        return share.block(self._row, last, most, self._forms, tables)

    def pass_over(self, block: Block) -> None:
        """Take the rows of a block."""
        for _ in range(min(len(block), len(self._ahead))):
            self._ahead.popleft()
        self._pass(len(block))
        self._at_once = _FEW


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
        self.told = [dict(zip(_IN_COMMON, own, strict=True)) for own in zip(*columns, strict=True)]

    def of(self, row: int) -> int:
        """Which event a row is of."""
        return bisect_right(self.starts, row) - 1


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

    @cached_property
    def events(self) -> _Events:
        return _Events(self.batch)

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

    def block(
        self, row: int, last: Key, most: int, forms: Mapping[tuple[str, str], RowForm],
        tables: Tables,
    ) -> Block | None:  # fmt: skip
        """See :meth:`OurBatches.block`."""
        if not self._in_order or not 0 <= last[1] + 1 < 1 << _INNER_BITS:
            return None
        end = int(self._ends[np.searchsorted(self._ends, row, "right")])
        behind = np.searchsorted(self._places, (last[0] << _INNER_BITS) + last[1] + 1, "right")
        end = min(end, row + most, int(behind))
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


def _made(group: _Group, texts: RowTexts, rows: range) -> Block:
    these = slice(rows.start, rows.stop)
    rules = {rule: int(counts[these].sum()) for rule, counts in texts.rules.items()}
    return Block(
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
