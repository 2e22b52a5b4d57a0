"""The differences between two states of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binlogkit.analyses._frames import FrameT, from_arrow, to_arrow
from binlogkit.analyses.point_in_time.chunk import IS, Chunk, KeptPiece
from binlogkit.analyses.point_in_time.codes import (
    Flags,
    Integers,
    combined,
    decoded,
    occurrences,
    unequal,
)
from binlogkit.analyses.point_in_time.known_cells import cell_codes, index, unknown
from binlogkit.analyses.point_in_time.result import base_changes, name_lists
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.fields.field import fields

DIFFERENCE = fields(
    ("difference", "string", "added, removed, changed, or uncertain: unknown cells decide"),
    ("count", "int64", "how often: 1, without a key how many such rows"),
    ("before", "as given", "the row in the first state, null if it was added"),
    ("after", "as given", "the row in the second state, null if it was removed"),
    ("changed", "list<string>", "columns whose value differs"),
    ("uncertain", "list<string>", "columns that one of the states does not know"),
)
_ROWS = 1 << 18  # compared together, column by column


@dataclass(frozen=True, slots=True)
class Compared:
    """The rows of two states that differ.

    ``kinds``: for each, as :data:`DIFFERENCE` says; ``there``: its place in the first state and in
    the second, -1 if missing; ``counts``; ``changed``, ``uncertain``: lists of columns.
    """

    kinds: NDArray[Any]
    there: Integers
    counts: Integers
    changed: pa.Array
    uncertain: pa.Array


def difference(first: FrameT, second: FrameT, key: Sequence[str]) -> FrameT:
    """The rows that differ between two states (:data:`DIFFERENCE`).

    Rows of ``first`` come in its order, then added ones. With an empty ``key`` rows are a multiset:
    they are added or removed, as often as the states differ. Columns that only one of the states
    has are not compared. UsageError if a state lacks a column of the key.
    """
    states = [to_arrow(frame) for frame in (first, second)]
    table = difference_table(compared(states[0], states[1], key), *states)
    return from_arrow(table, first, DIFFERENCE)


def difference_table(found: Compared, *states: pa.Table) -> pa.Table:
    """The differences found, as :data:`DIFFERENCE` says."""
    rows = [_values(s).take(index(at)) for s, at in zip(states, found.there, strict=True)]
    columns = [pa.array(found.kinds, pa.string()), pa.array(found.counts, pa.int64()), *rows,
               found.changed, found.uncertain]  # fmt: skip
    return pa.table(columns, names=[o.name for o in DIFFERENCE])


def compared(
    first: pa.Table, second: pa.Table, key: Sequence[str], *, altered: bool = False
) -> Compared:
    """The result of :func:`difference` for two states in Arrow.

    ``altered``: an ALTER TABLE lies between: cells that neither state knows may differ, too.
    """
    kept = () if altered else _apart(first, second)
    if kept:
        first, second = (s.take(pa.array(at)) for s, at in zip((first, second), kept, strict=True))
    states, size = (first, second), first.num_rows
    cells = _cells(states, key)
    paired = {name: cells[name] for name in key} if key else cells
    seqs = np.concatenate([np.asarray(s["seq"].fill_null(-1), dtype=np.int64) for s in states])
    codes = _row_codes(paired, seqs, size, altered=altered)
    there, counts = (_paired if key else _surplus)(codes[:size], codes[size:])
    changed, uncertain = _compared(cells, seqs, there, size, altered=altered)
    alone = (there < 0).any(axis=0)
    at = np.where(there[0] < 0, there[1] + size, there[0])
    changed &= ~alone & ~_unknown(paired, at).any(axis=0)
    uncertain = np.where(alone, _undecided(cells, paired, there, at), uncertain)
    kinds = np.where(changed.any(axis=0), "changed", "uncertain")
    certain = np.where(there[0] < 0, "added", "removed")
    kinds = np.where(alone & ~uncertain.any(axis=0), certain, kinds)
    differ = np.flatnonzero(alone | changed.any(axis=0) | uncertain.any(axis=0))
    names = [name_lists(list(cells), flags[:, differ].T) for flags in (changed, uncertain)]
    there = there[:, differ]
    for side, at in enumerate(kept):
        there[side] = np.where(there[side] < 0, -1, at[there[side]] if len(at) else -1)
    return Compared(kinds[differ], there, counts[differ], *names)


def _apart(first: pa.Table, second: pa.Table) -> tuple[Integers, ...]:
    """The rows of each state that the other does not have just so, left by the same change.

    Only these need to be compared, which takes several numbers for each cell. Empty if that is all.
    """
    states = first, second
    if any("value_state" not in state.column_names for state in states):
        return ()
    if first.schema.field("values").type != second.schema.field("values").type:
        return ()
    seqs = [np.asarray(state["seq"].fill_null(-1), dtype=np.int64) for state in states]
    both, *at = np.intersect1d(seqs[0], seqs[1], return_indices=True)
    same = both >= 0
    for start in range(0, len(both), _ROWS):
        part = slice(start, start + _ROWS)
        pair = [s.take(pa.array(places[part])) for s, places in zip(states, at, strict=True)]
        for state in pair:  # in which each cell is a value or NULL
            same[part] &= np.asarray(state["value_state"].is_null())
        for a, b in zip(*(_values(state).flatten() for state in pair), strict=True):
            same[part] &= ~unequal(decoded(a), decoded(b))
    apart = [np.ones(len(seq), bool) for seq in seqs]
    for left, places in zip(apart, at, strict=True):
        left[places[same]] = False
    return tuple(map(np.flatnonzero, apart)) if same.any() else ()


def _values(state: pa.Table) -> Any:
    return one_array(state["values"])


def _cells(states: Sequence[pa.Table], key: Sequence[str]) -> dict[str, Integers]:
    """For each column a code for each row of the first state, then of the second; -1 if not
    known."""
    tables = [_plain(state) for state in states]
    for table in tables:
        missing = [name for name in key if name not in table.column_names]
        if missing and table.num_rows:
            raise UsageError(f"the state has no column {', '.join(missing)}")
    columns = [[f.name for f in _values(state).type] for state in states if state.num_rows]
    names = [name for name in columns[0] if name in columns[-1]] if columns else []
    return {name: _codes(tables, name) for name in dict.fromkeys([*names, *key])}


def _plain(state: pa.Table) -> pa.Table:
    """The cells of the state's columns."""
    pieces = [KeptPiece.of(batch, ()) for batch in base_changes(state).to_batches()]
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


