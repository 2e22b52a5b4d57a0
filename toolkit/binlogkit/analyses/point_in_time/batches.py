"""Effective changes as record batches in log order, from any kind of input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._frames import image_fields, is_frame, is_spark, lazy, to_arrow
from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.repeats import not_done
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import filtered

_BATCH_ROWS = 65_536
_NEEDED = frozenset(
    ("seq", "tx", "file", "pos", "inner", "db", "table", "before", "after", "before_state",
     "after_state", "raw")
)  # fmt: skip


def counted_batches(
    changes: Any,
    names: Sequence[TableId],
    key: Sequence[str],
    numbers: Integers | None,
    undone: Iterable[Undone] = (),
    outside: int = -1,
) -> Iterator[pa.RecordBatch]:
    """The changes of these transactions (``tx``), and those outside any from ``outside`` on
    (``seq``); all if None.

    Changes that a ROLLBACK TO SAVEPOINT undid, or that are in the log once more, are left out.
    Changes of other tables than ``names`` may be included. UsageError for a frame without the
    ``key``.
    """
    left_out = not_done(undone)
    for batch in _in_order(changes, names, key):
        stay = ~left_out(batch)
        if numbers is not None:
            if "tx" not in batch.schema.names:
                raise UsageError("the changes have no column tx: their transactions are not known")
            tx = batch["tx"]
            stay &= np.asarray(tx.is_null()) | np.isin(np.asarray(tx.fill_null(0)), numbers)
            if outside >= 0:
                stay &= ~np.asarray(tx.is_null()) | (batch["seq"].to_numpy() >= outside)
        yield filtered(needed(batch), stay)


def needed(batch: pa.RecordBatch, *more: str) -> pa.RecordBatch:
    """The columns of changes that a state needs, and others."""
    return batch.select(needed_columns(batch.schema.names, *more))


def needed_columns(names: Iterable[str], *more: str) -> list[str]:
    """The columns of a frame that a state needs, and others."""
    wanted = _NEEDED.union(more)
    return [name for name in names if name in wanted]


def _in_order(
    changes: Any, names: Sequence[TableId], key: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Record batches in log order, with ``seq``."""
    if not is_frame(changes):
        yield from _as_batches(changes)
        return
    rows = lazy(changes, ("before", "after", "db", "table"))
    image_fields(rows, "after", key)
    if is_spark(changes):
        changes = _of_tables(changes, names)
    table = to_arrow(changes)
    if "seq" not in table.column_names:
        table = table.append_column("seq", pa.array(range(table.num_rows), pa.int64()))
    seq = table["seq"]
    if len(seq) > 1 and not pc.all(pc.less_equal(seq[:-1], seq[1:])).as_py():
        table = table.take(pc.sort_indices(table, sort_keys=[("seq", "ascending")]))
    yield from table.unify_dictionaries().to_batches(max_chunksize=_BATCH_ROWS)


def _of_tables(frame: Any, names: Sequence[TableId]) -> Any:
    """The needed part of a Spark frame: its other rows and columns are not collected."""
    rows = nw.from_native(frame)
    if "seq" not in rows.columns:
        raise UsageError("a Spark frame has no order: the column seq is needed")
    wanted = reduce(or_, ((nw.col("db") == db) & (nw.col("table") == table) for db, table in names))
    return rows.filter(wanted).select(*(n for n in rows.columns if n in _NEEDED)).to_native()


def _as_batches(changes: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Record batches from batches, tables, or objects with an attribute ``batch``."""
    for item in changes:
        batch = getattr(item, "batch", item)
        yield from to_arrow(batch).to_batches()


def pieces(batch: pa.RecordBatch, cuts: npt.ArrayLike) -> Iterator[tuple[int, pa.RecordBatch]]:
    """A batch in parts, each with its first place: cut at these places, which ascend."""
    seqs, places = batch["seq"].to_numpy(), np.asarray(cuts, np.int64)
    between = places[places.searchsorted(seqs[0]) : places.searchsorted(seqs[-1], "right")]
    edges = sorted({0, len(seqs), *seqs.searchsorted(between).tolist()})
    for start, stop in pairwise(edges):
        yield int(seqs[start]), batch.slice(start, stop - start)
