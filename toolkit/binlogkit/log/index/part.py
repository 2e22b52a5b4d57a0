"""One log, read by itself: what other logs, or a reading of some of it, must know.

A part does not depend on other logs: names from DDL in an earlier log, the outcome of a prepared
transaction, and whether a file is missing before it are found when parts are joined
(:mod:`.joined`). So parts can be made in any order, anywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError
from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEXED_TRANSACTION, UNCHECKED
from binlogkit.frames.key_filters import KeyFilters
from binlogkit.frames.statements import Statements, sql_mode_of
from binlogkit.frames.totals import Totals, TouchedTables
from binlogkit.frames.transactions import Transactions
from binlogkit.log.index.extent import Extent, extent_of
from binlogkit.log.index.segments import Segment, Segments
from binlogkit.log.viewing import view
from binlogkit.rows.ddl import Catalog, StatementKind, TableChange
from binlogkit.rows.ddl.catalog_text import catalog_of_text
from binlogkit.rows.filters import Filters
from binlogkit.rows.gtid_ledger import executed_before
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.prepared import Decision, Prepared
from binlogkit.rows.reading import Reading
from binlogkit.rows.series import Head, beside
from binlogkit.rows.soundness import Alone, Gaps
from binlogkit.rows.window import NEW_MAP, Stretch, Window
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import can_seek
from binlogkit.sources.raw import EventHeader, RawEvent

#: What changes or shows table definitions: a statement, a table map, a server's version; or
#: definitions that a user gave, which are no event.
Body: TypeAlias = Query | ExecuteLoadQuery | TableMap | str | Catalog
#: The type code of definitions that a user gave: no event in a log of version 4 has it.
GIVEN = EventType.UNKNOWN_EVENT
#: The default minimum size of a segment in bytes.
SEGMENT = 8 << 20


@dataclass(frozen=True, slots=True)
class Said:
    """``body``, its event, how many events of the log precede it, and the number of its transaction
    in the log, None outside any."""

    event: int
    raw: RawEvent
    body: Body
    tx: int | None = None

    @classmethod
    def given(cls, file: str, text: str, pos: int = 0) -> Said:
        """Definitions that a user gave, by their text, for the tables before a log, or after what
        is missing at an offset."""
        raw = RawEvent(file, pos, EventHeader(0, GIVEN, 0, 0, 0, 0), text.encode())
        return cls(-1, raw, catalog_of_text(text))


@dataclass(frozen=True, slots=True)
class Wrote:
    """A table that an event may have written without row events, or an incident.

    ``action`` and ``reason`` as in a boundary; ``db``, ``table``: empty for any; ``event``, ``tx``:
    its number and its transaction's in the log; ``reads`` (pairs of names, flattened),
    ``deletes_all``: see TableChange.
    """

    event: int
    file: str
    pos: int
    inner: int | None
    action: str
    db: str
    table: str
    reason: str | None
    end_pos: int
    timestamp: int
    tx: int | None
    sql_mode: int | None
    reads: list[str] | None
    deletes_all: bool


@dataclass(frozen=True, slots=True)
class Part:
    """What one log says by itself, or relay logs that share transactions.

    ``names``: of the logs; ``alone``: their facts about themselves; ``head``: the first one's head,
    None without an event; ``events``, ``transactions``: how many there are; ``stop``: see
    :class:`Segments`; ``said``: what says something of tables, in order; ``wrote``: writes other
    than row events, except those in ``said``; ``gtids``: of the transactions that
    have ended, ``intact`` those that were read intact; ``next_name``, ``rotated``: the log named by
    ROTATE, and its time; ``prepared``: the numbers of XA transactions that are not decided here, by
    XA id, ``decided``: decisions for others; ``goes_on``: whether a relay log ends inside a
    transaction; ``unreadable``: why a log cannot be read; ``ledger``: its transactions and the
    tables that each changed, if rows were counted, and ``extent``, how far these reach;
    ``read_at``: when it was read in full (µs), if that is not just now.
    """

    names: tuple[str, ...]
    alone: Alone = field(default_factory=Alone)
    head: Head | None = None
    events: int = 0
    transactions: int = 0
    segments: tuple[Segment, ...] = (Segment(),)
    stop: int | None = None
    said: Iterable[Said] = ()
    wrote: tuple[Wrote, ...] = ()
    gtids: GtidSet = field(default_factory=GtidSet)
    intact: GtidSet = field(default_factory=GtidSet)
    next_name: str | None = None
    rotated: int = 0
    prepared: Mapping[str, int] = field(default_factory=dict)
    decided: Mapping[str, Decision] = field(default_factory=dict)
    damages: tuple[DamageError, ...] = ()
    goes_on: bool = False
    unreadable: InputError | None = None
    ledger: Mapping[str, pa.Table] = field(default_factory=dict)
    extent: Extent = field(default_factory=Extent)
    read_at: int | None = None

    @property
    def previous(self) -> GtidSet:
        """The GTIDs before it, as far as it shows them."""
        known = None if self.head is None else self.head.previous
        return executed_before(known, self.gtids, damaged=bool(self.damages))


def parts_of(
    carriers: Sequence[Carrier],
    options: ReadOptions | None = None,
    *,
    segment: int = SEGMENT,
    counting: bool = False,
) -> Iterator[Part]:
    """The parts of logs in order; a relay log that continues in the next is one part with it."""
    held: tuple[Carrier, ...] = ()
    for i, carrier in enumerate(carriers):
        held = (*held, carrier)
        part = part_of(held, options, segment=segment, counting=counting)
        if not (part.goes_on and has_next(carriers, i)):
            yield part
            held = ()


def has_next(carriers: Sequence[Carrier], i: int) -> bool:
    """Whether the log after one of some logs is the next of its series."""
    return i + 1 < len(carriers) and beside(carriers[i].name, carriers[i + 1].name)


def part_of(
    carriers: Sequence[Carrier],
    options: ReadOptions | None = None,
    *,
    segment: int = SEGMENT,
    counting: bool = False,
) -> Part:
    """Read one log by itself, past damage; ``segment``: minimum bytes of a segment.

    ``carriers``: the log, or several relay logs that are one part; ``counting``: rows are counted,
    not decoded, and the part has a ledger. What cannot be read is noted in the part and raises no
    error.
    """
    options = replace(
        options or ReadOptions(), on_damage="report", catalog=None, source=None, threads=1
    )  # fmt: skip
    gaps = Gaps()
    reading = Reading(carriers, options, gaps=gaps)
    part, ledger = _PartView(_segments(carriers, segment)), _Ledger() if counting else None
    views, keys = ([ledger.feed], ledger.keys) if ledger else ([], None)
    unreadable = view(reading, part.feed, *views, counting=counting, keys=keys)
    made = part.finish(carriers, reading, gaps, unreadable)
    if ledger is None:
        return made
    tables = ledger.finish()
    return replace(made, ledger=tables, extent=extent_of(tables["transactions"]))


def _segments(carriers: Sequence[Carrier], size: int) -> Segments:
    first, *others = carriers
    large = not others and (first.size is None or first.size > size)
    try:
        return Segments(size, cuts=large and can_seek(first))
    except (DamageError, InputError):  # the reading reports
        return Segments(size, cuts=False)


class _PartView:
    """A view of one log's windows."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._said: list[Said] = []
        self._wrote: list[Wrote] = []
        self._prepared = Prepared()
        self._window: Window | None = None
        self._head: Head | None = None  # of the first log

    def feed(self, window: Window, _: np.ndarray[Any, Any] | None = None) -> None:
        """Take the next window."""
        self._window = window
        if self._head is None and window.series is not None:
            self._head = window.series.head
        self._segments.feed(window)
        deque(self._prepared.feed(window), maxlen=0)
        stretch = window.stretch
        if stretch is None:
            return
        said = [*self._maps(window, stretch), *self._statements(window, stretch)]
        self._said += sorted(said, key=lambda one: one.event)

    def _statements(self, window: Window, stretch: Stretch) -> list[Said]:
        found = []
        for item in window.looked:
            body, event = item.event.body, stretch.ordinal + item.i
            tx = None if item.number < 0 else item.number
            if isinstance(body, (FormatDescription, StartV3)):
                found.append(Said(event, item.event.raw, body.server_version))
            elif isinstance(body, (Query, ExecuteLoadQuery)) and (
                item.kind is StatementKind.DDL
                or any(change.action != "statement_write" for change in item.changes)
            ):
                found.append(Said(event, item.event.raw, body, tx))
            else:
                self._wrote += map(partial(_wrote, event, item.event, tx), item.changes)
        return found

    def _maps(self, window: Window, stretch: Stretch) -> list[Said]:
        entries, found = stretch.entries, []
        new = (entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["slot"] >= 0)
        new &= entries["notes"] & NEW_MAP > 0
        for i in np.flatnonzero(new).tolist():
            raw = stretch.raw(i, window.carrier.name)
            body = EventParser(lambda _: None, window.context).parse(raw).body
            if isinstance(body, TableMap):
                found.append(Said(stretch.ordinal + i, raw, body))
        return found

    def finish(
        self,
        carriers: Sequence[Carrier],
        reading: Reading,
        gaps: Gaps,
        unreadable: InputError | None,
    ) -> Part:
        """The part of the logs whose windows were taken."""
        window, names = self._window, tuple(carrier.name for carrier in carriers)
        damages = tuple(reading.damages)
        part = Part(names, gaps.alone(), unreadable=unreadable, damages=damages)
        if window is None or window.series is None:
            return part
        series, records = window.series, window.transactions
        whole = unreadable is None
        before = self._head.previous if self._head else None
        ended = series.gtids.to_set()
        return replace(
            part,
            head=self._head and replace(self._head, source=carriers[0].source),
            events=reading.ordinal,
            transactions=reading.scanner.transactions.number,
            segments=self._segments.finish(),
            stop=self._segments.stop if whole and len(names) == 1 else None,
            said=tuple(self._said),
            wrote=tuple(self._wrote),
            gtids=ended if before is None else ended.subtract(before),
            intact=reading.seen.to_set(),
            next_name=series.next_name,
            rotated=series.rotated,
            prepared={xa: number for (_, xa), number in self._prepared.open.items()},
            decided=self._prepared.others,
            goes_on=series.head.relay and len(records) > 0 and not records["outcome"][-1],
        )


