"""Numbers of transactions, as ranges: a log's are consecutive, and most of them count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers


class TransactionNumbers(Collection[int]):
    """A set of numbers: consecutive ones take no more memory than one."""

    def __init__(self, numbers: Iterable[int] | Integers = ()) -> None:
        given = numbers if isinstance(numbers, np.ndarray) else np.fromiter(numbers, np.int64)
        rising = len(given) < 2 or bool((np.diff(given) > 0).all())
        ordered = (given if rising else np.unique(given)).astype(np.int64)
        breaks = np.flatnonzero(np.diff(ordered) != 1)
        self._firsts: Integers = ordered[np.append(0, breaks + 1)] if len(ordered) else ordered
        self._lasts: Integers = ordered[np.append(breaks, -1)] if len(ordered) else ordered

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int | np.integer):
            return False
        at = int(np.searchsorted(self._firsts, number, "right")) - 1
        return at >= 0 and bool(number <= self._lasts[at])

    def __iter__(self) -> Iterator[int]:
        for first, last in zip(self._firsts.tolist(), self._lasts.tolist(), strict=True):
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return int((self._lasts - self._firsts + 1).sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransactionNumbers):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bytes, bytes]:
        return self._firsts.tobytes(), self._lasts.tobytes()

    def without(self, other: Collection[int]) -> TransactionNumbers:
        """Those that are not in ``other``."""
        size = self._lasts - self._firsts + 1
        before = np.cumsum(size) - size
        own = np.arange(len(self)) + np.repeat(self._firsts - before, size)
        return TransactionNumbers(own[~TransactionNumbers(other).among(own)])

    @property
    def last(self) -> int:
        """The largest one, -1 without any."""
        return int(self._lasts[-1]) if len(self._lasts) else -1

    def among(self, numbers: Integers) -> Flags:
        """Which of these are in it."""
        if not len(self._firsts):
            return np.zeros(len(numbers), bool)
        at = np.searchsorted(self._firsts, numbers, "right") - 1
        found: Flags = (at >= 0) & (numbers <= self._lasts[at])
        return found
