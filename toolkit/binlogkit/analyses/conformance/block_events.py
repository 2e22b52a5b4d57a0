"""Whole transactions compared with mysqlbinlog's text as bytes, many at once.

A transaction is judged so where each of its events is like one that was judged (event_forms.py):
its record and its text are then what follows from its bytes, and its rows' text is what follows
from the rows. Whatever differs anywhere is read, and judged event by event (compare.py). How many
events are tried at once adapts to how often that is.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from binlogkit.analyses.conformance.event_forms import (
    CODES,
    COMPRESSION,
    PLACES,
    STARTS,
    UNCOMPRESSED,
    Alike,
    Bytes,
    EventForms,
    Example,
    Form,
    Numbers,
    Part,
    Places,
    numbers_at,
    prefixes,
)
from binlogkit.analyses.conformance.field_forms import packed_at
from binlogkit.analyses.conformance.our_batches import (
    EventPart,
    OurBatches,
    OurEventBatches,
    RowRun,
)
from binlogkit.analyses.conformance.our_records import Key
from binlogkit.analyses.conformance.printed import LineSource, PrintedEvent, TakenEvents
from binlogkit.analyses.conformance.printed_transaction import PrintedTransaction
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.row_groups import RowEventFacts, RowGroups
from binlogkit.analyses.conformance.rule import Kind
from binlogkit.analyses.conformance.stored import (
    SINGLE,
    StoredBytes,
    StoredError,
    StoredLog,
    StoredRow,
    stored_rows,
)
from binlogkit.analyses.conformance.stored_fields import payload_fields
from binlogkit.analyses.conformance.stored_header import header_bytes
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH
from binlogkit.events.payload import Compression
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap
from binlogkit.limits import limit

Booleans = npt.NDArray[np.bool_]

_FEW, _MOST = 64, 16_384  # events that are tried at once
_MOST_BYTES = 8 << 20
_LONGEST_PAUSE = 64  # events that are judged one by one before the next are tried
_LESSONS = 200
_UINT32 = 0xFFFF_FFFF
_INNER_BITS = 24
_SIZE_AT, _LOG_POS = 9, (13, 4)
_IN_HEADER = (("timestamp", 0, 4), ("code", 4, 1), ("server_id", 5, 4), ("size", _SIZE_AT, 4))
# Which part may follow which.
_FOLLOWS = np.zeros((len(Part), len(Part)), bool)
for _one, *_others in (
    (Part.GTID, Part.PAYLOAD, Part.BEGIN),
    (Part.PAYLOAD, Part.BEGIN),
    (Part.BEGIN, Part.ROWS_QUERY, Part.TABLE_MAP),
    (Part.ROWS_QUERY, Part.TABLE_MAP),
    (Part.TABLE_MAP, Part.TABLE_MAP, Part.ROWS, Part.LAST_ROWS),
    (Part.ROWS, Part.ROWS, Part.LAST_ROWS),
    (Part.LAST_ROWS, Part.ROWS_QUERY, Part.TABLE_MAP, Part.END),
    (Part.END, Part.GTID, Part.PAYLOAD, Part.BEGIN),
):
    _FOLLOWS[_one, _others] = True


@dataclass(frozen=True, slots=True)
class _Told:
    """What the transaction of each event says: of a transaction without it, -1 or None."""

    gtids: pa.Array
    commits: Places
    threads: Places
    xids: Numbers
    queries: pa.Array


class BlockEvents:
    """``transaction``: what the text says of the one before; ``stored``: the log's own bytes;
    ``findings``: where differences are counted; ``compared``: how many events were judged here."""

    def __init__(
        self, events: OurEventBatches, rows: OurBatches, groups: RowGroups,
        transaction: PrintedTransaction, stored: StoredLog, findings: Differences,
    ) -> None:  # fmt: skip
        self.compared = 0
        self._ours = events
        self._rows = rows
        self._groups = groups
        self._transaction = transaction
        self._stored = stored
        self._findings = findings
        self._forms = EventForms()
        # By type: events that taught nothing, and after too many of them those not looked at.
        self._fruitless, self._unlearned = Counter[int](), Counter[int]()
        self._most = _MOST
        self._pause = 0
        self._next_pause = 1

    # ---- examples

    def learn(self, printed: PrintedEvent, rules: Mapping[str, int]) -> None:
        """Look at an event that was judged and is right, the one that was taken last of ours;
        ``rules``: how many differences each explains."""
        event, taken = self._stored.find(printed.key), self._ours.taken
        if event is None or taken is None or printed.doubt:
            return
        raw, (part, row) = event.raw, taken
        code = raw.header.type_code
        if code not in CODES or raw.extra_header or raw.version < 4:
            return
        if self._unlearned[code]:
            self._unlearned[code] -= 1
            return
        said = {n: part.batch.column(n)[row].as_py() for n in ("type", "flags", "gtid", "fields")}
        is_new = self._forms.learn(Example(
            header_bytes(raw) + raw.body, raw.inner is not None, printed.pos, printed.end_log_pos,
            printed.checksum or 0, text=printed.text, rules=rules, body=event.body, **said,
        ))  # fmt: skip
        self._fruitless[code] = 0 if is_new else self._fruitless[code] + 1
        if self._fruitless[code] > _LESSONS:
            self._unlearned[code] = _LONGEST_PAUSE

    # ---- runs

    def take(self, lines: LineSource, after: int) -> TakenEvents | None:
        """Judge the next transactions and take them, if all of them is as it must be and they
        stand after the position ``after``."""
        if self._pause:
            self._pause -= 1
            return None
        found = self._ours.next()
        if found is None or found[0].numbers["code"][found[1]] not in STARTS:
            return None
        self._groups.next_event()
        part, row = found
        pos = int(part.numbers["pos"][row])
        stored = self._stored.bytes
        if not self._groups.idle or pos <= after or stored is None or stored.offset != pos:
            return None
        run = self._run(part, row, pos, stored)
        stop = 0 if run is None else run.whole(run.right())
        taken = self._judge(run, stop, lines) if run is not None and stop else None
        if taken is not None:
            self._next_pause = 1
            self._most = max(_FEW, min(4 * taken.count, _MOST))
        else:
            self._most = max(_FEW, self._most // 8)
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)
        return taken

    def _run(self, part: EventPart, row: int, pos: int, stored: StoredBytes) -> _Run | None:
        ends = part.numbers["end_pos"][row : row + self._most]
        count = int(np.searchsorted(ends, pos + _MOST_BYTES, "right"))
        if not count or ends[count - 1] <= pos:
            return None
        data = stored.ahead(int(ends[count - 1]) - pos)
        return _Run(part, row, count, data, stored.checksummed, self._forms)

    def _judge(self, run: _Run, stop: int, lines: LineSource) -> TakenEvents | None:
        if run.part_of(0) != Part.GTID and not self._transaction.over:
            return None
        stop = run.whole(run.without(self._wanted, stop))
        rows = self._rows.run(run.key(stop - 1), self._groups.tables) if stop else None
        if rows is None:
            return None
        at = run.events_of(rows.column("pos", len(rows)), rows.column("inner", len(rows)))
        maps = run.maps(at)
        odd = rows.odd | (at < 0) | (maps < 0)
        for rule, counts in rows.rules.items():
            if self._wanted(rule):
                odd |= counts > 0
        if rows.open or odd.any():
            first = int(at[np.flatnonzero(odd)[0]]) if odd.any() else int(at[-1])
            stop = run.whole(min(max(first, 0), stop))
        beyond = (at < 0) | (at >= stop)
        count = int(np.argmax(beyond)) if beyond.any() else len(at)
        at = at[:count]
        if not stop or not count or (np.diff(at) < 0).any():
            return None
        told = run.told(stop)
        if not self._in_place(run, rows, at, told) or not self._named(maps[:count], rows):
            return None
        if not run.gtids_are(told.gtids, stop):
            return None
        by_bytes = self._by_bytes(run, rows, at) if rows.singles(count) else 0
        if by_bytes is None:
            return None
        if not lines.take_events(run.text(rows.texts(count), at, stop)):
            return None
        self._apply(run, rows, at, told, by_bytes)
        last = int(run.positions[stop - 1])
        return TakenEvents(stop, int(run.positions[0]), last, int(run.ends[stop - 1]) & _UINT32)

    def _wanted(self, rule: str) -> bool:
        """Whether the frame keeps what a rule explains, as it does the first of each."""
        return self._findings.wants(Kind.REPRESENTATION, rule)

    # ---- rows

    @staticmethod
    def _in_place(run: _Run, rows: RowRun, at: Places, told: _Told) -> bool:
        """Whether the rows say rightly where they stand, and what their event and its transaction
        are."""
        count = len(at)
        begins = np.append(True, np.diff(at) != 0)
        firsts = np.flatnonzero(begins)
        numbers = np.arange(count) - firsts[np.cumsum(begins) - 1]
        numeric: tuple[tuple[str, npt.NDArray[Any], bool], ...] = (
            ("row", numbers, True),
            ("end_pos", run.ends[at], True),
            ("timestamp", run.numbers["timestamp"][at], True),
            ("server_id", run.numbers["server_id"][at], True),
            ("commit_timestamp", told.commits[at], False),
            ("thread_id", told.threads[at], False),
            ("xid", told.xids[at], True),
        )
        for name, want, there in numeric:
            have = rows.column(name, count)
            null = np.zeros(count, bool) if there else want < 0
            if (np.asarray(have.is_null()) != null).any():
                return False
            values = np.asarray(have.fill_null(0)).astype(want.dtype)
            if (values[~null] != want[~null]).any():
                return False
        if rows.column("xa", count).null_count != count:
            return False
        texts = (("gtid", told.gtids), ("query", told.queries))
        return all(
            _alike(rows.column(name, count), want.take(pa.array(at))) for name, want in texts
        )

    def _named(self, maps: Places, rows: RowRun) -> bool:
        """Whether our columns are called as the rows' table maps, of these forms, call them."""
        pairs = np.unique(np.stack([maps, rows.group[: len(maps)]]), axis=1)
        for form, group in pairs.T.tolist():
            names = self._forms.forms[form].names
            facts = RowEventFacts((0, -1), True, {}, names, self._transaction)
            if self._groups.misnamed(facts, rows.tables[group]):
                return False
        return True

    @staticmethod
    def _by_bytes(run: _Run, rows: RowRun, at: Places) -> int | None:
        """How many FLOAT cells, of which the text lacks some digits, are what the log stores; None
        if one is not."""
        stored, size = list(run.rows(at)), 0
        if len(stored) != len(at):
            return None
        for image, images in (
            ("before", (r.old for r in stored)),
            ("after", (r.new for r in stored)),
        ):
            digits = b"".join(one.digits for one in images if one is not None)
            if digits != rows.stored_digits(image, len(at)):
                return None
            size += len(digits)
        return size // SINGLE

    # ---- what follows

    def _apply(self, run: _Run, rows: RowRun, at: Places, told: _Told, by_bytes: int) -> None:
        count, stop = len(at), len(told.gtids)
        last = stop - 1
        rules = Counter({rule: int(counts[:count].sum()) for rule, counts in rows.rules.items()})
        rules.update(run.rules(stop))
        for rule, times in rules.items():
            if times:
                self._findings.count(Kind.REPRESENTATION, rule, times)
        self.compared += stop
        self._ours.pass_over(stop)
        self._rows.pass_over(range(count))
        self._groups.passed(count, int(rows.cells[:count].sum()), by_bytes)
        self._stored.pass_to(run.key(last), int(run.ends[last]))
        thread, commit = int(told.threads[last]), int(told.commits[last])
        self._transaction.passed(
            gtid=told.gtids[last].as_py(), commit_timestamp=None if commit < 0 else commit,
            thread_id=thread, query=None,
        )  # fmt: skip


