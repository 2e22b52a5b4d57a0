"""The bases that a state starts from, and which transactions they hold.

A base's position is a file and a position (it holds what ends by there), a GTID set (it holds its
members), or both. If they contradict each other, the set counts: positions are those of one server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.errors import InputError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.transaction_facts import GTID, gtid_array
from binlogkit.log.states.history import TableFacts
from binlogkit.log.states.places import among, ended
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.resolve import key_of
from binlogkit.rows.series import split_name
from binlogkit.rows.soundness import Gap
from binlogkit.rows.window import SEQ_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.frames.snapshots.snapshot import Snapshot, TableSnapshot
    from binlogkit.log.states.history import History
    from binlogkit.log.streams import Streams
    from binlogkit.rows.window import Window


BASE = "base"  # the code of gaps between a base and the log
GapT = TypeVar("GapT", bound=Gap)
_BEFORE_FILE = ("file_missing", "gtid_gap", "next_name")  # of gaps between a file and the last
_START = 4  # of a log's first event
_OPEN = "it is not known what was changed between the base and the first log"


@dataclass(frozen=True, slots=True)
class BasePosition:
    """A base's position among the logs: ``file``: a log's number, ``pos`` in it; ``given``: whether
    that log is among them, else it comes between two of them, or before or after all."""

    file: int
    pos: int
    given: bool

    @property
    def at(self) -> tuple[int, int]:
        """The log's number, and where in it."""
        return self.file, self.pos


class Since:
    """Which transactions a base holds, from the windows of a reading.

    ``numbers``: those transactions; ``seq``: the place of the first event after its position, -1 if
    that is not in the logs; ``unlike``: transactions on which its position and its GTIDs disagree;
    ``anonymous``: transactions that only a GTID would place, and that have none.
    """

    def __init__(self, log: Streams, file: str | None, pos: int | None, gtids: GtidSet | None):
        self._files = {name: i for i, name in enumerate(log.files)}
        self.file, self.pos = file, pos
        self.gtids = gtids if gtids else None
        self.place = None if file is None or pos is None else _place(log.files, file, pos)
        self.numbers: set[int] = set()
        self.seq = -1
        self._passed = False  # whether the first event after its position was met
        self._last, self._next = (-1, 0), (len(log.files), 0)  # end of what it holds, first other
        self.unlike = self.anonymous = 0

    def feed(self, window: Window) -> None:
        """Take a window."""
        self._note_place(window)
        records = window.transactions
        if not len(records):
            return
        by_place = self._by_place(window)
        found = by_place if by_place is not None else np.zeros(len(records), bool)
        if self.gtids is not None:
            texts = self._texts(window)
            named = np.array([text is not None for text in texts])
            member = np.array([t is not None and t in self.gtids for t in texts])
            ended = records["open"] == 0
            if by_place is None:
                self.anonymous += int((ended & ~named).sum())
            elif self.place is not None and self.place.given:
                self.unlike += int((ended & named & (member != by_place)).sum())
            found = np.where(named, member, found)
            here = self._files[window.carrier.name]
            if (held := records["end_pos"][ended & found]).size:
                self._last = max(self._last, (here, int(held.max())))
            if (others := records["pos"][ended & ~found]).size:
                self._next = min(self._next, (here, int(others.min())))
        numbers = records["number"]
        self.numbers.difference_update(numbers[~found].tolist())
        self.numbers.update(numbers[found].tolist())

    def _by_place(self, window: Window) -> np.ndarray[Any, Any] | None:
        if self.place is None:
            return None
        here, records = self._files[window.carrier.name], window.transactions
        if here != self.place.file:
            return np.full(len(records), here < self.place.file)
        found: np.ndarray[Any, Any] = records["end_pos"] <= self.place.pos
        return found

    @staticmethod
    def _texts(window: Window) -> list[str | None]:
        records = window.transactions
        texts: list[str | None] = gtid_array(records).to_pylist()
        for i in np.flatnonzero(records["has"] & GTID == 0).tolist():
            texts[i] = None
        for i, (gtid, _) in window.facts.gtids_of(records).items():
            texts[i] = gtid
        return texts

    def _note_place(self, window: Window) -> None:
        """Find the place of the first event that is not in the base."""
        stretch, place = window.stretch, self.place
        if stretch is None or place is None or not len(stretch.entries):
            return
        here = self._files[window.carrier.name]
        count = len(stretch.entries)
        if here == place.file:
            count = int(np.searchsorted(stretch.positions, place.pos, "left"))
        if here <= place.file and not self._passed:
            self.seq = stretch.ordinal + count << SEQ_SHIFT
            self._passed = count < len(stretch.entries)

    def holds(self, boundary: Boundary) -> bool:
        """Whether the base includes what happened to a table."""
        return boundary.seq < self.seq if boundary.tx is None else boundary.tx in self.numbers

    def take_rows(self, batch: pa.RecordBatch) -> None:
        """Take changes: without a place, it is not known which of those outside any transaction the
        base includes."""
        if self.place is None and batch["tx"].null_count:
            self.anonymous += 1

    @property
    def taken_at(self) -> tuple[int, int] | None:
        """The place up to which statements on tables are in the base: a log's number, where in it.
        By GTIDs it is known after the reading; None if they are not the beginning of the logs."""
        if self.place is not None and not self.unlike:
            return self.place.at
        return self._last if (-1, 0) < self._last <= self._next else None

    def moved(self, read: tuple[int, int] | None, boundaries: Iterable[Boundary]) -> bool:
        """Whether statements on tables were read as if :attr:`taken_at` were another place."""
        ends = [at for at in (read, self.taken_at) if at is not None and read != self.taken_at]
        return any((self._files[b.file], b.pos) < max(ends) for b in boundaries if ends)

    @property
    def trusted(self) -> BasePosition | None:
        """The position, if it is one in the logs."""
        return None if self.unlike or self.place is None else self.place


