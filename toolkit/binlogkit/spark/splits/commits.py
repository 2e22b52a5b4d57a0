"""Which row changes of a split were committed, and where: the order of a changelog.

The outcome of a transaction comes from the plan, which knows all logs. Where it begins, and what a
ROLLBACK TO SAVEPOINT undid, comes from the windows. Spark is not in here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.analyses._savepoints import undone_mask, undone_ranges
from binlogkit.errors import InputError
from binlogkit.frames.statements import Statements
from binlogkit.rows.ddl import StatementKind
from binlogkit.rows.filters import Filters
from binlogkit.rows.series import split_name
from binlogkit.rows.window import Window

#: Bits of a position in a file; the file's number has at most 23.
POSITION_BITS = 40
_NUMBER_BITS = 63 - POSITION_BITS
_SAVEPOINTS = (StatementKind.SAVEPOINT, StatementKind.ROLLBACK_TO)
_MICROSECONDS = 1_000_000
_NONE = -1
_FACTS = ("number", "pos", "timestamp")
_Integers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


@dataclass(frozen=True, slots=True)
class Commit:
    """Where a transaction counts: ``begun``: when its log was begun, in seconds; ``number``: of the
    log's file; ``pos``: of its first event; ``timestamp``: in microseconds."""

    begun: int
    number: int
    pos: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Deciding:
    """The facts about a split's transactions that its own windows do not show, by number.

    ``begun``: when its first log was begun, in seconds, and by which ``server``; ``left``: those
    that do not count; ``moved``: XA transactions, and where they were committed; ``first``,
    ``end``: only those between count, and those in ``moved``.
    """

    begun: int = 0
    server: int = 0
    left: frozenset[int] = frozenset()
    moved: Mapping[int, Commit] = field(default_factory=dict)
    first: int = _NONE
    end: int | None = None


def file_number(name: str) -> int:
    """The number in a log's name, 0 where there is none. InputError: it is too large."""
    number = split_name(name)[2] or 0
    if number >> _NUMBER_BITS:
        raise InputError(name, f"numbers of files up to {(1 << _NUMBER_BITS) - 1} can be ordered")
    return number


class Commits:
    """A view of a split's windows: for the rows of its batches, what was committed and where."""

    def __init__(self, deciding: Deciding) -> None:
        self._deciding = deciding
        self._known = np.zeros((0, len(_FACTS)), np.int64)
        self._statements = Statements(Filters())
        self._undone: Any = None
        self._left = np.sort(np.fromiter(deciding.left, np.int64, len(deciding.left)))

    def feed(self, window: Window) -> None:
        """Take the next window."""
        records = window.transactions
        if len(records):
            fresh = np.stack([records[name].astype(np.int64) for name in _FACTS], axis=1)
            kept = self._known[: np.searchsorted(self._known[:, 0], fresh[0, 0])]
            self._known = np.concatenate([kept, fresh])
        if any(item.kind in _SAVEPOINTS for item in window.looked):
            self._statements.feed(window)
            found = self._statements.finish()
            self._undone = undone_mask(undone_ranges(found))

    # ---- the rows of a batch ------------------------------------------------------------------

    def committed(self, batch: pa.RecordBatch) -> np.ndarray[Any, Any]:
        """Which of the rows count."""
        deciding, numbers = self._deciding, _numbers(batch)
        counts = ~np.isin(numbers, self._left)
        if deciding.end is not None:
            counts &= (numbers >= deciding.first) & (numbers < deciding.end)
            counts |= np.isin(numbers, [*deciding.moved])
        elif deciding.first > 0:
            counts &= numbers >= deciding.first
        if self._undone is not None:
            counts &= ~self._undone(batch)
        return counts

    def places(self, batch: pa.RecordBatch, into: np.ndarray[Any, Any]) -> None:
        """The ``begun``, ``number`` and ``commit`` of each row's transaction."""
        into["begun"] = self._deciding.begun
        into["number"] = self._files(batch)
        into["commit"] = self._of(batch, "pos", np.asarray(batch.column("pos")))
        for rows, commit in self._moved(batch):
            into["begun"][rows] = commit.begun
            into["number"][rows] = commit.number
            into["commit"][rows] = commit.pos

    def versions(self, batch: pa.RecordBatch) -> _Integers:
        """A file's number and the position of the transaction's first event, in one number."""
        places = np.zeros(len(batch), [("begun", "i8"), ("number", "i8"), ("commit", "i8")])
        self.places(batch, places)
        found: _Integers = (places["number"] << POSITION_BITS) + places["commit"]
        return found

    def timestamps(self, batch: pa.RecordBatch) -> _Integers:
        """The times of the commits in microseconds; in a log without them the times of the
        transactions' first events, to the second."""
        own = np.asarray(batch.column("timestamp")).astype(np.int64)
        begun = self._of(batch, "timestamp", own) * _MICROSECONDS
        commits = batch.column("commit_timestamp")
        there = np.asarray(commits.is_valid())
        found: _Integers = np.where(there, np.asarray(commits.fill_null(0)), begun)
        for rows, commit in self._moved(batch):
            found[rows] = commit.timestamp
        return found

    def _moved(self, batch: pa.RecordBatch) -> list[tuple[Any, Commit]]:
        if not self._deciding.moved:
            return []
        numbers = _numbers(batch)
        met = set(np.unique(numbers).tolist())
        return [(numbers == n, c) for n, c in self._deciding.moved.items() if n in met]

    def _of(self, batch: pa.RecordBatch, name: str, outside: Any) -> _Integers:
        """A fact of each row's transaction; ``outside``: the value for rows outside any."""
        numbers = _numbers(batch)
        found: _Integers = np.array(outside, np.int64)
        inside = numbers >= 0
        at = np.searchsorted(self._known[:, 0], numbers[inside])
        found[inside] = self._known[at, _FACTS.index(name)]
        return found

    def _files(self, batch: pa.RecordBatch) -> _Integers:
        """The number of each row's file."""
        files = batch.column("file")
        numbers = np.array([file_number(name) for name in files.dictionary.to_pylist()], np.int64)
        found: _Integers = numbers[np.asarray(files.indices)]
        return found


def _numbers(batch: pa.RecordBatch) -> _Integers:
    """The number of each row's transaction, -1 outside of any."""
    found: _Integers = np.asarray(batch.column("tx").fill_null(_NONE))
    return found
