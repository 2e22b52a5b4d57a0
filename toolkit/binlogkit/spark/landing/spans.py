"""What of which log lands together: spans of transactions, and the splits that read them.

A span is told by numbers of transactions in its log, which stay what they are while a log grows,
and begins where the one before it ended. A log is known again by its transactions, wherever it lies
and whatever it is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from binlogkit.errors import InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index import Joined, Part
from binlogkit.log.index.joined import Position
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.commits import Deciding
from binlogkit.spark.outcomes import Outcomes
from binlogkit.spark.plan import Split

_MARKED = ("pos", "end_pos", "timestamp", "end_timestamp", "server_id", "xid", "events", "size")


@dataclass(frozen=True, slots=True)
class Span:
    """Transactions of one log: from ``first`` to before ``end``.

    ``file``: the log's name; ``source``: of the server's logs; ``server_id``, ``begun``: of its
    first event; ``stop``: the position behind the last; ``mark``: of all up to ``end``, by which
    the log is known; ``gtids``: of those whose changes land; ``batch``: which one it is in.
    """

    batch: int
    file: str
    source: str | None
    server_id: int
    begun: int
    first: int
    end: int
    stop: int
    mark: str
    gtids: str


def mark_of(part: Part, end: int) -> str:
    """What tells a log from all others that are alike: a hash of its first transactions."""
    found = hashlib.sha256()
    table = part.ledger["transactions"].slice(0, end)
    for name in _MARKED:
        found.update(np.asarray(table[name].fill_null(0)).astype("<u8").tobytes())
    return found.hexdigest()


def ended(part: Part) -> int:
    """How many transactions of a part have ended: all, or all but the last."""
    table = part.ledger["transactions"]
    count = table.num_rows
    cut = count > 0 and table["outcome"][-1].as_py() == Outcome.CUT
    return int(count - cut)


class Landed:
    """What has landed: the spans of earlier batches."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._alike: dict[tuple[int, int], list[Span]] = {}
        ledger = GtidLedger()
        for span in spans:
            self._alike.setdefault((span.server_id, span.begun), []).append(span)
            ledger.add_set(GtidSet.parse(span.gtids))
        self._gtids = ledger.to_set()

    def of(self, part: Part) -> list[Span]:
        """The spans of a log."""
        assert part.head is not None
        alike = self._alike.get((part.head.server_id, part.head.begun), [])
        return [span for span in alike if is_of(part, span)]

    def gtids_besides(self, own: Iterable[Span]) -> GtidSet:
        """The GTIDs that have landed, but for those of some spans."""
        found = self._gtids
        for span in own:
            found = found.subtract(GtidSet.parse(span.gtids))
        return found


def is_of(part: Part, span: Span) -> bool:
    """Whether a span is that of a log."""
    head = part.head
    if head is None or (span.server_id, span.begun) != (head.server_id, head.begun):
        return False
    known: bool = span.end <= part.ledger["transactions"].num_rows
    return known and mark_of(part, span.end) == span.mark


