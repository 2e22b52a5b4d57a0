"""Every field of every kind of event is held to mysqlbinlog's text or to the log's bytes."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from binlogkit.analyses import conformance
from binlogkit.analyses.conformance.stored_fields import stores_text

from .conftest import Case, golden

Change = Callable[[dict[str, Any]], dict[str, Any]]
Path = tuple[str, ...]
Record = dict[str, Any]
Named = tuple[int, int | None, str]  # an event, and a field of it

#: What an event does not store itself: its place, what is told from other fields or other events.
DERIVED = {
    ("source",), ("file",), ("pos",), ("inner",), ("fields", "variables"), ("fields", "charset"),
    ("fields", "decoded"),
}  # fmt: skip
#: Fields that the text has under one name.
PRINTED_AS = {
    "db": "table", "log_pos": "end_log_pos", "gtrid": "xa", "bqual": "xa", "format_id": "xa",
    "query_bytes": "query", "block_length": "data", "STMT_END": "flags",
}  # fmt: skip
LOGS = [
    ("8.0-row-full-metadata", "keys"),
    ("9-row-full-metadata", "geometry"),
    ("8.0-statement-full", "statements"),
    ("8.0-row-compressed", "transactions"),
    ("9-row-partial-json", "json"),
    ("9-row-full", "modern"),
    ("8.0-row-full", "incident"),
    ("8.0-row-no-gtid", "transactions"),
    ("5.7-row-full", "transactions"),
    ("5.6-statement-blocks", "load-blocks"),
]
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


def _paths(record: Record, before: Path = ()) -> Iterator[Path]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _paths(value, (*before, name))
        elif (*before, name) not in DERIVED and before[:2] != ("fields", "file"):
            yield (*before, name)


def _other(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return not value if isinstance(value, bool) else (value or 0) + 1
    if isinstance(value, list):
        return value[:-1] if value else ["0x"]
    if value.startswith("0x"):
        return value + "00"
    return str(int(value) + 1) if value.isdigit() else value + "x"


def _changes(events: list[Record], seen: set[tuple[str, Path, bool]]) -> set[Named]:
    """One field of each event that has one which is not in ``seen``, or all new ones of the same
    part of it, changed: which."""
    changed = set[Named]()
    for event in events:
        part: Path = ()
        for path in _paths(event):
            at: Any = event
            for name in path[:-1]:
                at = at[name]
            this = (event["type"], path, at[path[-1]] is None)
            if this in seen or (part and path[:-1] != part):
                continue
            seen.add(this)
            at[path[-1]] = _other(at[path[-1]])
            field = ".".join(path[1:3] if path[0] == "fields" else path)
            changed.add((event["pos"], event["inner"], PRINTED_AS.get(field, field)))
            if len(path) != 3:  # else one of many that are written one by one
                break
            part = path[:-1]
    return changed


def _found(case: Case, events: list[Record]) -> Counter[Named]:
    """How often which field is reported, with what the judge has instead."""
    result = conformance.against_mysqlbinlog(events, None, [], case.lines(), stored=case.stored())
    differences = result.differences.to_pylist()
    assert all(d["proof"] for d in differences)
    return Counter(
        (d["pos"], d["inner"], PRINTED_AS.get(d["column"], d["column"]))
        for d in differences
        if d["kind"] == "unexplained"
    )


@pytest.mark.parametrize(("cell", "scenario"), LOGS, ids=["/".join(log) for log in LOGS])
def test_every_field_that_is_changed_is_found(cell: str, scenario: str) -> None:
    case, seen = golden(cell, scenario), set[tuple[str, Path, bool]]()
    events = case.events()
    assert _found(case, events) == Counter()
    while changed := _changes(now := copy.deepcopy(events), seen):
        assert _found(case, now) == Counter(changed)
    assert len(seen) > 50


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
