"""Rows as they were before chosen changes with partial images (MINIMAL, NOBLOB)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.cascades import columns_of, places_of
from binlogkit.analyses.point_in_time.codes import Flags, Integers, codes, runs
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.constants import TableId


@dataclass(frozen=True, slots=True)
class Whole:
    """Rows of a table before the changes ``seqs``, as in Rows.table; ``fields``; ``key``."""

    name: TableId
    seqs: Integers
    fields: Mapping[str, pa.Field]
    key: tuple[str, ...]
    rows: pa.Table


class Before:
    """Keeps rows as they were before some changes.

    ``chosen``: which changes, by their ``seq``; ``found``: those rows; ``emptied``: by ``seq`` of a
    chosen boundary that emptied a table, all rows that the table had, if known.
    """

    def __init__(self, chosen: Callable[[Integers], Flags]) -> None:
        self._chosen = chosen
        self.found: list[Whole] = []
        self.emptied: dict[int, Whole] = {}

    def empty(self, boundary: Boundary, table: Fold) -> None:
        """Keep the rows of a table that is about to be emptied."""
        rows = table.settled()  # before its findings are read
        sure = table.complete and all(f.determined for f in table.findings.found.values())
        if sure and self._chosen(np.array([boundary.seq])).all():
            seqs = np.full(len(rows), boundary.seq)
            fields = dict(rows.fields)
            self.emptied[boundary.seq] = Whole(boundary.name, seqs, fields, table.key, rows.table)

    def parts(
        self, batch: pa.RecordBatch, key: Sequence[str]
    ) -> Iterator[tuple[pa.RecordBatch, bool]]:
        """Changes in parts, and whether the rows before each part are wanted.

        The changes of a wanted part find their rows as they are before its first change.
        """
        wanted = np.zeros(batch.num_rows, bool)
        if key and "before_state" in batch.schema.names:
            lacking = pc.and_(batch["before"].is_valid(), batch["before_state"].is_valid())
            wanted = np.asarray(lacking) & self._chosen(batch["seq"].to_numpy())
        if not wanted.any():
            yield batch, False
            return
        edges = [*np.flatnonzero(runs(wanted.astype(np.int64))).tolist(), batch.num_rows]
        for start, stop in pairwise(edges):
            part = batch.slice(start, stop - start)
            if not wanted[start] or _apart(part, key):
                yield part, bool(wanted[start])
                continue
            for i in range(part.num_rows):
                yield part.slice(i, 1), True

    def feed(self, name: TableId, part: pa.RecordBatch, table: Fold) -> None:
        """Keep the rows of the changes that come next."""
        rows = table.settled()
        images = columns_of(part, "before", set(table.key))
        which = places_of(rows.table, table.key, images)
        if which is not None:
            held = which >= 0
            found, seqs = rows.table.take(pa.array(which[held])), part["seq"].to_numpy()[held]
            self.found.append(Whole(name, seqs, dict(rows.fields), table.key, found))


def _apart(part: pa.RecordBatch, key: Sequence[str]) -> bool:
    """Whether the changes are of different rows, and keep their keys."""
    before, after = (columns_of(part, side, set(key)) for side in ("before", "after"))
    if before.keys() != set(key) or not all(held.all() for _, held in before.values()):
        return False
    if any(held.any() for _, held in after.values()):  # the key itself may change
        return bool(part.num_rows == 1)
    found = codes([before[c][0] for c in key])
    return len(np.unique(found)) == len(found)
