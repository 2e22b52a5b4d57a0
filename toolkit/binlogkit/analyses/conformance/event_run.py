"""Events of ours in a row beside the bytes that stand there, each as one that was judged.

What follows from the bytes and such an example (event_forms.py) is compared with the records, and
made into the text that mysqlbinlog must print.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from binlogkit.analyses.conformance.event_forms import (
    PLACES,
    Alike,
    Bytes,
    EventForm,
    EventForms,
    EventRole,
    Numbers,
    Places,
    numbers_at,
    prefixes,
)
from binlogkit.analyses.conformance.field_forms import packed_at
from binlogkit.analyses.conformance.our_batches import EventPart
from binlogkit.analyses.conformance.our_records import Key
from binlogkit.analyses.conformance.stored import StoredError, StoredRow, stored_rows
from binlogkit.analyses.conformance.stored_fields import COMPRESSION, UNCOMPRESSED, payload_fields
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH
from binlogkit.events.payload import Compression
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap
from binlogkit.limits import limit

Booleans = npt.NDArray[np.bool_]

MOST_BYTES = 8 << 20  # of a run, and of a payload in it
UINT32 = 0xFFFF_FFFF
_INNER_BITS = 24
_SIZE_AT, _LOG_POS = 9, (13, 4)
_IN_HEADER = (("timestamp", 0, 4), ("code", 4, 1), ("server_id", 5, 4), ("size", _SIZE_AT, 4))
# Which part may follow which.
_FOLLOWS = np.zeros((len(EventRole), len(EventRole)), bool)
for _one, *_others in (
    (EventRole.GTID, EventRole.PAYLOAD, EventRole.BEGIN),
    (EventRole.PAYLOAD, EventRole.BEGIN),
    (EventRole.BEGIN, EventRole.ROWS_QUERY, EventRole.TABLE_MAP),
    (EventRole.ROWS_QUERY, EventRole.TABLE_MAP),
    (EventRole.TABLE_MAP, EventRole.TABLE_MAP, EventRole.ROWS, EventRole.LAST_ROWS),
    (EventRole.ROWS, EventRole.ROWS, EventRole.LAST_ROWS),
    (EventRole.LAST_ROWS, EventRole.ROWS_QUERY, EventRole.TABLE_MAP, EventRole.END),
    (EventRole.END, EventRole.GTID, EventRole.PAYLOAD, EventRole.BEGIN),
):
    _FOLLOWS[_one, _others] = True


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the transaction of each event says: of a transaction without it, -1 or None."""

    gtids: pa.Array
    commits: Places
    threads: Places
    xids: Numbers
    queries: pa.Array


