"""Names and statements beside the bytes of their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from binlogkit.analyses.conformance.stored_fields import stores_text

Change = Callable[[dict[str, Any]], dict[str, Any]]

# What else would be printed alike, or nearly: it is not what the log stores.
CHANGES: dict[str, list[Change]] = {
    "TABLE_MAP_EVENT": [
        lambda f: {"db": f["db"][:-1], "table": f["db"][-1] + f["table"]},
        lambda f: {"db": f["db"], "table": f["table"] + "x"},
        lambda f: {"db": f["table"], "table": f["db"]},
    ],
    "QUERY_EVENT": [lambda f: {"query": f["query"] + " "}, lambda f: {"query": f["query"][1:]}],
    "EXECUTE_LOAD_QUERY_EVENT": [lambda f: {"query": f["query"][:-1]}],
    "ROWS_QUERY_LOG_EVENT": [lambda f: {"query": f["query"][:-1]}],
}


@pytest.mark.parametrize(
    ("kind", "cell", "scenario"),
    [
        ("TABLE_MAP_EVENT", "8.0-row-full", "keys"),
        ("QUERY_EVENT", "8.0-statement-full", "statements"),
        ("EXECUTE_LOAD_QUERY_EVENT", "8.0-statement-full", "statements"),
        ("ROWS_QUERY_LOG_EVENT", "8.0-row-rows-query", "keys"),
    ],
)
def test_what_an_event_stores(
    golden_case: Callable[..., Any], kind: str, cell: str, scenario: str
) -> None:
    case, checked = golden_case(cell, scenario), 0
    for event, record in zip(case.stored(), case.events(), strict=True):
        if record["type"] == kind:
            fields = record["fields"]
            assert stores_text(event.raw, fields)
            assert not any(stores_text(event.raw, change(fields)) for change in CHANGES[kind])
            checked += 1
    assert checked
