"""steps.sql on real servers, in row and in statement format, against the log they write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.events.table_map import TableMap
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.match import matches
from binlogkit.rows.ddl.server import from_server
from binlogkit.rows.resolve import resolve_schema
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.servers import Server
from tests.rows.ddl import information_schema
from tests.servers import shared_server

pytestmark = pytest.mark.server

#: What a log in statement format cannot tell: columns that a SELECT gave.
SELECTED = {"ddl.selected", "ddl.selected2", "ddl.selected3", "ddl.selected4"}


@pytest.fixture(scope="module", params=["5.7", "8.0", "9"])
def series(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def logged(
    request: pytest.FixtureRequest,
    series: str,
    recorder: ModuleType,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Server, list[tuple[int, Any]], Path]]:
    """Format, server, snapshots by position, and the log, after one row went into each table."""
    spec = recorder.spec(series)
    spec = replace(spec, options={**spec.options, "binlog-format": request.param})
    with shared_server(spec) as server:
        snapshots = list(recorder.run(server, series))
        if request.param == "ROW":
            insert_everywhere(server)
        folder = tmp_path_factory.mktemp("log")
        log = server.copy_binlog(server.binlog_names()[-1], folder)
        yield request.param, server, snapshots, log


def insert_everywhere(server: Server) -> None:
    """One row of defaults into each base table that takes it."""
    catalog = from_server(server.query)
    with server.connect().cursor() as cursor:
        cursor.execute("SET sql_mode = '', foreign_key_checks = 0")
        for table in catalog.tables():
            names = [part.replace("`", "``") for part in (table.db, table.table)]
            needed = [c.name for c in table.columns if c.type == "point" and not c.nullable]
            srid = 4326 if table.table == "srids" else 0
            columns = ", ".join(f"`{name}`" for name in needed)
            values = ", ".join(f"ST_GeomFromText('POINT(1 1)', {srid})" for _ in needed)
            name = f"`{names[0]}`.`{names[1]}`"
            cursor.execute(f"INSERT IGNORE INTO {name} ({columns}) VALUES ({values})")


@pytest.mark.sampled(0, 4)
@pytest.mark.parametrize("logged", ["ROW", "STATEMENT"], indirect=True)
@pytest.mark.gate(3)
def test_tracked_schema_follows_the_server(
    logged: tuple[str, Server, list[tuple[int, Any]], Path], recorder: ModuleType
) -> None:
    binlog_format, server, snapshots, path = logged
    events = list(recorder.queries(path))
    catalog = Catalog(server.version)
    unknown = SELECTED if binlog_format == "STATEMENT" else set()
    at = 0
    for position, truth in snapshots:
        for pos, arguments in events:
            if at <= pos < position:
                told = {"default_db": None} | arguments
                sql = told.pop("sql")
                reasons = {
                    f"{c.db}.{c.table}": c.reason
                    for c in catalog.apply(sql, **told)
                    if c.action == "unknown"
                }
                assert reasons.keys() <= unknown, (sql, reasons)
        tracked = recorder.tables(catalog)
        assert tracked.keys() == truth.keys() - unknown
        for name, told in tracked.items():
            told.setdefault("engine", truth[name]["engine"])
            assert told == truth[name], name
        at = position
    for name in unknown:
        assert "SELECT" in str(catalog.is_unknown(*name.split(".")))


@pytest.mark.slow
@pytest.mark.parametrize("logged", ["ROW"], indirect=True)
def test_definitions_agree_with_real_table_maps(
    logged: tuple[str, Server, list[tuple[int, Any]], Path], recorder: ModuleType
) -> None:
    _, server, _, path = logged
    catalog = Catalog(server.version)
    seen: dict[tuple[str, str], Any] = {}
    with path.open("rb") as file:
        for event in read_events(LogReader(path.name, file)):
            if isinstance(event.body, Query):
                told = {"default_db": None} | recorder.arguments(event.body)
                catalog.apply(told.pop("sql"), **told)
            elif isinstance(event.body, TableMap):
                schema = resolve_schema(event.body, 0)
                definition = catalog.table(*schema.name)
                assert definition is not None, schema.name
                assert matches(definition, schema.columns) is None
                seen[schema.name] = schema.columns
    assert len(seen) > 60
    disagreeing = 0
    for name, columns in seen.items():
        for other in catalog.tables():
            if (other.db, other.table) != name and matches(other, columns) is not None:
                disagreeing += 1
    assert disagreeing > len(seen) * len(seen) * 0.9


@pytest.mark.slow
@pytest.mark.parametrize("logged", ["ROW"], indirect=True)
def test_what_the_server_shows_is_what_information_schema_has(
    logged: tuple[str, Server, list[tuple[int, Any]], Path], recorder: ModuleType
) -> None:
    _, server, _, _ = logged
    shown, expected = from_server(server.query), information_schema.from_server(server.query)
    assert recorder.tables(shown) == recorder.tables(expected) != {}
    assert shown.databases == expected.databases
