"""The events of a reading as Arrow: a view of its windows, by the column.

Ordinary events are not parsed one by one (``event_texts.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.constants import EventType, event_type_name
from binlogkit.errors import LimitError, printable
from binlogkit.frames.arrays import integers, numbers, text_array
from binlogkit.frames.event_texts import EventTexts, SingleEvents
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.transaction_facts import THREAD, TransactionFacts
from binlogkit.frames.wanted import wanted_events, wanted_ops
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit.rows.window import LOOK, ROWS_EVENTS, Stretch, Window
from binlogkit.sources.raw import flag_names

_Numbers = np.ndarray[Any, Any]
_ROWS, _BYTES = 16_384, 4 << 20  # of events that are taken at once; one may have more bytes
_MOST_HELD = 64 << 20  # bytes before the last event that is held
_CHECKSUMS = ("none", "ok", "bad")


def event_batches(
    reading: Reading, filters: Filters, *, compact: bool = False
) -> Iterator[pa.RecordBatch]:
    """The wanted events of a reading in log order.

    ``compact``: JSON without blanks, ``fields`` then a large string where it is more than 2 GB;
    else such an event is a LimitError. Damage goes to ``reading.damages`` before the events of its
    window.
    """
    reading.sources = filters.sources
    events = Events(filters, compact=compact)
    for window in reading.windows():
        reading.damages.extend(error for _, error in window.damages)
        yield from events.feed(window)


class Events:
    """The events that ``filters`` want; ``compact``: see :func:`event_batches`.

    Where connections are asked for, the events of a transaction before the statement that shows its
    connection are held until that comes.
    """

    def __init__(self, filters: Filters, *, compact: bool = False) -> None:
        self._filters = filters
        self._compact = compact
        self._schema = arrow_schema(EVENT)
        self._known = TransactionFacts()
        self._texts = EventTexts(compact=compact)
        self._unsure = -1  # the transaction of what is held
        self._held: list[pa.RecordBatch] = []

    def feed(self, window: Window) -> Iterator[pa.RecordBatch]:
        """Take the next window; the events that are known to be wanted."""
        self._known.add(window.transactions, window.facts)
        held, self._unsure = self._unsure, self._without_thread(window)
        if held != self._unsure:
            yield from self._decided(held)
        stretch = window.stretch
        if stretch is not None:
            wanted = self._wanted(window, self._filters)
            if self._unsure < 0:
                yield from self._batches(window, stretch, np.flatnonzero(wanted))
            else:
                unsure = stretch.entries["tx"] == self._unsure
                yield from self._batches(window, stretch, np.flatnonzero(wanted & ~unsure))
                wanted = self._wanted(window, replace(self._filters, threads=frozenset()))
                for batch in self._batches(window, stretch, np.flatnonzero(wanted & unsure)):
                    self._hold(batch, window.carrier.name)
        self._known.forget(self._known.last)

    # ---- what is wanted -----------------------------------------------------------------------

    def _without_thread(self, window: Window) -> int:
        """The transaction that is open and whose connection will be asked for, -1 for none."""
        if not self._filters.threads or not len(window.transactions):
            return -1
        last = window.transactions[-1]
        return int(last["number"]) if last["open"] and not last["has"] & THREAD else -1

    def _decided(self, number: int) -> Iterator[pa.RecordBatch]:
        """What was held of a transaction, if that is wanted."""
        held, self._held = self._held, []
        if held:
            facts = self._known.columns(np.array([number]))
            if facts["thread_id"].to_list()[0] in self._filters.threads:
                yield from held

    def _hold(self, batch: pa.RecordBatch, file: str) -> None:
        if sum(other.nbytes for other in self._held) > _MOST_HELD:
            raise LimitError(
                f"{printable(file)}: more than {_MOST_HELD >> 20} MB of a transaction before the "
                "statement that shows its connection"
            )
        self._held.append(batch)

    def _wanted(self, window: Window, filters: Filters) -> _Numbers:
        """Which events of a window are wanted; tables and operations count for rows only."""
        stretch = window.stretch
        assert stretch is not None
        entries = stretch.entries
        found = wanted_events(filters, window, self._known)
        wanted = np.ones(len(entries), bool) if found is None else found
        rows = ROWS_EVENTS[entries["type"]] & (entries["notes"] & LOOK == 0)
        if filters.tables or filters.exclude_tables:
            for slot in np.unique(entries["slot"][rows]).tolist():
                schema = window.schemas[slot] if 0 <= slot < len(window.schemas) else None
                if schema is not None and not filters.wants_table(*schema.name):
                    wanted &= ~rows | (entries["slot"] != slot)
        if filters.ops:
            wanted &= ~rows | wanted_ops(filters, entries["type"])
            for item in window.looked:
                if getattr(item.event.body, "op", None) not in (None, *filters.ops):
                    wanted[item.i : item.i + 1] = False
        return wanted

    # ---- batches ------------------------------------------------------------------------------

    def _batches(
        self, window: Window, stretch: Stretch, places: _Numbers
    ) -> Iterator[pa.RecordBatch]:
        events = SingleEvents(window, stretch)
        for share in _shares(places, stretch.sizes[places]):
            for some, texts in self._texts.of(events, share):
                yield self._batch(window, events, some, texts)

    def _batch(
        self, window: Window, events: SingleEvents, places: _Numbers, texts: pa.Array
    ) -> pa.RecordBatch:
        stretch, schema, count = events.stretch, self._schema, len(places)
        entries, inners = stretch.entries[places], stretch.inners[places]
        columns: dict[str, Any] = {
            "source": text_array([window.source]).take(integers(np.zeros(count))),
            "file": text_array([window.carrier.name]).take(integers(np.zeros(count))),
            "pos": stretch.positions[places],
            "end_pos": stretch.ends[places],
            "inner": inners,
            "size": stretch.sizes[places],
            "timestamp": entries["timestamp"],
            "type": _named(entries["type"], event_type_name),
            "code": entries["type"],
            "server_id": entries["server_id"],
            "flags": _named(entries["flags"], self._flags),
            "checksum": text_array(_CHECKSUMS).take(_checksums(events, places, entries["type"])),
            "gtid": self._gtids(entries["tx"]),
            "fields": texts,
        }
        for field in schema:
            if isinstance(columns[field.name], np.ndarray):
                there = inners >= 0 if field.name == "inner" else None
                columns[field.name] = numbers(columns[field.name], field.type, there)
        if texts.type != pa.string():
            if not self._compact:
                where = f"{printable(window.carrier.name)}, at {stretch.positions[places[0]]}"
                raise LimitError(f"{where}: what the event says is more than 2 GB of text")
            schema = schema.set(schema.get_field_index("fields"), pa.field("fields", texts.type))
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    def _flags(self, flags: int) -> str:
        return json.dumps(flag_names(flags), separators=(",", ":") if self._compact else None)

    def _gtids(self, tx: _Numbers) -> pa.Array:
        """The GTID of each event's transaction."""
        known, places = np.unique(tx, return_inverse=True)
        outside = int(np.count_nonzero(known < 0))
        facts = self._known.columns(known[outside:])["gtid"]
        texts = text_array([None]) if facts.texts is None else facts.texts
        there = np.append(np.zeros(outside, bool), facts.there > 0)[places]
        values = np.append(np.zeros(outside, np.int64), facts.values)[places]
        return texts.take(numbers(values, pa.int32(), there & (facts.texts is not None)))


