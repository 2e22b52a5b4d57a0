"""Which keys each table's row changes have, as filters that answer "surely not", or "maybe"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.native.filters import BLOCK, put
from binlogkit.frames.fields.field import arrow_schema, to_table
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.key_hashes import Hashes, KeyColumn, hashed_columns, hashes_of
from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    from binlogkit.frames.kernel_columns import TakenBuffers
    from binlogkit.rows.schema import TableSchema

#: Bits for each value: some .5 % of others pass, too.
BITS = 12
_PENDING = 1 << 20  # hashes after which those that came twice are left out
_MOST = 1 << 22  # of a filter, so that what is held is bounded


@dataclass(slots=True)
class _Keys:
    """What was met of one key of one table since event ``event``; ``several``: changes without a
    whole key."""

    event: int
    pending: list[Hashes] = field(default_factory=list)
    known: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    waiting: int = 0
    rows: int = 0
    keyless: int = 0
    whole: bool = True

    def add(self, hashes: Hashes) -> None:
        """Take hashes of values."""
        self.pending.append(hashes)
        self.waiting += len(hashes)
        if self.waiting > max(_PENDING, len(self.known)):
            self.settle()

    def settle(self) -> None:
        """Keep each once."""
        known = np.sort(np.concatenate([self.known, *self.pending]))
        self.known = known[np.append(True, known[1:] != known[:-1])] if len(known) else known
        self.pending, self.waiting = [], 0

    def filter(self) -> bytes | None:
        """The filter; None: any value may be there."""
        if not self.whole:
            return None
        self.settle()
        found = bytearray(BLOCK * max(1, -(-len(self.known) * BITS // (8 * BLOCK))))
        put(found, self.known)
        return bytes(found)


class KeyFilters:
    """A view of what the rows of a reading's windows are counted by (frames/row_counts.py)."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, tuple[KeyColumn, ...]], _Keys] = {}
        self._columns: dict[int, tuple[TableSchema, tuple[KeyColumn, ...]]] = {}
        self._records: list[dict[str, Any]] = []
        self._begun = 0  # the first event of the window
        self._events = 0

    def columns(self, schema: TableSchema) -> tuple[KeyColumn, ...]:
        """Those of a table that are hashed."""
        known = self._columns.get(id(schema))
        if known is None:
            known = self._columns[id(schema)] = schema, hashed_columns(schema)
        return known[1]

    def begin(self, event: int, events: int) -> None:
        """The events of a window: the first, and the one after the last."""
        full = [key for key, keys in self._known.items() if len(keys.known) > _MOST]
        for key in full:
            self._end(key, self._known.pop(key))
        self._begun, self._events = event, events

    def take(self, taken: TakenBuffers) -> None:
        """Take rows of one version of a table, of which the key's columns were decoded."""
        schema, columns = taken.schema, self.columns(taken.schema)
        name = (*schema.name, columns)
        keys = self._known.get(name)
        if keys is None:
            keys = self._known[name] = _Keys(self._begun)
        keys.rows += taken.rows
        if not columns:
            keys.whole = False
            return
        found = taken.columns()
        keys.whole = keys.whole and not (_odd(found["before_state"]) or _odd(found["after_state"]))
        (was, had), (now, has) = (_image(found[side], columns) for side in ("before", "after"))
        keys.keyless += int(np.count_nonzero(~(had | has)))
        keys.add(was[had])
        keys.add(now[has & ~(had & (was == now))])

    def _end(self, name: tuple[str, str, tuple[KeyColumn, ...]], keys: _Keys) -> None:
        db, table, columns = name
        found = keys.filter()
        self._records.append({
            "db": db, "table": table, "event": keys.event, "end_event": self._events,
            "columns": [c.name for c in columns], "positions": [c.position for c in columns],
            "kinds": [c.kind for c in columns], "types": [c.type for c in columns],
            "rows": keys.rows, "keyless": keys.keyless, "values": len(keys.known),
            "filter": found,
        })  # fmt: skip

    def finish(self) -> pa.Table:
        """The filters, as the index has them without ``part``."""
        for name, keys in self._known.items():
            self._end(name, keys)
        self._known = {}
        declared = INDEX["filters"][1:]
        return to_table(self._records, declared).cast(arrow_schema(declared))


def _image(struct: pa.StructArray, columns: Sequence[KeyColumn]) -> tuple[Hashes, Any]:
    """The hashes of an image's keys, and where there is a whole one."""
    arrays = [struct.field(i) for i in range(len(columns))]
    there = np.ones(len(struct), bool)
    for array in arrays:
        if array.null_count == len(array):
            return np.zeros(len(array), np.uint64), np.zeros(len(array), bool)
        if array.null_count:
            there &= array.is_valid().to_numpy(zero_copy_only=False)
    return hashes_of(arrays, columns), there


def _odd(states: pa.Array) -> bool:
    """Whether some cell has neither a plain value nor none."""
    if states.null_count == len(states):
        return False
    return bool(pc.any(pc.greater(states.flatten(), int(CellState.NOT_IN_IMAGE))).as_py())
