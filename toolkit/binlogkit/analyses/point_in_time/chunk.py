"""A run of changes with the same columns: the rows before and after each."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.analyses.point_in_time.known_cells import STORED_PARTS, cells_of, index
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.schema import CellState, state_matrix

HIDDEN = "\0"  # no MySQL name has it
PLACES = tuple(HIDDEN + name for name in ("seq", "file", "pos"))  # of the change that made a row
WAS, IS = 0, 1  # the row before the change and after it; swapped when going backwards
ABSENT = (CellState.NOT_IN_IMAGE, CellState.JSON_DIFF)
STORED = (CellState.UNDECODABLE, CellState.NO_ARROW_VALUE)
_FILE = pa.dictionary(pa.int32(), pa.string())
_IMAGES = ("before", "after")  # numbered as in a batch's raw cells


@dataclass(frozen=True, slots=True)
class KeptPiece:
    """The kept part of a batch.

    ``images``: which ones are :data:`WAS` and :data:`IS`; ``table``: by their names whether they
    exist, their columns (:func:`_column`) and states, ``raw``, and :data:`PLACES`.
    """

    images: tuple[str, ...]
    fields: list[pa.Field]
    table: pa.Table

    @classmethod
    def of(
        cls,
        batch: pa.RecordBatch,
        key: Sequence[str],
        *,
        backwards: bool = False,
        whole: bool = False,
    ) -> KeptPiece:
        """The changes of a batch, last first if ``backwards``.

        If a key identifies rows and images are plain, only the key of the rows before is kept, but
        if ``whole`` is wanted.
        """
        if not pa.types.is_struct(batch["after"].type):
            raise UsageError("typed changes are needed: before and after are text here")
        if backwards:
            batch = batch.take(pa.array(np.arange(batch.num_rows - 1, -1, -1)))
        images = _IMAGES[::-1] if backwards else _IMAGES
        columns = {
            name: batch[name] if name in batch.schema.names else pa.nulls(batch.num_rows)
            for name in ("before_state", "after_state", "raw")
        }
        plain = columns[f"{images[IS]}_state"].null_count == batch.num_rows and not whole
        for image in images:
            found = batch[image]
            columns[image] = found.is_valid()
            for field, column in zip(found.type, found.flatten(), strict=True):
                if image == images[IS] or field.name in key or not (key and plain):
                    columns[_column(image, field.name)] = column
        file = batch["file"]
        if file.type != _FILE:
            file = file.cast(pa.string()).dictionary_encode()
        places = [batch["seq"].cast(pa.int64()), file, batch["pos"].cast(pa.int64())]
        columns |= dict(zip(PLACES, places, strict=True))
        return cls(images, list(batch["after"].type), pa.table(columns))


def _column(image: str, name: str) -> str:
    return f"{HIDDEN}{image} {name}"


class Chunk:
    """Pieces with the same columns, concatenated; changes are numbered over all.

    ``there``: by side, which changes have an image there.
    """

    def __init__(self, pieces: Sequence[KeptPiece]) -> None:
        tables = [piece.table for piece in pieces]
        self._table = pa.concat_tables(tables, promote_options="permissive")
        self._stored = {name: i for i, name in enumerate(self._table.column_names)}
        self._images = pieces[0].images
        self.size = int(self._table.num_rows)
        self.fields = pieces[-1].fields
        self.names = {field.name: i for i, field in enumerate(self.fields)}
        self.there = [np.asarray(self._table[image]) for image in self._images]
        self._states = [self._matrix(side) for side in (WAS, IS)]

    def column(self, side: int, name: str) -> Any:
        """A column of one side, as a chunked array."""
        stored = self._stored.get(_column(self._images[side], name))
        if stored is not None:
            return self._table.column(stored)
        return pa.chunked_array([pa.nulls(self.size, self.fields[self.names[name]].type)])

    def turned(self) -> Chunk:
        """The same changes with before and after swapped."""
        twin = copy(self)
        twin._images = self._images[::-1]
        twin.there, twin._states = self.there[::-1], self._states[::-1]
        return twin

    def states(self, side: int, name: str) -> NDArray[np.uint8] | None:
        """The states of a column where they are above NULL, else 0; None if all are 0."""
        matrix = self._states[side]
        if matrix is None:
            return None
        found = matrix[:, self.names[name]]
        return found if found.any() else None

    def has(self, side: int, name: str) -> Flags:
        """Which changes' images hold the column, also as a JSON diff."""
        there = self.there[side]
        if name not in self.names:
            return np.zeros_like(there)
        states = self.states(side, name)
        return there if states is None else there & (states != CellState.NOT_IN_IMAGE)

    def diffs(self, name: str) -> Flags:
        """Which changes hold a JSON diff for the column."""
        states = self.states(IS, name) if name in self.names else None
        return np.zeros(self.size, bool) if states is None else states == CellState.JSON_DIFF

    def with_diffs(self) -> Flags:
        """Which changes hold a JSON diff for any column."""
        matrix = self._states[IS]
        if matrix is None:
            return np.zeros(self.size, bool)
        found: Flags = (matrix == CellState.JSON_DIFF).any(axis=1)
        return found

    def whole(self) -> Flags:
        """Which changes' after images hold every cell of their own columns."""
        matrix = self._states[IS]
        if matrix is None:
            return np.ones(self.size, bool)
        absent: Flags = np.asarray(np.isin(matrix, ABSENT).any(axis=1))
        return ~absent

    def cells(self, side: int, name: str) -> pa.ChunkedArray:
        """The cells of a column of one side (cells.py)."""
        parts, states = {"value": self.column(side, name)}, self.states(side, name)
        if states is None:
            return cells_of(parts)
        stored = np.isin(states, STORED)
        if stored.any():
            parts |= {"state": pa.array(states, mask=~stored)} | self.raw(side, name)
        return cells_of(parts, ~np.isin(states, ABSENT))

    def rows(self, side: int) -> pa.Table:
        """One side as a table: the cells of all columns, and :data:`PLACES`."""
        columns = {name: self.cells(side, name) for name in self.names}
        return pa.table(columns | {name: self._table[name] for name in PLACES})

    def place(self, change: int) -> tuple[int | None, str | None, int | None]:
        """Where a change stands: ``seq``, ``file`` and ``pos``."""
        seq, file, pos = (self._table[name][change].as_py() for name in PLACES)
        return seq, file, pos

    def raw(self, side: int, name: str) -> dict[str, Any]:
        """The stored bytes and texts of a column's cells, null where there are none."""
        lists = self._table["raw"]
        if lists.null_count == self.size:
            return {}
        whole = one_array(lists)
        cells, owners = whole.flatten(), np.asarray(pc.list_parent_indices(whole))
        image = _IMAGES.index(self._images[side])
        mine = np.asarray(cells.field("image")) == image
        mine &= np.asarray(cells.field("column")) == self.names[name]
        at = np.full(self.size, -1)
        at[owners[mine]] = np.flatnonzero(mine)
        return {w: pa.chunked_array([cells.field(w).take(index(at))]) for w in STORED_PARTS}

    def _matrix(self, side: int) -> NDArray[np.uint8] | None:
        """The states above NULL of every change and column; None if there is none."""
        lists = self._table[f"{self._images[side]}_state"]
        if lists.null_count == self.size:
            return None
        matrix = state_matrix(one_array(lists), len(self.names))
        matrix[matrix <= CellState.NULL] = 0
        return matrix
