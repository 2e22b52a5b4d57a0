"""Filters of keys in Parquet, grouped by table, so that those of some tables can be read alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.log.index.tables import of_tables
from binlogkit.rows.filters import TableName

_GROUP = 1 << 20  # bytes of filters that are read together
_GROUP_ROWS = 1 << 14


def write_filters(table: pa.Table, path: str | Path) -> None:
    """Write filters, those of a table together."""
    order = pc.sort_indices(
        pa.table([pc.utf8_lower(table["table"]), pc.utf8_lower(table["db"])], ["table", "db"]),
        sort_keys=[("table", "ascending"), ("db", "ascending")],
    )
    table = table.take(order).combine_chunks()
    sizes = np.asarray(pc.fill_null(pc.binary_length(table["filter"]), 0), np.int64)
    groups = np.maximum(np.cumsum(sizes) // _GROUP, np.arange(len(sizes)) // _GROUP_ROWS)
    firsts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])).tolist()
    how = {"compression": "zstd", "use_dictionary": ["db", "table"]}
    with pq.ParquetWriter(path, table.schema, **how) as writer:
        for start, end in pairwise([*firsts, len(sizes)] if len(sizes) else []):
            writer.write_table(table.slice(start, end - start), row_group_size=end - start)


def read_filters(
    path: str | Path, tables: Sequence[TableName], columns: Sequence[str] | None = None
) -> pa.Table:
    """The filters of some tables; of all if none is named."""
    with pq.ParquetFile(path, memory_map=True) as file:
        groups = list(range(file.num_row_groups))
        if tables:
            groups = [i for i in groups if _has(file.read_row_group(i, ["db", "table"]), tables)]
        found = file.read_row_groups(groups, columns)
    wanted = of_tables(found, tables) if tables else None
    # Filters are most of the bytes: copy them only if needed.
    return found if wanted is None or pc.all(wanted).as_py() else found.filter(wanted)


def _has(table: pa.Table, tables: Iterable[TableName]) -> bool:
    return bool(pc.any(of_tables(table, list(tables))).as_py())