def _place(files: Sequence[str], file: str, pos: int) -> BasePosition:
    """Where a position is among logs, comparing their names without folder and compression."""
    _, stem, number = split_name(file)
    names = [split_name(name)[1:] for name in files]
    found = [i for i, name in enumerate(names) if name == (stem, number)]
    if len(found) > 1:
        raise UsageError(f"several of the logs are called {file}, at which the base is")
    if found:
        return BasePosition(found[0], pos, True)
    before = [i for i, (s, n) in enumerate(names)
              if s == stem and n is not None and number is not None and n < number]  # fmt: skip
    # Between the last of them and the next, which begins a gap where the base's own is missing.
    return BasePosition(max(before) if before else -1, (1 << 63) - 1, False)


# ---- changes missing after a base ----------------------------------------------------------


def base_gaps(
    log: Streams,
    since: Since,
    history: History,
    transactions: pa.Table,
    counts: Callable[[int], bool] | None = None,
    files: int | None = None,
) -> list[Gap]:
    """Where changes may be missing between the base and the logs.

    ``counts``: which transactions lie between the base and the point, by default those that are not
    in the base; ``files``: how many of the logs come before the point, by default all.
    """
    texts = [*_by_gtids(log, since, files), *_by_file(log, since, history)]
    if since.anonymous:
        texts.append(f"{since.anonymous} transactions have no GTID, and the base no position")
    texts += _prepared_before(counts or (lambda tx: tx not in since.numbers), transactions)
    first = log.files[0]
    return [Gap(BASE, first, None, max(since.seq, 0), None, text) for text in texts]


def _by_gtids(log: Streams, since: Since, files: int | None) -> Iterator[str]:
    if since.gtids is None:
        return
    before, first, seen = GtidLedger(), GtidLedger(), GtidLedger()
    known = True
    for i, file in enumerate(log.file_facts):
        if file.previous is None:
            known = False
        else:
            before.add_set(file.previous)
            if files is None or i < files:
                first.add_set(file.previous)
        seen.add_set(file.gtids.to_set())
        seen.add_set(file.copied.to_set())
    here, earlier = seen.to_set(), before.to_set()
    missing = first.to_set().subtract(since.gtids).subtract(here)
    if missing:
        yield f"neither in the base nor in these logs: {missing}"
    newer = since.gtids.subtract(here).subtract(earlier)
    if newer:
        yield f"the base is newer than these logs: {newer} is in it, and not in them"
    if not known and (since.trusted is None or not since.trusted.given):
        yield f"it is not known what was executed before these logs: {_OPEN}"


def _by_file(log: Streams, since: Since, history: History) -> Iterator[str]:
    place = since.place
    if since.gtids is not None and not since.anonymous and log.has_gtids:
        return
    if place is None:
        yield f"the base does not say its position in logs without GTIDs: {_OPEN}"
        return
    at, last = f"{since.file} at {since.pos}", len(log.files) - 1
    if place.given:
        end = history.ends.get(log.files[place.file], 0)
        if place.file == last and (since.pos or 0) > max(end, _START):
            yield f"the base is newer than these logs: it is at {at}, and they end at {end}"
    elif place.file < last:
        yield f"the base is at {at}, which is not among these logs: {_OPEN}"
    elif not (since.file == _next_name(log) and since.pos == _START):
        yield f"the base is newer than these logs: it is at {at}, which is not among them"


def _next_name(log: Streams) -> str | None:
    """The log that the last one names as its successor."""
    facts = log.file_facts
    return facts[-1].next_name if facts else None


