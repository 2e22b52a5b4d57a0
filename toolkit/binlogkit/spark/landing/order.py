"""The order of landed changes where ``_sequence`` alone does not order them: over several servers.

``_sequence`` goes by logs. After a failover the new server goes on in a log that it had begun
before the other one's last, and what landed from a copy stands where the first log has it. Then
runs, each a range of ``_sequence``, stand in the order that states go by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from binlogkit.log.index import Part
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.numbering import Integers
from binlogkit.spark.landing.spans import Landed, Span
from binlogkit.spark.splits.changelog import sequence_from
from binlogkit.spark.splits.commits import POSITION_BITS

_MOST = 1000  # runs in a statement
#: Of a run's number, with which its place begins.
NUMBER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Run:
    """The changes of a ``source`` from ``low`` to before ``high`` in ``_sequence``; ``place``: what
    stands before their ``_sequence`` to order them all."""

    source: str
    low: bytes
    high: bytes
    place: bytes


@dataclass(frozen=True, slots=True)
class Order:
    """Pieces of what landed, in order: ``span`` of each, from ``start`` to before ``end`` in its
    log; ``file``, ``pos``: where they stand in the ledger, ``own``: whether not as copies;
    ``follows``: whether each is what comes after the one before it by ``_sequence``, too."""

    ledger: Ledger
    spans: list[Span]
    span: Integers
    start: Integers
    end: Integers
    file: Integers
    pos: Integers
    own: Integers
    follows: Integers

    @classmethod
    def of(cls, ledger: Ledger, done: Landed) -> Order | None:
        """Of all that landed; None if it is not known."""
        if ledger.xa_shared or any(len(part.names) > 1 for part in ledger.parts):
            return None
        logs = [*_of_logs(ledger, done)]
        spans = [span for _, own in logs for span in own]
        span, number, start, end = _pieces(ledger, logs)
        file, pos = ledger.numbering.first_places(number, start)
        own = (file == number) & (pos == start)
        copies = ledger.numbering.copies
        there = ~(own & np.isin(_joint(number, start), _joint(copies[:, 3], copies[:, 4])))
        order = np.flatnonzero(there)[np.lexsort([own[there], pos[there], file[there]])]
        span, start, end = span[order], start[order], end[order]
        names = [one.source or "" for one in spans]
        sources = np.unique(np.array(names, object).astype(str), return_inverse=True)[1]
        _, begun, log = np.array([one.log for one in spans], np.int64).reshape(-1, 3).T
        by = sources[span], begun[span], log[span], start
        sequence = np.lexsort(by[::-1])
        same = np.all([np.diff(one[sequence]) == 0 for one in by[:3]], axis=0)
        if np.any(same & (end[sequence][:-1] > start[sequence][1:])):
            return None  # logs with one number, begun in one second
        rank = np.empty(len(sequence), np.int64)
        rank[sequence] = np.arange(len(sequence))
        follows = (np.diff(rank, prepend=-2) == 1) & (np.diff(by[0], prepend=-1) == 0)
        return cls(ledger, spans, span, start, end, file[order], pos[order], own[order], follows)

    def runs(self, at: tuple[str, int] | None) -> tuple[list[Run], bytes] | None:
        """All runs, and the place of the first thing ``at`` a position or after it; None if they
        are too many."""
        since = 0
        span, start, end, follows = self.span, self.start, self.end, self.follows
        if at is not None:
            file, pos = np.array([self.ledger.numbers[at[0]]]), np.array([at[1]])
            [place] = _joint(*self.ledger.numbering.first_places(file, pos))
            since = int(np.searchsorted(_joint(self.file, self.pos), place))
            follows = follows.copy()
            before = since - 1
            own = before >= 0 and self.own[before] and self.file[before] == place >> POSITION_BITS
            if own and start[before] < at[1] < end[before]:  # it begins before the position
                span, start, follows = (
                    np.insert(one, since, value)
                    for one, value in ((span, span[before]), (start, at[1]), (follows, False))
                )
                end = np.insert(end, before, at[1])
            elif since < len(follows):
                follows[since] = False
        first = np.flatnonzero(~follows.astype(bool))
        if len(first) > _MOST:
            return None
        last = np.append(first[1:], len(span))[: len(first)] - 1
        found = [
            Run(self.spans[span[a]].source or "", self._sequence(span[a], start[a]),
                self._sequence(span[b], end[b]), _place(i))
            for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True), 1)
        ]  # fmt: skip
        return found, _place(int(np.searchsorted(first, since)) + 1)

    def _sequence(self, span: int, pos: int) -> bytes:
        _, begun, log = self.spans[span].log
        return sequence_from(begun, log, int(pos))


def _joint(file: Integers, pos: Integers) -> Integers:
    """Places as one number each."""
    joint: Integers = (file.astype(np.int64) << POSITION_BITS) + pos
    return joint


def _place(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "big")


def _of_logs(ledger: Ledger, done: Landed) -> Iterator[tuple[Part, list[Span]]]:
    """Each log, but for copies of it, and its spans."""
    logs = {ledger.numbers[part.names[-1]]: part for part in reversed(ledger.parts)}
    for _, part in sorted(logs.items()):
        if part.head is not None:
            yield part, sorted(done.of(part), key=attrgetter("first"))


def _pieces(ledger: Ledger, logs: Iterable[tuple[Part, list[Span]]]) -> list[Integers]:
    """The logs' spans of which something landed, cut where copies begin and end, and where what
    they are copies of does: the numbers of the span and of the log, first position and the one
    after the last."""
    numbering = ledger.numbering
    file, pos, end, first, before = numbering.copies.T
    after = numbering.ends[numbering.transactions(first, before)]
    edges = np.unique(_joint(np.concatenate([file, file, first, first]),
                             np.concatenate([pos, end, before, after])))  # fmt: skip
    found, i = list[Integers](), -1
    for part, spans in logs:
        start, number = 0, ledger.numbers[part.names[-1]]
        for span in spans:
            i += 1
            if span.gtids or not part.gtids:  # else all of it landed from others
                low, high = (number << POSITION_BITS) + start, (number << POSITION_BITS) + span.stop
                a, b = np.searchsorted(edges, [low + 1, high])
                places = np.concatenate([[low], edges[a:b], [high]]) - (number << POSITION_BITS)
                made = np.full(len(places) - 1, i), np.full(len(places) - 1, number)
                found.append(np.stack([*made, places[:-1], places[1:]]))
            start = span.stop
    return list(np.concatenate(found, axis=1)) if found else [np.empty(0, np.int64)] * 4
