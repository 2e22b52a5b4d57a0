"""Virtual columns whose image is not what a SELECT reads.

MySQL 5.7 gives a NOT NULL column its implicit default in place of NULL (IGNORE, or without strict
mode) only after the virtual columns are computed, if the table has a trigger (seen on 5.7.22, not
on 8.0.31 and 9.7.4): the image holds what comes of NULL, a SELECT computes it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags, unequal
from binlogkit.analyses.point_in_time.conversion import LOST, implicit_default
from binlogkit.analyses.point_in_time.defaults import with_states
from binlogkit.frames.schema import CellState, state_matrix
from binlogkit.rows.schema import ColumnDefinition, TableDefinition
from binlogkit.sources.log_format import VIRTUAL_AS_STORED

_ZERO_DATES = ("date", "datetime", "timestamp")
#: What of NULL makes NULL, as tokens of an expression.
_SIGNS = frozenset("(),.+-*/%")
_FUNCTIONS = frozenset((
    "abs", "ceil", "ceiling", "concat", "crc32", "date", "day", "div", "floor", "hex", "lcase",
    "left", "length", "lower", "ltrim", "md5", "mod", "month", "reverse", "right", "round", "rtrim",
    "sha", "sha1", "substr", "substring", "trim", "ucase", "upper", "year",
))  # fmt: skip


def without_doubtful(batch: pa.RecordBatch, definition: TableDefinition) -> pa.RecordBatch:
    """Takes virtual cells that may be computed from NULL out of the images after changes."""
    version = definition.version // 10000, definition.version // 100 % 100, 0
    reading = _reading(definition) if (0, 0, 0) < version < VIRTUAL_AS_STORED else []
    names = [field.name for field in batch["after"].type]
    if not reading or names != [column.name for column in definition.columns]:
        return batch
    was, now = _Images.of(batch, "before"), _Images.of(batch, "after")
    found = now.states.copy()
    for one in reading:
        doubtful, same = np.zeros((2, batch.num_rows), bool)
        same[:] = was.has(one.at)
        for at in one.reads:
            doubtful |= now.holds_default(at, definition.columns[at])
            same &= was.has(at) & ~unequal(was.cells[at], now.cells[at])
        doubtful &= now.has(one.at)
        if one.null_from_null:
            doubtful &= np.asarray(now.cells[one.at].is_null())
        if doubtful.any():  # what was read from the table, and did not change, is right
            doubtful &= ~(same & ~unequal(was.cells[one.at], now.cells[one.at]))
        found[doubtful & was.there, one.at] = CellState.JSON_DIFF  # changed to what is not shown
        found[doubtful & ~was.there, one.at] = CellState.NOT_IN_IMAGE
    return batch if (found == now.states).all() else with_states(batch, found)


@dataclass(frozen=True, slots=True)
class _Virtual:
    """A virtual column, by its place, and the NOT NULL columns that it reads, by other virtual ones
    too; ``null_from_null``: if one of those is NULL, so is it."""

    at: int
    reads: tuple[int, ...]
    null_from_null: bool


def _reading(definition: TableDefinition) -> list[_Virtual]:
    """The virtual columns that read columns with NOT NULL."""
    columns, found = definition.columns, dict[str, _Virtual]()
    places = {column.name: at for at, column in enumerate(columns)}
    for at, column in enumerate(columns):  # each reads generated ones before it only
        if column.generated != "virtual":
            continue
        virtual = [found[name] for name in column.reads if name in found]
        own = [places[name] for name in column.reads if name in places]
        reads = {one for one in own if not columns[one].nullable and not columns[one].generated}
        reads.update(*(one.reads for one in virtual))
        if reads:
            plain = column.written_with(_SIGNS, _FUNCTIONS)
            plain &= all(one.null_from_null for one in virtual)
            found[column.name] = _Virtual(at, tuple(sorted(reads)), plain)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Images:
    """Images of one side: which are there, and their cells and states by column."""

    there: Flags
    cells: list[Any]
    states: np.ndarray[Any, Any]

    @classmethod
    def of(cls, batch: pa.RecordBatch, side: str) -> _Images:
        images, lists = batch[side], batch[f"{side}_state"]
        cells = [
            cell.dictionary_decode() if pa.types.is_dictionary(cell.type) else cell
            for cell in images.flatten()
        ]
        return cls(np.asarray(images.is_valid()), cells, state_matrix(lists, len(cells)))

    def has(self, at: int) -> Flags:
        """Which images hold a value of a column, or NULL."""
        found: Flags = self.there & (self.states[:, at] <= CellState.NULL)
        return found

    def holds_default(self, at: int, column: ColumnDefinition) -> Flags:
        """Which images hold what a NOT NULL column gets in place of NULL."""
        cells, value = self.cells[at], implicit_default(column)
        if column.type in _ZERO_DATES:  # which have no Arrow value
            found: Flags = self.states[:, at] == CellState.NO_ARROW_VALUE
            return found
        if column.type == "json":
            value = "null"
        try:
            wanted = None if value is LOST else pa.scalar(value, cells.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wanted = None  # the log's type is another than the definition's
        if wanted is None:
            return np.zeros_like(self.there)
        equal: Flags = np.asarray(pc.fill_null(pc.equal(cells, wanted), False))
        return self.has(at) & equal
