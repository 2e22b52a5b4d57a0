"""Every value of every column type against the server's own SELECT of it.

The manifest of the scenario ``types`` holds each table at marked positions; its rows are rebuilt
here from the records of ``rows`` alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import pytest

from binlogkit_fixtures import golden

Run = Callable[..., Any]
Table = dict[int, dict[str, Any]]

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit")
_BYTES = (
    "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
    "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
    "geomcollection",
)  # fmt: skip


def single(value: float) -> float:
    """The nearest 32-bit float."""
    result: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return result


def check(kind: str, ours: Any, theirs: Any) -> None:
    """The contract's form of a value of column type ``kind``, and its truth."""
    base = re.split(r"[ (]", kind, maxsplit=1)[0]
    if theirs is None:
        assert ours is None
    elif base in _INTEGERS:
        assert type(ours) is int and ours == theirs
    elif base == "float":
        assert type(ours) is float or (type(ours) is int and base == "float")
        assert single(ours) == single(theirs)
        assert len(repr(ours)) <= len(repr(single(theirs)))
    elif base == "double":
        assert ours == theirs and not isinstance(ours, str)
    elif base in _BYTES:
        assert ours == theirs and re.fullmatch("0x([0-9A-F]{2})*", ours)
    else:
        assert type(ours) is str and ours == theirs


def replay(tables: dict[str, Table], record: dict[str, Any]) -> None:
    """Take a row change; an image lacks what it does not hold."""
    rows = tables.setdefault(f"{record['db']}.{record['table']}", {})
    before, after = record["before"], record["after"]
    old = {} if before is None else rows.pop(before["id"])
    for column, value in (before or {}).items():
        assert old[column] == value
    if after is not None:
        rows[after.get("id", old.get("id"))] = old | after


CASES = golden.cases(scenario="types", format="ROW")
QUICK = ("5.7-row-full", "8.0-row-full")


def test_both_servers_and_every_image_are_there() -> None:
    assert {(c.settings.series, c.settings.image) for c in CASES} >= {
        (series, image) for series in ("5.7", "8.0") for image in ("full", "minimal")
    }
    assert {c.cell for c in CASES} >= set(QUICK)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, marks=[] if c.cell in QUICK else [pytest.mark.slow], id=c.cell)
        for c in CASES
    ],
)
def test_rows_hold_what_the_server_held(run: Run, case: golden.GoldenCase) -> None:
    done = run("rows", *case.binlogs, "--format", "jsonl")
    assert (done.status, done.err) == (0, "")
    marks = list(case.manifest.marks)
    tables: dict[str, Table] = {}
    checked = 0
    for record in [*done.records, None]:
        while marks and (record is None or record["pos"] >= marks[0].pos):
            checked += compare(tables, marks.pop(0).tables)
        if record is not None:
            replay(tables, record)
    assert not marks and checked > 4000


def compare(tables: dict[str, Table], truth: Any) -> int:
    """The tables against a mark's; how many cells."""
    cells = 0
    for name, table in truth.items():
        kinds = {column.name: column.type for column in table.columns}
        rows = table.records()
        ours = tables.get(name, {})
        assert sorted(ours) == sorted(row["id"] for row in rows)
        for row in rows:
            assert list(ours[row["id"]]) == list(row)
            for column, value in row.items():
                check(kinds[column], ours[row["id"]][column], value)
                cells += 1
    return cells


@pytest.mark.parametrize("table", ["types.floats", "types.timestamps"])
def test_state_has_the_same_forms(run: Run, table: str) -> None:
    case = golden.case("8.0-row-full", "types")
    (mark,) = [m for m in case.manifest.marks if m.name == "updated"]
    (path,) = case.binlogs
    done = run("state", path, "--table", table, "--at", f"{path}:{mark.pos}", "--format", "jsonl")
    assert (done.status, done.err) == (0, "")
    truth = mark.tables[table]
    kinds = {column.name: column.type for column in truth.columns}
    assert len(done.records) == len(truth.rows)
    for record, row in zip(done.records, truth.records(), strict=True):
        assert list(record) == ["values", "unknown"] and record["unknown"] == []
        assert list(record["values"]) == list(row)
        for column, value in row.items():
            check(kinds[column], record["values"][column], value)


def test_json_that_is_known_as_a_difference_only(run: Run) -> None:
    """A partial update without the document before it: ``json_diff``, and no other object."""
    case = golden.case("8.0-row-minimal-partial-json", "json")
    rows = run("rows", *case.binlogs, "--format", "jsonl").records
    differences = [
        value for row in rows for value in (row["after"] or {}).values() if isinstance(value, dict)
    ]
    assert differences
    for value in differences:
        assert list(value) == ["json_diff"]
        for step in value["json_diff"]:
            assert list(step) == ["op", "path", "value"]
            assert step["op"] in ("replace", "insert", "remove")
