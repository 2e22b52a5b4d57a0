"""The rows of a table that some changes touched, followed through changes of their keys."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def key_column(batch: pa.RecordBatch) -> pa.Field | None:
    """The one column of a table's key, where it is a number or bytes, which are equal as they are;
    None for any other key."""
    import pyarrow as pa

    key = json.loads((batch.schema.metadata or {}).get(b"binlogkit:key", b"[]"))
    found = [field for field in batch.schema.field("after").type if [field.name] == key]
    plain = [f for f in found if pa.types.is_integer(f.type) or pa.types.is_binary(f.type)]
    return pa.field(plain[0].name, plain[0].type) if plain else None


class TouchedRows:
    """By the values of ``column``, the key; ``changes``: what touched them."""

    def __init__(self, column: pa.Field, changes: Iterable[pa.RecordBatch]) -> None:
        import pyarrow as pa

        self._column = column
        values = [array for batch in changes for array in self._keys(batch)]
        self._values = pa.concat_arrays(values).unique()

    def _keys(self, batch: pa.RecordBatch) -> Iterator[pa.Array]:
        """The key before and after each change, null where there is no such image."""
        for side in ("before", "after"):
            image = batch[side]
            yield image.flatten()[image.type.get_field_index(self._column.name)]

    def those(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The changes of these rows, which come after those before; their keys count as well."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if key_column(batch) != self._column:
            return batch
        before, after = self._keys(batch)
        while True:
            hit = pc.or_(
                pc.is_in(before, self._values, skip_nulls=True),
                pc.is_in(after, self._values, skip_nulls=True),
            )
            found = pa.concat_arrays([self._values, before.filter(hit), after.filter(hit)]).unique()
            if len(found) == len(self._values):
                return batch.filter(hit)
            self._values = found
