"""What lands together of which log: spans of transactions, and the splits that read them.

A span is defined by numbers of transactions in its log, which stay the same while a log grows; it
begins where the one before it ended. A log is recognised by its transactions, whatever its folder
and name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index import Joined, Part
from binlogkit.log.index.extent import DIGESTED, digest_of
from binlogkit.log.index.later import columns_of
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import beside, split_name
from binlogkit.spark.landing.waiting import PREPARED, LogId, Waiting
from binlogkit.spark.ranges import Ranges
from binlogkit.spark.splits.commits import file_number
from binlogkit.spark.splits.outcomes import Moved
from binlogkit.spark.splits.plan import Split


@dataclass(frozen=True, slots=True)
class Span:
    """Transactions of one log: from ``first`` to before ``end``.

    ``file``: the log's name; ``source``: of the server's logs; ``server_id``, ``begun``: of its
    first event; ``stop``: the position after the last transaction; ``digest``: of all up to
    ``end``, which identifies the log; ``gtids``: of what lands: of its transactions, of XA
    transactions that it prepared and its batch commits, and of those that it commits and that logs
    of no span of the batch prepared; ``batch``: the number of its batch; ``again``: the batch whose
    waiting rows it lands, of these ``tables``, both None for a span of other rows; ``lost``:
    whether these are lost, since the log is gone.
    """

    batch: int
    file: str
    source: str | None
    server_id: int
    begun: int
    first: int
    end: int
    stop: int
    digest: str
    gtids: str
    again: int | None = None
    tables: tuple[str, ...] | None = None
    lost: bool = False

    @property
    def log(self) -> LogId:
        """Its log."""
        return self.server_id, self.begun, file_number(self.file)


_NOTHING = (0, GtidSet())


class Landed:
    """What has landed: the spans of earlier batches; ``known``: a batch, and the GTIDs up to it;
    ``parts``: of the logs as they are; ``whole``: the names of others that have landed to their
    ends."""

    def __init__(
        self, spans: Iterable[Span], known: tuple[int, GtidSet] = _NOTHING,
        parts: Iterable[Part] = (), whole: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._parts, self._whole = {part.names[-1]: part for part in parts}, whole
        self._alike: dict[tuple[int, int], list[Span]] = {}
        batch, gtids = known
        ledger = GtidLedger(gtids)
        for span in spans:
            if span.again is not None:
                continue
            self._alike.setdefault((span.server_id, span.begun), []).append(span)
            if span.batch > batch:
                ledger.add_set(GtidSet.parse(span.gtids))
        self._gtids = ledger.to_set()

    def of(self, part: Part) -> list[Span]:
        """The spans of a log."""
        assert part.head is not None
        alike = self._alike.get((part.head.server_id, part.head.begun), [])
        whole = (one for one in alike if _is_whole(part, one) and not self._is_beside(part, one))
        last = next(whole, None)
        found = _before(last, alike) if last is not None else None
        if found is None:  # asking for its transactions reads those of many logs
            found = [one for one in alike if not self._is_beside(part, one) and is_of(part, one)]
        return found

    def _is_beside(self, part: Part, span: Span) -> bool:
        """Whether a span is another log in the folder of a log, whole and under its own name."""
        if not are_beside(part.names[-1], span.file):
            return False
        other = self._parts.get(span.file)
        if other is None or log_of(other) != span.log or not _is_whole(other, span):
            return span.file in self._whole
        return not _is_copy(part, other)

    def differs(self, part: Part) -> bool:
        """Whether a log had more transactions when it landed, or others after its first one, as
        before it was damaged, without GTIDs to recognise them by."""
        assert part.head is not None
        name = PurePath(part.names[-1]).name
        alike = self._alike.get((part.head.server_id, part.head.begun), [])
        alike = [span for span in alike if PurePath(span.file).name == name]
        return (
            any(span.end > part.extent.ended or self._begins_like(part, span) for span in alike)
            and not part.extent.plain
            and part.ledger["transactions"]["gtid"].null_count > 0
        )

    def _begins_like(self, part: Part, span: Span) -> bool:
        other = self._parts.get(span.file)
        if other is None or other is part or log_of(other) != span.log:
            return False
        begun = part.extent.ended and other.extent.ended
        return bool(begun) and _digest(part, 1) == _digest(other, 1)

    def gtids_besides(self, own: Iterable[Span]) -> GtidSet:
        """The GTIDs that have landed, except those of some spans."""
        found = self._gtids
        for span in own:
            found = found.subtract(GtidSet.parse(span.gtids))
        return found


def is_of(part: Part, span: Span) -> bool:
    """Whether a span is one of a log."""
    head = part.head
    if head is None or (span.server_id, span.begun) != (head.server_id, head.begun):
        return False
    if span.end >= part.extent.ended:
        return _is_whole(part, span)
    return _digest(part, span.end) == span.digest


def _digest(part: Part, end: int) -> str:
    """The digest of a log's first transactions."""
    return digest_of(columns_of(part.ledger, "transactions", DIGESTED), end)


