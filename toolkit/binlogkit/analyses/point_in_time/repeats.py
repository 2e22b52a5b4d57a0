"""Changes that are in the log once more.

From 9.6 on a server logs what foreign keys do. Of a row that refers to itself, or of rows that
refer to each other, in one table, it logs a DELETE with the row as it was before the statement,
after the UPDATE (ON DELETE SET NULL) or the DELETE (CASCADE) that the foreign key made of it (seen
on 9.7.4; docs/traps.md, "Cascades"). The earlier one is left out: what the DELETE says is
what was there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._cells import image_cells
from binlogkit.analyses._savepoints import Undone, undone_mask
from binlogkit.analyses.continuity import digests
from binlogkit.analyses.point_in_time.codes import Flags, codes
from binlogkit.frames.arrays import filtered
from binlogkit.frames.records import struct_records
from binlogkit.frames.schema import DIGESTS, key_columns

_SIDES = ("before", "after")
Image = Mapping[str, Any]
#: A change of a key's row, by its place: the row before it, and after it where it keeps the key.
_Step = tuple[int, Image | None, Image | None]


def not_done(ranges: Iterable[Undone]) -> Callable[[pa.RecordBatch], Flags]:
    """A function that says which changes of a batch are left out: those in one of the ranges that
    ROLLBACK TO SAVEPOINT undid, and the repeated ones."""
    undone = undone_mask(ranges)

    def found(batch: pa.RecordBatch) -> Flags:
        twice = repeated(batch)
        return twice if undone is None else twice | undone(batch)

    return found


def once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The changes of a batch without the repeated ones."""
    return filtered(batch, ~repeated(batch))


def repeated(batch: pa.RecordBatch) -> Flags:
    """Which changes of one table a DELETE of their transaction contradicts, whose row is as it was
    before them; in one batch only. By digests, if the batch has them."""
    found = np.zeros(batch.num_rows, bool)
    marked = b"binlogkit:twice" in (batch.schema.metadata or {}) and "tx" in batch.schema.names
    if not marked or not batch.num_rows:
        return found
    before, after = (np.asarray(batch[side].is_valid()) for side in _SIDES)
    deleted, images = before & ~after, _Digested if DIGESTS[0] in batch.schema.names else _Cells
    if not deleted.any() or (keys := images.keys(batch)) is None:
        return found
    tx = batch["tx"].fill_null(-1)
    was, now = np.split(codes([pa.chunked_array([tx, tx]), *keys]) + 1, 2)
    was[~before] = now[~after] = 0
    often, ends = np.bincount(was), np.bincount(was[deleted], minlength=was.max() + 1)
    twice = np.flatnonzero((often > 1) & (ends > 0))
    rows = np.flatnonzero(np.isin(was, twice[twice > 0]) | np.isin(now, twice[twice > 0]))
    chains: dict[int, list[_Step]] = {}
    part = batch.take(pa.array(rows))
    sides = zip(images.of(part, 0), images.of(part, 1), strict=True)
    for row, (old, new) in zip(rows.tolist(), sides, strict=True):
        mine, its = int(was[row]), int(now[row])
        chain = chains.setdefault(mine, [])
        if old is not None and new is None and chain:
            found[_contradicted(chain, old)] = True
        left = {**(old or {}), **new} if new is not None else None
        if old is not None:
            chain.append((row, old, left if mine == its else None))
        if its and its != mine:
            chains.setdefault(its, []).append((row, None, left))
    return found


def _contradicted(chain: list[_Step], row: Image) -> list[int]:
    """The changes since the last one that found this row, if it is not what they left."""
    if _agree(chain[-1][2], row):
        return []
    same = [at for at, (_, old, _) in enumerate(chain) if _agree(old, row)]
    return [at for at, _, _ in chain[same[-1] :]] if same else []


def _agree(one: Image | None, other: Image) -> bool:
    """Whether both have the same values, where both have one."""
    return one is not None and all(other.get(name, value) == value for name, value in one.items())


class _Cells:
    """Images as their cells."""

    @staticmethod
    def keys(batch: pa.RecordBatch) -> list[Any] | None:
        """The key's columns, of the images before all changes and of those after them; None if the
        images do not have them, or cells of them are no plain values."""
        was, now = (image_cells(batch, side) for side in _SIDES)
        key = key_columns(batch.schema)
        if not key or not was.keys() >= {*key}:
            return None
        if any(cells[name].special for cells in (was, now) for name in key):
            return None
        pairs = ((was[name], now[name].over(was[name])) for name in key)
        return [pa.chunked_array([before.array, after.array]) for before, after in pairs]

    @staticmethod
    def of(batch: pa.RecordBatch, side: int) -> list[Image | None]:
        """The images, with the columns that they have."""
        name = _SIDES[side]
        return [*struct_records(batch[name], batch[f"{name}_state"], batch["raw"], side)]


class _Digested:
    """Images as their digests."""

    @staticmethod
    def keys(batch: pa.RecordBatch) -> list[Any] | None:
        was, now = (digests(batch, side)[:, 0] for side in range(2))
        now = np.where(now & 1, now, was)
        return [pa.chunked_array([pa.array(side.view(np.int64)) for side in (was, now)])]

    @staticmethod
    def of(batch: pa.RecordBatch, side: int) -> list[Image | None]:
        return [
            {str(at): one for at, one in enumerate(image[1:]) if one & 1} if image[0] else None
            for image in digests(batch, side).tolist()
        ]
