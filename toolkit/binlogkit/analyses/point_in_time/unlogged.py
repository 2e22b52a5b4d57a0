"""Changes that do not continue what is known of their rows: something changed them outside the log.

An image before a change shows its row as the server found it. Cells that both the image and the
known row have are compared, column by column.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit._kernel.value_text import hex_text
from binlogkit.analyses.continuity import Break, listed, sentence
from binlogkit.analyses.point_in_time.chunk import IS, PLACES, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags, Integers, decoded, unequal
from binlogkit.analyses.point_in_time.known_cells import index, known, parts_of
from binlogkit.frames.records import cell_values
from binlogkit.frames.schema import CellState

#: A change that does not continue what is known: its ``seq``, how, and the columns of the key.
Broken: TypeAlias = tuple[int, Break, tuple[str, ...]]

BREAKS = {
    "unlogged": Break.CHANGED, "unseen": Break.APPEARED, "duplicate": Break.MADE_AGAIN,
}  # fmt: skip
#: Findings that say only that a change does not continue what is known.
CONTRADICTIONS = frozenset(BREAKS)


@dataclass(slots=True)
class Tally:
    """A table's ``changes``, and how many were ``compared``: their images before with what was
    known of their rows."""

    changes: int = 0
    compared: int = 0


@dataclass(frozen=True, slots=True)
class Preceding:
    """What was known of rows before events, which are sorted by row and order.

    ``change``: of each event; ``goes_on``: its row is what the event before left; ``base``: else
    the place of its row among those before the chunk, -1 without one; ``size``: how many changes
    there are.
    """

    change: Integers
    goes_on: Flags
    base: Integers
    size: int

    @property
    def rows(self) -> tuple[Integers, Integers]:
        """Of each change the row before the chunk, or the change of the chunk, that its row was
        left by; -1 where it is not that."""
        return self._of_changes(self.base), self._of_changes(
            np.where(self.goes_on, np.roll(self.change, 1), -1)
        )

    def cells(self, held: tuple[Flags, Flags]) -> tuple[Integers, Integers, Integers]:
        """Of each change where its row has a cell of a column: in a row before the chunk, in the
        image before or after a change; -1 where it is not there. ``held``: which changes' images
        before and after have the column."""
        at = np.arange(len(self.change))
        begins = np.maximum.accumulate(np.where(self.goes_on, 0, at))
        last = np.maximum.accumulate(np.where((held[0] | held[1])[self.change], at, -1))
        last = np.where(self.goes_on, np.roll(last, 1), -1)
        there = last >= begins
        change, base = self.change[last], self.base[begins]
        after = held[1][change]
        return (
            self._of_changes(np.where(there, -1, base)),
            self._of_changes(np.where(there & ~after, change, -1)),
            self._of_changes(np.where(there & after, change, -1)),
        )

    def _of_changes(self, found: Integers) -> Integers:
        """What was found of events, by change."""
        of = np.full(self.size, -1)
        which = found >= 0
        of[self.change[which]] = found[which]
        return of


#: Cells of a column, and which of them each change's row has; -1 where none.
_Sources: TypeAlias = list[tuple[pa.ChunkedArray, Integers]]


class ComparedImages:
    """The images before a chunk's changes beside the rows that they are of.

    ``gone``: rows before the chunk that it touches, as in Rows.table; ``count``: how many images
    were compared with all that they have.
    """

    def __init__(self, chunk: Chunk, gone: pa.Table, preceding: Preceding) -> None:
        self._chunk, self._gone, self._preceding = chunk, gone, preceding
        self._base, self._previous = preceding.rows
        self.columns: dict[str, Flags] = {}  # which changes differ, by column; only where some do
        self._left: dict[str, _Sources] = {}  # of these columns
        self.count = 0

    def compare(self, unchecked: Container[str]) -> Flags:
        """Which changes differ from what was known, in other columns than ``unchecked``."""
        found = np.zeros(self._chunk.size, bool)
        whole = (self._base >= 0) | (self._previous >= 0)
        for name in self._chunk.names:
            shown = self._chunk.has(WAS, name)
            if name in unchecked or not shown.any():
                continue
            differs, there = np.zeros((2, self._chunk.size), bool)
            sources = self._sources(name)
            for cells, which in sources:
                left = _taken(cells, which)
                differs |= _differ(left, self._chunk.cells(WAS, name))
                there |= known(left)
            whole &= there | ~shown
            if differs.any():
                self.columns[name], self._left[name] = differs, sources
                found |= differs
        self.count = int((whole | found).sum())
        return found

    def _sources(self, name: str) -> _Sources:
        """Where cells of a column are known, and which of them each change's row has."""
        found = []
        base, *images = self._preceding.cells(
            (self._chunk.has(WAS, name), self._chunk.has(IS, name))
        )
        if name in self._gone.column_names and (base >= 0).any():
            found.append((self._gone[name], base))
        for side, which in zip((WAS, IS), images, strict=True):
            if (which >= 0).any():
                found.append((self._chunk.cells(side, name), which))
        return found

    def difference(self, change: int) -> tuple[dict[str, tuple[Any, Any]], str]:
        """In what a change differs: what was known, what its image has; by which change it was."""
        fields = {field.name: field for field in self._chunk.fields}
        at = int(self._base[change])
        columns = {}
        for name, differs in self.columns.items():
            if differs[change]:
                left, which = next(one for one in self._left[name] if one[1][change] >= 0)
                was = _text(left, int(which[change]), fields[name])
                columns[name] = was, _text(self._chunk.cells(WAS, name), change, fields[name])
        if at >= 0:
            file, pos = (self._gone[name][at].as_py() for name in PLACES[1:])
        else:
            _, file, pos = self._chunk.place(int(self._previous[change]))
        return columns, "" if file is None else f" by {_place(file, pos)}"