class _Run:
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
        self._alike: dict[int, tuple[Places, Alike]] = {}
        tails = np.where(self.inners < 0, CHECKSUM_LENGTH * tail, 0)
        stored = _Stored(data, self.positions, self.ends, self.inners, tails)
        if stored.count:
            self._find(stored, forms)
        parts = np.array([*(form.part for form in self._forms), -1], np.int64)
        self._parts = parts[self.ids]

    def part_of(self, event: int) -> Part:
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
        right &= inner | (numbers_at(heads, *_LOG_POS) == (ends & _UINT32).astype(np.uint64))
        crcs, sealed = stored.crcs(heads)
        said = pa.array(["none", "ok"]).take(pa.array((tails > 0).astype(np.int8)))
        right &= sealed & np.asarray(pc.equal(self.batch.column("checksum").slice(0, count), said))
        places = np.where(inner, ends, self.positions[:count]), ends & _UINT32, crcs
        printed = {n: v.astype(np.uint64) for n, v in zip(PLACES, places, strict=True)}
        kinds = heads[:, 4].astype(np.int64) * 2 + inner
        for kind in np.unique(kinds[right]).tolist():
            here, code = np.flatnonzero(right & (kinds == kind)), kind // 2
            found = prefixes(code, whole, starts[here], sizes[here])
            for prefix in np.unique(found[found > 0]).tolist():
                these = here[found == prefix]
                data = whole[starts[these, None] + np.arange(prefix)]
                ids = forms.of(code, bool(kind % 2), prefix, data)
                for form in np.unique(ids[ids >= 0]).tolist():
                    events = these[ids == form]
                    self.ids[events] = form
                    self._alike[form] = events, Alike(
                        self._forms[form], data[ids == form],
                        {name: values[events] for name, values in printed.items()},
                        whole, starts[events] + prefix, stops[events],
                    )  # fmt: skip

    def right(self) -> int:
        """How many of the first events have a form, and are what follows from it and what may
        stand behind one another."""
        right = self.ids >= 0
        fields = self.batch.column("fields")
        if fields.type != pa.string():
            return 0
        for events, alike in self._alike.values():
            form, here = alike.form, pa.array(events)
            want = alike.filled(form.record)
            right[events] &= ~alike.odd()
            right[events] &= np.asarray(pc.equal(fields.take(here).cast(pa.binary()), want))
            for name, said in (("type", form.type), ("flags", form.flags)):
                right[events] &= np.asarray(pc.equal(self.batch.column(name).take(here), said))
        parts = self._parts
        right[1:] &= _FOLLOWS[parts[:-1], parts[1:]]
        right[0] &= parts[0] in (Part.GTID, Part.BEGIN)
        return len(right) if right.all() else int(np.argmin(right))

    def whole(self, count: int) -> int:
        """How many of the first events are whole transactions, of ``count``."""
        last = np.append(self.inners[1:] < 0, True)  # of its payload
        ends = np.flatnonzero((self._parts == Part.END)[:count] & last[:count])
        return int(ends[-1]) + 1 if len(ends) else 0

    def without(self, wanted: Callable[[str], bool], count: int) -> int:
        """How many of the first events no rule explains that is ``wanted``, of ``count``."""
        found = [
            events[0]
            for events, alike in self._alike.values()
            if len(events) and any(map(wanted, alike.form.rules))
        ]
        return min(count, *map(int, found)) if found else count

    def rules(self, stop: int) -> Counter[str]:
        """How many differences of the first events each rule explains."""
        found = Counter[str]()
        for events, alike in self._alike.values():
            for rule, times in alike.form.rules.items():
                found[rule] += times * int(np.searchsorted(events, stop))
        return found

    # ---- transactions

    def told(self, stop: int) -> _Told:
        """What the first events' transactions say."""
        parts = self._parts[:stop]
        ends = np.flatnonzero(parts == Part.END)
        which = np.searchsorted(ends, np.arange(stop))  # each event's transaction
        commits, threads = np.full(len(ends), -1), np.full(len(ends), -1)
        xids = np.zeros(len(ends), np.uint64)
        # By the event that gives it, as one array after the other; -1: none gives it.
        given, chunks, at = np.full(len(ends), -1), [pa.nulls(0, pa.string())], 0
        for form, numbers in self._numbers_of(stop, Part.GTID):
            events, alike = numbers
            gtids = alike.gtids().slice(0, len(events))
            given[which[events]] = at + np.arange(len(events))
            chunks.append(gtids)
            at += len(events)
            if "immediate_commit_timestamp" in form.blanks:
                times = alike.numbers("immediate_commit_timestamp")[: len(events)]
                commits[which[events]] = np.where(times > 0, times.astype(np.int64), -1)
        for name, part, into in (("thread_id", Part.BEGIN, threads), ("xid", Part.END, xids)):
            for _, (events, alike) in self._numbers_of(stop, part):
                into[which[events]] = alike.numbers(name)[: len(events)]
        places = pa.array(given, mask=given < 0)
        return _Told(
            pa.concat_arrays(chunks).take(places).take(pa.array(which)), commits[which],
            threads[which], xids[which], self._queries(parts, which),
        )  # fmt: skip

    def _queries(self, parts: Places, which: Places) -> pa.Array:
        """The statement that stands before each event in its transaction ``which``."""
        stop = len(parts)
        if not (parts == Part.ROWS_QUERY).any():
            return pa.nulls(stop, pa.string())
        found = [numbers for _, numbers in self._numbers_of(stop, Part.ROWS_QUERY)]
        places = np.concatenate([events for events, _ in found])
        texts = pa.concat_arrays([alike.tails().slice(0, len(events)) for events, alike in found])
        at = np.full(stop, -1)
        at[places] = np.arange(len(places))
        last = np.maximum.accumulate(np.where(parts == Part.ROWS_QUERY, np.arange(stop), -1))
        there = (last >= 0) & (which[last] == which)
        return texts.take(pa.array(at[last], mask=~there))

    def _numbers_of(self, stop: int, part: Part) -> Iterator[tuple[Form, tuple[Places, Alike]]]:
        """The forms of a part; its events before ``stop``, which are the first of each."""
        for events, alike in self._alike.values():
            if alike.form.part == part:
                yield alike.form, (events[: np.searchsorted(events, stop)], alike)

    def gtids_are(self, told: pa.Array, stop: int) -> bool:
        """Whether the events say that their transactions have these GTIDs."""
        return _alike(self.batch.column("gtid").slice(0, stop), told)

    # ---- rows

    def events_of(self, positions: pa.Array, inners: pa.Array) -> Places:
        """The rows event of each row, -1 for none."""
        keys = _places(self.positions, self.inners)
        wanted = _places(*(np.asarray(column.fill_null(-1)) for column in (positions, inners)))
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        parts = self._parts[at]
        known = (keys[at] == wanted) & (self.ids[at] >= 0)
        known &= (parts == Part.ROWS) | (parts == Part.LAST_ROWS)
        return np.where(known, at, -1)

    def maps(self, at: Places) -> Places:
        """The form of the table map of each rows event, -1 where its statement has none."""
        parts = self._parts
        ends = np.cumsum(parts == Part.LAST_ROWS)
        statements = ends - (parts == Part.LAST_ROWS)
        tables = np.array([*(form.table_id for form in self._forms), -1])
        known, numbers = np.unique(tables, return_inverse=True)
        keys = statements * len(known) + numbers[self.ids]
        maps = np.flatnonzero((self.ids >= 0) & (parts == Part.TABLE_MAP))
        maps = maps[np.argsort(keys[maps], kind="stable")]
        if not len(maps):
            return np.full(len(at), -1)
        found = maps[np.maximum(np.searchsorted(keys[maps], keys[at], "right") - 1, 0)]
        return np.where((keys[found] == keys[at]) & (found < at), self.ids[found], -1)

    def rows(self, at: Places) -> Iterator[StoredRow]:
        """The rows of events as they are stored, up to one whose bytes do not fit."""
        events = np.unique(at)
        places = {
            int(event): (alike, i)
            for found, alike in self._alike.values()
            if alike.form.part in (Part.ROWS, Part.LAST_ROWS)
            for i, event in enumerate(found.tolist())
        }
        try:
            for event, form in zip(events.tolist(), self.maps(events).tolist(), strict=True):
                alike, i = places[event]
                body, table = alike.form.body, self._forms[form].body
                assert isinstance(body, RowsEvent) and isinstance(table, TableMap)
                data = alike.whole[alike.starts[i] : alike.ends[i]].tobytes()
                yield from stored_rows(self.key(event), replace(body, data=data), table)
        except StoredError:
            return

    # ---- text

    def text(self, rows: pa.Array, at: Places, stop: int) -> bytes:
        """What mysqlbinlog must print of the first events and of these rows, of the events ``at``:
        a statement's rows after the last of its events."""
        last_rows = np.flatnonzero(self._parts[:stop] == Part.LAST_ROWS)
        texts, places = [rows], [2 * last_rows[np.searchsorted(last_rows, at)] + 1]
        for events, alike in self._alike.values():
            here = events[: np.searchsorted(events, stop)]
            if len(here):
                texts.append(alike.filled(alike.form.text).slice(0, len(here)))
                places.append(2 * here)
        order = np.argsort(np.concatenate(places), kind="stable")
        whole = pa.concat_arrays(texts).take(pa.array(order))
        _, offsets, data = whole.buffers()
        ends = np.frombuffer(offsets, np.int32)[whole.offset :][: len(whole) + 1]
        return bytes(memoryview(data)[ends[0] : ends[-1]])


