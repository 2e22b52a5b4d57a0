"""The rows of a table that some changes touched, followed through changes of their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.frames.schema import key_columns


def among(values: Any, known: Any) -> Flags:
    """Which values are among some sorted ones."""
    at = np.searchsorted(known, values)
    found: Flags = known[np.minimum(at, len(known) - 1)] == values
    return found


def key_column(batch: pa.RecordBatch) -> pa.Field | None:
    """The single column of a table's key if it is a number, which equals only itself; else None."""
    key = key_columns(batch.schema)
    found = [field for field in batch.schema.field("after").type if [field.name] == key]
    plain = [field for field in found if pa.types.is_integer(field.type)]
    return pa.field(plain[0].name, plain[0].type) if plain else None


class TouchedRows:
    """By the values of ``column``, the key; ``changes``: those that touched the rows, at least
    one."""

    def __init__(self, column: pa.Field, changes: Iterable[pa.RecordBatch]) -> None:
        self._column = column
        values = [keys[there] for batch in changes for keys, there in self._keys(batch)]
        self._values = np.unique(np.concatenate(values))
        self._first = self._values

    @property
    def added(self) -> list[int]:
        """The keys that were added since."""
        found: list[int] = np.setdiff1d(self._values, self._first).tolist()
        return found

    def add(self, keys: Iterable[int]) -> bool:
        """Add keys; whether some were not there."""
        more = np.array([*keys], self._values.dtype)
        known = len(self._first)
        self._values = self._first = np.union1d(self._first, more)
        return len(self._first) > known

    def _keys(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, Flags]]:
        """The key before and after each change, and whether each image has it."""
        for side in ("before", "after"):
            image = batch[side]
            column = image.flatten()[image.type.get_field_index(self._column.name)]
            yield np.asarray(column.fill_null(0)), np.asarray(column.is_valid())

    def those(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The changes of these rows, after the earlier ones; their keys are added."""
        column = key_column(batch)  # no field can be compared with None by ==
        if column is None or column != self._column or not batch.num_rows:
            return batch
        sides = list(self._keys(batch))
        while True:
            hit = np.logical_or(*(there & among(keys, self._values) for keys, there in sides))
            if not hit.any():
                return batch.slice(0, 0)
            new = np.concatenate([keys[there & hit] for keys, there in sides])
            if among(new, self._values).all():
                return batch.filter(pa.array(hit))
            self._values = np.union1d(self._values, new)