class Spans:
    """Logs, joined, and which of their transactions land.

    ``parts``: of all logs, from ``present`` on those that can be read; ``names``: what opens them.
    """

    def __init__(
        self, parts: Sequence[Part], joined: Joined, landed: Landed, names: Mapping[str, str],
        present: int = 0,
    ) -> None:  # fmt: skip
        self._parts, self._joined, self._landed = parts, joined, landed
        self._names, self._present = names, present
        self._outcomes = Outcomes(parts, joined)
        self._by_head: dict[tuple[int, int], list[int]] = {}
        for i in range(present, len(parts)):
            head = parts[i].head
            if head is not None:
                self._by_head.setdefault((head.server_id, head.begun), []).append(i)
        self._positions: dict[int, list[Position]] = {}
        for position in joined.positions:
            self._positions.setdefault(position.part, []).append(position)

    def fresh(self) -> Iterator[Span]:
        """What has ended in the logs and has not landed, a span for each log, in no batch yet."""
        for i in range(self._present, len(self._parts)):
            part = self._parts[i]
            if part.head is None or part.unreadable is not None:
                continue
            own = self._landed.of(part)
            first, end = max((span.end for span in own), default=0), ended(part)
            if first < end:
                yield self._span(i, first, end)

    def _span(self, i: int, first: int, end: int) -> Span:
        part, head = self._parts[i], self._parts[i].head
        assert head is not None
        table = part.ledger["transactions"]
        base = self._base(i)
        numbers = range(base + first, base + end)
        left = self._outcomes.left(i, base, numbers)
        landing = [n - base for n in numbers if n not in left]
        gtids = GtidSet.of(
            g for g in table["gtid"].take(pa.array(landing, pa.int64())).to_pylist() if g
        )
        seen = self._seen(i)
        return Span(
            0, part.names[-1], self._positions[i][0].source, head.server_id, head.begun, first, end,
            table["end_pos"][end - 1].as_py(), mark_of(part, end),
            str(gtids if seen is None else gtids.subtract(seen)),
        )  # fmt: skip

    def _base(self, i: int) -> int:
        """The number of a part's first transaction."""
        first = self._positions[i][0]
        return first.transactions - first.segment.transactions

    def _seen(self, i: int) -> GtidSet | None:
        """The GTIDs of a log that come from others."""
        ledger = GtidLedger()
        part = self._parts[i]
        besides = self._landed.gtids_besides(self._landed.of(part))
        ledger.add_set(part.alone.gtids.intersect(besides))
        before = self._positions[i][0].seen
        if before is not None:
            ledger.add_set(before)
        return ledger.to_set() or None

    def check(self, batch: Sequence[Span]) -> None:
        """DamageError: there is some before the end of a span."""
        for span in batch:
            for error in self._parts[self._part_of(span)].damages:
                if error.offset < span.stop:
                    raise error

    def missing(self, batch: Sequence[Span]) -> Iterator[str]:
        """XA transactions that a batch commits and whose logs are gone, by GTID or id."""
        ranges = {self._part_of(span): (span.first, span.end) for span in batch}
        for i in range(self._present):
            base = self._base(i)
            numbers = range(base, base + self._parts[i].transactions)
            for number, one in self._outcomes.moved(i, base, numbers).items():
                if one.part in ranges and one.number in range(*ranges[one.part]):
                    table = self._parts[i].ledger["transactions"].slice(number - base, 1)
                    row = table.select(["gtid", "xa"]).to_pylist()[0]
                    yield row["gtid"] or row["xa"]

    # ---- splits -------------------------------------------------------------------------------

    def splits(self, batch: Sequence[Span]) -> Iterator[Split]:
        """What reads the spans of a batch. InputError: their logs are not there any more."""
        ranges = {self._part_of(span): (span.first, span.end) for span in batch}
        for i in range(self._present, len(self._parts)):
            if i in self._positions and self._parts[i].head is not None:
                yield from self._splits_of(i, ranges)

    def _part_of(self, span: Span) -> int:
        for i in self._by_head.get((span.server_id, span.begun), ()):
            if is_of(self._parts[i], span):
                return i
        raise InputError(
            span.file,
            "is not among the logs, and an earlier landing has begun with it: name it, too",
        )

    def _splits_of(self, i: int, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Split]:
        part, base, seen = self._parts[i], self._base(i), self._seen(i)
        end = base + part.transactions
        positions = self._positions[i] if seen is None else self._positions[i][:1]
        first, stop = (base + n for n in ranges.get(i, (0, 0)))
        for position, following in zip_longest(positions, positions[1:]):
            numbers = range(
                position.transactions, end if following is None else following.transactions
            )
            deciding = self._deciding(i, base, numbers, range(first, stop), ranges)
            if deciding is not None:
                ends = self._stop(i, ranges) if following is None else following.segment.pos
                yield Split(
                    part.names, False, False, position.events, position.transactions,
                    position.known, position.segment.pos, ends,
                    tuple(self._names[name] for name in part.names), position.source, seen,
                    deciding=deciding,
                )  # fmt: skip

    def _stop(self, i: int, ranges: Mapping[int, tuple[int, int]]) -> int | None:
        """Where a log's last split ends: behind what lands, should damage stand there."""
        part = self._parts[i]
        if len(part.names) > 1 or i not in ranges:
            return part.stop
        end = int(part.ledger["transactions"]["end_pos"][ranges[i][1] - 1].as_py())
        return end if part.damages or part.stop is None else min(end, part.stop)

    def _deciding(
        self, i: int, base: int, numbers: range, span: range, ranges: Mapping[int, tuple[int, int]]
    ) -> Deciding | None:
        """What a split is told, None where nothing of it lands."""
        head = self._parts[i].head
        own = range(max(span.start, numbers.start), min(span.stop, numbers.stop))
        decided = self._outcomes.moved(i, base, numbers)
        now = {
            number: one.commit
            for number, one in decided.items()
            if one.part in ranges and one.number in range(*ranges[one.part])
        }
        if not now and not len(own):
            return None
        left = self._outcomes.left(i, base, own) | decided.keys()
        bounds = (own.start, own.stop) if len(own) else (0, 0)
        return Deciding(head.begun if head else 0, left - now.keys(), now, *bounds)
