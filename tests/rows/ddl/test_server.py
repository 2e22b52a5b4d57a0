"""What real servers show of their tables is what their information_schema had of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit.errors import LostConnectionError, ServerError
from binlogkit.rows.ddl.server import from_server

HERE = Path(__file__).parent


def replies(series: str) -> dict[str, Any]:
    return dict(json.loads((HERE / f"shown_{series}.json").read_text("utf-8")))


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_tables_that_a_server_shows(series: str, recorder: ModuleType) -> None:
    recorded = json.loads((HERE / f"recorded_{series}.json").read_text("utf-8"))
    expected: dict[str, Any] = {}
    for step in recorded["steps"]:
        expected |= step["changed"]
        for name in step["dropped"]:
            del expected[name]
    assert recorder.tables(from_server(replies(series).__getitem__)) == expected != {}


def test_a_table_that_a_server_does_not_show_is_unknown() -> None:
    known = replies("8.0")

    def query(sql: str, refusal: type[ServerError] = ServerError) -> Any:
        if sql.endswith(".`child`"):
            raise refusal("the table is broken", code=1146)
        return known[sql]

    catalog = from_server(query)
    assert catalog.table("ddl", "child") is None and catalog.table("ddl", "chars") is not None
    assert "broken" in str(catalog.is_unknown("ddl", "child"))
    with pytest.raises(LostConnectionError):
        from_server(lambda sql: query(sql, LostConnectionError))
