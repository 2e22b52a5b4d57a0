"""What a killed landing left is deleted by the next one, and nothing else ever is."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from deltalake import DeltaTable

from binlogkit.errors import WriteError
from binlogkit.spark.landing import compact
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.writing import parquet_name
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed
from tests.spark.landing.test_faults import dead_files, killed, steps_of

LOGS = golden.case("8.0-row-full", "transactions")


def left_by_a_killed_one(lake: Path) -> list[Path]:
    """Copies of files, under names that a landing gives, and the mark of one that was killed."""
    found, mark = [], uuid.uuid4().hex
    for path in [*lake.glob("tables/bank/account/*/*/*.parquet"), *lake.glob("landed/*.parquet")]:
        copy = path.with_name(parquet_name(mark))
        copy.write_bytes(path.read_bytes())
        found.append(copy)
    (lake / "running" / mark).touch()
    return found


def test_what_a_killed_program_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    steps = steps_of(tmp_path / "counted")
    terms = steps.index("create_write_transaction")
    begun = steps.index("create_write_transaction", terms + 1)
    number = steps.index("close", begun) + 1  # of a table's first file
    lake = tmp_path / "lake"
    assert killed(lake, number, "after") == 9
    assert dead_files(lake)
    land(LOGS.path, lake)
    assert not dead_files(lake)
    land(LOGS.path, tmp_path / "whole")
    assert landed(lake) == landed(tmp_path / "whole")


def test_only_files_of_killed_landings_are_deleted(tmp_path: Path) -> None:
    """Not those of others, nor those that were compacted, nor while a landing is under way."""
    first, *_ = LOGS.binlogs
    land(first, tmp_path)
    land(LOGS.path, tmp_path)
    compact(tmp_path)
    table = DeltaTable(tmp_path / "tables/bank/account")
    table.create_checkpoint()
    compacted = dead_files(tmp_path)
    assert compacted  # of earlier versions, which readers may still have open
    other = tmp_path / "tables/bank/account/mine.parquet"
    other.write_bytes(b"another program's")
    dead = left_by_a_killed_one(tmp_path)
    before = landed(tmp_path)
    land(LOGS.path, tmp_path)
    assert not any(path.exists() for path in dead)
    assert all(path.exists() for path in [other, *compacted])
    assert landed(tmp_path) == before


def test_nothing_is_deleted_while_a_landing_is_under_way(tmp_path: Path) -> None:
    land(LOGS.path, tmp_path)
    with under_way(Folder(tmp_path)):
        dead = left_by_a_killed_one(tmp_path)
        land(LOGS.path, tmp_path)
        assert dead and all(path.exists() for path in dead)
    land(LOGS.path, tmp_path)
    assert not any(path.exists() for path in dead)
    assert [one.name for one in (tmp_path / "running").iterdir()] == ["gate"]


def test_a_landing_that_was_not_killed_leaves_no_mark(tmp_path: Path) -> None:
    land(LOGS.path, tmp_path)
    dead = left_by_a_killed_one(tmp_path)
    for mark in (tmp_path / "running").iterdir():
        mark.unlink()
    land(LOGS.path, tmp_path)  # no one was killed, and nothing is looked for
    assert all(path.exists() for path in dead)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "running").write_text("a file")
    with pytest.raises(WriteError, match="running"), under_way(Folder(tmp_path)):
        pass
