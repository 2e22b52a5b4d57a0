"""What differs between two states of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._frames import FrameT, from_arrow, to_arrow
from binlogkit.analyses.point_in_time.cells import cell_codes, index, unknown
from binlogkit.analyses.point_in_time.chunk import IS, Chunk, Piece
from binlogkit.analyses.point_in_time.codes import Flags, Integers, combined, occurrences
from binlogkit.analyses.point_in_time.result import base_changes, name_lists
from binlogkit.errors import UsageError
from binlogkit.frames.fields.field import fields

DIFFERENCE = fields(
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
    one, other = states = [to_arrow(frame) for frame in (first, second)]
    cells = _cells(states, key)
    size = one.num_rows
    there = _paired(cells, key, size) if key else _surplus(cells, size, other.num_rows)
    changed, uncertain = _compared(cells, states, there)
    alone = (there < 0).any(axis=0)
    changed, uncertain = changed & ~alone, uncertain & ~alone
    kinds = np.where(changed.any(axis=0), "changed", "uncertain")
    kinds = np.where(there[0] < 0, "added", np.where(there[1] < 0, "removed", kinds))
    differ = np.flatnonzero(alone | changed.any(axis=0) | uncertain.any(axis=0))
    rows = [_values(s).take(index(at[differ])) for s, at in zip(states, there, strict=True)]
    names = [name_lists(list(cells), flags[:, differ].T) for flags in (changed, uncertain)]
    table = pa.table(
        [pa.array(kinds[differ], pa.string()), *rows, *names], names=[o.name for o in DIFFERENCE]
    )
    return from_arrow(table, first, DIFFERENCE)


def _values(state: pa.Table) -> Any:
    return state["values"].combine_chunks()


def _cells(states: Sequence[pa.Table], key: Sequence[str]) -> dict[str, Integers]:
    """By column a code for each row of the first state, then of the second; -1 if not known."""
    tables = [_plain(state) for state in states]
    for table in tables:
        missing = [name for name in key if name not in table.column_names]
        if missing and table.num_rows:
            raise UsageError(f"the state has no column {', '.join(missing)}")
    names = [field.name for state in states for field in _values(state).type]
    return {name: _codes(tables, name) for name in dict.fromkeys([*names, *key])}


def _plain(state: pa.Table) -> pa.Table:
    """The cells of the state's columns."""
    pieces = [Piece.of(batch, ()) for batch in base_changes(state).to_batches()]
    return Chunk(pieces).rows(IS) if pieces else pa.table({})


def _codes(tables: Sequence[pa.Table], name: str) -> Integers:
    columns = [
        table[name] if name in table.column_names else unknown(table.num_rows, pa.null())
        for table in tables
    ]
    both = [pa.table([column], names=[name]) for column in columns]
    try:
        return cell_codes(pa.concat_tables(both, promote_options="permissive")[name])
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # of types that hold no equal values
        one, other = map(cell_codes, columns)
        other[other >= 0] += one.max(initial=-1) + 1
        return np.concatenate([one, other])


def _paired(cells: dict[str, Integers], key: Sequence[str], size: int) -> Integers:
    """Rows of both states with the same key: where they stand in each, -1 if in one only."""
    codes = combined([cells[name] + 1 for name in key])
    times = np.concatenate([occurrences(codes[:size]), occurrences(codes[size:])])
    codes = combined([codes, times])
    one, other = codes[:size], codes[size:]
    place = np.full(int(codes.max(initial=0)) + 1, -1)
    place[other] = np.arange(len(other))
    at = place[one]
    added = np.ones(len(other), bool)
    added[at[at >= 0]] = False
    more = np.flatnonzero(added)
    there = [np.arange(size), np.full(len(more), -1)], [at, more]
    return np.stack([np.concatenate(places) for places in there])


def _surplus(cells: dict[str, Integers], size: int, other_size: int) -> Integers:
    """Rows that one of the states has more often than the other, as :func:`_paired`."""
    codes = combined([np.zeros(size + other_size, np.int64), *(c + 1 for c in cells.values())])
    sides = codes[:size], codes[size:]
    one, other = (np.bincount(side, minlength=int(codes.max(initial=0)) + 1) for side in sides)
    removed = np.flatnonzero(occurrences(sides[0]) < (one - other)[sides[0]])
    added = np.flatnonzero(occurrences(sides[1]) < (other - one)[sides[1]])
    nowhere = np.full(len(added), -1), np.full(len(removed), -1)
    return np.stack([np.append(removed, nowhere[0]), np.append(nowhere[1], added)])


def _compared(
    cells: dict[str, Integers], states: Sequence[pa.Table], there: Integers
) -> tuple[Flags, Flags]:
    """By column and pair of rows: whether the values differ, and whether one is not known.

    What neither state knows is the same in both if no change lies between the two.
    """
    one, other = there[0], there[1] + states[0].num_rows
    seqs = np.concatenate([np.asarray(s["seq"].fill_null(-1), dtype=np.int64) for s in states])
    untouched = seqs[one] == seqs[other] if len(seqs) else np.zeros(0, bool)
    codes = np.stack(list(cells.values())) if cells else np.empty((0, len(seqs)), np.int64)
    before, after = codes[:, one], codes[:, other]
    known = (before >= 0).astype(int) + (after >= 0)
    return (known == 2) & (before != after), (known == 1) | ((known == 0) & ~untouched)