def _shares(places: _Numbers, sizes: _Numbers) -> Iterator[_Numbers]:
    """Places in lists of some rows and bytes at most."""
    rows, size = np.arange(len(places)) // _ROWS, np.cumsum(sizes, dtype=np.int64) // _BYTES
    begins = np.flatnonzero((np.diff(rows) > 0) | (np.diff(size) > 0)) + 1
    yield from (some for some in np.split(places, begins) if len(some))


def _checksums(events: SingleEvents, places: _Numbers, codes: _Numbers) -> pa.Array:
    """Whether the checksums of events hold, as places in ``_CHECKSUMS``."""
    stretch = events.stretch
    if stretch.raws is not None:
        found = np.array([_CHECKSUMS.index(stretch.raws[i].checksum) for i in places.tolist()])
        return integers(found)
    found = stretch.sealed[places].astype(np.int64)
    looked = stretch.entries["notes"][places] & LOOK > 0
    for k in np.flatnonzero(looked | (codes == EventType.FORMAT_DESCRIPTION_EVENT)).tolist():
        found[k] = _CHECKSUMS.index(events[int(places[k])].raw.checksum)
    return integers(found)


def _named(values: _Numbers, name: Any) -> pa.Array:
    """The texts of values of which there are few."""
    known, places = np.unique(values, return_inverse=True)
    words: Sequence[str] = [name(value) for value in known.tolist()]
    return text_array(words).take(integers(places))
