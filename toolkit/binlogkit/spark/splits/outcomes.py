"""The outcomes of the transactions of parts, for splits that are read without the others.

From their ledgers (log/index): a reading of one split shows neither that a log ends with ROLLBACK
nor where an XA transaction prepared in it was committed. Spark is not in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.log.index import Joined, Part
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.splits.commits import Commit, Deciding, file_number

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Moved:
    """A committed XA transaction: committed by transaction ``number`` of part ``part``."""

    part: int
    number: int
    commit: Commit


class PartOutcomes:
    """The outcomes of all parts' transactions; each part has its ledger's ``transactions``;
    ``instead``: copies of XA transactions that count for those that were decided, by their numbers.

    InputError: the number in a log's name is too large for ordering.
    """

    def __init__(
        self, parts: Sequence[Part], joined: Joined, instead: Mapping[int, int] | None = None
    ) -> None:
        self._parts = parts
        copies = instead or {}
        self._decisions = {
            copies.get(n, n): (how, *joined.decided_again.get(n, ()))
            for n, how in joined.decisions.items()
        }

    def of(self, i: int, first: int, numbers: range) -> Deciding:
        """The outcomes that a split of part ``i`` needs.

        ``first``: the number of the part's first transaction; ``numbers``: those of the split.
        """
        head = self._parts[i].head
        moved = {n: commits[0].commit for n, commits in self.moved(i, first, numbers).items()}
        left = self.left(i, first, numbers) - moved.keys()
        begun, server = (0, 0) if head is None else (head.begun, head.server_id)
        return Deciding(begun, server, left, moved)

    def left(self, i: int, first: int, numbers: range) -> frozenset[int]:
        """Those that the part itself does not know to be committed."""
        extent = self._parts[i].extent
        if extent.plain:
            return frozenset(range(max(numbers.start, first + extent.ended), numbers.stop))
        outcomes = self._own(i, first, numbers)["outcome"]
        places = np.flatnonzero(~np.asarray(pc.equal(outcomes, str(Outcome.COMMITTED))))
        return frozenset((places + numbers.start).tolist())

    def moved(self, i: int, first: int, numbers: range) -> dict[int, tuple[Moved, ...]]:
        """The XA transactions that were committed, here or in other parts, and by what, in order:
        logs of several servers may have the commit."""
        found: dict[int, tuple[Moved, ...]] = {}
        if self._parts[i].extent.plain:
            return found
        own = self._own(i, first, numbers)
        for at in np.flatnonzero(np.asarray(own["resolved_file"].is_valid())).tolist():
            row = own.slice(at, 1).to_pylist()[0]
            if row["outcome"] == Outcome.COMMITTED:
                place = row["resolved_file"], row["resolved_pos"]
                found[numbers.start + at] = (self._moved(*place),)
        for number, decisions in self._decisions.items():
            places = [place for outcome, *place in decisions if outcome == Outcome.COMMITTED]
            if number in numbers and places:
                found[number] = tuple(self._moved(file, pos) for file, pos in places)
        return found

    def _own(self, i: int, first: int, numbers: range) -> pa.Table:
        table = self._parts[i].ledger["transactions"]
        return table.slice(numbers.start - first, max(len(numbers), 0))

    def _moved(self, file: str, pos: int) -> Moved:
        """From the transaction that begins there."""
        i = self._by_file[file]
        part = self._parts[i]
        table = part.ledger["transactions"]
        here = pc.and_(pc.equal(table["file"], file), pc.equal(table["pos"], pos))
        number = int(np.flatnonzero(np.asarray(here))[0])
        row = table.slice(number, 1).select(["commit_timestamp", "timestamp"]).to_pylist()[0]
        at = row["commit_timestamp"]
        moment = row["timestamp"] * _MICROSECONDS if at is None else at
        begun = part.head.begun if part.head else 0
        return Moved(i, number, Commit(begun, file_number(file), pos, moment))

    @cached_property
    def _by_file(self) -> dict[str, int]:
        return {name: i for i, part in enumerate(self._parts) for name in part.names}
