"""``views.sql``: DuckDB reads what landed, whatever else is in the folders."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing import current, landed
from binlogkit.spark.landing.journal import read_landed
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.shape import landed_name, own_fields
from binlogkit.spark.landing.views import VIEWS, _shown_names
from binlogkit_fixtures import golden


def lands(logs: list[Path], lake: Path, *more: str) -> None:
    assert run(["land", *map(str, logs), "--out", str(lake), *more]) in (0, 1)


def opened(lake: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute((lake / VIEWS).read_text("utf-8"))
    return connection


def view(connection: duckdb.DuckDBPyConnection, table: str, end: str = "") -> list[dict[str, Any]]:
    db, name = (part.replace('"', '""') for part in landed_name(table))
    rows = connection.sql(f'SELECT * FROM "{db}"."{name}{end}"').to_arrow_table().to_pylist()
    return sorted(rows, key=lambda row: bytes(row["_sequence"]))


def without_absent(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what Landing adds to ``_cells``: the columns that their files lack."""
    return [
        row | {"_cells": [one for one in row["_cells"] or () if one["state"] != "not_in_image"]}
        for row in rows
    ]


@pytest.mark.parametrize(
    ("cell", "scenario"),
    [
        ("8.0-row-full", "incident"),
        ("8.0-row-minimal", "keys"),
        ("8.0-row-full-metadata", "types"),
        pytest.param("8.0-row-full", "ddl", marks=pytest.mark.slow),
        pytest.param("9-row-full", "odd-names", marks=pytest.mark.slow),
    ],
)
def test_views_are_the_tables(cell: str, scenario: str, tmp_path: Path) -> None:
    lake = tmp_path / "a lake of 'what?*"
    logs = [*golden.case(cell, scenario).binlogs]
    lands(logs, lake, "--current")
    connection = opened(lake)
    tables = set(read_landed(Folder(lake))["table"].to_pylist())
    assert tables
    for table in tables:
        expected = landed(lake, table)
        rows = view(connection, table, "$changes")
        assert {*rows[0]} == {*expected.column_names}
        if len([*folders(Folder(lake), landed_name(table))]) == 1:  # of others columns become text
            kept = without_absent if scenario == "ddl" else list
            assert kept(rows) == kept(expected.to_pylist())
        now = sorted(current(lake, table).to_pylist(), key=lambda row: row["_sequence"])
        assert view(connection, table) == now
    made = connection.execute(
        "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    counts = 0
    for schema, name in made:
        quoted = '"{}"."{}"'.format(*(part.replace('"', '""') for part in (schema, name)))
        (count,) = connection.execute(f"SELECT count(*) FROM {quoted}").fetchone() or (0,)
        counts += count * name.endswith("$changes")
    assert counts == sum(read_landed(Folder(lake))["rows"].to_pylist())


def at(connection: duckdb.DuckDBPyConnection, table: str, micros: int) -> list[str]:
    """The rows of a table as of a time, without their order."""
    db, name = (part.replace('"', '""') for part in landed_name(table))
    found = connection.sql(f'SELECT * FROM "{db}"."{name}$at"(make_timestamptz({micros}))')
    return sorted(map(repr, found.to_arrow_table().to_pylist()))


@pytest.mark.parametrize(
    ("cell", "scenario", "least"),
    [
        ("8.0-row-full", "incident", 6),
        pytest.param("8.0-row-full", "types", 20, marks=pytest.mark.slow),
        pytest.param("8.0-row-noblob", "transactions", 2, marks=pytest.mark.slow),
        pytest.param("9-row-full", "keys", 10, marks=pytest.mark.slow),
        pytest.param("8.0-row-full", "ddl", 10, marks=pytest.mark.slow),
    ],
)
def test_rows_as_they_were(cell: str, scenario: str, least: int, tmp_path: Path) -> None:
    """Those of the server's time at a mark are the current ones of a log that ends there."""
    case = golden.case(cell, scenario)
    lands([*case.binlogs], tmp_path / "lake", "--current")
    connection, same = opened(tmp_path / "lake"), 0
    for i, mark in enumerate(case.manifest.marks):
        logs = tmp_path / f"logs-{i}"
        logs.mkdir()
        for log in case.binlogs:
            if log.name <= mark.file:
                data = log.read_bytes()
                end = mark.pos if log.name == mark.file else len(data)
                (logs / log.name).write_bytes(data[:end])
        lands([*logs.iterdir()], tmp_path / f"lake-{i}", "--current")
        for table in (written_table_name(*name.split(".", 1)) for name in mark.tables):
            try:
                rows = at(connection, table, mark.commit_clock)
                expected = current(tmp_path / f"lake-{i}", table)
            except (duckdb.CatalogException, duckdb.InvalidInputException, InputError):
                continue
            names = [*(one.name for one in own_fields(expected.schema)), "_cells"]
            own = expected.select(names).to_pylist()
            assert rows == sorted(map(repr, own)), (table, mark.name)
            same += 1
    assert same >= least


@pytest.mark.slow
def test_rows_as_they_were_are_refused_where_they_do_not_follow(tmp_path: Path) -> None:
    case = golden.case("8.0-row-minimal", "keys")
    lands([*case.binlogs], tmp_path / "keys", "--current")
    connection, begin = opened(tmp_path / "keys"), case.manifest.marks[0].commit_clock
    with pytest.raises(duckdb.InvalidInputException, match=r"pk as of before .*: CREATE TABLE"):
        at(connection, "keyed.pk", 0)
    with pytest.raises(duckdb.InvalidInputException, match="a before image is not whole"):
        at(connection, "keyed.unique_two", begin)
    with pytest.raises(duckdb.InvalidInputException, match="it has no key"):
        at(connection, "keyed.nokey", begin)

    [log] = golden.case("8.0-row-full", "incident").binlogs
    growing = tmp_path / log.name
    growing.write_bytes(log.read_bytes()[:44450])  # where a transaction ends
    lands([growing], tmp_path / "lake", "--current")
    now = 1 << 52
    assert at(opened(tmp_path / "lake"), "shop.orders", now)
    growing.write_bytes(log.read_bytes())
    lands([growing], tmp_path / "lake")  # the current rows stay behind
    with pytest.raises(duckdb.CatalogException):
        at(opened(tmp_path / "lake"), "shop.orders", now)


def test_what_does_not_count_is_not_read(tmp_path: Path) -> None:
    """What a killed landing left, torn or whole, and what compaction replaced."""
    case = golden.case("8.0-row-full", "transactions")
    for log in case.binlogs:
        lands([log], tmp_path, "--current")
    before = landed(tmp_path, "bank.account").num_rows
    for i, file in enumerate(tmp_path.glob("tables/bank/account/*/*/*.parquet")):
        shutil.copy(file, file.with_name("left.parquet"))
        file.with_name("torn.parquet").write_bytes(file.read_bytes()[: 100 + i])
    lands([*case.binlogs], tmp_path, "--compact")
    assert len(view(opened(tmp_path), "bank.account", "$changes")) == before


def test_names_that_duckdb_does_not_tell_apart() -> None:
    names = [("main", "t"), ("shop", "T"), ("shop", "t"), ("shop", "t$2")]
    assert _shown_names(names) == {
        ("main", "t"): ("main$2", "t"),
        ("shop", "T"): ("shop", "T"),
        ("shop", "t"): ("shop", "t$2"),
        ("shop", "t$2"): ("shop", "t$2$2"),
    }