class EventRun:
    """Events of ours from ``row`` on, and ``data``: the bytes that stand there.

    ``positions``, ``ends``, ``numbers``: as our records have them; ``ids``: each one's form.
    """

    def __init__(
        self, part: EventPart, row: int, count: int, data: bytes, tail: bool, forms: EventForms
    ) -> None:
        self.batch = part.batch.slice(row, count)
        self.numbers = {name: column[row : row + count] for name, column in part.numbers.items()}
        self.positions, self.ends = self.numbers["pos"], self.numbers["end_pos"]
        self.inners = self.numbers["inner"]
        self._forms = forms.forms
        self.ids = np.full(count, -1, np.int64)
        self._alike: list[tuple[Places, Alike]] = []
        tails = np.where(self.inners < 0, CHECKSUM_LENGTH * tail, 0)
        stored = _Stored(data, self.positions, self.ends, self.inners, tails)
        if stored.count:
            self._find(stored, forms)
        self._parts = self._parts_of(self.ids)

    def _parts_of(self, ids: Places) -> Places:
        """What events of these forms are in their transactions, -1 of no form."""
        return np.array([*(form.part for form in self._forms), -1], np.int64)[ids]

    def part_of(self, event: int) -> EventRole:
        """What an event is in its transaction."""
        return self._forms[int(self.ids[event])].part

    def key(self, event: int) -> Key:
        """Where an event stands."""
        return int(self.positions[event]), int(self.inners[event])

    # ---- events against their bytes

    def _find(self, stored: _Stored, forms: EventForms) -> None:
        """The form of each event whose header is what the log stores."""
        count, whole = stored.count, stored.data
        starts, stops, tails = stored.starts, stored.stops, stored.tails
        heads = whole[starts[:, None] + np.arange(HEADER_LENGTH)]
        right = np.ones(count, bool)
        for name, at, width in _IN_HEADER:
            right &= numbers_at(heads, at, width) == self.numbers[name][:count].astype(np.uint64)
        sizes, ends, inner = stops - starts, self.ends[:count], self.inners[:count] >= 0
        right &= self.numbers["size"][:count] == sizes + tails
        right &= inner | (numbers_at(heads, *_LOG_POS) == (ends & UINT32).astype(np.uint64))
        crcs, sealed = stored.crcs(heads)
        said = pa.array(["none", "ok"]).take(pa.array((tails > 0).astype(np.int8)))
        right &= sealed & np.asarray(pc.equal(self.batch.column("checksum").slice(0, count), said))
        places = np.where(inner, ends, self.positions[:count]), ends & UINT32, crcs
        printed = {n: v.astype(np.uint64) for n, v in zip(PLACES, places, strict=True)}
        kinds = heads[:, 4].astype(np.int64) * 2 + inner
        found = []
        for kind in np.unique(kinds[right]).tolist():
            here, code = np.flatnonzero(right & (kinds == kind)), kind // 2
            lengths = prefixes(code, whole, starts[here], sizes[here])
            for prefix in np.unique(lengths[lengths > 0]).tolist():
                these = here[lengths == prefix]
                data = whole[starts[these, None] + np.arange(prefix)]
                self.ids[these] = ids = forms.of(code, bool(kind % 2), prefix, data)
                found += [(form, these, ids == form, data) for form in np.unique(ids[ids >= 0])]
        before = self._before(forms)
        for form, these, of_form, data in found:
            for last in np.unique(before[these[of_form]]).tolist():
                some = of_form & (before[these] == last)
                events, text = these[some], forms.texts.get((last, int(form)))
                if text is None:
                    self.ids[events] = -1
                    continue
                self._alike.append((events, Alike(
                    self._forms[form], data[some],
                    {name: values[events] for name, values in printed.items()},
                    whole, starts[events] + data.shape[1], stops[events], text,
                )))  # fmt: skip

    def _before(self, forms: EventForms) -> Places:
        """The form of the statement before each statement; -1 of other events."""
        statements = np.flatnonzero(self._parts_of(self.ids) == EventRole.BEGIN)
        found = np.full(len(self.ids), -1, np.int64)
        found[statements] = np.append(forms.before, self.ids[statements])[:-1]
        return found

    def last_statement(self, stop: int) -> int | None:
        """The form of the last statement of the first events, None where there is none."""
        found = np.flatnonzero(self._parts[:stop] == EventRole.BEGIN)
        return int(self.ids[found[-1]]) if len(found) else None

    def right(self, begins: Container[EventRole]) -> int:
        """How many of the first events have a form, and are what follows from it and what may
        stand one after another; the first is one of ``begins``."""
        right = self.ids >= 0
        fields = self.batch.column("fields")
        if fields.type != pa.string():
            return 0
        for events, alike in self._alike:
            form, here = alike.form, pa.array(events)
            want = alike.filled(form.record)
            right[events] &= ~alike.odd()
            right[events] &= np.asarray(pc.equal(fields.take(here).cast(pa.binary()), want))
            for name, said in (("type", form.type), ("flags", form.flags)):
                right[events] &= np.asarray(pc.equal(self.batch.column(name).take(here), said))
        parts = self._parts
        right[1:] &= _FOLLOWS[parts[:-1], parts[1:]]
        right[0] &= parts[0] in begins
        return len(right) if right.all() else int(np.argmin(right))

    def whole(self, count: int) -> int:
        """How many of the first events are whole transactions, of ``count``."""
        last = np.append(self.inners[1:] < 0, True)  # of its payload
        ends = np.flatnonzero((self._parts == EventRole.END)[:count] & last[:count])
        return int(ends[-1]) + 1 if len(ends) else 0

    def leading(self, part: EventRole, count: int) -> int:
        """How many of the first events are all of a part, of ``count``."""
        others = np.flatnonzero(self._parts[:count] != part)
        return int(others[0]) if len(others) else count

    def without(self, wanted: Callable[[str], bool], count: int) -> int:
        """How many of the first events no rule explains that is ``wanted``, of ``count``."""
        found = [
            events[0]
            for events, alike in self._alike
            if len(events) and any(map(wanted, alike.form.rules))
        ]
        return min(count, *map(int, found)) if found else count

    def rules(self, stop: int) -> Counter[str]:
        """How many differences of the first events each rule explains."""
        found = Counter[str]()
        for events, alike in self._alike:
            for rule, times in alike.form.rules.items():
                found[rule] += times * int(np.searchsorted(events, stop))
        return found

    # ---- transactions

    def facts(self, stop: int) -> RunFacts:
        """What the first events' transactions say."""
        parts = self._parts[:stop]
        ends = np.flatnonzero(parts == EventRole.END)
        which = np.searchsorted(ends, np.arange(stop))  # each event's transaction
        commits, threads = np.full(len(ends), -1), np.full(len(ends), -1)
        xids = np.zeros(len(ends), np.uint64)
        # By the event that gives it, as one array after the other; -1: none gives it.
        given, chunks, at = np.full(len(ends), -1), [pa.nulls(0, pa.string())], 0
        for form, numbers in self._numbers_of(stop, EventRole.GTID):
            events, alike = numbers
            gtids = alike.gtids().slice(0, len(events))
            given[which[events]] = at + np.arange(len(events))
            chunks.append(gtids)
            at += len(events)
            if "immediate_commit_timestamp" in form.blanks:
                times = alike.numbers("immediate_commit_timestamp")[: len(events)]
                commits[which[events]] = np.where(times > 0, times.astype(np.int64), -1)
        for name, part, into in (
            ("thread_id", EventRole.BEGIN, threads),
            ("xid", EventRole.END, xids),
        ):
            for _, (events, alike) in self._numbers_of(stop, part):
                into[which[events]] = alike.numbers(name)[: len(events)]
        places = pa.array(given, mask=given < 0)
        return RunFacts(
            pa.concat_arrays(chunks).take(places).take(pa.array(which)), commits[which],
            threads[which], xids[which], self._queries(parts, which),
        )  # fmt: skip

    def _queries(self, parts: Places, which: Places) -> pa.Array:
        """The statement that stands before each event in its transaction ``which``."""
        stop = len(parts)
        if not (parts == EventRole.ROWS_QUERY).any():
            return pa.nulls(stop, pa.string())
        found = [numbers for _, numbers in self._numbers_of(stop, EventRole.ROWS_QUERY)]
        places = np.concatenate([events for events, _ in found])
        texts = pa.concat_arrays([alike.tails().slice(0, len(events)) for events, alike in found])
        at = np.full(stop, -1)
        at[places] = np.arange(len(places))
        last = np.maximum.accumulate(np.where(parts == EventRole.ROWS_QUERY, np.arange(stop), -1))
        there = (last >= 0) & (which[last] == which)
        return texts.take(pa.array(at[last], mask=~there))

    def _numbers_of(
        self, stop: int, part: EventRole
    ) -> Iterator[tuple[EventForm, tuple[Places, Alike]]]:
        """The forms of a part; its events before ``stop``, which are the first of each."""
        for events, alike in self._alike:
            if alike.form.part == part:
                yield alike.form, (events[: np.searchsorted(events, stop)], alike)

    def gtids_are(self, gtids: pa.Array, stop: int) -> bool:
        """Whether the events say that their transactions have these GTIDs."""
        return same_texts(self.batch.column("gtid").slice(0, stop), gtids)

    # ---- rows

    def events_of(self, positions: pa.Array, inners: pa.Array) -> Places:
        """The rows event of each row, -1 for none."""
        keys = _places(self.positions, self.inners)
        wanted = _places(*(np.asarray(column.fill_null(-1)) for column in (positions, inners)))
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        parts = self._parts[at]
        known = (keys[at] == wanted) & (self.ids[at] >= 0)
        known &= (parts == EventRole.ROWS) | (parts == EventRole.LAST_ROWS)
        return np.where(known, at, -1)

    def maps(self, at: Places) -> Places:
        """The form of the table map of each rows event, -1 where its statement has none."""
        parts = self._parts
        ends = np.cumsum(parts == EventRole.LAST_ROWS)
        statements = ends - (parts == EventRole.LAST_ROWS)
        tables = np.array([*(form.table_id for form in self._forms), -1])
        known, numbers = np.unique(tables, return_inverse=True)
        keys = statements * len(known) + numbers[self.ids]
        maps = np.flatnonzero((self.ids >= 0) & (parts == EventRole.TABLE_MAP))
        maps = maps[np.argsort(keys[maps], kind="stable")]
        if not len(maps):
            return np.full(len(at), -1)
        found = maps[np.maximum(np.searchsorted(keys[maps], keys[at], "right") - 1, 0)]
        return np.where((keys[found] == keys[at]) & (found < at), self.ids[found], -1)

    def rows(self, at: Places) -> Iterator[StoredRow]:
        """The rows of events as they are stored, up to one whose bytes do not fit."""
        events = np.unique(at)
        try:
            bodies = self.bodies(events), self.maps(events).tolist()
            for event, body, form in zip(events.tolist(), *bodies, strict=True):
                table = self._forms[form].body
                assert isinstance(table, TableMap)
                yield from stored_rows(self.key(event), body, table)
        except StoredError:
            return

    def bodies(self, events: Places) -> Iterator[RowsEvent]:
        """Rows events as they are stored."""
        places = {
            event: (alike, i)
            for found, alike in self._alike
            if alike.form.part in (EventRole.ROWS, EventRole.LAST_ROWS)
            for i, event in enumerate(found.tolist())
        }
        for event in events.tolist():
            alike, i = places[event]
            body = alike.form.body
            assert isinstance(body, RowsEvent)
            yield replace(body, data=alike.whole[alike.starts[i] : alike.ends[i]].tobytes())

    # ---- text

    def text(self, stop: int, rows: pa.Array = None, at: Places | None = None) -> bytes:
        """What mysqlbinlog must print of the first events and of these rows, of the events ``at``:
        a statement's rows after the last of its events."""
        last_rows = np.flatnonzero(self._parts[:stop] == EventRole.LAST_ROWS)
        texts, places = list[pa.Array](), list[Places]()
        if rows is not None and at is not None:
            texts.append(rows)
            places.append(2 * last_rows[np.searchsorted(last_rows, at)] + 1)
        for events, alike in self._alike:
            here = events[: np.searchsorted(events, stop)]
            if len(here):
                texts.append(alike.filled(alike.text).slice(0, len(here)))
                places.append(2 * here)
        order = np.argsort(np.concatenate(places), kind="stable")
        whole = pa.concat_arrays(texts).take(pa.array(order))
        _, offsets, data = whole.buffers()
        ends = np.frombuffer(offsets, np.int32)[whole.offset :][: len(whole) + 1]
        return bytes(memoryview(data)[ends[0] : ends[-1]])


