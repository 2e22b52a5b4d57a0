"""What differs between two states of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binlogkit.analyses._declare import outputs
from binlogkit.analyses._frames import FrameT, from_arrow, to_arrow
from binlogkit.analyses.point_in_time.images import plain_values
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DIFFERENCE", "difference"]

DIFFERENCE = outputs(
    ("difference", "string", "added, removed, changed, or uncertain: only unknown cells differ"),
    ("before", "as given", "the row in the first state, null if it was added"),
    ("after", "as given", "the row in the second state, null if it was removed"),
    ("changed", "list<string>", "columns whose value differs"),
    ("uncertain", "list<string>", "columns that one of the states does not know"),
)


def difference(first: FrameT, second: FrameT, key: Sequence[str]) -> FrameT:
    """The rows that differ between two states (:data:`DIFFERENCE`).

    Rows of ``first`` in its order, then those that were added. With an empty ``key`` rows are a
    multiset: they are added or removed, as often as the states differ. UsageError where a state
    lacks a column of the key.
    """
    import pyarrow as pa

    one, other = _State.of(to_arrow(first), key), _State.of(to_arrow(second), key)
    found = _by_key(one, other) if key else _by_row(one, other)
    take = [pa.array([row[i] for row in found], pa.int64()) for i in (1, 2)]
    table = pa.table(
        {
            "difference": pa.array([row[0] for row in found], pa.string()),
            "before": one.values.take(take[0]),
            "after": other.values.take(take[1]),
            "changed": pa.array([row[3] for row in found], pa.list_(pa.string())),
            "uncertain": pa.array([row[4] for row in found], pa.list_(pa.string())),
        }
    )
    return from_arrow(table, first)


_Found = tuple[str, int | None, int | None, list[str], list[str]]


@dataclass(frozen=True, slots=True)
class _State:
    """A state's rows as comparable cells; ``keys`` are the whole rows without a key."""

    values: pa.StructArray
    names: list[str]
    cells: list[dict[str, Hashable]]
    keys: list[Hashable]
    seqs: list[int | None]

    @classmethod
    def of(cls, table: pa.Table, key: Sequence[str]) -> _State:
        import pyarrow as pa

        values = table["values"].combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
        names = [field.name for field in values.type]
        missing = [name for name in key if name not in names]
        if missing and len(values):
            raise UsageError(f"the state has no column {', '.join(missing)}")
        columns = [plain_values(column) for column in values.flatten()]
        cells: list[dict[str, Hashable]] = [
            dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
        ] or [{} for _ in range(len(values))]
        unknown, states = table["unknown"].to_pylist(), table["value_state"].to_pylist()
        for row, lost in zip(cells, unknown, strict=True):
            for name in lost:
                row.pop(name, None)
        for i, raw in enumerate(table["raw"].to_pylist()):
            for cell in raw or ():
                if states[i] is not None and states[i][cell["column"]] > CellState.NULL:
                    cells[i][names[cell["column"]]] = ("raw", cell["bytes"], cell["text"])
        keys: list[Hashable] = [
            tuple(row.get(n) for n in key) if key else frozenset(row.items()) for row in cells
        ]
        return cls(values, names, cells, keys, table["seq"].to_pylist())


def _by_key(one: _State, other: _State) -> list[_Found]:
    place = {k: i for i, k in enumerate(other.keys)}
    found: list[_Found] = []
    for i, k in enumerate(one.keys):
        at = place.pop(k, None)
        if at is None:
            found.append(("removed", i, None, [], []))
            continue
        names = list(dict.fromkeys([*one.names, *other.names]))
        untouched = one.seqs[i] == other.seqs[at]
        changed, uncertain = _compare(one.cells[i], other.cells[at], names, untouched)
        if changed or uncertain:
            found.append(("changed" if changed else "uncertain", i, at, changed, uncertain))
    found.extend(("added", None, at, [], []) for at in place.values())
    return found


def _compare(
    before: dict[str, Hashable], after: dict[str, Hashable], names: Sequence[str], untouched: bool
) -> tuple[list[str], list[str]]:
    """Columns that differ, and columns that a state does not know, where that matters.

    ``untouched``: no change lies between the two, so what neither knows is the same in both.
    """
    changed = [n for n in names if n in before and n in after and before[n] != after[n]]
    lost = [n for n in names if n not in before or n not in after]
    return changed, [n for n in lost if n in before or n in after or not untouched]


def _by_row(one: _State, other: _State) -> list[_Found]:
    surplus = Counter(one.keys) - Counter(other.keys)
    lack = Counter(other.keys) - Counter(one.keys)
    found: list[_Found] = []
    for name, keys, counts in (("removed", one.keys, surplus), ("added", other.keys, lack)):
        for i, row in enumerate(keys):
            if counts[row]:
                counts[row] -= 1
                found.append(
                    (name, i, None, [], []) if name == "removed" else (name, None, i, [], [])
                )
    return found
