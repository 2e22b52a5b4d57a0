"""Which record of a decoder's is which of the log's, so that a lost one is one difference.

As long as both sides agree they go in step. Where they do not, a window of both is aligned: what is
in it just once on either side (a row, a value, a place) ties two records together, the heaviest
chain of such ties in order holds, and what lies between two ties is aligned by how much the records
have in common (patience, then dynamic programming). A window grows until half of it is tied; what
it settles is not looked at again, so the work grows with the number of records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

Record = Mapping[str, Any]

_WINDOW = 64  # records of either side that are looked at first
_LARGEST = 16_384
_TABLE = 4096  # pairs that are compared with each other between two ties
_WHOLE = 2  # what a tie by the whole record counts


@dataclass(frozen=True, slots=True)
class Features:
    """What tells a record from others: ``place`` in the log, None where it says none; ``kind``: a
    row's table and operation, an event's type; ``values``: how often it has each."""

    place: Hashable
    kind: Hashable
    values: Mapping[Hashable, int]

    @property
    def whole(self) -> Hashable:
        """All but the place."""
        return self.kind, frozenset(self.values.items())

    def stands_at(self, other: Features) -> bool:
        """Whether both say the same place."""
        return self.place is not None and self.place == other.place

    def shared(self, other: Features) -> float:
        """Which part of the values both have, from 0 to 1."""
        most = max(sum(self.values.values()), sum(other.values.values()))
        both = sum(min(n, other.values.get(value, 0)) for value, n in self.values.items())
        return both / most if most else 1.0

    def alike(self, other: Features) -> float:
        """How likely they are the same record; 0: not at all."""
        place = 2.0 if self.stands_at(other) else 0.0
        shared = self.shared(other)
        if self.kind != other.kind:
            return place + shared if 2 * shared >= 1 else 0.0
        return 1 + place + 3 * shared


@dataclass(frozen=True, slots=True)
class AlignedStep:
    """A record of either side or of both; ``moved``: they stand elsewhere among the others."""

    mine: Record | None
    wanted: Record | None
    moved: bool = False


def aligned(
    ours: Iterable[Record],
    expected: Iterable[Record],
    *,
    same: Callable[[Record, Record], bool],
    features: Callable[[Record], Features],
) -> Iterator[AlignedStep]:
    """Both sides in the expected order, each record once.

    ``same``: whether two records that come next on both sides are surely one another. At most some
    thousand records of either side are held.
    """
    mine, wanted = _Ahead(ours), _Ahead(expected)
    while (have := mine.peek()) is not None and (want := wanted.peek()) is not None:
        if same(have, want):
            yield AlignedStep(mine.take(), wanted.take())
        else:
            yield from _Window(mine, wanted, same, features).settled()
    while mine.peek() is not None:
        yield AlignedStep(mine.take(), None)
    while wanted.peek() is not None:
        yield AlignedStep(None, wanted.take())


class _Ahead:
    """Records, looked at before they are taken."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = iter(records)
        self._held: deque[Record] = deque()

    def peek(self) -> Record | None:
        """The next record, None past the end."""
        return next(iter(self.first(1)), None)

    def first(self, count: int) -> list[Record]:
        """The next ``count`` records; fewer at the end."""
        self._held.extend(islice(self._records, max(count - len(self._held), 0)))
        return list(islice(self._held, count))

    def take(self) -> Record:
        """Take the next; call :meth:`peek` first."""
        return self._held.popleft()


_Pair = tuple[int | None, int | None]


