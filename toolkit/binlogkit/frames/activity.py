"""Row changes without their images, a row for each event: what an audit counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from binlogkit.frames.schema import PROVENANCE, batch_schema
from binlogkit.rows.window import SEQ_SHIFT

_NAMES = (*PROVENANCE, "before_state", "after_state", "seq", "tx")


class Activity:
    """Takes batches of changes in the canonical schema.

    Where all cells are values or NULL, the changes of an event become one row, whose ``rows`` says
    how many they are; else each has its own, since their states differ.
    """

    def __init__(self) -> None:
        self._parts: list[pa.RecordBatch] = []

    def feed(self, batch: pa.RecordBatch) -> None:
        """Take the next batch."""
        if not batch.num_rows:
            return
        events = batch.column("seq").to_numpy() >> SEQ_SHIFT
        plain = all(
            batch.column(name).null_count == batch.num_rows
            for name in ("before_state", "after_state")
        )
        if plain:
            firsts = np.flatnonzero(np.append(True, events[1:] != events[:-1]))
        else:
            firsts = np.arange(batch.num_rows)
        rows = np.diff(firsts, append=batch.num_rows)
        kept = pa.RecordBatch.from_arrays(
            [batch.column(name) for name in _NAMES], schema=_schema(rows=False)
        )
        if len(firsts) < batch.num_rows:
            kept = kept.take(pa.array(firsts))
        columns = [*kept.columns, pa.array(rows, pa.int64())]
        self._parts.append(pa.RecordBatch.from_arrays(columns, schema=_schema(rows=True)))

    def finish(self) -> pa.Table:
        """The changes in the order of their batches."""
        table = pa.Table.from_batches(self._parts, _schema(rows=True))
        return table.unify_dictionaries().combine_chunks()


def _schema(*, rows: bool) -> pa.Schema:
    schema = batch_schema([])
    fields = [schema.field(name) for name in _NAMES]
    return pa.schema([*fields, pa.field("rows", pa.int64())] if rows else fields)