def log_of(part: Part) -> LogId:
    """What identifies a log; of one without an event, nothing that another has."""
    head = part.head
    return (-1, 0, 0) if head is None else (head.server_id, head.begun, file_number(part.names[-1]))


def begins(part: Part, other: Part) -> bool:
    """Whether a log's transactions are the first ones of another reading of it."""
    heads = [(one.head.server_id, one.head.begun) for one in (part, other) if one.head is not None]
    if len(heads) < 2 or heads[0] != heads[1] or not 0 < other.extent.ended <= part.extent.ended:
        return False
    return _digest(part, other.extent.ended) == other.extent.digest


def _is_copy(part: Part, other: Part) -> bool:
    """Whether two logs are one: another one with the same transactions names another next log."""
    ends = (one.alone.files[-1].ends_in for one in (part, other))
    return part.extent == other.extent and next(ends) == next(ends)


def are_beside(name: str, other: str) -> bool:
    """Whether logs have names of their own in one folder."""
    return beside(name, other) and split_name(name)[2] != split_name(other)[2]


def _is_whole(part: Part, span: Span) -> bool:
    """Whether a span ends where a log with its head does."""
    return (span.end, span.digest) == (part.extent.ended, part.extent.digest)


def _before(span: Span, alike: Iterable[Span]) -> list[Span] | None:
    """A span with those before it in its log; None if several may be the one before."""
    found = [span]
    while found[-1].first:
        before = [other for other in alike if other.end == found[-1].first]
        if len(before) != 1:
            return None
        found += before
    return found


