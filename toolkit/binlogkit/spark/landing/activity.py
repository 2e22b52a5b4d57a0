"""What an audit counts of a landing: the changes of its tables without their images.

They are read part by part. What the ledger's transactions changed besides (they were rolled back,
or their rows are not in the tables) is counted by the ledger: a row for each transaction, table and
operation, at the place and time of the transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.activity import Activity
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.flat_cells import own_name
from binlogkit.frames.schema import batch_schema
from binlogkit.log.index.transactions import joined_changes
from binlogkit.rows.window import SEQ_SHIFT
from binlogkit.spark.landing.numbering import BEFORE, of_files
from binlogkit.spark.landing.passing import Folders, Passing
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.restored import Restored

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger

_OWN = frozenset(names(CHANGELOG))
_GROUP = ["tx", "db", "table", "op"]
_OF_TRANSACTION = (
    "source", "file", "pos", "server_id", "gtid", "thread_id", "xid", "xa", "timestamp",
    "commit_timestamp",
)  # fmt: skip


def activity(ledger: Ledger, transactions: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The changes of all tables (frames/activity.py): those that have landed, and the others;
    ``transactions``: all of the ledger."""
    taken = Activity()
    for name in sorted(filter(ledger.has, ledger.met)):
        there: Folders = [(folder, []) for folder in folders(ledger.out, name)]
        for step in Passing(ledger, {name: there}, without_values).steps({name}):
            for one in step.pop(name):
                for batch in counted_of(one):
                    taken.feed(batch)
    ledger.check_expired()
    found = taken.finish()
    return found, others(ledger, transactions, sums_of(found))


def counted_of(rows: Restored) -> Iterator[pa.RecordBatch]:
    """The changes of a table, with no columns but those that some cell lacks."""
    columns = [pa.field(own_name(column), pa.null()) for column in rows.odd]
    made = rows.table(_events(rows), batch_schema(columns))
    yield from made.combine_chunks().to_batches()


def without_values(schema: pa.Schema) -> pa.Schema:
    """The columns that all tables have."""
    return pa.schema([one for one in schema if one.name in _OWN])


def _events(rows: Restored) -> np.ndarray[Any, Any]:
    """Numbers of changes that are in log order, as a log has them: of the event, and of the row."""
    *event, row = rows.places
    order = np.lexsort([row, *event[::-1]])
    begins = np.zeros(len(order), bool)
    for part in event:
        begins[1:] |= part[order][1:] != part[order][:-1]
    found = np.empty(len(order), np.int64)
    found[order] = (np.cumsum(begins) << SEQ_SHIFT) + row[order]
    return found


def sums_of(landed: pa.Table) -> pa.Table:
    """How many changes of which table each transaction made, by operation, and the bytes of their
    events; ``landed``: all of a transaction's changes of a table, or none."""
    there = landed.select([*_GROUP, "rows", "file", "pos", "inner", "end_pos"])
    texts = [name for name, kind in zip(there.column_names, there.schema.types, strict=True)
             if pa.types.is_dictionary(kind)]  # fmt: skip
    for name in texts:
        at = there.column_names.index(name)
        there = there.set_column(at, name, there[name].cast(pa.string()))
    size = pc.subtract(there["end_pos"], there["pos"])
    event = there.append_column("size", size).group_by([*_GROUP, "file", "pos", "inner"])
    sizes = event.aggregate([("rows", "sum"), ("size", "max")]).group_by(_GROUP)
    return sizes.aggregate([("rows_sum", "sum"), ("size_max", "sum")])


def others(ledger: Ledger, transactions: pa.Table, sums: pa.Table) -> pa.Table:
    """The changes of transactions that are not among those that have landed; ``sums``: of
    these."""
    known = joined_changes(ledger.parts, ledger.joined)
    known = known.filter(pc.is_in(known["tx"], transactions["tx"]))
    both = known.join(sums, _GROUP, join_type="left outer")
    missing = pc.subtract(both["rows"], pc.fill_null(both["rows_sum_sum"], 0))
    lost = pc.subtract(both["bytes"], pc.fill_null(both["size_max_sum"], 0))
    both = both.set_column(both.column_names.index("rows"), "rows", missing)
    both = both.set_column(both.column_names.index("bytes"), "bytes", pc.max_element_wise(lost, 0))
    both = both.filter(pc.greater(both["rows"], 0))
    # The bytes of a transaction's table, in each of its rows: they are counted by place.
    of_table = both.group_by(_GROUP[:3]).aggregate([("bytes", "sum")])
    both = both.drop(["bytes"]).join(of_table, _GROUP[:3])
    facts = transactions.select(["tx", *_OF_TRANSACTION])
    both = both.join(facts, "tx", join_type="inner")
    both = both.sort_by([(name, "ascending") for name in _GROUP])
    columns = {name: both[name] for name in (*_OF_TRANSACTION, *_GROUP, "rows")}
    columns["end_pos"] = pc.add(both["pos"], both["bytes_sum"])
    size, schema = len(both), Activity().finish().schema
    made = [
        columns.get(one.name, pa.repeat(0, size) if one.name in ("row", "seq") else pa.nulls(size))
        for one in schema
    ]
    return pa.table(made, names=schema.names).cast(schema)


def in_order(changes: pa.Table, files: Mapping[str, int]) -> pa.Table:
    """Changes in log order, numbered by it; ``files``: the number of each log."""
    changes = changes.unify_dictionaries().combine_chunks()
    order = np.lexsort(_places(changes, files)[::-1])
    at = changes.column_names.index("seq")
    return changes.take(pa.array(order)).set_column(
        at, changes.schema.field(at), pa.array(np.arange(len(order)))
    )


def with_places(changes: pa.Table, files: Mapping[str, int]) -> pa.Table:
    """Changes with bytes that sort by log order as ``seq``, whatever others there are."""
    places = np.stack(_places(changes, files), axis=1).astype(">i8")
    kind = pa.binary(places.shape[1] * places.itemsize)
    data = pa.py_buffer(places.tobytes())
    seq = pa.FixedSizeBinaryArray.from_buffers(kind, len(places), [None, data])
    return changes.set_column(changes.column_names.index("seq"), "seq", seq.cast(pa.binary()))


def _places(changes: pa.Table, files: Mapping[str, int]) -> list[np.ndarray[Any, Any]]:
    """The places of changes, none of them negative."""
    inner = np.asarray(changes["inner"].fill_null(BEFORE)) - BEFORE
    own = np.asarray(changes["pos"]), inner, np.asarray(changes["row"])
    return [of_files(files, changes["file"]), *own]
