"""What became of the transactions of parts, for the splits that are read without the others.

From their ledgers (log/index): a reading of one split tells neither that a log ends with ROLLBACK
nor where an XA transaction that was prepared in it was committed. Spark is not in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.log.index import Joined, Part
from binlogkit.rows.prepared import Decision
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.commits import Commit, Deciding, file_number

_MICROSECONDS = 1_000_000


class Outcomes:
    """The outcomes of all parts' transactions; each part has its ledger's ``transactions``.

    InputError: the number in a log's name is too large to be ordered by.
    """

    def __init__(self, parts: Sequence[Part], joined: Joined) -> None:
        self._parts, self._joined = parts, joined

    def of(self, i: int, first: int, numbers: range) -> Deciding:
        """What a split of part ``i`` must be told, whose transactions are numbered from ``first``
        on; ``numbers``: those of the split."""
        part = self._parts[i]
        table = part.ledger["transactions"]
        start, stop = numbers.start - first, min(numbers.stop - first, table.num_rows)
        own = table.slice(start, max(stop - start, 0))
        begun = 0 if part.head is None else part.head.begun
        outcomes = pc.index_in(own["outcome"], pa.array([str(Outcome.COMMITTED)]))
        left = (np.flatnonzero(np.asarray(outcomes.is_null())) + numbers.start).tolist()
        moved: dict[int, Commit] = {}
        resolved = np.flatnonzero(np.asarray(own["resolved_file"].is_valid()))
        for at in resolved.tolist():
            row = own.slice(at, 1).to_pylist()[0]
            if row["outcome"] == Outcome.COMMITTED:
                place = row["resolved_file"], row["resolved_pos"]
                moved[numbers.start + at] = self._commit(*place)
        decisions: Mapping[int, Decision] = self._joined.decisions
        for number, (outcome, file, pos) in decisions.items():
            if number in numbers and outcome == Outcome.COMMITTED:
                moved[number] = self._commit(file, pos)
        return Deciding(begun, frozenset(left) - moved.keys(), moved)

    def _commit(self, file: str, pos: int) -> Commit:
        """The place of the transaction that begins there."""
        part = self._by_file[file]
        table = part.ledger["transactions"]
        here = pc.and_(pc.equal(table["file"], file), pc.equal(table["pos"], pos))
        row = table.filter(here).select(["commit_timestamp", "timestamp"]).to_pylist()[0]
        at = row["commit_timestamp"]
        moment = row["timestamp"] * _MICROSECONDS if at is None else at
        return Commit(part.head.begun if part.head else 0, file_number(file), pos, moment)

    @cached_property
    def _by_file(self) -> dict[str, Part]:
        return {name: part for part in self._parts for name in part.names}
