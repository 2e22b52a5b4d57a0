"""Which logs are one server's: series of logs, recognised by what they say of themselves.

A log does not hold its writer's UUID. Logs are of one source where the user or a capture says so;
else where one follows the other: numbered names beside each other with the same server id, a
PREVIOUS_GTIDS that holds those of the log before it, or a ROTATE at the second in which the next
log was begun. What is not proved to belong together is kept apart, but for what has no names: bytes
and streams of one server id follow each other unless their GTIDs say otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.schema import TableDefinition

_NUMBERED = re.compile(r"^(?P<stem>.+)\.(?P<number>\d{6,})$")
_PACKED = (".gz", ".zst")
Names = Set[tuple[str | None, str | None]]

_ROTATION = 2  # seconds between a log's ROTATE and the beginning of the next one


def split_name(name: str) -> tuple[str, str, int | None]:
    """The folder, stem and number of a log's name: ``/data``, ``binlog``, 12."""
    folder, _, base = name.replace("\\", "/").rpartition("/")
    for ending in _PACKED:
        base = base.removesuffix(ending)
    match = _NUMBERED.match(base)
    return (folder, match["stem"], int(match["number"])) if match else (folder, base, None)


def in_order(place: tuple[str, int]) -> tuple[str, int, int]:
    """What places in one server's logs are compared by: binlog.1000000 follows binlog.999999."""
    _, stem, number = split_name(place[0])
    return stem, -1 if number is None else number, place[1]


def beside(*names: str) -> bool:
    """Whether logs lie beside each other: one folder, one stem."""
    return len({split_name(name)[:2] for name in names}) == 1


@dataclass(frozen=True, slots=True)
class Head:
    """What a log says of itself before its first transaction.

    ``source``: the name that the user or a capture gave; ``begun``: the second of its first event;
    ``previous``: the GTIDs before it, None where it does not say.
    """

    name: str
    source: str | None
    server_id: int
    relay: bool
    begun: int
    previous: GtidSet | None = None


@dataclass(slots=True)
class SourceTables:
    """What the logs of a series have: the tables as DDL left them, and the names that it touched.

    Those of another server have their own, since statements come again in a replica's logs.
    """

    name: str
    catalog: Catalog
    tracked: set[tuple[str | None, str | None]]

    def copy(self) -> SourceTables:
        """The same tables, which change on their own."""
        return SourceTables(self.name, self.catalog.copy(), set(self.tracked))


@dataclass(slots=True)
class Series:
    """Logs that follow each other; ``head``: of the last one that was read.

    ``gtids``: those in the logs and before them; ``next_name``, ``rotated``: what the last log's
    ROTATE names, and when; ``broken``: whether something is missing right before it, as far as the
    logs show that, other than what damage took of the log before; ``origins``: the servers whose
    transactions it has.
    """

    source: SourceTables
    head: Head
    names: set[str] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    gtids: GtidLedger = field(default_factory=GtidLedger)
    next_name: str | None = None
    rotated: int = 0
    broken: bool = False
    origins: set[str] = field(default_factory=set)

    def add(self, head: Head) -> None:
        """Take the next log."""
        if self.names:
            self.broken = self._lacks(head)
        self.head = head
        self.names.add(head.name)
        number = split_name(head.name)[2]
        if number is not None:
            self.numbers.add(number)
        if head.previous is not None:
            self.gtids.add_set(head.previous)
        self.next_name, self.rotated = None, 0

    def end(self, gtids: GtidSet, next_name: str | None, rotated: int) -> None:
        """The last log was read: its GTIDs, and the rest as in the attributes."""
        self.gtids.add_set(gtids)
        self.origins |= _origins(gtids)
        self.next_name, self.rotated = next_name, rotated

    def _lacks(self, head: Head) -> bool:
        """Whether logs or transactions are missing between the last log and this one, as they are
        where logs come in another order."""
        number, last = split_name(head.name)[2], split_name(self.head.name)[2]
        known = self.gtids.to_set()
        proved = known and self.head.previous is not None and head.previous is not None
        # Another server has numbers of its own.
        numbered = beside(head.name, self.head.name) or not proved
        if numbered and None not in (number, last) and number not in (last, (last or 0) + 1):
            return True
        return bool(proved and (head.previous or GtidSet()).subtract(known))

    def takes(self, head: Head) -> bool:
        """Whether a log belongs to the series."""
        if (self.head.relay, self.head.source) != (head.relay, head.source):
            return False
        alike = self.head.server_id == head.server_id
        if head.name in self.names:
            named = not head.name.startswith("<")
            return alike and (named or self._goes_on(head, None) is not False)
        folder, stem, number = split_name(head.name)
        before = split_name(self.head.name)
        if number is None or before[2] is None:
            return alike and bool(self._goes_on(head, None))
        if number in self.numbers:
            return False
        beside = before[:2] == (folder, stem)
        return (alike and beside) or ((alike or beside) and bool(self._goes_on(head, number)))

    def leads_to(self, head: Head) -> bool:
        """Whether the last log proves that this one, of whatever folder and server, comes right
        after it."""
        return bool(self._goes_on(head, split_name(head.name)[2])) and not self._lacks(head)

    def _goes_on(self, head: Head, number: int | None) -> bool | None:
        """Whether the last log proves that this one comes after it; None where unknown."""
        if self.head.previous is not None and head.previous is not None:
            known = self.gtids.to_set()
            if known:
                return not known.subtract(head.previous)
        if self.next_name is None or not 0 <= head.begun - self.rotated <= _ROTATION:
            return None
        return number is None or number == split_name(self.next_name)[2]


