"""A table's rows, folded while its log is read.

What counts is certain only at the log's end: XA transactions are resolved later, a RENAME gives a
table another's rows, an ALTER shows a key. So changes are folded as soon as their transaction has
ended, on assumptions. If the end does not confirm them (:meth:`Forward.confirmed`), the changes are
read again. Changes of undecided transactions wait, and so do those after them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import attrgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binlogkit.analyses._savepoints import Undone, undone_mask
from binlogkit.analyses.point_in_time.batches import needed
from binlogkit.analyses.point_in_time.boundary import Boundary, KeyNames
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.replay import Replay
from binlogkit.constants import TableId
from binlogkit.rows.schema import TableDefinition

#: What is known of a transaction so far: nothing yet, that it counts, that it does not.
OPEN, COUNTS, LEFT_OUT = range(3)

_MOST_WAITING = 256 << 20  # bytes of changes

#: What is known of transactions so far: :data:`OPEN` … for each number, -1 outside any; the flags
#: say whether a change has an XID.
Decided = Callable[[Integers, Flags], NDArray[np.uint8]]


class Forward:
    """A table's decided rows.

    ``name``: (db, table); ``given``: as in Replay; ``base``: rows to begin with, as changes;
    ``failed``: an assumption failed, and the folded rows are useless.
    """

    def __init__(
        self,
        name: TableId,
        decided: Decided,
        given: Mapping[TableId, TableDefinition],
        base: pa.Table | None = None,
    ) -> None:
        self.name = name
        self._given, self._base = given, base
        self.failed = False
        self._decided = decided
        self._replay: Replay | None = None
        self._key: tuple[str, ...] = ()
        self._boundaries: list[Boundary] = []  # not yet given to the replay
        self._queue: list[pa.RecordBatch] = []
        self._numbers: dict[int, list[Integers]] = {COUNTS: [], LEFT_OUT: []}
        self._undone: list[Undone] = []

    def happen(self, boundaries: Iterable[Boundary]) -> None:
        """Take what happens to tables, before the changes that come after it."""
        if not self.failed:
            self._boundaries += boundaries

    def take(self, batch: pa.RecordBatch, key: Sequence[str], undone: list[Undone]) -> None:
        """Fold changes of the table, or let them wait.

        ``key``: the table's; ``undone``: what ROLLBACK TO SAVEPOINT undid so far.
        """
        if self.failed or not batch.num_rows:
            return
        self._key = tuple(key) if self._replay is None else self._key
        self._undone = undone
        self._queue.append(needed(batch, "xid"))
        while self._queue:
            first = self._queue.pop(0)
            tx = np.asarray(first["tx"].fill_null(-1))
            known = self._decided(tx, np.asarray(first["xid"].is_valid()))
            is_open = known == OPEN
            count = int(is_open.argmax()) if is_open.any() else len(known)
            self._settle(first.slice(0, count), tx[:count], known[:count])
            if count < len(known) and not self.failed:
                self._queue.insert(0, first.slice(count))
                break
        if sum(waiting.nbytes for waiting in self._queue) > _MOST_WAITING:
            self.give_up()

    def _settle(self, batch: pa.RecordBatch, tx: Integers, known: NDArray[np.uint8]) -> None:
        for what, numbers in self._numbers.items():
            numbers.append(np.unique(tx[(known == what) & (tx >= 0)]))
        if (known == COUNTS).any():
            self._fold(_those(batch, known == COUNTS))

    def give_up(self) -> None:
        """The folded rows are useless."""
        self.failed = True
        self._replay, self._queue, self._boundaries = None, [], []

    def _fold(self, batch: pa.RecordBatch) -> None:
        last = int(batch["seq"][-1].as_py())
        count = bisect_left(self._boundaries, last, key=attrgetter("seq"))
        due, self._boundaries = self._boundaries[:count], self._boundaries[count:]
        tx = np.array([-1 if b.tx is None else b.tx for b in due], np.int64)
        known = self._decided(tx, np.zeros(count, bool))
        if (known == OPEN).any():
            self.give_up()
            return
        self._begun().happen(*compress(due, known == COUNTS))
        self._take(self._begun(), batch)

    def _begun(self) -> Replay:
        if self._replay is None:
            self._replay = self._new([])
        return self._replay

    def _new(self, happened: Sequence[Boundary]) -> Replay:
        replay = Replay(self._key, [self.name], happened, self._given)
        if self._base is not None:
            replay.begin(self._base)
        return replay

    def _take(self, replay: Replay, batch: pa.RecordBatch) -> None:
        taken_back = undone_mask(self._undone)
        if taken_back is not None:
            batch = _those(batch, ~taken_back(batch))
        if batch.num_rows:
            replay.take(batch)

    def confirmed(
        self,
        key: Sequence[str],
        names: Sequence[TableId],
        happened: Sequence[Boundary],
        numbers: Integers | None,
        undone: list[Undone],
    ) -> Replay | None:
        """The replay up to the point, including what waited; None if an assumption failed.

        The arguments are the final facts: the table's key, its names, the boundaries and
        transactions that count, what was undone.
        """
        if self.failed or numbers is None or list(names) != [self.name]:
            return None
        if undone != self._undone and (self._replay or self._queue):
            return None
        counted, left_out = (
            np.concatenate([*self._numbers[what], np.empty(0, np.int64)])
            for what in (COUNTS, LEFT_OUT)
        )
        if not np.isin(counted, numbers).all() or np.isin(left_out, numbers).any():
            return None
        replay = self._replay
        if replay is None:
            self._key = tuple(key)
            replay = self._new(happened)
        elif not self._confirm(replay, key, happened):
            return None
        for batch in self._queue:
            tx = batch["tx"]
            counts = np.asarray(tx.is_null()) | np.isin(np.asarray(tx.fill_null(-1)), numbers)
            self._take(replay, _those(batch, counts))
        return replay

    def _confirm(self, replay: Replay, key: Sequence[str], happened: Sequence[Boundary]) -> bool:
        """Whether the replay began with the right key and has the right boundaries; it gets the
        missing ones."""
        if KeyNames.before(happened, self.name, key).key(self.name) != self._key:
            return False
        given = [b.seq for b in replay.boundaries]
        expected = [b for b in happened if replay.wants(b)]
        if given != [b.seq for b in expected[: len(given)]]:
            return False
        replay.happen(*expected[len(given) :])
        return True


def _those(batch: pa.RecordBatch, which: Flags) -> pa.RecordBatch:
    return batch if which.all() else batch.filter(pa.array(which))