def _prepared_before(counts: Callable[[int], bool], transactions: pa.Table) -> Iterator[str]:
    """XA transactions that the logs commit and that were prepared before them."""
    names = ["tx", "file", "pos", "xa", "outcome", "rows", "resolved_file", "resolved_pos"]
    which = pc.or_(transactions["xa"].is_valid(), transactions["resolved_file"].is_valid())
    rows = transactions.select(names).filter(which).to_pylist()
    deciders = {(row["resolved_file"], row["resolved_pos"]) for row in rows}
    for row in rows:
        commits = row["xa"] is not None and row["outcome"] == "committed" and not row["rows"]
        if commits and counts(row["tx"]) and (row["file"], row["pos"]) not in deciders:
            where = f"{row['file']} at {row['pos']}"
            yield f"{where} commits the XA transaction {row['xa']}, which was prepared before"


def first_after(log: Streams, since: Since | None) -> tuple[int, int]:
    """The place (file number, position) before which nothing can be missing, since the base has it.

    The very first place if damage ended the reading: later changes then count as missing, too.
    """
    if since is None or (log.damages and log.options.on_damage == "stop"):
        return (-1, 0)
    numbers = {name: i for i, name in enumerate(log.files)}
    place = since.trusted
    first = (-1, 0) if place is None or not place.given else (place.file, place.pos)
    if since.gtids is not None:
        # Everything before a log that says so is in the base.
        held = [f.name for f in log.file_facts if f.previous is not None
                and not f.previous.subtract(since.gtids)]  # fmt: skip
        if held and len({file.source for file in log.file_facts}) == 1:
            first = max(first, (max(numbers.get(name, -1) for name in held), 0))
    return first


def after_base(gaps: Iterable[GapT], log: Streams, since: Since) -> list[GapT]:
    """The gaps in which something may be missing that the base does not hold."""
    numbers, first = {name: i for i, name in enumerate(log.files)}, first_after(log, since)
    return [
        gap
        for gap in gaps
        if (
            numbers.get(gap.file, len(numbers)),
            -1 if gap.code in _BEFORE_FILE else gap.pos or 0,
        )
        >= first
    ]


def check_order(
    since: Since, transactions: pa.Table, counted: TransactionNumbers, until: Any
) -> None:
    """UsageError: the base holds changes that come after the point."""
    if until is None:
        return
    held = ended(transactions) & among(transactions, since.numbers)
    if (held & ~among(transactions, counted)).any():
        raise UsageError("the base is newer than the point")


def facts_of(base: TableSnapshot) -> TableFacts:
    """What a base says about its table."""
    columns = tuple(field.name for field in base.rows.schema.field("values").type)
    made = base.definition
    key = base.key if base.key is not None else key_of(made)[0] if made is not None else ()
    if made is None:
        return TableFacts(-1, None, columns, key)
    return TableFacts(-1, None, columns, key, made.engine, made.cascades)


# ---- reading the bases ---------------------------------------------------------------------


class Bases:
    """A state's bases, read: tables by name, one position.

    ``catalog``: their table definitions, None if they have none; ``more``: reads further tables, if
    they turn out to be needed.
    """

    def __init__(
        self,
        found: Sequence[Snapshot],
        more: Callable[[Collection[TableId]], Iterable[Snapshot]] = lambda _: (),
    ) -> None:
        self._more = more
        self.tables: dict[TableId, TableSnapshot] = {}
        for one in found:
            for name, table in one.tables.items():
                if name in self.tables:
                    raise UsageError(f"{'.'.join(name)} is in several bases")
                self.tables[name] = table
        first = found[0]
        for one in found:
            if one.unplaced is not None:
                text = f"{one.unplaced}; say so with base_at or base_gtid (--base-at, --base-gtid)"
                raise InputError(one.source, text)
            if (one.file, one.pos, one.gtids) != (first.file, first.pos, first.gtids):
                raise UsageError("the bases are at different positions: ask for each by itself")
        self.file, self.pos, self.gtids = first.file, first.pos, first.gtids
        catalogs = [one.catalog for one in found if one.catalog is not None]
        self.catalog = catalogs[0] if catalogs else None
        for other in catalogs[1:]:
            assert self.catalog is not None
            for definition in other.tables():
                self.catalog.enter(definition)

    def since(self, log: Streams) -> Since:
        """Which transactions of a log they hold."""
        return Since(log, self.file, self.pos, self.gtids)

    def of(self, names: Iterable[TableId]) -> dict[TableId, TableSnapshot]:
        """The tables of these names in the bases."""
        names = list(names)
        lacking = [name for name in names if name not in self.tables]
        for one in self._more(lacking) if lacking else ():
            self.tables |= one.tables
        return {name: self.tables[name] for name in names if name in self.tables}

    def named(self) -> str:
        """Their content, for messages."""
        return ", ".join(sorted(".".join(name) for name in self.tables)) or "no table"