def _origins(gtids: GtidSet) -> set[str]:
    """The servers' UUIDs."""
    return {one.partition(":")[0] for one in gtids.intervals}


def _furthest(series: Iterable[Series]) -> Series | None:
    """The one that has come furthest."""
    return max(series, key=lambda s: (s.head.begun, split_name(s.head.name)[2] or 0), default=None)


def _identity(source: str, head: Head) -> object:
    """What a log and its copies have in common."""
    return source, head.server_id, head.begun, head.relay, split_name(head.name)[1:]


class AllSeries:
    """The series of the logs that were read.

    ``catalog``, ``tracked``: the tables before each, and which of them the logs describe;
    ``names``: of all logs, of which copies have the same ones in other folders; ``began``: the
    first log's name, and the GTIDs before it where it says so.
    """

    def __init__(
        self,
        catalog: Catalog | None,
        tracked: Names = frozenset(),
        *,
        names: Iterable[str] = (),
    ) -> None:
        self._catalog, self._tracked = catalog or Catalog(), tracked
        self._series: list[Series] = []
        self.began: tuple[str, GtidSet | None] = ("", None)
        self._sources: set[str] = set()
        counted = Counter(split_name(name)[1:] for name in names)
        self._several = {name for name, count in counted.items() if count > 1}
        self._before: dict[object, SourceTables] = {}  # a log that may have copies

    def of(self, head: Head, follows: GtidSet | None = None, own: GtidSet | None = None) -> Series:
        """The series of a log that begins, which it is added to; ``follows``: the GTIDs before it
        as all of it shows them, ``own`` those in it, if that is known."""
        if not self.began[0]:
            self.began = head.name, head.previous
        found = self._continued(head)
        if found is None:
            name = head.source or self._new_name(head.name)
            copied = self._before.get(_identity(name, head))
            others = self._named(name) if copied is None else []
            found = Series(self._tables(name, copied, others), head)
            known = head if follows is None else replace(head, previous=follows)
            found.broken = bool(others) and not any(s.leads_to(known) for s in others)
            self._sources.add(name)
            self._series.append(found)
        elif own and (ahead := self._unlogged(found, head, own)) is not None:
            found.source = ahead.source.copy()
        found.add(head)
        if split_name(head.name)[1:] in self._several:
            source = found.source
            self._before.setdefault(_identity(source.name, head), source.copy())
        return found

    def _continued(self, head: Head) -> Series | None:
        """The series that a log goes on, rather one of its folder."""
        place, found = split_name(head.name)[:2], None
        for series in reversed(self._series):
            if series.takes(head):
                if split_name(series.head.name)[:2] == place:
                    return series
                found = found or series
        return found

    def _tables(
        self, name: str, copied: SourceTables | None, others: Iterable[Series]
    ) -> SourceTables:
        """The tables of a server before a log that begins a series: a log that is ``copied``, and
        was read, begins with those before it, one beside ``others`` with those of the furthest."""
        last = _furthest(others)
        before = copied if last is None else last.source
        if before is not None:
            return before.copy()
        return SourceTables(name, self._catalog.copy(), set(self._tracked))

    def _named(self, name: str) -> list[Series]:
        """The series of a source."""
        return [series for series in self._series if series.source.name == name]

    def _unlogged(self, series: Series, head: Head, own: GtidSet) -> Series | None:
        """The series, of another server of its name, that did what a log's server may have
        replicated without logging it (log_slave_updates=OFF): it logs nothing of those origins."""
        others = self._named(series.source.name)
        if len(others) == 1:
            return None
        known = series.gtids.to_set().union(head.previous or GtidSet())
        logged = series.origins | _origins(own)
        done = ((one, one.gtids.to_set().subtract(known)) for one in others)
        return _furthest(one for one, gtids in done if gtids and not _origins(gtids) & logged)

    def joined(self, names: Iterable[str]) -> bool:
        """Whether the logs of these sources have transactions of the same servers, one after the
        other: such servers replicate from each other."""
        wanted, met = set(names), list[set[str]]()
        for series in (s for s in self._series if s.source.name in wanted):
            own = _origins(series.gtids.to_set()) | {f" {series.source.name}"}  # is in no UUID
            own = own.union(*(one for one in met if one & own))
            met = [*(one for one in met if not one & own), own]
        return len(met) < 2

    def definitions(self, names: Iterable[str]) -> list[TableDefinition]:
        """The tables of these sources as the logs that were read left them."""
        known = filter(None, (_furthest(self._named(name)) for name in names))
        return [table for series in known for table in series.source.catalog.tables()]

    def _new_name(self, name: str) -> str:
        """What a series is called that begins with a log: ``host-a/binlog``, else as the log."""
        folder, stem, _ = split_name(name)
        wanted = f"{folder}/{stem}" if folder else stem
        if wanted in self._sources:
            wanted = name
        count = 1
        while wanted in self._sources:
            count += 1
            wanted = f"{name} ({count})"
        return wanted
