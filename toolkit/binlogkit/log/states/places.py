"""Logs in order, and positions in them by the column: questions about every transaction without a
loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId

if TYPE_CHECKING:
    from binlogkit.rows.schema import TableSchema
    from binlogkit.rows.soundness import FileFacts, Finding

FilePos = tuple[int, int]

_ENDED = pa.array(["committed", "rolled_back"])


class Logs(Protocol):
    """Logs in order, and what is known of them."""

    @property
    def files(self) -> Sequence[str]:
        """Their names."""

    @property
    def file_facts(self) -> Sequence[FileFacts]:
        """The facts of the logs that were read."""

    @property
    def notes(self) -> Sequence[Finding]:
        """What was noted of them as a whole."""

    @property
    def met(self) -> Mapping[TableId, Sequence[TableSchema]]:
        """The versions of each table whose rows were met."""

    def copied(self, file: str) -> pa.Table | None:
        """Where the transactions of a log end, ``end_pos``, and their numbers, ``tx``, if earlier
        logs have some of them, too; else None."""

    def one_history(self, sources: Iterable[str], what: str) -> None:
        """UsageError: ``what`` is in the logs of several servers that no GTID joins."""


class Places:
    """For rows of ``transactions``: the numbers of their files by ``files``, and positions."""

    def __init__(self, rows: pa.Table, files: Mapping[str, int], file: str, pos: str) -> None:
        names = rows.column(file).dictionary_encode().unify_dictionaries().combine_chunks()
        known = (files.get(name, len(files)) for name in names.dictionary.to_pylist())
        numbers = np.fromiter(known, np.int64, len(names.dictionary))
        self.files: Integers = numbers[names.indices.to_numpy()]
        self.positions: Integers = rows.column(pos).to_numpy().astype(np.int64)

    def up_to(self, place: FilePos) -> Flags:
        """Which are at or before a place."""
        file, pos = place
        found: Flags = (self.files < file) | ((self.files == file) & (self.positions <= pos))
        return found

    def last(self, which: Flags, default: FilePos) -> FilePos:
        """The last of those."""
        if not which.any():
            return default
        file = int(self.files[which].max())
        return file, int(self.positions[which & (self.files == file)].max())

    def first(self, which: Flags, default: FilePos) -> FilePos:
        """The first of those."""
        if not which.any():
            return default
        file = int(self.files[which].min())
        return file, int(self.positions[which & (self.files == file)].min())


def among(rows: pa.Table, numbers: Collection[int]) -> Flags:
    """Which transactions have one of these numbers."""
    known = numbers if isinstance(numbers, TransactionNumbers) else TransactionNumbers(numbers)
    return known.among(rows.column("tx").to_numpy())


def ended(rows: pa.Table) -> Flags:
    """Which transactions ended by themselves: not by another one's XA COMMIT or ROLLBACK."""
    outcome = np.asarray(pc.is_in(rows.column("outcome").cast(pa.string()), _ENDED))
    found: Flags = outcome & np.asarray(rows.column("resolved_file").is_null())
    return found
