"""Which images of a landing's tables have the values by which rows are named, and what the tables
are without them.

An image with the values goes; an update of which one image stays becomes an insert or a delete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.errors import InputError, WriteError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.flat_cells import own_name
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.rewriting import Stored, stored
from binlogkit.spark.landing.shape import BOUNDED
from binlogkit.spark.landing.sought import Sought
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.writing import WrittenFile, parquet_name, stats_of
from binlogkit.spark.splits.changelog import SEQUENCE_BYTES

#: Values by column, as the columns are called in a folder.
Values: TypeAlias = Mapping[str, Sought]
_ABSENT = "not_in_image"
_CHANGE = SEQUENCE_BYTES - 1  # bytes of a ``_sequence`` that both images of a change share
_LAST = 1  # the byte after them, of the image after an update


@dataclass(frozen=True, slots=True)
class Named:
    """Rows that are named by values; ``key``: by the table's key, which each image has, or leaves
    as it was."""

    values: Values
    key: bool

    def fitting(self, rows: pa.Table) -> tuple[Flags, Flags]:
        """Which rows have the values; which may have them, since they lack a column."""
        equal, fit, known = np.ones(len(rows), bool), np.ones(len(rows), bool), _names(rows)
        for name, value in self.values.items():
            if name.lower() not in known:  # older than the column
                return np.zeros(len(rows), bool), np.zeros(len(rows), bool)
            absent = _marked(rows, name, _is_absent)
            if value.written is None:
                own = value.equal(rows[known[name.lower()]]) & ~_marked(rows, name, _is_there)
                own &= ~absent
            else:
                own = _marked(rows, name, value.is_written)
            equal &= own
            fit &= own | absent
        return equal, fit & ~equal

    def incomparable(self, rows: pa.Table) -> int:
        """How many rows have no value that can be compared."""
        found, known = np.zeros(len(rows), bool), _names(rows)
        for name in self.values:
            if name.lower() in known:
                date = pa.types.is_temporal(rows[known[name.lower()]].type)
                found |= _marked(rows, name, _has_no_text if date else _is_there)
        return int(found.sum())


@dataclass(frozen=True, slots=True)
class Searched:
    """A folder, and the rows that are looked for in it; ``labels``: its columns of ENUM and SET."""

    table: str
    folder: LandingPath
    names: tuple[Named, ...]
    labels: frozenset[str] = frozenset()

    @property
    def files(self) -> list[Stored]:
        """Its files."""
        table = opened(self.folder)
        assert table is not None
        return stored(table, self.folder)

    @property
    def columns(self) -> list[str]:
        """What decides which rows go."""
        return [
            "_file",
            "_sequence",
            "_cells",
            *{name for one in self.names for name in one.values},
        ]


@dataclass(frozen=True, slots=True)
class Matched:
    """What was found in a folder: ``changes`` of which an image goes, for each of the names, and in
    which ``files`` of those that were ``seen``, by path; ``older``: columns that files lack, since
    they came later; ``incomparable``: how many images have a value that cannot be compared."""

    searched: Searched
    changes: tuple[pa.Array, ...]
    files: frozenset[str]
    seen: frozenset[str]
    older: frozenset[str]
    incomparable: int

    def going(self, rows: pa.Table) -> tuple[Flags, Flags]:
        """Which rows go: those with the values, and the second image of such a row that lacks them,
        so has them, too. And which stay, alone, of a change that loses an image."""
        own = changes_of(rows)
        gone, touched = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
        for one, changes in zip(self.searched.names, self.changes, strict=True):
            equal, lacking = one.fitting(rows)
            known = np.asarray(pc.is_in(own, changes))
            gone |= equal | lacking & known
            touched |= known
        return gone, touched & ~gone


def match(searched: Searched) -> Matched:
    """Look for rows in a folder. InputError: images lack a column that decides."""
    names = searched.names
    found: list[list[pa.Array]] = [[] for _ in names]
    doubtful: list[list[tuple[pa.Array, Stored]]] = [[] for _ in names]
    files, seen, older, odd = set[str](), set[str](), set[str](), 0
    for file in searched.files:
        seen.add(file.path)
        for rows in groups(file, searched.columns):
            known_here = _names(rows)
            lacking = {name for name in searched.columns if name.lower() not in known_here}
            older |= lacking
            for one, changes, doubts in zip(names, found, doubtful, strict=True):
                unlike = lacking & one.values.keys()
                if unlike and not one.key:
                    text = f"its rows are older than the column {min(unlike)}"
                    raise InputError(str(file.file), text)
                equal, may = one.fitting(rows)
                odd += one.incomparable(rows)
                if equal.any():
                    files.add(file.path)
                    changes.append(changes_of(rows).filter(pa.array(equal)))
                if may.any():
                    doubts.append((changes_of(rows).filter(pa.array(may)), file))
    known = tuple(pa.concat_arrays([pa.array([], pa.binary()), *own]).unique() for own in found)
    for one, changes, doubts in zip(names, known, doubtful, strict=True):
        for may, file in doubts:
            have = pc.is_in(may, changes)
            if not one.key and not pc.all(have).as_py():
                text = f"images of {searched.table} lack {', '.join(one.values)}"
                text = f"{text} (binlog_row_image): name rows by the key"
                raise InputError(str(file.file), text)
            if pc.any(have).as_py():
                files.add(file.path)
    return Matched(searched, known, frozenset(files), frozenset(seen), frozenset(older), odd)


def without(matched: Matched, rows: pa.Table) -> pa.Table:
    """Rows without those that go."""
    gone, alone = matched.going(rows)
    if alone.any() and "_change_type" in rows.column_names:
        ends = pc.binary_slice(rows["_sequence"].cast(pa.binary()), _CHANGE, SEQUENCE_BYTES)
        last = np.asarray(pc.equal(ends, bytes([_LAST])))
        kinds = pa.array(np.where(last, "insert", "delete"), pa.string())
        kinds_now = pc.if_else(pa.array(alone), kinds, rows["_change_type"])
        rows = replaced(rows, "_change_type", kinds_now)
    return rows.filter(pa.array(~gone))


def written(
    folder: LandingPath, before: Stored, mark: str, parts: Iterable[pa.Table]
) -> Iterator[WrittenFile]:
    """A file in place of another, unless there are no rows. WriteError."""
    path = str(PurePosixPath(before.path).parent / parquet_name(mark))
    place, writer, count, bounds = folder / path, None, 0, list[int]()
    with place.asked(WriteError):
        for rows in parts:
            if not len(rows):
                continue
            if writer is None:
                sink = place.sink()
                writer = pq.ParquetWriter(sink.target, rows.schema, compression="zstd")
            writer.write_table(rows, row_group_size=len(rows))
            count += len(rows)
            low, high = pc.min_max(rows[BOUNDED]).as_py().values()
            bounds += [low, high]
        if writer is None:
            return
        writer.close()
        sink.close()
    stats, now = stats_of(count, bounds), time.time_ns() // 1_000_000
    yield WrittenFile("", folder.name, path, sink.size, count, {**before.partition}, [], stats, now)


def groups(file: Stored, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """A file's rows, some at a time; ``columns``: those that it has of these.

    InputError.
    """
    with file.file.asked(), pq.ParquetFile(file.file.source()) as parquet:
        wanted = None if columns is None else {name.lower() for name in columns}
        known = parquet.schema_arrow.names
        names = [name for name in known if wanted is None or name.lower() in wanted]
        for group in range(parquet.num_row_groups):
            rows = parquet.read_row_group(group, names)
            yield rows.cast(pa.schema([one.with_type(_plain(one.type)) for one in rows.schema]))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of which Arrow can filter and take values: not views, as in what deltalake has
    merged, and no dictionary."""
    types = pa.types
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return pa.string() if types.is_string_view(kind) else pa.binary()
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if types.is_struct(kind):
        return pa.struct([one.with_type(_plain(one.type)) for one in kind])
    return kind


