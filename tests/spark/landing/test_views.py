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
from binlogkit.spark.landing import current, keep_current, landed
from binlogkit.spark.landing.journal import read_landed
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.shape import landed_name, own_fields
from binlogkit.spark.landing.views import VIEWS, _shown_names
from binlogkit_fixtures import golden
from binlogkit_fixtures.servers import ServerSpec
from tests.analyses.verify.conftest import keys_log, log_of, said
from tests.servers import shared_server
from tests.spark.landing.landings import failed_over, third_of


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
        now = current(lake, table)
        if own_fields(now.schema):  # else no table has its name any more
            rows = sorted(now.to_pylist(), key=lambda row: row["_sequence"])
            assert view(connection, table) == rows
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


@pytest.mark.parametrize("first", ["source", "replica"])
def test_rows_as_they_were_over_a_failover(first: str, tmp_path: Path) -> None:
    """The replica goes on in a log that it began before the source's last one; what lands first of
    it stands among the source's transactions."""
    case = golden.case("8.0-row-full", "incident")
    [log] = case.binlogs
    source, replica = failed_over(log, tmp_path)
    if first == "replica":
        whole = replica.read_bytes()
        replica.write_bytes(third_of(replica))
        lands([replica], tmp_path / "lake", "--name", "shop", "--current")
        replica.write_bytes(whole)
    lands([source, replica], tmp_path / "lake", "--name", "shop", "--current")
    lands([log], tmp_path / "one", "--current")
    both, one, same = opened(tmp_path / "lake"), opened(tmp_path / "one"), 0
    for mark in case.manifest.marks:
        for table in (written_table_name(*name.split(".", 1)) for name in mark.tables):
            try:
                rows = at(one, table, mark.commit_clock)
            except (duckdb.CatalogException, duckdb.InvalidInputException):
                with pytest.raises((duckdb.CatalogException, duckdb.InvalidInputException)):
                    at(both, table, mark.commit_clock)
                continue
            assert at(both, table, mark.commit_clock) == rows, (table, mark.name)
            same += len(rows) > 0
    assert same >= 6


def test_renamed_and_empty_tables_have_views(tmp_path: Path) -> None:
    """Without a change since; a name that no table has any more keeps its changes."""
    _, (database, create, *told) = keys_log()
    filled = next(one for one in told if any(b"\x05keyed\0\x02pk\0" in p.data for p in one))
    sql = bytes(create[-1].data)[create[-1].data.index(b"CREATE") :]
    ddl = b"RENAME TABLE keyed.pk TO keyed.other", b"CREATE TABLE keyed.none (id INT PRIMARY KEY)"
    log, lake = tmp_path / "binlog.000001", tmp_path / "lake"
    renamed, empty = (said(create, sql, one) for one in ddl)
    log.write_bytes(log_of([database, create, filled, renamed, empty], 0, 0))
    lands([log], lake, "--current")
    connection = opened(lake)
    was = view(connection, "keyed.pk", "$changes")
    own = [one.name for one in own_fields(landed(lake, "keyed.pk").schema)]
    now = view(connection, "keyed.other")
    inserted = [[row[name] for name in own] for row in was if row["_change_type"] == "insert"]
    assert sorted([row[name] for name in own] for row in now) == sorted(inserted) != []
    assert at(connection, "keyed.other", 1 << 52) == sorted(
        repr({name: row[name] for name in [*own, "_cells"]}) for row in now
    )
    with pytest.raises(duckdb.InvalidInputException, match=r"RENAME TABLE .* TO keyed"):
        at(connection, "keyed.other", 0)
    assert view(connection, "keyed.other", "$changes") == view(connection, "keyed.none") == []
    assert connection.sql("SELECT id FROM keyed.none").fetchall() == []
    assert at(connection, "keyed.none", 1 << 52) == []
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        view(connection, "keyed.pk")
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        at(connection, "keyed.pk", 0)


