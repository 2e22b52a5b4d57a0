"""Landed tables, read without Spark: the rows of all their folders, as Arrow.

The library's own dataset sometimes aborts a Python process (deltalake 1.6.6 with pyarrow 26: its
files are read by threads that call Python); here it only names the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.constants import TableId
from binlogkit.errors import InputError
from binlogkit.frames.flat_cells import with_absent
from binlogkit.spark.carried import fit
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.shape import (
    BOUNDED,
    current_folder,
    folder_of,
    landed_name,
    own_fields,
)
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import file_of, opened

#: The columns of all tables that a state needs.
_LEAN = frozenset(("_change_type", "_sequence", "_file", "_pos", "_inner", "_row", "_cells"))
_ALIKE = ("_change_type", "_file")  # texts that many rows have in common
#: The largest ``_commit_version``.
LARGEST = (1 << 63) - 1


def landed(
    out: str | Path | LandingPath, table: str, *, target_options: Mapping[str, str] | None = None
) -> pa.Table:
    """The changelog of a landed table, ``db.table``, in the order of its changes.

    A column whose type differs from version to version is text. UsageError: the name has no
    database, deltalake is not installed; InputError: no such table has landed.
    """
    found = [
        read(folder) for folder in folders(place_of(out, None, target_options), landed_name(table))
    ]
    if not found:
        raise InputError(str(out), f"{table} has not landed there")
    whole = _united(found)
    order = pc.sort_indices(whole["_sequence"])
    return whole.take(order)


def folders(out: LandingPath, name: TableId) -> Iterator[LandingPath]:
    """The folders of a landed table: one for each group of versions with the same columns."""
    generation = 0
    while opened(out / folder_of(name, generation)) is not None:
        yield out / folder_of(name, generation)
        generation += 1


def has_current(out: LandingPath, name: TableId) -> bool:
    """Whether a table's current rows are kept, and it has columns: else no table has its name any
    more."""
    current = out / current_folder(name)
    return opened(current) is not None and bool(own_fields(schema_of(current)))


@dataclass(frozen=True, slots=True)
class File:
    """One Parquet file of a landed table: its partition, the range of its rows'
    ``_commit_version``, (0, the largest) if not known, and its bytes."""

    path: LandingPath
    partition: dict[str, Any]
    first: int
    last: int
    size: int = 0


def files(folder: LandingPath) -> tuple[pa.Schema, list[File]]:
    """The schema of a folder's rows, and the files that count."""
    table = opened(folder)
    assert table is not None
    found = []
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        low, high = ((action.get(end) or {}).get(BOUNDED) for end in ("min", "max"))
        if low is None or high is None:
            low, high = 0, LARGEST
        path = file_of(folder, action["path"])
        partition = action.get("partition") or {}
        found.append(File(path, partition, low, high, action["size_bytes"]))
    return pa.schema(table.schema()), sorted(found, key=attrgetter("first", "last", "path"))


def schema_of(folder: LandingPath) -> pa.Schema:
    """Of a folder's rows."""
    table = opened(folder)
    assert table is not None
    return pa.schema(table.schema())


def lean(schema: pa.Schema) -> pa.Schema:
    """The part of a folder's columns that a state needs."""
    own = {one.name for one in own_fields(schema)}
    return pa.schema([one for one in schema if one.name in own or one.name in _LEAN])


@dataclass(frozen=True, slots=True)
class Within:
    """Changes from one place up to another: by ``_sequence`` and ``_commit_version``."""

    low: bytes
    high: bytes
    first: int
    end: int

    def may_hold(self, file: File) -> bool:
        """Whether a file may have some."""
        return file.first < self.end and file.last >= self.first

    def rows(self, rows: pa.Table) -> pa.Array:
        """Which rows these are."""
        after = pc.greater_equal(rows["_sequence"], pa.scalar(self.low, pa.binary()))
        return pc.and_(after, pc.less(rows["_sequence"], pa.scalar(self.high, pa.binary())))


def read(
    folder: LandingPath, within: Sequence[Within] | None = None, *, whole: bool = True
) -> pa.Table:
    """The counted rows of one folder; ``within``: only those in any of these ranges; not ``whole``:
    :func:`lean`."""
    schema, found = files(folder)
    schema = schema if whole else lean(schema)
    rows = [schema.empty_table()]
    for file in found:
        if within is None:
            rows.append(read_file(file, schema))
        elif any(one.may_hold(file) for one in within):
            own = read_file(file, schema)
            rows.append(own.filter(reduce(pc.or_, (one.rows(own) for one in within))))
    return pa.concat_tables(rows)


def read_file(file: File, schema: pa.Schema) -> pa.Table:
    """The rows of a file in the schema of its folder, or in some columns of that."""
    return OpenFile(file).rows(schema)


class OpenFile:
    """A file that is read in parts; ``groups``: how many rows each of its row groups has."""

    def __init__(self, file: File) -> None:
        self.file = file
        with file.path.asked():  # it may have been deleted since
            source = file.path.source()
            metadata = pq.read_metadata(source)
            self._names = {*metadata.schema.to_arrow_schema().names}
            self._parquet = pq.ParquetFile(
                source,
                metadata=metadata,
                read_dictionary=[name for name in _ALIKE if name in self._names],
            )
        self.groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def rows(self, schema: pa.Schema, group: int | None = None) -> pa.Table:
        """The rows of a row group, of all if None; see :func:`read_file`."""
        names = [*self._names.intersection(schema.names)]
        with self.file.path.asked():
            if group is None:
                rows = self._parquet.read(names)
            else:
                rows = self._parquet.read_row_group(group, names)
        return _fitted(self.file, rows, schema)


def _fitted(file: File, rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a file in the schema of its folder."""
    for name in file.partition.keys() & schema.names:
        value = pa.scalar(file.partition[name], schema.field(name).type)
        rows = rows.append_column(name, pa.repeat(value, len(rows)))
    lacking = [one.name for one in own_fields(schema) if one.name not in rows.column_names]
    if lacking:
        at = rows.column_names.index("_cells")
        rows = rows.set_column(at, "_cells", with_absent(rows["_cells"], lacking))
    columns = [
        rows[one.name].cast(one.type)
        if one.name in rows.column_names
        else pa.nulls(len(rows), one.type)
        for one in schema
    ]
    return pa.table(columns, schema=schema)


def _united(tables: list[pa.Table]) -> pa.Table:
    """Tables concatenated; columns of several types become text."""
    types: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for one in table.schema:
            types.setdefault(one.name, set()).add(one.type)
    several = {name for name, kinds in types.items() if len(kinds) > 1}
    texts = [
        pa.table({n: _text(t[n], n) if n in several else t[n] for n in t.column_names})
        for t in tables
    ]
    return pa.concat_tables(texts, promote_options="default")


def _text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if pa.types.is_binary(column.type):
        texts = [value and f"0x{value.hex().upper()}" for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return pa.chunked_array([fit(chunk, pa.string(), name) for chunk in column.chunks], pa.string())
