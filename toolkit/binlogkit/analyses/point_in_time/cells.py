"""Rows whose last image does not hold every column: each cell from the last image that does.

A row's life is a chain of changes, from the last one that tells all of it, or from its beginning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import DiffRejected, apply
from binlogkit.analyses.point_in_time.chunk import IS, ODD, PLACES, WAS, Chunk, odd_name
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.frames.schema import CellState

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Chains:
    """Lives of rows: ``changes`` of all of them, life by life, each in its order.

    ``starts``: where each life begins in ``changes``; ``base``: the row that it continues, or -1.
    """

    changes: Integers
    starts: Integers
    base: Integers

    @property
    def ends(self) -> Integers:
        """Where each life ends in ``changes``."""
        return np.append(self.starts[1:], len(self.changes))


class Filler:
    """Finds the cells at the end of each chain.

    A cell is a number that tells where it stands: in a change's image after it, in its image before
    it, in the row that the chain continues, among the JSON texts that diffs made; or -1.
    ``backwards``: a cell that only the image before has was changed into something unknown.
    ``rejected``: JSON diffs that did not fit the value that was known.
    """

    def __init__(self, chunk: Chunk, rows: Rows, chains: Chains, *, backwards: bool) -> None:
        self.chunk, self.rows, self.chains, self.backwards = chunk, rows, chains, backwards
        self.rejected = 0
        self._lives = len(chains.starts)
        self._limits = np.cumsum([0, chunk.size, chunk.size, self._lives])
        self._bases: Any = None
        self._sources: dict[tuple[int, str], dict[str, Any]] = {}
        if (chains.base >= 0).any():
            self._bases = rows.table.take(index(chains.base))

    def table(self, wanted: Flags) -> pa.Table:
        """The rows at the ends of the chains that are wanted."""
        columns: dict[str, Any] = {}
        for name in self.rows.fields:
            cells, texts = self._cells(name)
            columns |= self._gathered(name, cells[wanted], texts)
        last = index(self.chains.changes[self.chains.ends[wanted] - 1])
        columns |= {name: self.chunk.place(name).take(last) for name in PLACES}
        return pa.table(columns)

    def _cells(self, name: str) -> tuple[Integers, list[str]]:
        """Each chain's cell, and the texts that diffs made."""
        changes, starts = self.chains.changes, self.chains.starts
        has, had = (self.chunk.has(side, name)[changes] for side in (IS, WAS))
        at = np.arange(len(changes))
        told = has | had if self.backwards else has
        last = np.maximum.reduceat(np.where(told, at, -1), starts)
        cells = self._begun(name)
        if self.backwards:
            ends = np.where(has[last], changes[last], _UNKNOWN)
        else:
            ends = changes[last]
            first = np.minimum.reduceat(np.where(had, at, len(at)), starts)
            lacking = (cells == _UNKNOWN) & (first < len(at))
            cells[lacking] = self._limits[1] + changes[first[lacking]]
        cells = np.where(last >= 0, ends, cells)
        diffs = self.chunk.diffs(name)[changes]
        return cells, self._apply(name, cells, has, had, diffs) if diffs.any() else []

    def _begun(self, name: str) -> Integers:
        """Each chain's cell before it."""
        cells = np.full(self._lives, _UNKNOWN)
        if self._bases is not None:
            states = _odd(self._bases, name).get("state")
            known = self.chains.base >= 0
            if states is not None:
                known &= np.asarray(states.fill_null(0)) != CellState.NOT_IN_IMAGE
            cells[known] = self._limits[2] + np.flatnonzero(known)
        return cells

    def _apply(
        self,
        name: str,
        cells: Integers,
        has: Flags,
        had: Flags,
        diffs: Flags,
    ) -> list[str]:
        """Follow the chains with JSON diffs change by change; ``cells`` are those at their ends."""
        changes, starts, ends = self.chains.changes, self.chains.starts, self.chains.ends
        begun, texts, raw = self._begun(name), list[str](), self.chunk.raw(IS, name)
        for chain in np.unique(np.searchsorted(starts, np.flatnonzero(diffs), "right") - 1):
            cell = int(begun[chain])
            for i in range(starts[chain], ends[chain]):
                if had[i] and (self.backwards or cell == _UNKNOWN):
                    cell = _UNKNOWN if self.backwards else int(self._limits[1] + changes[i])
                if diffs[i]:
                    diff = {what: column[changes[i]].as_py() for what, column in raw.items()}
                    cell = self._patched(self._value(name, cell, texts), diff, texts)
                elif has[i]:
                    cell = int(changes[i])
            cells[chain] = cell
        return texts

    def _patched(self, value: str | None, diff: dict[str, Any], texts: list[str]) -> int:
        """The cell after a diff; unknown where its value before is not known."""
        if value is None or all(part is None for part in diff.values()):
            return _UNKNOWN
        try:
            texts.append(apply(value, json.loads(diff["text"] or "[]")))
        except (DiffRejected, InvalidJson):
            self.rejected += 1
            return _UNKNOWN
        return int(self._limits[3]) + len(texts) - 1

    def _value(self, name: str, cell: int, texts: list[str]) -> Any:
        """A cell's text, None where there is none."""
        source = int(np.searchsorted(self._limits, cell, "right")) - 1
        at = cell - int(self._limits[source])
        if source == len(self._limits) - 1:
            return texts[at]
        found = None if source < 0 else self._source(source, name)
        if found is None or (found.get("state") is not None and found["state"][at].as_py()):
            return None
        return found[""][at].as_py()

    def _source(self, source: int, name: str) -> dict[str, Any]:
        """What cells of a column are taken from: values as ``""``, and what is odd in them."""
        if (source, name) not in self._sources:
            side = (IS, WAS)[source % 2]
            self._sources[source, name] = (
                {"": self._bases[name]} | _odd(self._bases, name)
                if source == 2
                else {"": self.chunk.column(side, name)} | self.chunk.odd(side, name)
            )
        return self._sources[source, name]

    def _gathered(self, name: str, cells: Integers, texts: list[str]) -> dict[str, Any]:
        """The column of these cells, and what is odd in it."""
        dtype = self.rows.fields[name].type
        if not len(cells):
            return {name: pa.nulls(0, dtype)}
        found: list[tuple[Integers, dict[str, Any]]] = []
        for source, low in enumerate(self._limits):
            high = self._limits[source + 1] if source < 3 else low + len(texts)
            mine = np.flatnonzero((cells >= low) & (cells < high))
            if len(mine):
                columns = self._source(source, name) if source < 3 else {"": pa.array(texts, dtype)}
                at = index(cells[mine] - low)
                found.append((mine, {what: c.take(at) for what, c in columns.items()}))
        lacking = np.flatnonzero(cells == _UNKNOWN)
        if len(lacking):
            states = pa.array(np.full(len(lacking), CellState.NOT_IN_IMAGE, np.uint8))
            found.append((lacking, {"": pa.nulls(len(lacking), dtype), "state": states}))
        return _joined(name, found)


def _joined(name: str, parts: list[tuple[Integers, dict[str, Any]]]) -> dict[str, Any]:
    """One column of parts that stand at these places, and what is odd in it."""
    order = index(np.argsort(np.concatenate([places for places, _ in parts])))
    tables = [
        pa.table({odd_name(name, w) if w else name: c for w, c in p.items()}) for _, p in parts
    ]
    whole = pa.concat_tables(tables, promote_options="default").unify_dictionaries().take(order)
    return dict(zip(whole.column_names, whole.columns, strict=True))


def _odd(table: pa.Table, name: str) -> dict[str, Any]:
    columns = {what: odd_name(name, what) for what in ODD}
    return {what: table[c] for what, c in columns.items() if c in table.column_names}


def index(places: Integers) -> pa.Array:
    """Places to take from, null for those below 0."""
    return pa.array(places, mask=places < 0)