class Spans(Ranges):
    """Joined logs, and which of their transactions land; ``names``: the locations of existing
    logs."""

    def __init__(
        self, parts: Sequence[Part], joined: Joined, landed: Landed, names: Mapping[str, str]
    ) -> None:
        super().__init__(parts, joined, names)
        self._landed = landed
        self._by_head: dict[tuple[int, int], list[int]] = {}  # those that are there come first
        for i, part in sorted(enumerate(parts), key=lambda one: not self._is_there(one[0])):
            if part.head is not None:
                self._by_head.setdefault((part.head.server_id, part.head.begun), []).append(i)
        self._claimed: Mapping[int, GtidSet] = {}
        self._landed_of = dict[int, list[Span]]()

    def fresh(self) -> Iterator[Span]:
        """Ended transactions that have not landed: a span for each log, without a batch number."""
        for i, part in enumerate(self._parts):
            if part.head is None or part.unreadable is not None or not self._is_there(i):
                continue
            own = self._landed.of(part)
            if not own and self._landed.differs(part):
                raise InputError(
                    part.names[-1],
                    "had more or other transactions when it landed, and no GTIDs to know them by: "
                    "it is not landed again (name the log that landed, or leave it out)",
                )
            first, end = max((span.end for span in own), default=0), part.extent.ended
            if first < end:
                yield self._span(i, first, end)

    def _span(self, i: int, first: int, end: int) -> Span:
        part, head = self._parts[i], self._parts[i].head
        assert head is not None
        seen = self._seen(i) or GtidSet()
        own = self._landing(i, first, end).subtract(seen)
        gtids = own.union(self._decided_by(i, first, end, seen))
        return Span(
            0, part.names[-1], self._positions[i][0].source, head.server_id, head.begun, first, end,
            part.extent.end, part.extent.digest, str(gtids),
        )  # fmt: skip

    def _landing(self, i: int, first: int, end: int) -> GtidSet:
        """The GTIDs of the landing transactions of a part, from ``first`` to before ``end``."""
        part, base = self._parts[i], self._base(i)
        if part.extent.plain and not first and end == part.extent.ended:
            return part.gtids
        numbers = range(base + first, base + end)
        left = self._outcomes.left(i, base, numbers)
        moved = self._moved(i).items()
        late = {n for n, commits in moved if n in numbers and self._came_first(commits)}
        landing = [n - base for n in numbers if n not in left or n in late]
        gtids = part.ledger["transactions"]["gtid"].take(pa.array(landing, pa.int64()))
        return GtidSet.of(filter(None, gtids.to_pylist()))

    def _was_read(self, one: Moved) -> bool:
        """Whether a commit has landed."""
        if one.part not in self._landed_of:
            self._landed_of[one.part] = self._landed.of(self._parts[one.part])
        return any(span.first <= one.number < span.end for span in self._landed_of[one.part])

    def _came_first(self, commits: Sequence[Moved]) -> Moved | None:
        """The commit that has landed; what it commits was prepared in a log that comes late."""
        return next(filter(self._was_read, commits), None)

    def _decided_by(self, i: int, first: int, end: int, seen: GtidSet) -> GtidSet:
        """The GTIDs of XA transactions, of any log, that some transactions of a part commit, unless
        landed; of its own but those that it has ``seen`` in other logs."""
        here = [
            gtid
            for number, gtid, origin in self._decided.get(i, ())
            if first <= number < end and not (origin == i and gtid in seen)
        ]
        return GtidSet.of(here).subtract(self._landed.gtids_besides(())) if here else GtidSet()

    @cached_property
    def _decided(self) -> dict[int, list[tuple[int, str, int]]]:
        """By part: its transactions that commit XA transactions, the GTIDs of those, and the part
        that prepared them."""
        found: dict[int, list[tuple[int, str, int]]] = {}
        for i in self._positions:
            part, base = self._parts[i], self._base(i)
            if part.head is None or part.extent.plain:  # no prepared transactions
                continue
            for number, commits in self._moved(i).items():
                gtid = part.ledger["transactions"]["gtid"][number - base].as_py()
                for one in commits if gtid is not None else ():
                    found.setdefault(one.part, []).append((one.number, gtid, i))
        return found

    def _seen(self, i: int) -> GtidSet | None:
        """The GTIDs that a log has in common with earlier ones, or with other landed spans."""
        ledger = GtidLedger()
        part = self._parts[i]
        besides = self._landed.gtids_besides(self._landed.of(part))
        ledger.add_set(part.alone.gtids.intersect(besides))
        before = super()._seen(i)
        if before is not None:
            ledger.add_set(before)
        return ledger.to_set() or None

    def settled(self, batch: Sequence[Span]) -> list[Span]:
        """The spans of a batch, of which those with the logs that prepared XA transactions have
        these, too: so it is known which of several copies lands, whatever logs are there later."""
        parts = [self._part_of(span) for span in batch]
        claims = [GtidLedger(GtidSet.parse(span.gtids)) for span in batch]
        for k, span in enumerate(batch):
            moved: dict[int, list[str]] = {}
            for number, gtid, origin in self._decided.get(parts[k], ()):
                if span.first <= number < span.end and origin != parts[k] and origin in parts:
                    moved.setdefault(parts.index(origin), []).append(gtid)
            for place, gtids in moved.items():
                own = claims[k].common(GtidSet.of(gtids))
                claims[k] = GtidLedger(claims[k].to_set().subtract(own))
                claims[place].add_set(own)
        return [
            replace(span, gtids=str(own.to_set())) for span, own in zip(batch, claims, strict=True)
        ]

    def check(self, batch: Sequence[Span]) -> None:
        """DamageError: there is damage before the end of a span."""
        for span in (one for one in batch if not one.lost):
            for error in self._parts[self._part_of(span)].damages:
                if error.offset < span.stop:
                    raise error

    # ---- splits -------------------------------------------------------------------------------

    def splits(self, batch: Sequence[Span], again: Sequence[Span] = ()) -> Iterator[Split]:
        """The splits for the spans of a batch; ``again``: only those of their logs, of which rows
        waited. InputError: logs are gone."""
        parts = [(self._part_of(span, gone=bool(again)), span) for span in batch if not span.lost]
        ranges = {i: (span.first, span.end) for i, span in parts}
        claimed = {i: GtidLedger() for i in ranges}
        for i, span in parts:  # copies of a log are one part
            claimed[i].add_set(GtidSet.parse(span.gtids))
        self._claimed = {i: own.to_set() for i, own in claimed.items()}
        only = {self._part_of(span) for span in again}
        self._choose(only)
        return self.changelog(ranges, only or None)

    def _choose(self, only: Collection[int]) -> None:
        """Take the copies of XA transactions that a batch's spans have; ``only``: the parts of
        which rows landed."""
        instead = dict(self._instead)
        for copy, first in self._joined.copies.items():
            own, other = self._part_with(copy), self._part_with(first)
            gtids = self._gtids_of(own, [copy])
            has, others = (
                bool(gtids.intersect(self._claimed.get(i, GtidSet()))) for i in (own, other)
            )
            if not others and (has or (own in only and other not in only)):
                instead[first] = copy
            elif others:
                instead.pop(first, None)
        if instead != self._instead:
            self._take(instead)

    def _skipped(
        self, i: int, ranges: Mapping[int, tuple[int, int]], now: Mapping[int, Moved]
    ) -> GtidSet | None:
        """All of a log but what the spans of a batch say, whatever other logs are known by now."""
        landing, claimed = GtidLedger(), GtidLedger(self._claimed.get(i, GtidSet()))
        if i in ranges:
            landing.add_set(self._landing(i, *ranges[i]))
        for number, one in now.items():
            own = self._gtids_of(i, [number])
            landing.add_set(own)
            claimed.add_set(own.intersect(self._claimed.get(one.part, GtidSet())))
        return landing.to_set().subtract(claimed.to_set()).union(self._copies(i)) or None

    def apart(self, batch: Sequence[Span]) -> list[Part]:
        """The logs that are not there and prepared XA transactions that a batch commits."""
        found = dict.fromkeys(i for i, _ in self._apart(self._ranges(batch)))
        return [self._parts[i] for i in found]

    def lost(self, batch: Sequence[Span]) -> Iterator[Waiting]:
        """The changes that a batch commits and logs prepared that are gone; if such a log has not
        landed, they land with it."""
        for i, number in self._apart(self._ranges(batch)):
            part = self._parts[i]
            assert part.head is not None
            if number >= max((span.end for span in self._landed.of(part)), default=0):
                continue
            [row] = part.ledger["transactions"].slice(number, 1).to_pylist()
            changes = part.ledger["changes"]
            own = changes.filter(pc.equal(changes["tx"], row["tx"]))
            counts = own.group_by(["db", "table"], use_threads=False).aggregate([("rows", "sum")])
            for one in counts.to_pylist():
                yield Waiting(
                    0, written_table_name(one["db"], one["table"]), part.names[-1],
                    part.head.server_id, part.head.begun, row["pos"], row["end_pos"] - 1,
                    one["rows_sum"], PREPARED, lost=True,
                )  # fmt: skip

    def _ranges(self, batch: Sequence[Span]) -> dict[int, tuple[int, int]]:
        return {self._part_of(s): (s.first, s.end) for s in batch if not s.lost}

    def part_of(self, log: LogId) -> int | None:
        """The number of a log that is there under a name of the same number, None if it is not."""
        alike = filter(self._is_there, self._by_head.get(log[:2], ()))
        found = (i for i in alike if file_number(self._parts[i].names[-1]) == log[2])
        return next(found, None)

    def is_there(self, span: Span) -> bool:
        """Whether a span's log is there."""
        try:
            self._part_of(span)
        except InputError:
            return False
        return True

    def _part_of(self, span: Span, *, gone: bool = False) -> int:
        """``gone``: also of a log that is not there."""
        known = self._by_head.get((span.server_id, span.begun), ())
        alike = [i for i in known if gone or self._is_there(i)]
        for same in (_is_whole, is_of):  # the first one needs no ledger
            found = [i for i in alike if same(self._parts[i], span)]
            # A copy is the log, whichever is first; logs alike in one folder are several.
            own = (i for i in found if self._parts[i].names[-1] == span.file)
            named = next(own, None)
            if named is not None and are_beside(span.file, self._parts[found[0]].names[-1]):
                return named
            if found:
                return found[0]
        raise InputError(
            span.file,
            "is not among the logs, and an earlier landing has begun with it: name it, too",
        )
