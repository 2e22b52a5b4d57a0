"""Which rows of an index's tables belong to some tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.rows.filters import TableName


def of_tables(table: pa.Table, tables: Sequence[TableName]) -> pa.ChunkedArray:
    """Which rows of a table belong to one of these; names are compared in lower case, for servers
    that store them so."""
    dbs, names = (pc.utf8_lower(table[column]) for column in ("db", "table"))
    found = pa.array(np.zeros(table.num_rows, bool))
    for name in tables:
        same = pc.equal(names, name.table.lower())
        if name.db is not None:
            same = pc.and_(same, pc.equal(dbs, name.db.lower()))
        found = pc.or_(found, same)
    # Of a map that could not be read only the rows were counted.
    return pc.or_(found, pc.equal(names, ""))
