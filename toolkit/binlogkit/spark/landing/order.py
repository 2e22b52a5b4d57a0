"""The order of landed changes where ``_sequence`` alone does not order them: over several servers.

``_sequence`` goes by logs. After a failover the new server goes on in a log that it had begun
before the other one's last, and what landed from a copy stands where the first log has it. Then
runs, each a range of ``_sequence``, stand in the order that states go by.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter

import numpy as np

from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.spans import Landed, Span
from binlogkit.spark.splits.changelog import sequence_from
from binlogkit.spark.splits.commits import file_number

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


@dataclass(frozen=True, slots=True, order=True)
class _Piece:
    """Landed transactions of one log; ``file``, ``pos``: where they stand in the ledger, copies
    (``own`` is 0) before what the log there has itself."""

    file: int
    pos: int
    own: int
    source: str = field(compare=False)
    low: bytes = field(compare=False)
    high: bytes = field(compare=False)


def runs(
    ledger: Ledger, done: Landed, at: tuple[str, int] | None
) -> tuple[list[Run], bytes] | None:
    """All runs in order, and the place of the first thing ``at`` a position or after it; None if
    these do not order what landed."""
    if ledger.xa_shared or any(len(part.names) > 1 for part in ledger.parts):
        return None
    since = None if at is None else _first(ledger, ledger.numbers[at[0]], at[1])
    pieces = sorted(_pieces(ledger, done, since))
    after = dict[int, _Piece]()
    for one, following in pairwise(sorted(pieces, key=attrgetter("source", "low"))):
        if one.source == following.source:
            if one.high > following.low:  # logs with one number, begun in one second
                return None
            after[id(one)] = following
    groups, first = list[list[_Piece]](), 0
    for piece in pieces:
        begins = since is not None and (piece.file, piece.pos) >= since
        if not groups or after.get(id(groups[-1][-1])) is not piece or (begins and not first):
            groups.append([])
        if begins and not first:
            first = len(groups)
        groups[-1].append(piece)
    if len(groups) > _MOST:
        return None
    found = [
        Run(own[0].source, own[0].low, own[-1].high, _place(i)) for i, own in enumerate(groups, 1)
    ]
    return found, _place(0 if since is None else first or len(groups) + 1)


def _place(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "big")


def _pieces(ledger: Ledger, done: Landed, since: tuple[int, int] | None) -> Iterator[_Piece]:
    numbering, edges = ledger.numbering, dict[int, set[int]]()
    firsts = numbering.copies[:, 3], numbering.copies[:, 4]
    elsewhere = {*zip(*(column.tolist() for column in firsts), strict=True)}
    ends = numbering.ends[numbering.transactions(*firsts)]
    for (file, pos, end, first, before), after in zip(
        numbering.copies.tolist(), ends.tolist(), strict=True
    ):
        edges.setdefault(file, set()).update((pos, end))
        edges.setdefault(first, set()).update((before, after))
    if since is not None:
        edges.setdefault(since[0], set()).add(since[1])
    cuts = {file: sorted(own) for file, own in edges.items()}
    for part in ledger.parts:
        start = 0
        if part.head is None:
            continue
        number = ledger.numbers[part.names[-1]]
        for span in sorted(done.of(part), key=attrgetter("first")):
            if span.gtids or not part.gtids:  # else all of it landed from others
                for piece in _cut(ledger, span, number, start, cuts.get(number, ())):
                    if not piece.own or (piece.file, piece.pos) not in elsewhere:
                        yield piece
            start = span.stop


def _cut(
    ledger: Ledger, span: Span, number: int, start: int, cuts: Sequence[int]
) -> Iterator[_Piece]:
    """A span, which begins at ``start``, cut at some positions."""
    within = cuts[bisect_right(cuts, start) : bisect_left(cuts, span.stop)]
    begun, log = span.begun, file_number(span.file)
    for pos, end in pairwise([start, *within, span.stop]):
        file, place = _first(ledger, number, pos)
        low, high = sequence_from(begun, log, pos), sequence_from(begun, log, end)
        own = int((file, place) == (number, pos))
        yield _Piece(file, place, own, span.source or "", low, high)


def _first(ledger: Ledger, file: int, pos: int) -> tuple[int, int]:
    """Where what a log has at a position stands."""
    files, places = ledger.numbering.first_places(np.array([file]), np.array([pos]))
    return int(files[0]), int(places[0])
