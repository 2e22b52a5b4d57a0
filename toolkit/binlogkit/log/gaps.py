"""How far a state goes, and which gaps of its reading stand before its point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Reach"]

_MICROSECONDS = 1_000_000


class Reach:
    """How far a state goes: which transactions it counts, and which gaps stand before its point.

    ``files``: the logs in order; ``transactions``: the ledger; ``counted``: the numbers of those
    that count; ``until``: the point, None for the logs' end.
    """

    def __init__(
        self, files: Sequence[str], transactions: pa.Table, counted: frozenset[int], until: Any
    ) -> None:
        self._files = {name: i for i, name in enumerate(files)}
        self._transactions = transactions
        self._counted = counted
        self._until = until

    def counts(self, number: int | None) -> bool:
        """Whether a transaction counts, or what stands outside any."""
        return number is None or number in self._counted

    def holds(self, gap: Gap) -> bool:
        """Whether changes that are missing there may belong to the state."""
        from binlogkit.analyses.point_in_time import AtPosition, AtTime

        until, here = self._until, (self._files.get(gap.file, 0), gap.pos or 0)
        if until is None:
            return True
        if isinstance(until, AtPosition):
            return here < (self._files.get(until.file, len(self._files)), until.pos)
        names = ("tx", "file", "pos", "end_file", "end_pos", "commit_timestamp", "end_timestamp")
        rows = self._transactions.select(names).to_pylist()
        if isinstance(until, AtTime):
            later = (row for row in rows if _moment(row) > until.microseconds)
            return not any((self._files[row["file"]], row["pos"]) < here for row in later)
        ends = [row for row in rows if row["tx"] in self._counted]
        return any((self._files[row["end_file"]], row["end_pos"]) > here for row in ends)


def _moment(row: dict[str, Any]) -> int:
    commit = row["commit_timestamp"]
    return int(row["end_timestamp"]) * _MICROSECONDS if commit is None else int(commit)
