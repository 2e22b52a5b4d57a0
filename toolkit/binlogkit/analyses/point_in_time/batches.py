"""The changes as record batches in log order, whatever they come as."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import narwhals as nw

from binlogkit.analyses._frames import is_frame, is_spark, to_arrow
from binlogkit.analyses._savepoints import Undone, is_undone
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["counted_batches", "in_order"]

_BATCH_ROWS = 65_536


def counted_batches(
    changes: Any, numbers: Iterable[int] | None, undone: Iterable[Undone] = ()
) -> Iterator[pa.RecordBatch]:
    """The changes of these transactions (``tx``), and those outside any; of all if None.

    Without those that a ROLLBACK TO SAVEPOINT took back.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = None if numbers is None else pa.array(sorted(numbers), pa.int64())
    for batch in _happened(changes, undone):
        if wanted is None:
            yield batch
            continue
        if "tx" not in batch.schema.names:
            raise UsageError("the changes have no column tx: their transactions cannot be told")
        kept = pc.or_(pc.is_in(batch["tx"], wanted), pc.is_null(batch["tx"]))
        yield batch.filter(kept)


def _happened(changes: Any, undone: Iterable[Undone]) -> Iterator[pa.RecordBatch]:
    here = is_undone(undone)
    for batch in in_order(changes):
        if here is None:
            yield batch
            continue
        kept = nw.from_native(to_arrow(batch), eager_only=True).filter(~here)
        yield from kept.to_native().to_batches()


def in_order(changes: Any) -> Iterator[pa.RecordBatch]:
    """Record batches in log order, with ``seq``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_frame(changes):
        yield from _as_batches(changes)
        return
    table = to_arrow(changes)
    if "seq" not in table.column_names:
        if is_spark(changes):
            raise UsageError("a Spark frame has no order: the column seq is needed")
        table = table.append_column("seq", pa.array(range(table.num_rows), pa.int64()))
    seq = table["seq"]
    if len(seq) > 1 and not pc.all(pc.less_equal(seq[:-1], seq[1:])).as_py():
        table = table.take(pc.sort_indices(table, sort_keys=[("seq", "ascending")]))
    yield from table.unify_dictionaries().to_batches(max_chunksize=_BATCH_ROWS)


def _as_batches(changes: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Record batches out of batches, tables, or what carries one as ``batch``."""
    for item in changes:
        batch = getattr(item, "batch", item)
        yield from to_arrow(batch).to_batches()
