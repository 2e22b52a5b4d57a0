"""Rows whose last image lacks columns: each cell comes from the last image that has it.

A row's life is a chain of changes, starting at the last complete image or at its beginning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import DiffRejected, apply
from binlogkit.analyses.point_in_time.chunk import IS, PLACES, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.known_cells import cells_of, index, joined, known
from binlogkit.analyses.point_in_time.rows import Rows

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

    A cell has a number, or -1 if it is not known: numbers run through the rows before the chunk,
    the images before its changes, those after them, and the JSON texts that diffs made.
    ``backwards``: a cell that only the before image has was changed to an unknown value.
    ``rejected``: JSON diffs that did not fit the known value.
    """

    def __init__(self, chunk: Chunk, rows: Rows, chains: Chains, *, backwards: bool) -> None:
        self.chunk, self.rows, self.chains, self.backwards = chunk, rows, chains, backwards
        self.rejected = 0
        self._was = len(rows)
        self._is = self._was + chunk.size
        self._texts = self._is + chunk.size
        names = [*rows.fields, *PLACES]
        images = (rows.widened(chunk.rows(side)) for side in (WAS, IS))
        self._cells = joined([t.select(names) for t in (rows.table, *images) if t.num_rows])

    def table(self, wanted: Flags) -> pa.Table:
        """The rows at the ends of the wanted chains."""
        columns: dict[str, Any] = {}
        for name, field in self.rows.fields.items():
            column = self._cells.select([name])
            ends, texts = self._ends(name, column[name])
            if texts:
                made = pa.table({name: cells_of({"value": pa.array(texts, field.type)})})
                column = joined([column, made])
            columns[name] = column[name].take(index(ends[wanted]))
        last = self._is + self.chains.changes[self.chains.ends[wanted] - 1]
        columns |= {name: self._cells[name].take(index(last)) for name in PLACES}
        return pa.table(columns)

    def _ends(self, name: str, column: pa.ChunkedArray) -> tuple[Integers, list[str]]:
        """Each chain's last cell, and the texts that diffs made."""
        changes, starts, base = self.chains.changes, self.chains.starts, self.chains.base
        has, had = (self.chunk.has(side, name)[changes] for side in (IS, WAS))
        at = np.arange(len(changes))
        last = np.maximum.reduceat(np.where(has | had, at, -1), starts)
        begun = np.where((base >= 0) & known(column)[base], base, _UNKNOWN)
        only_had = _UNKNOWN if self.backwards else self._was + changes[last]
        cells = np.where(has[last], self._is + changes[last], only_had)
        cells = np.where(last >= 0, cells, begun)
        diffs, texts = self.chunk.diffs(name)[changes], list[str]()
        for chain in np.unique(np.searchsorted(starts, np.flatnonzero(diffs), "right") - 1):
            cell, raw = int(begun[chain]), self.chunk.raw(IS, name)
            for i in range(starts[chain], self.chains.ends[chain]):
                change = int(changes[i])
                if had[i]:
                    cell = _UNKNOWN if self.backwards else self._was + change
                if diffs[i]:
                    diff = {what: stored[change].as_py() for what, stored in raw.items()}
                    cell = self._patched(self._text(column, cell, texts), diff, texts)
                elif has[i]:
                    cell = self._is + change
            cells[chain] = cell
        return cells, texts

    def _text(self, column: pa.ChunkedArray, cell: int, texts: list[str]) -> str | None:
        """A JSON cell's text, None where there is none."""
        if cell >= self._texts:
            return texts[cell - self._texts]
        found = None if cell < 0 else column[cell].as_py()
        return None if found is None or found.get("state") else found["value"]

    def _patched(self, value: str | None, diff: dict[str, Any], texts: list[str]) -> int:
        """The cell after a diff; unknown if its value before is not known."""
        if value is None or all(part is None for part in diff.values()):
            return _UNKNOWN
        try:
            texts.append(apply(value, json.loads(diff["text"] or "[]")))
        except (DiffRejected, InvalidJson):
            self.rejected += 1
            return _UNKNOWN
        return self._texts + len(texts) - 1
