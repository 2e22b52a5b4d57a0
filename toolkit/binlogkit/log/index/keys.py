"""Which filters of an index may have a wanted key (frames/key_filters.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.native.filters import may_have
from binlogkit.constants import TableId
from binlogkit.frames.key_hashes import Hashes, KeyColumn, Place, asked_hashes
from binlogkit.log.index.part import Part
from binlogkit.log.index.places import Places, places_of
from binlogkit.rows.filters import Filters
from binlogkit.rows.where import Condition, Operand, Where

if TYPE_CHECKING:
    from binlogkit.rows.schema import TableSchema

#: By column the values of which one must be in an image of a wanted row.
Asked: TypeAlias = "dict[str, tuple[Any, ...]]"
_DEFINED = ("db", "table", "columns", "positions", "kinds", "types")
_USED = (*_DEFINED, "filter")


def asked_keys(where: Where) -> Asked:
    """What conditions require of columns: values, one of which must be in a row's image."""
    found: Asked = {e.column: (e.value,) for e in where.equals if e.value is not None}
    for condition in where.expressions:
        found |= {name: v for name, v in _of_condition(condition).items() if name not in found}
    return found


def _of_condition(condition: Condition) -> Asked:
    left, right = condition.left, condition.right
    if isinstance(left, Operand):
        plain = not isinstance(right, Operand) and right is not None
        equal = condition.operator in ("equal", "same") and left.image is not None and plain
        return {left.name: (right,)} if equal else {}
    if condition.operator not in ("and", "or"):
        return {}
    one, other = _of_condition(left), _of_condition(right)
    if condition.operator == "and":
        return other | one
    return {name: one[name] + other[name] for name in one if name in other}


def may_have_keys(
    parts: Sequence[Part], wanted: Filters, schemas: Mapping[TableId, Sequence[TableSchema]]
) -> list[list[bool] | None]:
    """For each filter of each part whether it may have a wanted key; None: any may have.

    ``schemas``: the versions of all tables, with names that a single log lacks.
    """
    asked = asked_keys(wanted.where)
    tables = [part.ledger.get("filters") for part in parts]
    if not asked or any(table is None for table in tables) or not tables:
        return [None] * len(parts)
    whole = pa.concat_tables(table.select(_USED) for table in tables if table is not None)
    may = may_be_in(whole, asked, places_of(schemas)).tolist()
    ends = accumulate((table.num_rows for table in tables if table is not None), initial=0)
    return [may[start:end] for start, end in pairwise(ends)]


def may_be_in(
    filters: pa.Table, asked: Asked, places: Places
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of some filters may have a wanted key; ``places``: for logs that name no columns."""
    found = np.ones(filters.num_rows, bool)
    for definition, rows in _alike(filters):
        hashes = _hashes(definition, asked, places)
        if hashes is not None:
            found[rows] = _may_have(filters["filter"], hashes)[rows]
    return found


def _alike(filters: pa.Table) -> Iterable[tuple[dict[str, Any], list[int]]]:
    """The filters of each key: the key, and the rows of its filters."""
    chosen = filters.select(_DEFINED)
    found: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for i, record in enumerate(chosen.to_pylist()):
        found.setdefault(repr(record), (record, []))[1].append(i)
    return found.values()


def _hashes(definition: Mapping[str, Any], asked: Asked, places: Places) -> Hashes | None:
    names, kinds = definition["columns"], definition["kinds"]
    columns = list(map(KeyColumn, names, definition["positions"], kinds, definition["types"]))
    if not columns:
        return None
    known = places.get((definition["db"], definition["table"]), {})
    named = [_name(column, asked, known) for column in columns]
    if None in named:
        return None
    values = [asked[name] for name in named if name is not None]
    return asked_hashes(columns, values, [known.get(name or "", ()) for name in named])


def _name(column: KeyColumn, asked: Asked, known: Mapping[str, Sequence[Place]]) -> str | None:
    """The wanted name that means a column; None if that is not certain."""
    if column.name in asked and not column.name.startswith("@"):
        return column.name
    here = {column.position}
    return next((n for n in asked if {one.position for one in known.get(n, ())} == here), None)


def _may_have(
    filters: pa.ChunkedArray, hashes: Hashes
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which filters may have one of the hashes; a NULL filter always may."""
    found = []
    for chunk in filters.chunks:
        array = chunk if not chunk.null_count else pc.fill_null(chunk, b"")
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int32, len(array) + 1, 4 * array.offset)
        out = np.zeros(len(array), np.uint8)
        may_have(ends.astype(np.int64), b"" if data is None else data, hashes, out)
        found.append(out.astype(bool))
    return np.concatenate([np.zeros(0, bool), *found])