def _unknown(cells: Mapping[str, Integers], at: Integers) -> Flags:
    """By column and row, whether the cell is not known."""
    if not cells:
        return np.zeros((0, len(at)), bool)
    found: Flags = np.stack(list(cells.values()))[:, at] < 0
    return found


def _row_codes(
    paired: Mapping[str, Integers], seqs: Integers, size: int, *, altered: bool
) -> Integers:
    """A code for each row: rows of both states with the same code are compared.

    A row with unknown cells is compared with the row that the same change made; after ALTER TABLE
    with none.
    """
    rows = np.arange(len(seqs))
    odd = _unknown(paired, rows).any(axis=0)
    same = np.where(odd, seqs + 2, 0)
    if altered:
        same = np.where(odd & (rows >= size), same + seqs.max(initial=0) + 3, same)
    return combined([same, *(codes + 1 for codes in paired.values())])


def _paired(one: Integers, other: Integers) -> tuple[Integers, Integers]:
    """Rows of both states with the same key: their place in each, -1 if in one only."""
    codes = combined(
        [np.concatenate([one, other]), np.concatenate([occurrences(one), occurrences(other)])]
    )
    one, other = codes[: len(one)], codes[len(one) :]
    place = np.full(int(codes.max(initial=0)) + 1, -1)
    place[other] = np.arange(len(other))
    at = place[one]
    added = np.ones(len(other), bool)
    added[at[at >= 0]] = False
    more = np.flatnonzero(added)
    sides = [np.arange(len(one)), np.full(len(more), -1)], [at, more]
    there = np.stack([np.concatenate(places) for places in sides])
    return there, np.ones(there.shape[1], np.int64)


def _surplus(one: Integers, other: Integers) -> tuple[Integers, Integers]:
    """Rows that one of the states has more often, as :func:`_paired`, and by how many; each is
    listed once."""
    most = int(max(one.max(initial=0), other.max(initial=0))) + 1
    more = np.bincount(one, minlength=most) - np.bincount(other, minlength=most)
    removed, added = (
        np.flatnonzero((occurrences(side) == 0) & (surplus[side] > 0))
        for side, surplus in ((one, more), (other, -more))
    )
    nowhere = np.full(len(added), -1), np.full(len(removed), -1)
    there = np.stack([np.append(removed, nowhere[0]), np.append(nowhere[1], added)])
    return there, np.abs(np.append(more[one[removed]], more[other[added]]))


def _compared(
    cells: Mapping[str, Integers], seqs: Integers, there: Integers, size: int, *, altered: bool
) -> tuple[Flags, Flags]:
    """By column and pair of rows: whether the values differ, and whether one is not known.

    A cell unknown in both states is the same if no change lies between the two.
    """
    one, other = there[0], there[1] + size
    untouched = seqs[one] == seqs[other] if len(seqs) else np.zeros(0, bool)
    codes = np.stack(list(cells.values())) if cells else np.empty((0, len(seqs)), np.int64)
    before, after = codes[:, one], codes[:, other]
    known = (before >= 0).astype(int) + (after >= 0)
    same = untouched & (not altered)
    return (known == 2) & (before != after), (known == 1) | ((known == 0) & ~same)


def _undecided(
    cells: Mapping[str, Integers], paired: Mapping[str, Integers], there: Integers, at: Integers
) -> Flags:
    """By column of ``cells`` and row: the cells that make it unclear which row of the other state
    matches.

    Such a cell is unknown in the row, or in a row of the other state that agrees in all known
    cells. ``paired``: the columns that identify rows; ``at``: the rows' places in both states
    together.
    """
    places = [list(cells).index(name) for name in paired]
    found = np.zeros((len(cells), len(at)), bool)
    found[places] = _unknown(paired, at)
    alone = (there < 0).any(axis=0)
    own = found & alone
    for side in range(2):
        odd = np.flatnonzero((there[1 - side] < 0) & own.any(axis=0))
        rest = np.flatnonzero(there[side] < 0)
        patterns, which = np.unique(own[:, odd], axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            known = [name for name in paired if not pattern[list(cells).index(name)]]
            like = odd[which.ravel() == number]
            codes = combined(
                [np.zeros(len(like) + len(rest), np.int64)]
                + [cells[name][at[np.concatenate([like, rest])]] + 1 for name in known]
            )
            alike = rest[np.isin(codes[len(like) :], codes[: len(like)])]
            found[np.ix_(pattern, alike)] = True
    return found