def _wrote(number: int, event: Event, tx: int | None, change: TableChange) -> Wrote:
    raw = event.raw
    return Wrote(
        number, raw.file, raw.pos, raw.inner, change.action, change.db, change.table, change.reason,
        raw.end_pos, raw.header.timestamp, tx, sql_mode_of(event),
        None if change.reads is None else [part for name in change.reads for part in name],
        change.deletes_all,
    )  # fmt: skip


class _Ledger:
    """Views of one log's windows with the row count of each entry."""

    def __init__(self) -> None:
        self._transactions, self._touched, self._totals = Transactions(), TouchedTables(), Totals()
        self._statements = Statements(Filters())
        self.keys = KeyFilters()
        self._unchecked = [arrow_schema(UNCHECKED).empty_table()]

    def feed(self, window: Window, rows: np.ndarray[Any, Any]) -> None:
        """Take the next window; ``rows``: of each entry."""
        self._transactions.feed(window, rows)
        self._touched.feed(window, rows)
        self._totals.feed(window, rows)
        self._statements.feed(window)
        stretch = window.stretch
        if stretch is None:
            return
        here = window.unchecked() - stretch.ordinal
        if len(here):
            inner = stretch.inners[here]
            columns = [
                pa.repeat(pa.scalar(window.carrier.name), len(here)),
                pa.array(stretch.positions[here], pa.int64()),
                pa.array(inner, pa.int64(), mask=inner < 0),
            ]
            self._unchecked.append(pa.table(columns, schema=arrow_schema(UNCHECKED)))

    def finish(self) -> dict[str, pa.Table]:
        """The tables of a ledger, by name."""
        changes, unchecked = pa.table(self._touched.finish()), pa.concat_tables(self._unchecked)
        transactions, filters = (
            self._transactions.finish(fields=INDEXED_TRANSACTION),
            self.keys.finish(),
        )
        return {
            "transactions": transactions, "changes": changes, "totals": self._totals.finish(),
            "filters": filters, "unchecked": unchecked, "statements": self._statements.finish(),
        }  # fmt: skip
