"""A run of changes with the same columns, side by side: what rows were, and what they became.

Cells that are no plain value or NULL stand beside their column: its state, and for those without
an Arrow value the stored bytes and a text. The names of such columns begin with :data:`HIDDEN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState

HIDDEN = "\0"  # no MySQL name has it
PLACES = tuple(HIDDEN + name for name in ("seq", "file", "pos"))  # of the change that made a row
ODD = ("state", "bytes", "text")  # of cells that are no plain value or NULL
WAS, IS = 0, 1  # the row before the change and after it; swapped on the way backwards
ABSENT = (CellState.NOT_IN_IMAGE, CellState.JSON_DIFF)
STORED = (CellState.UNDECODABLE, CellState.NO_ARROW_VALUE)
_FILE = pa.dictionary(pa.int32(), pa.string())
_IMAGES = ("before", "after")  # numbered as in a batch's raw cells


def odd_name(name: str, what: str) -> str:
    """The column that has one of :data:`ODD` for column ``name``."""
    return f"{HIDDEN}{what} {name}"


def odd_names(name: str) -> list[str]:
    """The columns that have :data:`ODD` for column ``name``."""
    return [odd_name(name, what) for what in ODD]


@dataclass(frozen=True, slots=True)
class _Side:
    """One side's images: which changes have one, columns, states (null where all are plain)."""

    image: int
    there: Flags
    columns: dict[str, pa.Array]
    states: pa.Array


@dataclass(frozen=True, slots=True)
class Piece:
    """What is kept of a batch: its images (:data:`WAS`, :data:`IS`), raw cells and places."""

    size: int
    fields: list[pa.Field]
    sides: tuple[_Side, _Side]
    raw: pa.Array
    places: list[pa.Array]

    @classmethod
    def of(cls, batch: pa.RecordBatch, key: Sequence[str], *, backwards: bool = False) -> Piece:
        """The changes of a batch, last first if ``backwards``.

        Where a key tells a row and images are plain, only the key is kept of what rows were.
        """
        if not pa.types.is_struct(batch["after"].type):
            raise UsageError("typed changes are needed: before and after are text here")
        if backwards:
            batch = batch.take(pa.array(np.arange(batch.num_rows - 1, -1, -1)))
        sides = [_side(batch, image) for image in ((1, 0) if backwards else (0, 1))]
        if key and sides[IS].states.null_count == batch.num_rows:
            columns = {n: c for n, c in sides[WAS].columns.items() if n in key}
            sides[WAS] = _Side(sides[WAS].image, sides[WAS].there, columns, sides[WAS].states)
        file = batch["file"]
        if file.type != _FILE:
            file = file.cast(pa.string()).dictionary_encode()
        places = [batch["seq"].cast(pa.int64()), file, batch["pos"].cast(pa.int64())]
        raw = batch["raw"] if "raw" in batch.schema.names else pa.nulls(batch.num_rows)
        fields = list(batch["after"].type)
        return cls(batch.num_rows, fields, (sides[WAS], sides[IS]), raw, places)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        columns = [column for side in self.sides for column in side.columns.values()]
        return sum(column.nbytes for column in (*columns, *self.places))


def _side(batch: pa.RecordBatch, image: int) -> _Side:
    name = _IMAGES[image]
    images = batch[name]
    columns = {f.name: c for f, c in zip(images.type, images.flatten(), strict=True)}
    states = f"{name}_state"
    found = batch[states] if states in batch.schema.names else pa.nulls(batch.num_rows)
    return _Side(image, np.asarray(images.is_valid()), columns, found)


class Chunk:
    """Pieces with the same columns, one behind the other; changes are numbered through all.

    ``there``: by side, which changes have an image on it.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.size = sum(piece.size for piece in pieces)
        self.fields = pieces[-1].fields
        self.names = {field.name: i for i, field in enumerate(self.fields)}
        self.there = [np.concatenate([p.sides[s].there for p in pieces]) for s in (WAS, IS)]
        self._states = [self._matrix(side) for side in (WAS, IS)]

    def column(self, side: int, name: str) -> Any:
        """A column of one side, as a chunked array."""
        dtype = self.fields[self.names[name]].type
        columns = [piece.sides[side].columns.get(name) for piece in self.pieces]
        arrays = [
            pa.nulls(piece.size, dtype) if column is None else column
            for piece, column in zip(self.pieces, columns, strict=True)
        ]
        return pa.chunked_array(arrays, dtype)

    def states(self, side: int, name: str) -> NDArray[np.uint8] | None:
        """The states of a column where they are above NULL, else 0; None if all are."""
        matrix = self._states[side]
        if matrix is None:
            return None
        found = matrix[:, self.names[name]]
        return found if found.any() else None

    def has(self, side: int, name: str) -> Flags:
        """Which changes' images hold the column, be it as a JSON diff."""
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
        """Which changes tell every cell of their own columns after them."""
        matrix = self._states[IS]
        if matrix is None:
            return np.ones(self.size, bool)
        absent: Flags = np.asarray(np.isin(matrix, ABSENT).any(axis=1))
        return ~absent

    def cells(self, side: int) -> Any:
        """One side as a table: columns, what is odd in them, and :data:`PLACES`."""
        columns = {name: self.column(side, name) for name in self.names}
        for name in self.names:
            columns |= {odd_name(name, what): c for what, c in self.odd(side, name).items()}
        return pa.table(columns | {name: self.place(name) for name in PLACES})

    def place(self, name: str) -> Any:
        """One of :data:`PLACES` of every change."""
        at = PLACES.index(name)
        return pa.chunked_array([piece.places[at] for piece in self.pieces])

    def odd(self, side: int, name: str) -> dict[str, Any]:
        """``state`` of a column with odd cells, ``bytes`` and ``text`` where they have some."""
        states = self.states(side, name)
        if states is None:
            return {}
        found = {"state": pa.chunked_array([pa.array(states)])}
        return found | (self.raw(side, name) if np.isin(states, STORED).any() else {})

    def raw(self, side: int, name: str) -> dict[str, Any]:
        """The stored bytes and texts of a column's cells, null where there are none."""
        lists = [piece.raw for piece in self.pieces]
        if all(part.null_count == len(part) for part in lists):
            return {}
        kind = next(part.type for part in lists if part.null_count < len(part))
        whole = pa.concat_arrays([part.cast(kind) for part in lists])
        cells, owners = whole.flatten(), np.asarray(pc.list_parent_indices(whole))
        image = self.pieces[0].sides[side].image
        mine = np.asarray(cells.field("image")) == image
        mine &= np.asarray(cells.field("column")) == self.names[name]
        at = np.full(self.size, -1)
        at[owners[mine]] = np.flatnonzero(mine)
        index = pa.array(at, mask=at < 0)
        return {w: pa.chunked_array([cells.field(w).take(index)]) for w in ("bytes", "text")}

    def _matrix(self, side: int) -> NDArray[np.uint8] | None:
        """The states above NULL of every change and column; None if there is none."""
        lists = [piece.sides[side].states for piece in self.pieces]
        if all(part.null_count == len(part) for part in lists):
            return None
        whole = pa.concat_arrays([part.cast(pa.list_(pa.uint8())) for part in lists])
        matrix = np.zeros((self.size, len(self.names)), np.uint8)
        valid = np.asarray(whole.is_valid())
        matrix[valid] = np.asarray(whole.flatten()).reshape(-1, len(self.names))
        matrix[matrix <= CellState.NULL] = 0
        return matrix
