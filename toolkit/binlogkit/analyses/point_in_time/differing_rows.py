"""The rows with which two states differ that a cluster's tasks hold.

Rows of both are brought together by their keys and compared in the tasks. The driver gets those
that differ, and compares them as on one machine (difference.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._tasks import Batches, packed, row, rows, unpacked
from binlogkit.analyses.point_in_time.difference import compared
from binlogkit.analyses.point_in_time.result import key_order
from binlogkit.analyses.point_in_time.shared import ROWS, SHARES, FoldedState, rows_of
from binlogkit.analyses.point_in_time.shares import divisible, hashes

_DIFFERING = pa.schema([("at", pa.int64()), ("data", pa.binary())])


def differing(
    states: Sequence[FoldedState | None], key: Sequence[str], *, altered: bool
) -> list[pa.Table]:
    """The rows of two states (STATE) that must be compared: all others have an equal one.

    Each in its state's order. One of the states may be None: it has no rows. ``altered``: as of
    :func:`compared`. In memory of a task: the rows of a share of both states; without a key, or
    with one of inexact numbers, of all.
    """
    there = {side: state for side, state in enumerate(states) if state is not None}
    known = {side: state.result.schema for side, state in there.items()}
    schemas = [known.get(side) or known[1 - side] for side in range(2)]
    exact = bool(key) and all(divisible(key, _as_changes(schema)) for schema in schemas)
    count = max(state.shares for state in there.values()) if exact else 1
    both = [
        state.tasks.where("what", ROWS).map(_sharing(side, key, count), SHARES)
        for side, state in there.items()
    ]
    compare = _comparing(schemas, key, altered=altered)
    kept = both[0].beside(*both[1:]).together(count).map(compare, _DIFFERING).records()
    found = (
        pa.Table.from_batches([unpacked(r["data"]) for r in kept if r["at"] == side], schema)
        for side, schema in enumerate(schemas)
    )
    return [_sorted(table, key) for table in found]


def _as_changes(schema: pa.Schema) -> pa.Schema:
    """What :func:`divisible` looks at."""
    return pa.schema([schema.field("values").with_name("after")])


def _sorted(table: pa.Table, key: Sequence[str]) -> pa.Table:
    names = key if len(table) else ()  # the columns of no rows may not be known
    order = key_order([pc.struct_field(table["values"], name) for name in names])
    return table if order is None else table.take(order)


def _sharing(
    side: int, key: Sequence[str], count: int
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The rows of a state, split by their keys."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for at, batch in rows_of(batches):
            if count == 1:
                yield row(SHARES, 0, side, at, packed(batch))
                continue
            keys = hashes([batch["values"].field(name) for name in key])
            own = (keys % np.uint64(count)).astype(np.int64)
            for share in np.unique(own).tolist():
                part = batch.take(pa.array(np.flatnonzero(own == share)))
                yield row(SHARES, share, side, at, packed(part))

    return run


def _comparing(
    schemas: Sequence[pa.Schema], key: Sequence[str], *, altered: bool
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Of the rows of a share those that :func:`differing` gives."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        parts: tuple[list[pa.RecordBatch], ...] = [], []
        for one in rows(batches):
            side = int(one["at"])
            parts[side].append(unpacked(one["data"]).cast(schemas[side]))
        sides = [pa.Table.from_batches(p, s) for p, s in zip(parts, schemas, strict=True)]
        found = compared(sides[0], sides[1], key, altered=altered)
        for side, table in enumerate(sides):
            places = np.repeat(found.there[side], found.counts)  # equal rows stand there once
            for name in key if len(table) else ():  # a row of another share may be the same
                unknown = pc.struct_field(table["values"], name).is_null()
                places = np.union1d(places, np.flatnonzero(unknown))
            wanted = table.take(pa.array(np.sort(places[places >= 0])))
            for part in wanted.combine_chunks().to_batches():
                yield row(_DIFFERING, side, packed(part))

    return run
