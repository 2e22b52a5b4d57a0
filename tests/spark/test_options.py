from __future__ import annotations

from typing import Any

import pytest

from binlogkit.errors import UsageError
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters, TableName
from binlogkit.spark.options import parse_options


@pytest.mark.parametrize(
    ("option", "text", "keyword", "value"),
    [
        ("op", "insert, delete", "op", ["insert", "delete"]),
        ("gtid", "80808080-0080-11ee-8080-808080808080:1-9:11", "gtid", None),
        ("thread", "7,8", "thread", [7, 8]),
        ("serverId", "80", "server_id", [80]),
        ("where", "note=a,b", "where", ["note=a,b"]),
        ("where", '["id=1", "note=a,b"]', "where", ["id=1", "note=a,b"]),
        ("startTime", "2024-05-01T10:00:00", "start_time", None),
        ("stopTime", "2024-05-01T10:00:00+02:00", "stop_time", None),
        ("startPosition", "4", "start_position", 4),
        ("stopPosition", "5000000000", "stop_position", 5_000_000_000),
        ("excludeTable", "shop.a,`x,y`.`b``c`", "exclude_table", ["shop.a", "`x,y`.`b``c`"]),
        ("excludeTable", '["shop.a", "shop.b"]', "exclude_table", ["shop.a", "shop.b"]),
    ],
)
def test_every_filter_is_an_option_whatever_its_spelling(
    option: str, text: str, keyword: str, value: Any
) -> None:
    for spelling in (option, option.lower(), keyword, keyword.replace("_", "-").upper()):
        scan = parse_options({"path": "/logs", spelling: text})
        wanted: dict[str, Any] = {keyword: text if value is None else value}
        assert scan.filters == wanted
        assert scan.wanted() == Filters.build(**wanted)


def test_the_filters_of_the_library_are_all_options() -> None:
    options = {
        "excludeTable": "a.b", "op": "insert", "gtid": "", "thread": "1", "serverId": "1",
        "where": "a=1", "at": "b:4", "startPosition": "4", "stopPosition": "8",
        "startTime": "2024-01-01", "stopTime": "2025-01-01", "timezone": "Europe/Berlin",
        "source": "db1",
    }  # fmt: skip
    scan = parse_options({"path": "/logs", "table": "a.c", **options})
    assert {"table", *scan.filters} == set(FilterArgs.__annotations__)
    assert (
        scan.wanted().start_time
        == Filters.build(start_time="2024-01-01", timezone="Europe/Berlin").start_time
    )


def test_the_other_options() -> None:
    given = {
        "path": "/logs", "table": "`odd.db`.t", "schema": "FILE.sql", "charset": "cp1252",
        "ondamage": "report", "name": "db1", "records": "damages",
    }  # fmt: skip
    scan = parse_options(given)
    assert scan.wanted().tables == (TableName("odd.db", "t"),)
    assert (scan.schema, scan.charset, scan.on_damage, scan.name, scan.kind) == (
        "FILE.sql", "cp1252", "report", "db1", "damages",
    )  # fmt: skip
    assert parse_options({"path": "/logs", "schemaFrom": "mysql://u@h:1"}).schema_from


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"path": "/a/binlog.*"}, ("/a/binlog.*",)),
        ({"paths": '["/a", "/b,c"]'}, ("/a", "/b,c")),
        ({"path": "s3://bucket/binlog.000001"}, ("s3://bucket/binlog.000001",)),
        ({"path": "file:///a/b"}, ("/a/b",)),
        ({"path": "file:/a/b"}, ("/a/b",)),
    ],
)
def test_paths_arrive_alone_or_as_a_json_list(
    options: dict[str, str], paths: tuple[str, ...]
) -> None:
    assert parse_options(options).paths == paths


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no log is named"),
        ({"tabel": "a.b"}, "no option 'tabel'; it has at, base, charset, duplicates, excludeTable"),
        ({"pathGlobFilter": "*.0"}, "no option 'pathGlobFilter'"),
        ({"start_time": "2024-01-01", "starttime": "2024-01-01"}, "startTime is given twice"),
        ({"op": "upsert"}, "op is one of insert, update, delete, not upsert"),
        ({"thread": "seven"}, "thread is an integer, not 'seven'"),
        ({"serverId": "1,two"}, "serverId is an integer, not 'two'"),
        ({"excludeTable": "a.b.c"}, "not a table name"),
        ({"excludeTable": '["a"'}, "excludeTable is not a JSON list"),
        ({"source": "[1]"}, "source is not a JSON list of texts"),
        ({"startPosition": "4.5"}, "startPosition is an integer, not '4.5'"),
        ({"stopPosition": ""}, "stopPosition is an integer, not ''"),
        ({"stopTime": "2024-02-30"}, "not an ISO 8601 time"),
        ({"startTime": "2024-01-01", "timezone": "Nowhere/At_all"}, "Nowhere/At_all"),
        ({"where": "id"}, "not a condition: 'id'"),
        ({"where": '["id=1"'}, "where is not a JSON list"),
        ({"where": "[1]"}, "where is not a JSON list of texts"),
        ({"startTime": "yesterday"}, "not an ISO 8601 time"),
        ({"onDamage": "skip"}, "onDamage is stop or report, not 'skip'"),
        ({"records": "events?"}, "records is one of rows, changes, .*, not 'events?'"),
        ({"schema": "a.sql", "schemaFrom": "mysql://h"}, "not both"),
        ({"table": "a.b.c"}, "not a table name"),
        ({"gtid": "no-uuid:1"}, "GTID"),
        ({"splitBytes": "64m"}, "splitBytes is an integer, not '64m'"),
        ({"splitBytes": "0"}, "splitBytes is 1 or more, not 0"),
    ],
)
def test_what_means_nothing_is_an_error(options: dict[str, str], message: str) -> None:
    given = options if message == "no log is named" else {"path": "/logs", **options}
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse_options(given)