class _Window:
    """The next records of both sides where the two are out of step."""

    def __init__(
        self,
        mine: _Ahead,
        wanted: _Ahead,
        same: Callable[[Record, Record], bool],
        features: Callable[[Record], Features],
    ) -> None:
        self._sides = mine, wanted
        self._same = same
        self._features = features
        self._records: tuple[list[Record], list[Record]] = ([], [])
        self._a: list[Features] = []
        self._b: list[Features] = []

    def settled(self) -> Iterator[AlignedStep]:
        """Take from both sides what is aligned up to the last tie, or the whole window."""
        size, ended = _WINDOW, False
        ties: list[tuple[int, int]] = []
        while not ended:
            ended = self._look(size)
            ties = _ties(self._a, self._b, (0, len(self._a)), (0, len(self._b)))
            if 2 * len(ties) >= min(len(self._a), len(self._b)):
                break
            ended = ended or size >= _LARGEST
            size *= 4
        ends = (len(self._a), len(self._b))
        if not ended and ties:
            ends = (ties[-1][0] + 1, ties[-1][1] + 1)
        pairs = list(self._between(ties, (0, ends[0]), (0, ends[1])))
        yield from self._steps(pairs)
        for side, count in zip(self._sides, ends, strict=True):
            for _ in range(count):
                side.take()

    def _look(self, size: int) -> bool:
        """Look at so many records of either side; whether these are all."""
        self._records = self._sides[0].first(size), self._sides[1].first(size)
        for known, records in zip((self._a, self._b), self._records, strict=True):
            known.extend(map(self._features, records[len(known) :]))
        return max(map(len, self._records)) < size

    def _steps(self, pairs: Sequence[_Pair]) -> Iterator[AlignedStep]:
        moved = self._moved(pairs)
        gone = set(moved.values())
        mine, wanted = self._records
        for i, j in pairs:
            if i is None and j is not None:
                other = moved.get(j)
                have = None if other is None else mine[other]
                yield AlignedStep(have, wanted[j], moved=have is not None)
            elif i is not None and i not in gone:
                yield AlignedStep(mine[i], None if j is None else wanted[j])

    def _moved(self, pairs: Sequence[_Pair]) -> dict[int, int]:
        """Records that both sides have, but elsewhere: the wanted one's number -> ours."""
        left: dict[Hashable, list[int]] = {}
        for i, j in pairs:
            if i is not None and j is None:
                left.setdefault(self._a[i].whole, []).append(i)
        found = {}
        for i, j in pairs:
            if i is None and j is not None and left.get(self._b[j].whole):
                found[j] = left[self._b[j].whole].pop(0)
        return found

    def _between(
        self, ties: Sequence[tuple[int, int]], rows: tuple[int, int], others: tuple[int, int]
    ) -> Iterator[_Pair]:
        i, j = rows[0], others[0]
        for tied in [*ties, (rows[1], others[1])]:
            yield from self._gap(i, tied[0], j, tied[1])
            if tied != (rows[1], others[1]):
                yield tied
            i, j = tied[0] + 1, tied[1] + 1

    def _gap(self, i: int, end: int, j: int, last: int) -> Iterator[_Pair]:
        """What stands between two ties."""
        mine, wanted = self._records
        while i < end and j < last and self._same(mine[i], wanted[j]):
            yield i, j
            i, j = i + 1, j + 1
        if i == end or j == last:
            yield from ((k, None) for k in range(i, end))
            yield from ((None, k) for k in range(j, last))
        elif (end - i) * (last - j) <= _TABLE:
            yield from _closest(self._a, self._b, (i, end), (j, last))
        elif ties := _ties(self._a, self._b, (i, end), (j, last)):
            yield from self._between(ties, (i, end), (j, last))
        else:
            yield from _by_kind(self._a, self._b, (i, end), (j, last))


def _ties(
    a: Sequence[Features], b: Sequence[Features], rows: tuple[int, int], others: tuple[int, int]
) -> list[tuple[int, int]]:
    """The heaviest chain of pairs in order that share what is there just once on either side."""
    once, twice = _once(a, rows), _once(b, others)
    votes: Counter[tuple[int, int]] = Counter()
    for token, i in once.items():
        j = twice.get(token, -1)
        if i >= 0 and j >= 0:
            votes[i, j] += _WHOLE if token[0] == "whole" else 1
    likely = {
        pair: weight
        for pair, weight in votes.items()
        if a[pair[0]].kind == b[pair[1]].kind
        and (a[pair[0]].stands_at(b[pair[1]]) or 2 * a[pair[0]].shared(b[pair[1]]) >= 1)
    }
    return _heaviest(likely, others)


