"""The rows of current-state tables: as stored, and as in a replay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.arrays import one_array
from binlogkit.frames.flat_cells import cells_of, flat_name
from binlogkit.spark.carried import fit
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import GONE
from binlogkit.spark.landing.reading import read
from binlogkit.spark.landing.restored import Restored, by_change
from binlogkit.spark.landing.shape import current_schema

_INSERT = "insert"
_AT = "\0at"
#: The library parses names with quotes and dots (deltalake 1.6.6).
_PLAIN = re.compile(r"[^\W\d][\w ]*(?<! )")


def flat_rows(rows: pa.Table, taken: Sequence[tuple[Restored, Any]]) -> pa.Table:
    """A state's rows as they are stored: where each was last written, then its columns.

    ``taken``: the changes after them, with the changes' numbers.
    """
    fields = list(rows.schema.field("values").type)
    schema = current_schema(fields)
    values = one_array(rows["values"])
    own = {flat_name(one.name): values.field(i) for i, one in enumerate(fields)}
    origins = _origins(np.asarray(rows["seq"]), taken)
    columns = []
    for one in schema:
        if one.name in own:
            column = own[one.name]
        elif one.name == "_cells":
            column = cells_of(rows, {f.name: flat_name(f.name) for f in fields}, one.type)
        else:
            column = one_array(origins[one.name]) if origins else pa.nulls(0, one.type)
        columns.append(fit(column, one.type, one.name))
    return pa.table(columns, schema=schema)


def _origins(seqs: Any, taken: Sequence[tuple[Restored, Any]]) -> pa.Table | None:
    """The flat rows that changes left, in the order of the changes' numbers."""
    parts, at = [], []
    for changes, numbers in taken:
        order = np.argsort(numbers)
        place = np.searchsorted(numbers, seqs, sorter=order)
        place = np.minimum(place, max(len(numbers) - 1, 0))
        own = np.flatnonzero(numbers[order[place]] == seqs) if len(numbers) else np.zeros(0, int)
        if len(own):
            parts.append(changes.left(order[place[own]]))
            at.append(own)
    if not parts:
        return None
    names = [name for name in parts[0].column_names if name.startswith("_")]
    names = [name for name in names if all(name in part.column_names for part in parts)]
    whole = pa.concat_tables([part.select(names) for part in parts])
    return whole.take(pa.array(np.argsort(np.concatenate(at))))


def as_inserts(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Stored rows as a changelog that inserted them, with the columns of ``schema``."""
    columns = []
    for one in schema:
        if one.name == "_change_type":
            columns.append(pa.array([_INSERT] * len(rows), one.type))
        elif one.name in rows.column_names:
            columns.append(rows[one.name].cast(one.type))
        else:
            columns.append(pa.nulls(len(rows), one.type))
    return pa.table(columns, schema=schema)


def touched_keys(flat: pa.Table, key: Sequence[str]) -> pa.Table | None:
    """The distinct keys that changes name; None if a change does not name its row's.

    A key part missing in an update's after image is as in the before image.
    """
    if not set(key) <= set(flat.column_names):
        return None
    flat, paired = by_change(flat)
    second = pa.array(paired)
    columns = []
    for name in key:
        own = one_array(flat[name])
        before = pa.concat_arrays([pa.nulls(1, own.type), own])[: len(own)]
        whole = pc.if_else(pc.and_(second, own.is_null()), before, own)
        if whole.null_count:
            return None
        columns.append(whole)
    return pa.table(columns, list(key)).group_by(list(key)).aggregate([])


def key_rows(folder: LandingPath, keys: pa.Table) -> pa.Table:
    """The stored rows that have these keys."""
    rows = read(folder)
    names = keys.column_names
    wanted = keys.cast(pa.schema([rows.schema.field(name) for name in names]))
    numbered = rows.select(names).append_column(_AT, pa.array(np.arange(len(rows))))
    found = numbered.join(wanted, names, join_type="left semi", use_threads=False)
    return rows.take(pa.array(np.sort(np.asarray(found[_AT]))))


def mergeable(schema: pa.Schema) -> bool:
    """Whether the library's conditions accept all names of a state's columns literally."""
    return all(_PLAIN.fullmatch(flat_name(one.name)) for one in schema.field("values").type)


def net_rows(made: pa.Table, touched: pa.Table, key: Sequence[str]) -> pa.Table | None:
    """The rows to merge: present rows, and keys that no row has any more.

    None if a row's key is not known.
    """
    names = list(key)
    if any(made[name].null_count for name in names):
        return None
    keys = touched.cast(pa.schema([made.schema.field(name) for name in names]))
    gone = keys.join(made.select(names), names, join_type="left anti", use_threads=False)
    columns = [
        gone[one.name] if one.name in names else pa.nulls(len(gone), one.type)
        for one in made.schema
    ]
    lost = pa.table(columns, schema=made.schema)
    flags = pa.array([False] * len(made) + [True] * len(lost))
    return pa.concat_tables([made, lost]).append_column(GONE, flags)
