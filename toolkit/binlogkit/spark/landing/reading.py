"""Landed tables, read without Spark: the rows of all their folders, as Arrow.

The library's own dataset ends a Python process with an abort now and then (deltalake 1.6.6 with
pyarrow 26: its files are read by threads that call Python); here it names the files alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.errors import InputError, UsageError
from binlogkit.rows.filters import parse_table_name
from binlogkit.spark.carried import fit
from binlogkit.spark.landing.shape import PARTITIONS, folder_of, own_fields
from binlogkit.spark.landing.tables import needed, opened


def landed(out: str | Path, table: str) -> pa.Table:
    """The changelog of a landed table, ``db.table``, in the order of its changes.

    A column whose type differs from version to version is text. UsageError: the name has no
    database, deltalake is not installed; InputError: no such table has landed.
    """
    needed()
    name = parse_table_name(table)
    if name.db is None:
        raise UsageError(f"{table} names no database: db.table")
    found = [read(folder) for folder in folders(Path(out), (name.db, name.table))]
    if not found:
        raise InputError(str(out), f"{table} has not landed there")
    whole = _united(found)
    order = pc.sort_indices(whole["_sequence"])
    return whole.take(order)


def folders(out: Path, name: tuple[str, str]) -> Iterator[Path]:
    """The folders of a landed table: of the versions that have their columns in common."""
    generation = 0
    while opened(out / folder_of(name, generation)) is not None:
        yield out / folder_of(name, generation)
        generation += 1


def read(folder: Path) -> pa.Table:
    """The rows that count of one folder."""
    table = opened(folder)
    assert table is not None
    schema = pa.schema(table.schema())
    found = [schema.empty_table()]
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        rows = pq.read_table(folder / unquote(action["path"]), partitioning=None)
        for name in PARTITIONS:
            value = pa.scalar(action["partition"][name], schema.field(name).type)
            rows = rows.append_column(name, pa.repeat(value, len(rows)))
        lacking = [one.name for one in own_fields(schema) if one.name not in rows.column_names]
        if lacking:
            at = rows.column_names.index("_cells")
            rows = rows.set_column(at, "_cells", _without(rows["_cells"], lacking))
        columns = [
            rows[one.name].cast(one.type)
            if one.name in rows.column_names
            else pa.nulls(len(rows), one.type)
            for one in schema
        ]
        found.append(pa.table(columns, schema=schema))
    return pa.concat_tables(found)


def _without(cells: pa.ChunkedArray, names: list[str]) -> pa.ChunkedArray:
    """The cells of rows written before the table had some columns: no image has these."""
    absent = [
        {"column": name, "state": "not_in_image", "bytes": None, "text": None} for name in names
    ]
    if cells.null_count < len(cells):
        lists = [[*(one or ()), *absent] for one in cells.to_pylist()]
        return pa.chunked_array([pa.array(lists, cells.type)])
    return pa.chunked_array([pa.repeat(pa.scalar(absent, cells.type), len(cells))])


def _united(tables: list[pa.Table]) -> pa.Table:
    """Tables one below the other; columns of several types as text."""
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
