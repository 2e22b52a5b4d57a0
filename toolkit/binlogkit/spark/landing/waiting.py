"""Rows that wait: their table could not be landed with its batch, so that only their place is kept.

A table waits where the names of its columns are not known, or a masked column is not found among
them. Its rows land with a later batch, once that is settled. If their log is gone by then, they are
lost: the table continues without them, with a gap, and they land if the log is named again. So are
the rows of an XA transaction whose XA COMMIT lands when the log that prepared it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.sources.carriers.urls import is_url
from binlogkit.spark.masks import UNSURE
from binlogkit.spark.splits.commits import file_number

#: Why rows wait.
NAMES = "the names of its columns are not known"
PREPARED = "an XA transaction has them, and was committed by a later log"
_WAITS = (
    "They land once their logs are named, or with --retry, after the logs that are missing before "
    "them, or an earlier one that has the table's CREATE TABLE, have landed, or with --schema or "
    "--schema-from; or with --suppose definition:db.table, if nothing altered or renamed the table "
    "in logs that are gone"
)
_UNSURE = (
    "They land with --retry, after the logs that are missing before them have landed, or if --mask "
    "says of this column, too, how it lands: =drop, … (with --change-terms), or =clear"
)
_LOST = "They land if it is named again, or with --retry once it is back"
#: A log: its server, when it was begun, the number in its name.
LogId: TypeAlias = tuple[int, int, int]
#: Offsets of events, from one up to and with another.
Stretch: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rows of one table, in one log, that wait.

    ``batch``: whose transactions they belong to; ``file``: the log; ``server_id``, ``begun``: of
    its first event; ``first_pos``, ``last_pos``: of the rows' events; ``reason``: why they wait;
    ``lost``: whether their log was gone.
    """

    batch: int
    table: str
    file: str
    server_id: int
    begun: int
    first_pos: int
    last_pos: int
    rows: int
    reason: str
    lost: bool = False

    @property
    def log(self) -> LogId:
        """Its log."""
        return self.server_id, self.begun, file_number(self.file)

    @property
    def remedy(self) -> str:
        """What makes them land."""
        if self.lost:
            return _LOST
        return _UNSURE if self.reason.startswith(UNSURE) else _WAITS


def stretches(given: Iterable[Waiting], log: LogId) -> Mapping[str, list[Stretch]]:
    """Where rows of one log wait, by table."""
    found: dict[str, list[Stretch]] = {}
    for one in given:
        if one.log == log:
            found.setdefault(one.table, []).append((one.first_pos, one.last_pos))
    return found


def inside(batch: pa.RecordBatch, places: Sequence[Stretch]) -> Flags:
    """Which rows of a batch stand at these places."""
    positions = np.asarray(batch.column("pos")).astype(np.int64)
    found = np.zeros(len(positions), np.bool_)
    for first, last in places:
        found |= (positions >= first) & (positions <= last)
    return found


def is_there(location: str) -> bool:
    """Whether a log is where it was; one in a store is taken to be."""
    return is_url(location) or Path(location).exists()


class Met:
    """The rows of one split that cannot land, in log order."""

    def __init__(self, file: str, log: LogId) -> None:
        self._log = file, *log[:2]
        self._open: dict[str, Waiting] = {}
        self._found: list[Waiting] = []

    def add(self, table: str, positions: pa.Array, reason: str) -> None:
        """Take rows of a table, at these positions."""
        offsets = np.asarray(positions).astype(np.int64)
        first, last, rows = int(offsets.min()), int(offsets.max()), len(offsets)
        before = self._open.pop(table, None)
        if before is not None and before.reason == reason:
            first, rows = before.first_pos, before.rows + rows
        elif before is not None:
            self._found.append(before)
        self._open[table] = Waiting(0, table, *self._log, first, last, rows, reason)

    def end(self, table: str) -> None:
        """From here on rows of the table land."""
        if table in self._open:
            self._found.append(self._open.pop(table))

    def finish(self) -> list[Waiting]:
        """All of them."""
        return [*self._found, *self._open.values()]
