"""The rows of a table without a key, and the images of a chunk of changes, in one table.

So each of them has a number by which it is named, and equal ones have equal codes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.cells import index
from binlogkit.analyses.point_in_time.chunk import ABSENT, PLACES, odd_name, odd_names
from binlogkit.analyses.point_in_time.codes import Flags, Integers, column_codes, combined, roots
from binlogkit.analyses.point_in_time.rows import ORDER, WRITTEN, Rows, kept
from binlogkit.frames.schema import CellState

__all__ = ["Images", "cell_codes"]


class Images:
    """The rows before a chunk, the images that it removes, and those that it writes, in one table.

    ``cells``: by column a code for the value, -1 where it is not known; ``change``: which change
    it is, -1 for rows; ``removes``: whether it is an image that is removed; ``time``: when the
    change does it; ``number``: of rows, in the order in which they were first seen; ``partial``:
    whether a cell is not known; ``taken``: the row that is removed, -1 where there is none.
    """

    def __init__(
        self, rows: Rows, removed: pa.Table, removing: Integers, written: pa.Table, by: Integers
    ) -> None:
        tables = [table for table in (rows.table, removed, written) if table.num_rows]
        self.table = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
        self.change = np.concatenate([np.full(len(rows), -1), removing, by])
        self.removes = np.zeros(len(self.change), bool)
        self.removes[len(rows) : len(rows) + len(removing)] = True
        self.time = 2 * (rows.seen + self.change) + ~self.removes
        self.time[: len(rows)] = rows.hidden(WRITTEN)
        self.number = rows.hidden(ORDER)
        self.cells = [cell_codes(self.table, name) for name in rows.fields]
        self.partial = np.zeros(len(self.change), bool)
        for cells in self.cells:
            self.partial |= cells < 0
        self.taken = np.full(len(self.change), -1)

    def left(self, rows: Rows, mixed: dict[int, list[int]]) -> tuple[Flags, list[pa.Table]]:
        """Which of the rows stay, and the new ones."""
        alive = ~self.removes
        alive[self.taken[self.taken >= 0]] = False
        number = np.append(self.number, self.time[len(rows) :])[self._begins()]
        names = [name for name in self.table.column_names if name not in (ORDER, WRITTEN)]
        table = self.table.select(names).append_column(ORDER, pa.array(number))
        table = table.append_column(WRITTEN, pa.array(self.time))
        several = np.array(sorted(mixed.keys() & set(np.flatnonzero(alive).tolist())), np.int64)
        new = alive.copy()
        new[: len(rows)] = False
        new[several] = False
        more = [kept(table, new)]
        if len(several):
            sources = np.array([mixed[int(at)] for at in several])
            more.append(_gathered(table, several, dict(zip(rows.fields, sources.T, strict=True))))
        return alive[: len(rows)], more

    def _begins(self) -> Integers:
        """The row or image with which each row began: an update keeps a row's place."""
        follows = np.arange(len(self.change))
        removes = np.full(int(self.change.max(initial=0)) + 1, -1)
        removes[self.change[self.removes]] = np.flatnonzero(self.removes)
        writes = np.flatnonzero(~self.removes & (self.change >= 0))
        before = removes[self.change[writes]]
        taken = np.where(before >= 0, self.taken[before], -1)
        follows[writes[taken >= 0]] = taken[taken >= 0]
        return roots(follows)


def cell_codes(table: pa.Table, name: str) -> Integers:
    """Codes of a column's cells, -1 where they are not known.

    Those without an Arrow value differ by what is stored.
    """
    state, *stored = odd_names(name)
    found = column_codes(table[name])
    if state not in table.column_names:
        return found
    more = [column_codes(table[column]) for column in stored if column in table.column_names]
    found = combined([found, *more])
    found[np.isin(np.asarray(table[state].fill_null(0)), ABSENT)] = -1
    return found


def _gathered(table: pa.Table, places: Integers, sources: dict[str, Integers]) -> pa.Table:
    """Rows of the table at these places, whose cells stand at other places, -1 if unknown."""
    columns = {name: table[name].take(index(places)) for name in (*PLACES, ORDER, WRITTEN)}
    for name, at in sources.items():
        states = np.full(len(at), CellState.NOT_IN_IMAGE, np.uint8)
        for column in (name, *odd_names(name)):
            if column in table.column_names:
                columns[column] = table[column].take(index(at))
        known = columns.get(odd_name(name, "state"))
        told = np.zeros(len(at), np.uint8) if known is None else np.asarray(known.fill_null(0))
        columns[odd_name(name, "state")] = pa.array(np.where(at < 0, states, told))
    return pa.table(columns)