def _once(records: Sequence[Features], rows: tuple[int, int]) -> dict[tuple[Any, ...], int]:
    """What is in one of the records only -> its number; -1: what is in several."""
    found: dict[tuple[Any, ...], int] = {}
    for i in range(*rows):
        record = records[i]
        tokens: list[tuple[Any, ...]] = [("whole", record.whole)]
        if record.place is not None:
            tokens.append(("place", record.place))
        tokens += (("value", record.kind, value) for value in record.values)
        for token in tokens:
            found[token] = -1 if token in found else i
    return found


def _heaviest(
    votes: Mapping[tuple[int, int], int], others: tuple[int, int]
) -> list[tuple[int, int]]:
    """The chain, increasing on both sides, whose weight is greatest; a Fenwick tree over j."""
    size = others[1] - others[0]
    best: list[tuple[int, tuple[int, int] | None]] = [(0, None)] * (size + 1)
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for pair in sorted(votes, key=lambda pair: (pair[0], -pair[1])):
        at, weight, previous = pair[1] - others[0], 0, None
        while at > 0:
            if best[at][0] > weight:
                weight, previous = best[at]
            at -= at & -at
        before[pair] = previous
        at, weight = pair[1] - others[0] + 1, weight + votes[pair]
        while at <= size:
            if best[at][0] < weight:
                best[at] = weight, pair
            at += at & -at
    chain: list[tuple[int, int]] = []
    last = max(best, key=lambda known: known[0])[1]
    while last is not None:
        chain.append(last)
        last = before[last]
    return chain[::-1]


def _closest(
    a: Sequence[Features], b: Sequence[Features], rows: tuple[int, int], others: tuple[int, int]
) -> list[_Pair]:
    """The alignment of two short stretches in which the pairs are most alike."""
    (i0, i1), (j0, j1) = rows, others
    alike = [[a[i].alike(b[j]) for j in range(j0, j1)] for i in range(i0, i1)]
    best = [[0.0] * (j1 - j0 + 1) for _ in range(i1 - i0 + 1)]
    for i in range(i1 - i0 - 1, -1, -1):
        for j in range(j1 - j0 - 1, -1, -1):
            apart = max(best[i + 1][j], best[i][j + 1])
            paired = best[i + 1][j + 1] + alike[i][j] if alike[i][j] else 0
            best[i][j] = max(apart, paired)
    pairs: list[_Pair] = []
    i = j = 0
    while i < i1 - i0 and j < j1 - j0:
        if alike[i][j] and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i0 + i, j0 + j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((i0 + i, None))
            i += 1
        else:
            pairs.append((None, j0 + j))
            j += 1
    pairs += ((k, None) for k in range(i0 + i, i1))
    pairs += ((None, k) for k in range(j0 + j, j1))
    return pairs


def _by_kind(
    a: Sequence[Features], b: Sequence[Features], rows: tuple[int, int], others: tuple[int, int]
) -> Iterator[_Pair]:
    """Long stretches that nothing ties together: in step, the same kind with the same."""
    (i, end), (j, last) = rows, others
    here, there = _kinds(a, rows), _kinds(b, others)
    while i < end and j < last:
        if a[i].kind == b[j].kind:
            yield i, j
            i, j = i + 1, j + 1
            continue
        mine, wanted = _next(here, b[j].kind, i, end), _next(there, a[i].kind, j, last)
        if mine - i <= wanted - j:
            yield from ((k, None) for k in range(i, mine))
            i = mine
        else:
            yield from ((None, k) for k in range(j, wanted))
            j = wanted
    yield from ((k, None) for k in range(i, end))
    yield from ((None, k) for k in range(j, last))


def _kinds(records: Sequence[Features], rows: tuple[int, int]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for i in range(*rows):
        found.setdefault(records[i].kind, []).append(i)
    return found


def _next(places: Mapping[Hashable, list[int]], kind: Hashable, start: int, end: int) -> int:
    """Where the next of a kind stands, ``end`` if nowhere."""
    found = places.get(kind, [])
    at = bisect_right(found, start)
    return found[at] if at < len(found) else end
