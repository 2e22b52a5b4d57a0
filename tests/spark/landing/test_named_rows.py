"""Which images have the values by which rows are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from binlogkit.errors import InputError
from binlogkit.frames.flat_cells import CELLS_TYPE
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.named_rows import Named, Searched, match, without
from binlogkit.spark.landing.rewriting import stored
from binlogkit.spark.landing.sought import Sought
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.splits.changelog import SEQUENCE_BYTES

_KINDS = ("update_preimage", "update_postimage")


def rows(first: int, ids: list[int | None], cells: Any = None, name: str = "id") -> pa.Table:
    """Updates, two images each, of which the second lacks the key if it has none."""
    numbers = [(first + i // 2).to_bytes(SEQUENCE_BYTES - 1, "big") for i in range(len(ids))]
    lacks = [{"column": "id", "state": "not_in_image", "bytes": None, "text": None}]
    told = [lacks if one is None else cells for one in ids]
    return pa.table({
        "_sequence": pa.array([one + bytes([i % 2]) for i, one in enumerate(numbers)], pa.binary()),
        "_change_type": [_KINDS[i % 2] for i in range(len(ids))],
        "_commit_version": pa.array([first] * len(ids), pa.int64()),
        "_file": ["binlog.000001"] * len(ids),
        "_cells": pa.array(told, CELLS_TYPE), name: pa.array(ids, pa.int64()),
    })  # fmt: skip


def table_of(folder: Path, *files: pa.Table) -> Folder:
    """A Delta table of these files, whose columns are those of the first."""
    for one in files:
        names = {name: name.lower() for name in one.column_names}
        write_deltalake(folder, one.rename_columns(names), mode="append", schema_mode="merge")
    place = Folder(folder)
    for one, made in zip(files, sorted(files_in(place), key=lambda path: read(path)), strict=True):
        pq.write_table(one, made)
    return place


def files_in(place: Folder) -> list[Path]:
    table = opened(place)
    assert table is not None
    return [place.path / one.path for one in stored(table, place)]


def read(path: Path) -> bytes:
    found: bytes = pq.read_table(path)["_sequence"][0].as_py()
    return found


def named(place: Folder, value: int, *, key: bool = True) -> Searched:
    return Searched("shop.t", place, (Named({"id": Sought(value, ("integer",))}, key),))


def left(searched: Searched) -> list[tuple[int, str]]:
    found = match(searched)
    whole = [
        without(found, pq.read_table(path))
        for path in sorted(files_in(Folder(Path(str(searched.folder)))), key=read)
    ]
    return [
        (int.from_bytes(seq[:-1], "big"), kind)
        for one in whole
        for seq, kind in zip(*(one[n].to_pylist() for n in one.column_names[:2]), strict=True)
    ]


def test_images_of_one_change(tmp_path: Path) -> None:
    """One that lacks the key goes with the other; one with another key stays, alone."""
    place = table_of(tmp_path, rows(1, [7, None, 8, None, 7, 9, 9, 7]))
    assert left(named(place, 7)) == [
        (2, "update_preimage"), (2, "update_postimage"), (3, "insert"), (4, "delete"),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"shop\.t lack id .*: name rows by the key"):
        match(named(place, 7, key=False))


def test_a_column_that_is_written_otherwise_or_came_later(tmp_path: Path) -> None:
    older = rows(3, [7, 7]).drop(["id"])
    place = table_of(tmp_path, rows(1, [7, 8]), rows(2, [7, 7], name="ID"), older)
    found = match(named(place, 7))
    assert (len(found.changes[0]), len(found.files), set(found.older)) == (2, 2, {"id"})
    assert left(named(place, 7)) == [(1, "insert"), (3, _KINDS[0]), (3, _KINDS[1])]
    with pytest.raises(InputError, match="its rows are older than the column id"):
        match(named(place, 7, key=False))


def test_values_that_cannot_be_compared_are_counted(tmp_path: Path) -> None:
    cells = [{"column": "ID", "state": "undecodable", "bytes": b"\xff", "text": None}]
    place = table_of(tmp_path, rows(1, [7, 8], cells))
    assert match(named(place, 7)).incomparable == 2


def test_nothing_is_found_in_a_table_without_rows(tmp_path: Path) -> None:
    place = table_of(tmp_path, rows(1, [8, 8]))
    found = match(named(place, 7))
    assert not found.files and np.sum([len(one) for one in found.changes]) == 0
