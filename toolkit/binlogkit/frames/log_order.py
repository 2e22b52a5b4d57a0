"""Changes of one table in log order, of which several batches have parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa


def in_log_order(batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The parts of batches, each of which is in log order (``seq``), with the batch's number."""
    seqs = [np.asarray(batch["seq"]) for batch in batches]
    begin = sorted((own[0], own[-1], i) for i, own in enumerate(seqs) if len(own))
    if all(a[1] < b[0] for a, b in pairwise(begin)):
        yield from ((i, batches[i]) for _, _, i in begin)
        return
    which = np.repeat(np.arange(len(seqs)), [len(own) for own in seqs])
    which = which[np.argsort(np.concatenate(seqs), kind="stable")]
    begins = np.flatnonzero(np.diff(which, prepend=-1))
    taken = [0] * len(batches)
    for number, rows in zip(which[begins], np.diff(begins, append=len(which)), strict=True):
        yield int(number), _own_texts(batches[number].slice(taken[number], rows))
        taken[number] += rows


def _own_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A part of a batch with the texts of its rows alone."""
    columns = [
        column.dictionary_decode().dictionary_encode().cast(column.type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