class _Stored:
    """The bytes of the first events, one after the other: those in payloads behind all others.

    ``starts``, ``stops``: of each in ``data``, without the checksum of ``tails`` bytes; ``count``:
    how many stand there, one behind the other.
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
        following = np.append(outer[1:], len(inners))
        unpacker = zstandard.ZstdDecompressor(max_window_size=limit("WINDOW"))
        for event, end in zip(outer.tolist(), following.tolist(), strict=True):
            if not there[event] or self._size > 4 * _MOST_BYTES:
                return
            if end == event + 1:
                continue
            plain = _unpacked(data[self.starts[event] : self.stops[event]], unpacker)
            at = [0]
            while at[-1] + HEADER_LENGTH <= len(plain) and len(at) <= end - event - 1:
                size = int.from_bytes(plain[at[-1] + _SIZE_AT : at[-1] + _SIZE_AT + 4], "little")
                at.append(at[-1] + max(size, HEADER_LENGTH))
            numbered = (inners[event + 1 : end] == np.arange(end - event - 1)).all()
            if at[-1] != len(plain) or len(at) != end - event or not numbered:
                return
            self.starts[event + 1 : end] = self._size + np.array(at[:-1])
            self.stops[event + 1 : end] = self._size + np.array(at[1:])
            there[event + 1 : end] = True
            self._parts.append(plain)
            self._size += len(plain)

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
        fields, at = payload_fields(event, HEADER_LENGTH)
        kind, size = (packed_at(event, fields[n].start)[0] for n in (COMPRESSION, UNCOMPRESSED))
        if size > _MOST_BYTES:
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


def _alike(have: pa.Array, want: pa.Array) -> bool:
    """Whether two columns of texts are the same."""
    same: bool = have.cast(pa.string()).equals(want.cast(pa.string()))
    return same
