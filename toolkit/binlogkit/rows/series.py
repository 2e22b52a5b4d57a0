"""Which logs are one server's: series of logs, recognised by what they say of themselves.

A log does not hold its writer's UUID. Logs are of one source where the user or a capture says so;
else where one follows the other: numbered names beside each other with the same server id, a
PREVIOUS_GTIDS that holds those of the log before it, or a ROTATE at the second in which the next
log was begun. What is not proved to belong together is kept apart, but for what has no names: bytes
and streams of one server id follow each other unless their GTIDs say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

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
    """What logs of one name share: the tables as DDL left them, and the names that it touched."""

    name: str
    catalog: Catalog
    tracked: set[tuple[str | None, str | None]]


@dataclass(slots=True)
class Series:
    """Logs that follow each other; ``head``: of the last one that was read.

    ``gtids``: those in the logs and before them; ``next_name``, ``rotated``: what the last log's
    ROTATE names, and when; ``broken``: whether something is missing right before it, as far as the
    logs show that, other than what damage took of the log before.
    """

    source: SourceTables
    head: Head
    names: set[str] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    gtids: GtidLedger = field(default_factory=GtidLedger)
    next_name: str | None = None
    rotated: int = 0
    broken: bool = False

    def add(self, head: Head) -> None:
        """Take the next log."""
        self.broken = bool(self.names) and self._lacks(head)
        self.head = head
        self.names.add(head.name)
        number = split_name(head.name)[2]
        if number is not None:
            self.numbers.add(number)
        if head.previous is not None:
            self.gtids.add_set(head.previous)
        self.next_name, self.rotated = None, 0

    def end(self, gtids: GtidSet, next_name: str | None, rotated: int) -> None:
        """The last log was read: its GTIDs, also of what damage took of it, and the rest as in the
        attributes."""
        self.gtids.add_set(gtids)
        self.next_name, self.rotated = next_name, rotated

    def _lacks(self, head: Head) -> bool:
        """Whether logs or transactions are missing between the last log and this one."""
        number = split_name(head.name)[2]
        if number is not None and number > max(self.numbers, default=number) + 1:
            return True
        known = self.gtids.to_set()
        if known and self.head.previous is not None and head.previous is not None:
            return bool(head.previous.subtract(known))
        return False

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

    def _goes_on(self, head: Head, number: int | None) -> bool | None:
        """Whether the last log proves that this one comes after it; None where unknown."""
        if self.head.previous is not None and head.previous is not None:
            known = self.gtids.to_set()
            if known:
                return not known.subtract(head.previous)
        if self.next_name is None or not 0 <= head.begun - self.rotated <= _ROTATION:
            return None
        return number is None or number == split_name(self.next_name)[2]


class AllSeries:
    """The series of the logs that were read.

    ``catalog``, ``tracked``: the tables before each, and which of them the logs describe;
    ``began``: the first log's name, and the GTIDs before it where it says so.
    """

    def __init__(self, catalog: Catalog | None, tracked: Names = frozenset()) -> None:
        self._catalog, self._tracked = catalog or Catalog(), tracked
        self._series: list[Series] = []
        self.began: tuple[str, GtidSet | None] = ("", None)
        self._sources: dict[str, SourceTables] = {}

    def of(self, head: Head) -> Series:
        """The series of a log that begins, which it is added to."""
        found = next((s for s in reversed(self._series) if s.takes(head)), None)
        if found is None:
            name = head.source or self._new_name(head.name)
            if name not in self._sources:
                self._sources[name] = SourceTables(name, self._catalog.copy(), set(self._tracked))
            source = self._sources[name]
            found = Series(source, head)
            self._series.append(found)
        if not self.began[0]:
            self.began = head.name, head.previous
        found.add(head)
        return found

    def joined(self, names: Iterable[str]) -> bool:
        """Whether the logs of these sources have GTIDs in common, one after the other: such servers
        replicate from each other."""
        sets = [
            (s.source.name, s.gtids.to_set()) for s in self._series if s.source.name in set(names)
        ]
        reached, rest = sets[:1], sets[1:]
        while met := [s for s in rest if any(_share(s, other) for other in reached)]:
            reached, rest = [*reached, *met], [s for s in rest if s not in met]
        return not rest

    def definitions(self, names: Iterable[str]) -> list[TableDefinition]:
        """The tables of these sources as the logs that were read left them."""
        known = [self._sources[name].catalog for name in names if name in self._sources]
        return [table for catalog in known for table in catalog.tables()]

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


def _share(a: tuple[str, GtidSet], b: tuple[str, GtidSet]) -> bool:
    return a[0] == b[0] or a[1].subtract(b[1]) != a[1]