def _names(rows: pa.Table) -> dict[str, str]:
    """What columns are called: MySQL's names have no case, and files have those of their time."""
    return {name.lower(): name for name in rows.column_names}


def replaced(rows: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    """Rows with other texts in a column."""
    at = rows.schema.get_field_index(name)
    field = rows.schema.field(at).with_type(pa.string())
    return rows.set_column(at, field, values.cast(pa.string()))


def changes_of(rows: pa.Table) -> pa.Array:
    """The changes of images: what both images of an update share of ``_sequence``, in their log."""
    own = pc.binary_slice(rows["_sequence"].cast(pa.binary()), 0, _CHANGE)
    files = rows["_file"].cast(pa.string()).cast(pa.binary())
    return one_array(pc.binary_join_element_wise(own, files, b""))


def _marked(rows: pa.Table, column: str, which: Callable[[pa.StructArray], pa.Array]) -> Flags:
    """In which rows a column has no plain value, but such a cell."""
    found = np.zeros(len(rows), bool)
    cells = one_array(rows["_cells"])
    if cells.null_count < len(cells):
        flat = cells.flatten()
        names = pa.array([column.lower(), own_name(column).lower()])
        own = pc.is_in(pc.utf8_lower(flat.field("column").cast(pa.string())), names)
        own = pc.and_(own, which(flat))
        found[np.asarray(pc.list_parent_indices(cells))[np.asarray(own)]] = True
    return found


def _is_absent(cells: pa.StructArray) -> pa.Array:
    return pc.equal(cells.field("state"), _ABSENT)


def _is_there(cells: pa.StructArray) -> pa.Array:
    return pc.invert(_is_absent(cells))


def _has_no_text(cells: pa.StructArray) -> pa.Array:
    return pc.and_(_is_there(cells), pc.is_null(cells.field("text")))
