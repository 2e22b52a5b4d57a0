"""Which segments of logs can hold row changes that are wanted, by what an index knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.log.index.joined import Position
from binlogkit.log.index.part import Part
from binlogkit.rows.filters import Filters, TableName

#: Numbers of transactions in a log.
_Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


def selected(positions: Sequence[Position], parts: Sequence[Part], wanted: Filters) -> list[bool]:
    """Of each segment whether it matters: rather too often than too seldom.

    A log with damage does, since that is reported whatever is wanted, and so does one of which it
    is not known what its transactions changed.
    """
    changed = [_changed(part, wanted) for part in parts]
    found = []
    for position, following in zip_longest(positions, positions[1:]):
        numbers = changed[position.part]
        if numbers is not None:
            here = numbers >= position.segment.transactions
            if following is not None and following.part == position.part:
                here &= numbers < following.segment.transactions
        found.append(numbers is None or bool(here.any()))
    return found


def _changed(part: Part, wanted: Filters) -> _Numbers | None:
    """The transactions of a part that changed what is wanted, None where that is not known."""
    changes = part.ledger.get("changes")
    if changes is None or part.damages or part.unreadable is not None:
        return None
    if wanted.gtids is not None and not wanted.gtids.intersect(part.alone.gtids):
        return np.zeros(0, np.int64)
    if wanted.tables:
        changes = changes.filter(_of_tables(changes, wanted.tables))
    if wanted.ops:
        changes = changes.filter(pc.is_in(changes["op"], pa.array(sorted(wanted.ops))))
    numbers: _Numbers = changes["tx"].to_numpy()
    return numbers


def _of_tables(changes: pa.Table, tables: Sequence[TableName]) -> pa.ChunkedArray:
    """Which changes are of one of the tables, by names in small letters, as some servers have."""
    dbs, names = (pc.utf8_lower(changes[column]) for column in ("db", "table"))
    found = pa.array(np.zeros(changes.num_rows, bool))
    for name in tables:
        same = pc.equal(names, name.table.lower())
        if name.db is not None:
            same = pc.and_(same, pc.equal(dbs, name.db.lower()))
        found = pc.or_(found, same)
    # Of a map that could not be read only the rows were counted.
    return pc.or_(found, pc.equal(names, ""))