def difference_of(
    chunk: Chunk, change: int, key: Sequence[str], kind: str, compared: ComparedImages | None
) -> str:
    """How a change does not fit what is known; ``compared``: of an ``unlogged`` one."""
    columns, since = ({}, "") if compared is None else compared.difference(change)
    side = WAS if chunk.there[WAS][change] and kind != "duplicate" else IS
    wanted = [field for field in chunk.fields if field.name in key or not key]
    row = {field.name: _text(chunk.cells(side, field.name), change, field) for field in wanted}
    gone = "was deleted, or was never inserted"
    how = sentence(BREAKS[kind], columns, since, gone=gone, keyless=not key)
    shown = _place(*chunk.place(change)[1:])
    return f"Changed outside of these logs, as {shown} shows: {listed(row)}: {how}."


def _place(file: str | None, pos: int | None) -> str:
    return f"{(file or '').rpartition('/')[2]} at {pos}"


def _text(cells: pa.ChunkedArray, at: int, field: pa.Field) -> Any:
    """A cell in the contract's form."""
    parts = {name: part.combine_chunks() for name, part in parts_of(cells.slice(at, 1)).items()}
    stored = [parts[name][0].as_py() for name in ("text", "bytes") if name in parts]
    if "state" in parts and parts["state"][0].is_valid:
        text, data = stored
        return text if text is not None else None if data is None else hex_text(data)
    (value,) = cell_values(decoded(parts["value"]), field)
    return value


def _taken(cells: pa.ChunkedArray, which: Integers) -> pa.ChunkedArray:
    if len(cells) == len(which) and np.array_equal(which, np.arange(len(which))):
        return cells
    return cells.take(index(which))


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Flags:
    """Where cells are known and differ; those that could not be decoded are not compared."""
    mine, theirs = parts_of(one), parts_of(other)
    if mine["value"].type != theirs["value"].type:
        return np.zeros(len(one), bool)
    differs = unequal(decoded(mine["value"]), decoded(theirs["value"]))
    if "state" in mine or "state" in theirs:
        differs = _with_stored(differs, mine, theirs)
    return differs & known(one) & known(other)


def _with_stored(differs: Flags, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Flags:
    """Where cells of which some have no Arrow value differ."""
    none = {"state": pa.uint8(), "text": pa.string()}
    absent = {name: pa.chunked_array([pa.nulls(len(differs), kind)]) for name, kind in none.items()}
    sides = [{name: side.get(name, absent[name]) for name in absent} for side in (mine, theirs)]
    states = [np.asarray(side["state"].fill_null(0)) for side in sides]
    texts = [side["text"] for side in sides]
    both = np.logical_and(*(state == CellState.NO_ARROW_VALUE for state in states))
    either = np.logical_or(*(state == CellState.UNDECODABLE for state in states))
    found: Flags = np.where(both, unequal(*texts), differs | (states[0] != states[1])) & ~either
    return found