class _Stored:
    """The bytes of the first events, one after the other: those in payloads after all others.

    ``starts``, ``stops``: of each in ``data``, without the checksum of ``tails`` bytes; ``count``:
    how many stand there, one after the other.
    """

    def __init__(
        self, data: bytes, positions: Places, ends: Places, inners: Places, tails: Places
    ) -> None:
        self.tails = tails
        self.starts = positions - positions[0]
        self.stops = ends - positions[0] - tails
        outer = np.flatnonzero(inners < 0)
        there = (self.stops + tails <= len(data)) & (self.stops - self.starts >= HEADER_LENGTH)
        ahead, behind = outer[:-1], outer[1:]
        there[behind] &= self.starts[behind] == self.stops[ahead] + tails[ahead]
        self._parts, self._size = [data], len(data)
        if len(outer) < len(inners):
            there[inners >= 0] = False
            self._unpack(data, outer, inners, there)
        self.count = len(there) if there.all() else int(np.argmin(there))
        self._view = memoryview(b"".join(self._parts))
        self.data = np.frombuffer(self._view, np.uint8)
        self.starts, self.stops = self.starts[: self.count], self.stops[: self.count]
        self.tails, self._inner = tails[: self.count], inners[: self.count] >= 0

    def _unpack(self, data: bytes, outer: Places, inners: Places, there: Booleans) -> None:
        """Place the events that are in payloads."""
        counts = np.diff(np.append(outer, len(inners))) - 1
        unpacker = zstandard.ZstdDecompressor(max_window_size=limit("WINDOW"))
        starts, stops = list[int](), list[int]()
        full = counts > 0
        for event, count in zip(outer[full].tolist(), counts[full].tolist(), strict=True):
            if not there[event] or self._size > 4 * MOST_BYTES:
                break
            plain = _unpacked(data[self.starts[event] : self.stops[event]], unpacker)
            at = [0]
            while at[-1] + HEADER_LENGTH <= len(plain) and len(at) <= count:
                size = int.from_bytes(plain[at[-1] + _SIZE_AT : at[-1] + _SIZE_AT + 4], "little")
                at.append(at[-1] + max(size, HEADER_LENGTH))
            if at[-1] != len(plain) or len(at) != count + 1:
                break
            starts += [self._size + place for place in at[:-1]]
            stops += [self._size + place for place in at[1:]]
            self._parts.append(plain)
            self._size += len(plain)
        inside = np.flatnonzero(inners >= 0)[: len(starts)]
        self.starts[inside], self.stops[inside] = starts, stops
        numbers = inside - outer[np.searchsorted(outer, inside) - 1] - 1
        there[inside] = inners[inside] == numbers

    def crcs(self, heads: Bytes) -> tuple[Places, Booleans]:
        """The checksum that is printed of each event, and whether it holds; of events in payloads
        mysqlbinlog computes one, of the event as it would be with four bytes more."""
        crc32, view, sealed, inner = zlib.crc32, self._view, self.tails > 0, self._inner
        found, holds = np.zeros(self.count, np.int64), np.ones(self.count, bool)
        pairs = zip(self.starts[sealed].tolist(), self.stops[sealed].tolist(), strict=True)
        ends = self.data[self.stops[sealed, None] + np.arange(CHECKSUM_LENGTH)]
        found[sealed] = numbers_at(ends, 0, CHECKSUM_LENGTH)
        computed = np.fromiter((crc32(view[a:b]) for a, b in pairs), np.int64)
        holds[sealed] = computed == found[sealed]
        if inner.any():
            longer = heads[inner]
            sizes = (numbers_at(longer, _SIZE_AT, 4) + CHECKSUM_LENGTH).astype("<u4")
            longer[:, _SIZE_AT : _SIZE_AT + 4] = sizes.view(np.uint8).reshape(-1, 4)
            begins = [bytes(head) for head in longer]
            triples = zip(
                begins, self.starts[inner].tolist(), self.stops[inner].tolist(), strict=True
            )
            found[inner] = np.fromiter(
                (crc32(view[a + HEADER_LENGTH : b], crc32(head)) for head, a, b in triples),
                np.int64,
            )
        return found, holds


def _unpacked(event: bytes, unpacker: zstandard.ZstdDecompressor) -> bytes:
    """What is in a payload event; nothing where that is not as it claims, or too much."""
    try:
        stored, at = payload_fields(event, HEADER_LENGTH)
        fields = dict(stored)
        kind, size = (packed_at(event, fields[n].start)[0] for n in (COMPRESSION, UNCOMPRESSED))
        if size > MOST_BYTES:
            return b""
        if kind == Compression.NONE:
            return event[at:]
        if kind != Compression.ZSTD:
            return b""
        found: bytes = unpacker.decompress(event[at:], size, allow_extra_data=False)
    except (IndexError, KeyError, zstandard.ZstdError):
        return b""
    return found if len(found) == size else b""


def _places(positions: Places, inners: Places) -> Places:
    """Places as numbers in the same order, -1 where that has none."""
    known = (inners >= -1) & (inners < (1 << _INNER_BITS) - 1)
    return np.where(known, (positions << _INNER_BITS) + inners + 1, -1)


def same_texts(have: pa.Array, want: pa.Array) -> bool:
    """Whether two columns of texts are the same."""
    same: bool = have.cast(pa.string()).equals(want.cast(pa.string()))
    return same