#: What a server's tables are called at the end, and statements that lead there.
RENAMED = (
    "CREATE DATABASE d",
    "CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(9), f DECIMAL(9,2))",
    "INSERT INTO d.a VALUES (1, 'x', 1.5), (2, NULL, 2.5)",
    "RENAME TABLE d.a TO d.b",
    "CREATE TABLE d.e (id INT PRIMARY KEY, t TIMESTAMP NULL)",
    "CREATE TABLE d.l LIKE d.b",
    "CREATE TABLE d.x (id INT PRIMARY KEY)",
    "INSERT INTO d.x VALUES (1)",
    "ALTER TABLE d.x RENAME d.y, ADD c INT DEFAULT 7",
    "CREATE TABLE d.gone (id INT PRIMARY KEY)",
    "INSERT INTO d.gone VALUES (1)",
    "DROP TABLE d.gone",
)


@pytest.mark.server
@pytest.mark.parametrize("version", ["5.7", "8.0", "9"])
def test_views_are_what_the_server_has(version: str, tmp_path: Path) -> None:
    with shared_server(ServerSpec(version, {})) as server:
        server.query("FLUSH BINARY LOGS")
        name = server.binlog_names()[-1]
        for statement in RENAMED:
            server.query(statement)
        server.query("FLUSH BINARY LOGS")
        server.copy_binlog(name, tmp_path / name)
        lands([tmp_path / name], tmp_path / "lake", "--current")
        connection = opened(tmp_path / "lake")
        for (table,) in server.query("SHOW TABLES IN d"):
            columns = ", ".join(f"`{row[0]}`" for row in server.query(f"SHOW COLUMNS IN d.{table}"))
            wanted = server.query(f"SELECT {columns} FROM d.{table} ORDER BY id")
            asked = f"SELECT {columns.replace('`', '')} FROM d.{table} ORDER BY id"
            found = connection.sql(asked).fetchall()
            assert [[*map(str, row)] for row in found] == [[*map(str, row)] for row in wanted]
            as_was = connection.sql(asked.replace(" ORDER", "$at(now()) ORDER")).fetchall()
            assert as_was == found
            connection.sql(f"SELECT * FROM d.{table}$changes").fetchall()
        made = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'd'"
        names = {view for (view,) in connection.execute(made).fetchall()}
        assert {one for one in names if not one.endswith("$changes")} == {"b", "e", "l", "y"}
        assert {"a$changes", "gone$changes", "x$changes"} <= names


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
    with pytest.raises(duckdb.InvalidInputException, match="it has no key"):
        connection.sql('SELECT _cells FROM keyed."nokey$at"(now()) ORDER BY _cells').fetchall()

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


def test_current_rows_that_lack_what_landed_later_say_so(tmp_path: Path) -> None:
    first, second = golden.case("8.0-row-full", "transactions").binlogs
    lake = tmp_path / "lake"

    def comment() -> str | None:
        asked = "SELECT comment FROM duckdb_views() WHERE view_name = 'account'"
        [[found]] = opened(lake).sql(asked).fetchall()
        return None if found is None else str(found)

    lands([first], lake, "--current")
    assert comment() is None
    lands([second], lake)
    lacks = "the rows after batch 1, without what landed later, or waits (--current"
    assert str(comment()).startswith(lacks)
    keep_current(lake)
    assert comment() is None
    rows = opened(lake).sql("SELECT count(*) FROM bank.account").fetchall()
    assert rows == [(current(lake, "bank.account").num_rows,)]

    lake, logs = tmp_path / "waits", tmp_path / "logs"
    logs.mkdir()
    shutil.copy(first, logs)
    lands([logs], lake, "--current")
    shutil.copy(second, logs / "binlog.000004")  # names do not hold over what is missing
    assert run(["land", str(logs), "--out", str(lake), "--current"]) == 1
    assert str(comment()).startswith(lacks)
