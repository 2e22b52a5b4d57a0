"""The plans of a whole log: its changes are kept, and plans made of them where they are asked for.

Changes of many tables and kinds are carried out in one order; they are taken from their batches in
chunks of that order, so that what is made of them needs little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from binlogkit.analyses.plan_columns import PlanColumns

Places = npt.NDArray[np.int64]

__all__ = ["Chunk", "Piece", "Plans", "in_order", "size_of"]

#: Plans by the column, each with the places of its rows among those of the chunk.
Chunk = list[tuple["Places", "PlanColumns"]]

# Rows of a chunk: so many, or so many of each piece, of which a few take as long as one.
_ROWS, _ROWS_OF_PIECE = 1 << 13, 64
_TEXT = 64 << 20  # bytes that the texts of a chunk's statements may come to
_PER_BYTE, _PER_NAME, _PER_COLUMN = 6, 3, 64  # a statement's text, compared with its row's values
_VALUES = ("before", "after", "raw")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some changes; ``plans``: makes plans of a part of them, with the numbers of their rows."""

    batch: pa.RecordBatch
    plans: Callable[[pa.RecordBatch], Iterable[tuple[Places, PlanColumns]]]

    def cost(self) -> int:
        """About how many bytes the text of a statement has."""
        schema = self.batch.schema
        names = schema.field("after").type.names if "after" in schema.names else ()
        named = sum(_PER_NAME * len(name.encode()) + _PER_COLUMN for name in names)
        rows = max(1, int(self.batch.num_rows))
        return _PER_COLUMN + named + _PER_BYTE * size_of(self.batch) // rows


def size_of(batch: pa.RecordBatch) -> int:
    """Bytes of the values of changes."""
    return sum(int(batch[name].nbytes) for name in _VALUES if name in batch.schema.names)


class Plans(Sequence[dict[str, Any]]):
    """Plans in the order of their execution, as mappings; see :data:`analyses.undo.PLANS`.

    ``gaps``: where changes may be missing that they do not know of; ``assumes``: what they stand on
    that the log does not show; a sentence each.
    """

    def __init__(self, pieces: Iterable[Piece], *, backwards: bool) -> None:
        self.gaps: tuple[str, ...] = ()
        self.assumes: tuple[str, ...] = ()
        self._pieces = list(pieces)
        sizes = [piece.batch.num_rows for piece in self._pieces]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._costs = np.array([piece.cost() for piece in self._pieces], np.int64)
        seqs = [np.zeros(0, np.int64), *(p.batch["seq"].to_numpy() for p in self._pieces)]
        steps = np.concatenate(seqs)
        self._order = np.argsort(-steps if backwards else steps, kind="stable")

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return list(in_order(self._chunks(self._order[index])))
        return next(in_order(self._chunks(self._order[[index]])))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return in_order(self.chunks())

    def __repr__(self) -> str:
        return f"<{len(self)} plans>"

    def chunks(self) -> Iterator[Chunk]:
        """All plans by the column, in chunks of which the texts are not large but for one row's."""
        return self._chunks(self._order)

    def _chunks(self, order: Places) -> Iterator[Chunk]:
        while len(order):
            ids = order[: max(_ROWS, _ROWS_OF_PIECE * len(self._pieces))]
            text = np.cumsum(self._costs[self._piece_of(ids)])
            ids = ids[: max(1, int(np.searchsorted(text, _TEXT)))]
            order = order[len(ids) :]
            yield from self._made(ids)

    def _piece_of(self, ids: Places) -> Places:
        return np.searchsorted(self._starts, ids, "right") - 1

    def _made(self, ids: Places) -> Iterator[Chunk]:
        """The plans of some rows; in halves where the rows are larger than most."""
        pieces = self._piece_of(ids)
        taken = []
        for number in np.unique(pieces).tolist():
            places = np.flatnonzero(pieces == number)
            piece = self._pieces[number]
            batch = piece.batch.take(pa.array(ids[places] - self._starts[number]))
            taken.append((places, piece, batch))
        half = len(ids) // 2
        if half and sum(size_of(batch) for _, _, batch in taken) * _PER_BYTE > 2 * _TEXT:
            yield from self._made(ids[:half])
            yield from self._made(ids[half:])
            return
        yield [
            (places[rows], columns)
            for places, piece, batch in taken
            for rows, columns in piece.plans(batch)
        ]


def in_order(chunks: Iterable[Chunk]) -> Iterator[dict[str, Any]]:
    """The plans of chunks as mappings."""
    from binlogkit.analyses.plan_columns import batch_mappings

    for chunk in chunks:
        plans = [plan for _, columns in chunk for plan in batch_mappings(columns.frame())]
        for place in np.argsort(np.concatenate([rows for rows, _ in chunk])).tolist():
            yield plans[place]
