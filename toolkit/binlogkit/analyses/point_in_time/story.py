"""One row's life: every change of it, also under its earlier and later keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import narwhals as nw
import pyarrow as pa

from binlogkit.analyses._frames import (
    FrameT,
    Lazy,
    from_arrow,
    image_fields,
    ordered,
    to_arrow,
)
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.fields.field import fields
from binlogkit.frames.fields.rows import PROVENANCE

STORY = fields(
    ("life", "int64", "1, 2 … for each row that had the key at some time, in order of appearance"),
    ("changed", "list<string>", "columns whose value an update changed; the image's for others"),
)

Key = tuple[Any, ...]


def story(changes: FrameT, key: Sequence[str], value: Any) -> FrameT:
    """The changes of the row, or rows, that ever had the key ``value``, in log order.

    :data:`STORY` first, then the columns of ``changes``, which are typed and of one table.
    ``value``: of the key's column, a tuple for several. A row is followed through updates of its
    key, forwards and back; another row that had the key at another time is another life.
    UsageError where key and value do not match.
    """
    wanted: Key = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not key or len(wanted) != len(key):
        raise UsageError("a story needs the key's columns and a value for each")
    frame: Any = changes
    rows = ordered(frame, ("op", "before", "after"))
    found = _collected(rows, key, wanted)
    befores, afters = (_keys(found, image, key) for image in ("before", "after"))
    lives = _lives(befores, afters)
    kept = sorted({life for life, keys in zip(lives, zip(befores, afters, strict=True), strict=True)
                   if wanted in keys})  # fmt: skip
    number = {life: i for i, life in enumerate(kept, 1)}
    mine = pa.array([life in number for life in lives], pa.bool_())
    table = found.filter(mine)
    numbers = pa.array([number[life] for life in lives if life in number], pa.int64())
    changed = pa.array(_changed(table), pa.list_(pa.string()))
    result = table.add_column(0, "life", numbers).add_column(1, "changed", changed)
    return from_arrow(result, changes, (*STORY, *PROVENANCE))


def _collected(rows: Lazy, key: Sequence[str], wanted: Key) -> Any:
    """The changes of every key that an update connects with ``wanted``, as an Arrow table in
    order."""
    keys = {wanted}
    while True:
        found = to_arrow(
            rows.filter(_touches(rows, key, keys)).sort("seq").collect("pyarrow").to_native()
        )
        more = {
            k for image in ("before", "after") for k in _keys(found, image, key) if k is not None
        }
        if more <= keys:
            return found.combine_chunks()
        keys |= more


def _touches(rows: Lazy, key: Sequence[str], keys: Iterable[Key]) -> nw.Expr:
    """Changes with one of the keys before or after."""
    tests = [
        reduce(and_, (f == v for f, v in zip(fields, k, strict=True))).fill_null(False)
        for fields in (image_fields(rows, image, key) for image in ("before", "after"))
        for k in keys
    ]
    anyone: nw.Expr = reduce(or_, tests)
    return anyone


def _keys(table: Any, image: str, key: Sequence[str]) -> list[Key | None]:
    """The key in each change's image; None without that image."""
    if not table.num_rows:
        return []
    images = one_array(table[image])
    names = [field.name for field in images.type]
    columns = [images.flatten()[names.index(name)].to_pylist() for name in key]
    there = images.is_valid().to_pylist()
    return [k if ok else None for k, ok in zip(zip(*columns, strict=True), there, strict=True)]


def _lives(befores: Sequence[Key | None], afters: Sequence[Key | None]) -> list[int]:
    """Which row each change belongs to: rows are numbered as they appear."""
    current: dict[Key, int] = {}
    lives, count = [], 0
    for before, after in zip(befores, afters, strict=True):
        known = None if before is None else current.pop(before, None)
        if known is None:
            known, count = count, count + 1
        if after is not None:
            current[after] = known
        lives.append(known)
    return lives


def _changed(table: Any) -> list[list[str]]:
    """The columns that each change touched."""
    names = [field.name for field in table.schema.field("after").type]
    rows = zip(table["before"].to_pylist(), table["after"].to_pylist(), strict=True)
    return [
        [n for n in names if before is None or after is None or before[n] != after[n]]
        for before, after in rows
    ]
