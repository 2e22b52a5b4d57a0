"""The images that live rows point into: values stay Arrow until the end.

A *handle* is the number of an image: images are numbered through all chunks that were added. A
live row is one handle (every column it has comes from that image) or a list with a handle per
column of :attr:`Store.names`, where :data:`UNKNOWN` says that the log does not tell. Handles below
``UNKNOWN`` point to single patched texts (a JSON diff applied to a known value).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
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
    """Chunks of images with the handles that number them.

    ``names``: every column of any image, in the order first seen; ``fields``: the newest field of
    each; ``width``: how many are the table's now; ``odd``: images with other than values and NULL.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.fields: dict[str, pa.Field] = {}
        self.odd: dict[int, Oddity] = {}
        self.patches: list[str] = []
        self.size = 0
        self.width = 0
        self._dropped = 0
        self._chunks: list[dict[str, pa.Array]] = []
        self._starts: list[int] = []
        self._full: list[bool] = []

    def add(self, fields: Sequence[pa.Field], columns: Sequence[pa.Array], length: int) -> int:
        """Take a chunk of ``length`` images; the handle of its first."""
        start = self.size
        self._chunks.append({f.name: c for f, c in zip(fields, columns, strict=True)})
        self._starts.append(start)
        self.size += length
        new = [field.name for field in fields if field.name not in self.fields]
        self.fields.update({field.name: field for field in fields})
        self.names.extend(new)
        self._full.append(False)
        self._count(range(len(self._chunks) if new else 1))
        return start

    def _count(self, last_chunks: range) -> None:
        """Say of the last chunks whether they have every column that the table has now."""
        own = {name for name in self.names if not name.startswith(HIDDEN)}
        self.width = len(own)
        for back in last_chunks:
            self._full[-1 - back] = own <= self._chunks[-1 - back].keys()

    def declare(self, name: str) -> None:
        """Take a column that no image has yet; every row that is there has it unknown."""
        import pyarrow as pa

        if name not in self.fields:
            self.fields[name] = pa.field(name, pa.null())
            self.names.append(name)
            self._count(range(len(self._chunks)))

    def columns(self) -> list[str]:
        """The names of the columns that are the table's now."""
        return [name for name in self.names if not name.startswith(HIDDEN)]

    def add_value(self, name: str, value: Any) -> int:
        """Take a single cell for a column that is new; its handle."""
        import pyarrow as pa

        column = pa.array([value])
        return self.add([pa.field(name, column.type)], [column], 1)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns other names, in every image that was taken so far."""

        def named(name: str) -> str:
            return names.get(name, name)

        self.names = [named(name) for name in self.names]
        self.fields = {named(n): f.with_name(named(n)) for n, f in self.fields.items()}
        self._chunks = [{named(n): c for n, c in chunk.items()} for chunk in self._chunks]
        for odd in self.odd.values():
            odd.states = {named(n): state for n, state in odd.states.items()}
            odd.raw = {named(n): cell for n, cell in odd.raw.items()}
        self._count(range(len(self._chunks)))

    def dropped_name(self, name: str) -> str:
        """A hidden name for a column that is no longer there: another may take its name."""
        self._dropped += 1
        return f"{HIDDEN}{self._dropped} {name}"

    def _chunk(self, handle: int) -> int:
        return bisect_right(self._starts, handle) - 1

    def state(self, handle: int, name: str) -> int:
        """The :class:`CellState` of a cell; NULL counts as VALUE unless the image is odd."""
        if name not in self._chunks[self._chunk(handle)]:
            return CellState.NOT_IN_IMAGE
        odd = self.odd.get(handle)
        return CellState.VALUE if odd is None else odd.states.get(name, CellState.VALUE)

    def with_diff(self, handle: int) -> list[str]:
        """The columns of which an image has a JSON diff only."""
        odd = self.odd.get(handle)
        states = {} if odd is None else odd.states
        return [name for name, state in states.items() if state == CellState.JSON_DIFF]

    def value(self, handle: int, name: str) -> Any:
        """A cell as a Python value; a patched text where the handle points to one."""
        if handle < UNKNOWN:
            return self.patches[UNKNOWN - 1 - handle]
        index = self._chunk(handle)
        return self._chunks[index][name][handle - self._starts[index]].as_py()

    def patch(self, text: str) -> int:
        """Keep a text; the handle that stands for it in one column."""
        self.patches.append(text)
        return UNKNOWN - len(self.patches)

    def handles(self, row: Row) -> list[int]:
        """The row as a list with a handle per column of :attr:`names`."""
        if not isinstance(row, int):
            return row + [UNKNOWN] * (len(self.names) - len(row))
        columns, odd = self._chunks[self._chunk(row)], self.odd.get(row)
        if odd is None:
            return [row if name in columns else UNKNOWN for name in self.names]
        absent = CellState.NOT_IN_IMAGE
        return [
            row if name in columns and odd.states.get(name) != absent else UNKNOWN
            for name in self.names
        ]

    def is_full(self, handle: int) -> bool:
        """Whether the image has every column that the table has now, all with a value or NULL."""
        return handle not in self.odd and self._full[self._chunk(handle)]

    def gather(self, rows: list[list[int]], name: str) -> pa.Array:
        """One column of the live rows in its newest type, null where unknown."""
        import pyarrow as pa

        index = self.names.index(name)
        dtype = self.fields[name].type
        handles = [row[index] for row in rows]
        types = {c[name].type for c in self._chunks if name in c and c[name].type != dtype}
        column = self._taken(name, handles, dtype)
        for other in types:
            foreign = self._taken(name, handles, other)
            if foreign.null_count < len(foreign):
                column = _where_null(column, _as_type(foreign, dtype))
        if all(handle >= UNKNOWN for handle in handles):
            return column
        texts = column.to_pylist()
        for i, handle in enumerate(handles):
            if handle < UNKNOWN:
                texts[i] = self.patches[UNKNOWN - 1 - handle]
        return pa.array(texts, dtype)

    def _taken(self, name: str, handles: list[int], dtype: Any) -> pa.Array:
        """The cells of the chunks in which the column has this type, null for all others."""
        import pyarrow as pa

        ends = [*self._starts[1:], self.size]
        parts = [
            chunk[name]
            if name in chunk and chunk[name].type == dtype
            else pa.nulls(end - start, dtype)
            for chunk, start, end in zip(self._chunks, self._starts, ends, strict=True)
        ]
        whole = pa.chunked_array(parts, type=dtype)
        taken = whole.take(pa.array([h if h >= 0 else None for h in handles], pa.int64()))
        taken = taken.unify_dictionaries()
        return pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.nulls(0, dtype)

    def settled(self, rows: list[list[int]]) -> list[list[int]]:
        """The rows with UNKNOWN for values that their column's newest type cannot be sure to hold.

        Types change with ALTER TABLE; a conversion by the server is not in the log.
        """
        for index, name in enumerate(self.names):
            dtype = self.fields[name].type
            foreign = {
                i: chunk[name]
                for i, chunk in enumerate(self._chunks)
                if name in chunk and not chunk[name].type.equals(dtype)
            }
            if not foreign:
                continue
            for row in rows:
                at = self._chunk(row[index]) if row[index] >= 0 else -1
                if at in foreign:
                    cell = foreign[at].slice(row[index] - self._starts[at], 1)
                    if not _holds(cell, dtype):
                        row[index] = UNKNOWN
        return rows

    def compact(self, rows: list[list[int]]) -> int:
        """Keep only what ``rows`` point to, as one chunk; the first handle of the rows, in order.

        Every other handle is invalid afterwards.
        """
        rows = self.settled(rows)
        columns = [self.gather(rows, name) for name in self.names]
        fields = [
            self.fields[n].with_type(c.type) for n, c in zip(self.names, columns, strict=True)
        ]
        oddities = {i: self.oddity(row) for i, row in enumerate(rows)}
        self._chunks, self._starts, self._full, self.size = [], [], [], 0
        self.patches, self.odd = [], {}
        start = self.add(fields, columns, len(rows))
        self.odd = {start + i: odd for i, odd in oddities.items() if odd is not None}
        return start

    def oddity(self, row: list[int]) -> Oddity | None:
        """States and raw cells of a live row; None where every cell is a value or NULL."""
        if UNKNOWN not in row and (not self.odd or not any(h in self.odd for h in row)):
            return None
        states: dict[str, int] = {}
        raw: dict[str, Cell] = {}
        for name, handle in zip(self.names, row, strict=True):
            odd = self.odd.get(handle)
            if handle == UNKNOWN:
                states[name] = CellState.NOT_IN_IMAGE
            elif odd is not None and odd.states.get(name) in _CARRIED:
                states[name] = odd.states[name]
                if name in odd.raw:
                    raw[name] = odd.raw[name]
        return Oddity(states, raw) if states else None


_CARRIED = frozenset({CellState.UNDECODABLE, CellState.NO_ARROW_VALUE})


def _as_type(column: pa.Array, dtype: Any) -> pa.Array:
    """The same values in another type, which :func:`_holds` them all."""
    import pyarrow as pa

    if pa.types.is_dictionary(dtype) and not pa.types.is_dictionary(column.type):
        return column.cast(dtype.value_type).dictionary_encode().cast(dtype)
    return column.cast(dtype)


def _where_null(column: pa.Array, other: pa.Array) -> pa.Array:
    """``column`` with the values of ``other`` where it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return pc.coalesce(column, other)
    plain = pc.coalesce(*(c.cast(column.type.value_type) for c in (column, other)))
    return plain.dictionary_encode().cast(column.type)


def _holds(cell: pa.Array, dtype: Any) -> bool:
    """Whether the type holds the one value of ``cell`` and MySQL would keep it as it is."""
    import pyarrow as pa

    types = pa.types
    families = (
        types.is_integer,
        types.is_decimal,
        types.is_floating,
        lambda t: types.is_string(t) or types.is_dictionary(t),
    )
    if types.is_null(cell.type) or cell.null_count:
        return True
    if not any(family(cell.type) and family(dtype) for family in families):
        return False
    try:
        _as_type(cell, dtype)
    except pa.ArrowInvalid:
        return False
    return True
