"""The basis of answers: which gaps come before a state's point, what logs cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.sources.log_format import CASCADES_LOGGED

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.states.places import Logs
    from binlogkit.rows.soundness import FileFacts

_LOGGED = (
    "Nothing was changed without being logged (sql_log_bin=0, a filter of the server), nor left out"
    " of these logs."
)
_CASCADES = (
    "Foreign keys cascade into tables only as far as the schema shows: up to 9.5 such changes"
    " are not logged."
)
_BASE = (
    "The base is whole, and holds the rows of exactly its position, as a dump does that was taken"
    " with --single-transaction or under locks."
)
_UNCHECKED = "Events without checksums hold what was written."

_MICROSECONDS = 1_000_000
_START = 4  # of a log's first event


class Reach:
    """The reach of a state: which transactions it counts, and which gaps come before its point.

    ``files``: the logs in order; ``transactions``: the ledger; ``counted``: the numbers of those
    that count; ``until``: the point, None for the logs' end; ``first``: the place, a file's number
    and a position, before which the base holds everything.
    """

    def __init__(
        self,
        files: Sequence[str],
        transactions: pa.Table,
        counted: TransactionNumbers,
        until: Any,
        first: tuple[int, int] = (-1, 0),
    ) -> None:
        self._files = {name: i for i, name in enumerate(files)}
        self._transactions = transactions
        self.counted = counted
        self.until = until
        self._first = first

    def counts(self, number: int | None) -> bool:
        """Whether a transaction counts, or what is outside any."""
        return number is None or number in self.counted

    def holds(self, file: str, pos: int | None) -> bool:
        """Whether changes that are missing there may belong to the state."""
        return (self._files.get(file, 0), pos or 0) < self._end

    def has_begun(self, facts: FileFacts) -> bool:
        """Whether a log was begun before the point."""
        from binlogkit.analyses.point_in_time import AtTime

        begun = (facts.first_timestamp or 0) * _MICROSECONDS
        late = isinstance(self.until, AtTime) and begun > self.until.microseconds
        return self.holds(facts.name, _START) and not late

    def files_with(self, tables: Sequence[str]) -> set[str]:
        """The logs with counted transactions that touch one of the tables."""
        from binlogkit.analyses.point_in_time.counting import touching
        from binlogkit.log.states.places import among

        rows = self._transactions
        rows = rows.filter(among(rows, self.counted) & touching(rows, tables))
        return {*rows["file"].unique().to_pylist(), *rows["end_file"].unique().to_pylist()}

    def concerns(self, file: str, pos: int | None) -> bool:
        """Whether something missing at a place of the logs may belong to the state: not to the
        base."""
        place = self._files.get(file, len(self._files)), -1 if pos is None else pos
        return place >= self._first and self.holds(file, pos)

    @cached_property
    def _end(self) -> tuple[int, int]:
        """The place (file number, position) from which on nothing belongs to the state."""
        import numpy as np
        import pyarrow.compute as pc

        from binlogkit.analyses.point_in_time import AtPosition, AtTime
        from binlogkit.log.states.places import Places, among

        until, files, nowhere = self.until, self._files, (len(self._files), 0)
        if until is None:
            return nowhere
        if isinstance(until, AtPosition):
            return (files.get(until.file, len(files)), until.pos)
        rows = self._transactions
        if isinstance(until, AtTime):
            ends = pc.multiply(rows["end_timestamp"], _MICROSECONDS)
            late = pc.greater(pc.coalesce(rows["commit_timestamp"], ends), until.microseconds)
            after = Places(rows, files, "file", "pos").first(
                np.asarray(late.fill_null(False)), nowhere
            )
            return after if after == nowhere else (after[0], after[1] + 1)
        by_then = among(rows, self.counted)
        return Places(rows, files, "end_file", "end_pos").last(by_then, (0, 0))


def assumed(log: Logs, version: tuple[int, int, int], *, base: bool = False) -> tuple[str, ...]:
    """The assumptions of an answer: the log can neither prove nor disprove them.

    ``version``: the newest server's; ``base``: whether the answer uses a base.
    """
    unchecked = any(note.code == "no_checksums" for note in log.notes)
    cascades = version < CASCADES_LOGGED
    more = ([_CASCADES] if cascades else []) + ([_UNCHECKED] if unchecked else [])
    return (_LOGGED, *more, *([_BASE] if base else []))
