"""A table's changes by key: which must be folded together, and which may be separate.

A change touches its row's key after it; an update of the key also touches the one before. Keys that
updates connect belong together, all others are separate: the result for each is the same whether or
not the others are there. Keys are distinguished by a hash of 64 bits; two that share one are merely
folded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.chunk import Chunk, KeptPiece
from binlogkit.analyses.point_in_time.codes import Integers, decoded, roots
from binlogkit.analyses.point_in_time.keyed import read_keys
from binlogkit.analyses.point_in_time.replay_inputs import ReplayInputs
from binlogkit.frames.arrays import plain_type

Hashes = NDArray[np.uint64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.empty(0, np.uint64)


def touched(batch: pa.RecordBatch, key: Sequence[str]) -> tuple[Hashes, Hashes, Hashes]:
    """The hash of the key that each change touches; for updates of the key that hash and the one
    before."""
    keys = read_keys(Chunk([KeptPiece.of(batch, key)]), key, backwards=False)
    if not keys.parts:
        return np.zeros(batch.num_rows, np.uint64), _NONE, _NONE
    now = hashes(keys.parts[: len(key)])
    return now, now[keys.moved], hashes(keys.left[: len(key)])


def hashes(parts: Sequence[Any]) -> Hashes:
    """A hash of each row of these columns: equal where all are, whatever the width of numbers."""
    found = np.zeros(len(parts[0]), np.uint64)
    for part in parts:
        found = (found ^ (found >> np.uint64(31))) * _FACTOR + _hashed(decoded(part))
    return found


def _hashed(column: Any) -> Hashes:
    types, kind = pa.types, column.type
    if (
        types.is_boolean(kind)
        or (types.is_unsigned_integer(kind) and kind.bit_width < 64)
        or types.is_signed_integer(kind)
    ):
        column = column.cast(pa.int64())
    elif types.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    if pa.types.is_integer(column.type):
        values = np.asarray(column.fill_null(0)).view(np.int64)
    else:
        values = np.array([None if v is None else _bytes(v) for v in column.to_pylist()], object)
    from pandas.util import hash_array

    found: Hashes = hash_array(values, categorize=False)
    return found


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def divisible(key: Sequence[str], schema: pa.Schema) -> bool:
    """Whether rows with this key can be folded apart: equal numbers have one form."""
    image = schema.field("after").type
    known = {field.name: field.type for field in image}
    if not key or any(name.startswith("@") for name in known):
        return False
    return all(name in known and _exact(known[name]) for name in key)


def _exact(kind: pa.DataType) -> bool:
    types = pa.types
    kind = plain_type(kind)
    exact = (
        types.is_integer, types.is_boolean, types.is_string, types.is_binary, types.is_date,
        types.is_timestamp, types.is_duration, types.is_decimal128,
    )  # fmt: skip
    return any(one(kind) for one in exact)


def may_divide(inputs: ReplayInputs, first: int) -> bool:
    """Whether boundaries affect the rows of each key alike, whatever other rows there are.

    ``first``: the ``seq`` of the first change.
    """
    plain = inputs.key and inputs.family is None and not inputs.bases
    return bool(plain) and not any(_minds(b, inputs, first) for b in inputs.happened)


def _minds(boundary: Boundary, inputs: ReplayInputs, first: int) -> bool:
    if not any(boundary.concerns(name) for name in inputs.names):
        return False
    if boundary.conditional:  # it says something about a table without rows
        return boundary.seq >= first
    done = boundary.alteration
    if done is None:
        return False
    if boundary.replaced_key is not None:
        return True
    changed = {*done.renamed, *done.renamed.values(), *done.dropped, *done.changed, *done.lost}
    return not changed.union(done.added).isdisjoint(inputs.key)


@dataclass(frozen=True, slots=True)
class Connected:
    """Keys that updates connect, by their sorted hashes; ``root``: one hash for all connected
    ones."""

    hash: Hashes
    root: Hashes

    @classmethod
    def by(cls, one: Hashes, other: Hashes) -> Connected:
        """Of pairs of hashes."""
        known, places = np.unique(np.concatenate([one, other]), return_inverse=True)
        places = places.astype(np.int64)
        least = _least(places[: len(one)], places[len(one) :], len(known))
        return cls(known, known[least])

    def share(self, found: Hashes, count: int) -> Integers:
        """The share of changes with these hashes, out of so many."""
        if len(self.hash):
            at = np.minimum(np.searchsorted(self.hash, found), len(self.hash) - 1)
            found = np.where(self.hash[at] == found, self.root[at], found)
        mixed = (found ^ (found >> np.uint64(29))) * _FACTOR
        return ((mixed >> np.uint64(33)) % np.uint64(count)).astype(np.int64)


def _least(one: Integers, other: Integers, size: int) -> Integers:
    """For each of so many places the lowest one that these pairs connect with it."""
    root = np.arange(size)
    while True:
        low, high = (f(root[one], root[other]) for f in (np.minimum, np.maximum))
        apart = low < high
        if not apart.any():
            return root
        np.minimum.at(root, high[apart], low[apart])
        root = roots(root)
