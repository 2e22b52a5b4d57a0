"""Changes of rows that were erased from a landing: what they did to other rows by foreign keys.

The ledger still counts them by transaction. A foreign key holds, so a row that they reached by one
refers to a row that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.constants import TableId


@dataclass(frozen=True, slots=True)
class Lost:
    """A transaction that lacks changes of a table, from the place ``first`` to ``last``: perhaps
    ``updates``, of which one image may stay as a delete or an insert, perhaps ``deletes``."""

    name: TableId
    file: str
    pos: int
    first: int
    last: int
    updates: bool
    deletes: bool

    def left_deletes(self, batch: pa.RecordBatch) -> Flags:
        """Which changes of the table may be a delete that is left of an update."""
        seqs, gone = batch["seq"].to_numpy(), np.asarray(batch["after"].is_null())
        found: Flags = (seqs >= self.first) & (seqs <= self.last) & gone & self.updates
        return found


@dataclass(frozen=True, slots=True)
class Logged:
    """What the logs have of a table whose rows were erased in part: transactions (``tx``), in log
    order, each with its places, ``first`` and ``last``, and how many ``updates`` and ``deletes`` it
    has."""

    files: Sequence[str]
    pos: Integers
    tx: Integers
    first: Integers
    last: Integers
    updates: Integers
    deletes: Integers

    def lost(
        self, name: TableId, batches: Sequence[pa.RecordBatch], numbers: Integers | None
    ) -> Iterator[Lost]:
        """The transactions that lack changes; ``batches``: those that are there; ``numbers``: the
        transactions that count, None if all do."""
        there = np.zeros((2, len(self.tx)), np.int64)
        for batch in batches:
            was, now = (np.asarray(batch[side].is_valid()) for side in ("before", "after"))
            at = np.searchsorted(self.last, batch["seq"].to_numpy())
            for count, which in zip(there, (was & now, was & ~now), strict=True):
                count += np.bincount(at[which], minlength=len(self.tx) + 1)[: len(self.tx)]
        updates = self.updates > there[0]
        deletes = (self.deletes > there[1]) | (updates & (self.deletes > 0))
        counts = True if numbers is None else np.isin(self.tx, numbers)
        for i in np.flatnonzero((updates | deletes) & counts).tolist():
            places = self.files[i], int(self.pos[i]), int(self.first[i]), int(self.last[i])
            yield Lost(name, *places, bool(updates[i]), bool(deletes[i]))
