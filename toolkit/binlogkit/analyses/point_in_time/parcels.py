"""Changes as bytes on their way between tasks: canonical batches, whatever types a cluster
supports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from binlogkit.analyses._tasks import packed, unpacked
from binlogkit.analyses.point_in_time.replay import by_table
from binlogkit.constants import TableId


@dataclass(frozen=True, slots=True)
class Parcel:
    """Changes of one table with the same columns, in log order.

    ``at``, ``last``: the first one's ``seq`` and the last one's; ``layout``: a name for its
    columns.
    """

    at: int
    last: int
    name: TableId
    layout: str
    data: bytes

    def batch(self) -> pa.RecordBatch:
        """The changes."""
        return unpacked(self.data)


def parcels(batch: pa.RecordBatch, names: Iterable[TableId]) -> Iterator[Parcel]:
    """The changes of some tables in a batch, each table's as a parcel."""
    for name, part in by_table(batch, [*names]):
        seqs = part["seq"].to_numpy()
        if (seqs[1:] < seqs[:-1]).any():
            order = np.argsort(seqs, kind="stable")
            part, seqs = part.take(pa.array(order)), seqs[order]
        yield Parcel(int(seqs[0]), int(seqs[-1]), name, layout(part.schema), packed(part))


def layout(schema: pa.Schema) -> str:
    """A name for the columns of changes."""
    fields = [f"{field.name} {field.type}" for field in schema.field("after").type]
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()[:16]


def in_order(given: Iterable[tuple[int, int, bytes]]) -> Iterator[pa.RecordBatch]:
    """The batches of parcels sorted by first change.

    Changes are in log order, though parcels may overlap. Yields the first and last ``seq`` and the
    bytes of each.
    """
    waiting: list[pa.RecordBatch] = []
    end = -1
    for at, last, data in given:
        if waiting and at > end:
            yield from _sorted(waiting)
            waiting = []
        waiting.append(unpacked(data))
        end = max(end, last)
    yield from _sorted(waiting)


def _sorted(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Changes of batches in log order, in runs of one batch."""
    if len(batches) < 2:
        yield from batches
        return
    seqs = np.concatenate([batch["seq"].to_numpy() for batch in batches])
    owner = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    place = np.concatenate([np.arange(len(batch)) for batch in batches])
    order = np.argsort(seqs, kind="stable")
    owner, place = owner[order], place[order]
    edges = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(owner)]
    for start, stop in pairwise(edges):
        if start < stop:
            yield batches[int(owner[start])].take(pa.array(place[start:stop]))
