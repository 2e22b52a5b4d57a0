"""The images that live rows point into: values stay Arrow until the end.

A *handle* is the number of an image: images are numbered through all chunks that were added. A
live row is one handle (every column it has comes from that image) or a list with a handle per
column of :attr:`Store.names`, where :data:`UNKNOWN` says that the log does not tell. Handles below
``UNKNOWN`` point to single patched texts (a JSON diff applied to a known value).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HIDDEN", "UNKNOWN", "Cell", "Oddity", "Row", "Store"]

UNKNOWN = -1
HIDDEN = "\0"  # begins the name of a column that is not the table's: no MySQL name has it

Row = int | list[int]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row's ``raw`` says of a cell without an Arrow value: stored bytes and text."""

    bytes: bytes | None
    text: str | None


@dataclass(slots=True)
class Oddity:
    """An image that is not all values and NULLs: the states and the raw cells, by column name."""

    states: dict[str, int]
    raw: dict[str, Cell]


class Store:
    """Chunks of images with the handles that number them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.fields: dict[str, pa.Field] = {}
        self.width = 0
        self.odd: dict[int, Oddity] = {}
        self.patches: list[str] = []
        self._chunks: list[dict[str, pa.Array]] = []
        self._starts: list[int] = []
        self.size = 0

    def add(self, fields: Sequence[pa.Field], columns: Sequence[pa.Array], length: int) -> int:
        """Take a chunk of ``length`` images; the handle of its first."""
        start = self.size
        self._chunks.append({f.name: c for f, c in zip(fields, columns, strict=True)})
        self._starts.append(start)
        self.size += length
        for field in fields:
            if field.name not in self.fields:
                self.names.append(field.name)
                self.width += not field.name.startswith(HIDDEN)
            self.fields[field.name] = field
        return start

    def columns_of(self, handle: int) -> dict[str, pa.Array]:
        """The chunk that the image belongs to."""
        return self._chunks[bisect_right(self._starts, handle) - 1]

    def state(self, handle: int, name: str) -> int:
        """The :class:`CellState` of a cell; NULL counts as VALUE unless the image is odd."""
        if name not in self.columns_of(handle):
            return CellState.NOT_IN_IMAGE
        odd = self.odd.get(handle)
        return CellState.VALUE if odd is None else odd.states.get(name, CellState.VALUE)

    def value(self, handle: int, name: str) -> Any:
        """A cell as a Python value; a patched text where the handle points to one."""
        if handle < UNKNOWN:
            return self.patches[UNKNOWN - 1 - handle]
        index = bisect_right(self._starts, handle) - 1
        return self._chunks[index][name][handle - self._starts[index]].as_py()

    def patch(self, text: str) -> int:
        """Keep a text; the handle that stands for it in one column."""
        self.patches.append(text)
        return UNKNOWN - len(self.patches)

    def handles(self, row: Row) -> list[int]:
        """The row as a list with a handle per column of :attr:`names`."""
        if isinstance(row, int):
            columns, odd = self.columns_of(row), self.odd.get(row)
            absent = CellState.NOT_IN_IMAGE
            if odd is None:
                return [row if name in columns else UNKNOWN for name in self.names]
            return [
                row if name in columns and odd.states.get(name) != absent else UNKNOWN
                for name in self.names
            ]
        return row + [UNKNOWN] * (len(self.names) - len(row))

    def is_full(self, handle: int) -> bool:
        """Whether the image has every column that is known so far, all of them in the image."""
        return handle not in self.odd and len(self.columns_of(handle)) == len(self.names)

    def gather(self, rows: list[list[int]], name: str) -> pa.Array:
        """One column of the live rows, null where unknown; its type is the newest chunk's."""
        import pyarrow as pa

        index = self.names.index(name)
        handles = [row[index] for row in rows]
        parts = [chunk.get(name) for chunk in self._chunks]
        dtype = self.fields[name].type
        lengths = [*self._starts[1:], self.size]
        whole = pa.chunked_array(
            [
                _as_type(part, dtype) if part is not None else pa.nulls(end - start, dtype)
                for part, start, end in zip(parts, self._starts, lengths, strict=True)
            ],
            type=dtype,
        )
        taken = whole.take(pa.array([h if h >= 0 else None for h in handles], pa.int64()))
        column = (
            pa.concat_arrays(taken.unify_dictionaries().chunks)
            if taken.num_chunks
            else pa.nulls(0, dtype)
        )
        return self._patched(column, handles)

    def _patched(self, column: pa.Array, handles: list[int]) -> pa.Array:
        import pyarrow as pa

        if all(handle >= UNKNOWN for handle in handles):
            return column
        texts = column.to_pylist()
        for i, handle in enumerate(handles):
            if handle < UNKNOWN:
                texts[i] = self.patches[UNKNOWN - 1 - handle]
        return pa.array(texts, column.type)

    def compact(self, rows: list[list[int]]) -> int:
        """Keep only what ``rows`` point to, as one chunk; the first handle of the rows, in order.

        Every other handle is invalid afterwards.
        """
        columns = [self.gather(rows, name) for name in self.names]
        fields = [
            self.fields[name].with_type(c.type) for name, c in zip(self.names, columns, strict=True)
        ]
        oddities = self._oddities(rows)
        self._chunks, self._starts, self.size = [], [], 0
        self.patches, self.odd = [], {}
        start = self.add(fields, columns, len(rows))
        self.odd.update({start + i: odd for i, odd in oddities.items()})
        return start

    def _oddities(self, rows: list[list[int]]) -> dict[int, Oddity]:
        """The rows that are not all values and NULLs, by their number in ``rows``."""
        result: dict[int, Oddity] = {}
        for i, row in enumerate(rows):
            if UNKNOWN not in row and (not self.odd or not any(h in self.odd for h in row)):
                continue
            odd = self.oddity(row)
            if odd is not None:
                result[i] = odd
        return result

    def oddity(self, row: list[int]) -> Oddity | None:
        """States and raw cells of a live row; None where every cell is a value or NULL."""
        states: dict[str, int] = {}
        raw: dict[str, Cell] = {}
        for name, handle in zip(self.names, row, strict=True):
            if handle == UNKNOWN:
                states[name] = CellState.NOT_IN_IMAGE
                continue
            odd = self.odd.get(handle)
            state = CellState.VALUE if odd is None else odd.states.get(name, CellState.VALUE)
            if state in _CARRIED:
                states[name] = state
                if odd is not None and name in odd.raw:
                    raw[name] = odd.raw[name]
        return Oddity(states, raw) if states else None


_CARRIED = frozenset({CellState.UNDECODABLE, CellState.NO_ARROW_VALUE})


def _as_type(part: pa.Array, dtype: Any) -> pa.Array:
    return part if part.type == dtype else part.cast(dtype)
