"""Other decoders' outputs by their format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from binlogkit.analyses import conformance
from binlogkit.analyses.conformance import decoded
from binlogkit.errors import UsageError

LOGS = ["hostile", "absent", "vector"]
GOLDEN = [
    ("8.0-row-full", "types"),
    ("8.0-row-compressed", "types"),
    ("8.0-row-minimal-partial-json", "json"),
    ("5.7-mixed-full", "statements"),
    ("5.7-row-full", "ddl"),
]


def against_itself(case: Any) -> Any:
    text = conformance.parse_decoded(case.lines(), "mysqlbinlog")
    return conformance.against_mysqlbinlog(text.events, text.rows, text.schemas, case.lines())


def is_clean(result: Any) -> bool:
    return not {"ours", "unexplained"} & set(result.summary.kinds)


@pytest.mark.parametrize(("cell", "scenario"), GOLDEN)
def test_mysqlbinlog_agrees_with_itself(
    golden_case: Callable[..., Any], cell: str, scenario: str
) -> None:
    result = against_itself(golden_case(cell, scenario))
    assert is_clean(result)
    assert result.summary.events > 100


@pytest.mark.parametrize("name", ["absent", "vector"])
def test_mysqlbinlog_agrees_with_itself_on_rare_forms(
    name: str, request: pytest.FixtureRequest
) -> None:
    result = against_itself(request.getfixturevalue(name))
    assert is_clean(result)
    assert result.summary.rows > 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"@3=-1 (4294967295)", b"@3=-2 (4294967294)"),
        (b"[1.00000e+00,2.50000e+00", b"[1.00000e+00,2.60000e+00"),
        (b"UPDATE `shop`.`pa`", b"UPDATE `shop`.`pb`"),
        (b"server id 7 ", b"server id 8 "),
        (b"'$.a[2].b', 'z'", b"'$.a[2].b', 'q'"),
        (b":mytag:", b":other:"),
    ],
)
def test_two_texts_that_differ_are_told_apart(vector: Any, old: bytes, new: bytes) -> None:
    text = b"".join(vector.lines())
    assert old in text
    changed = text.replace(old, new, 1).splitlines(keepends=True)
    theirs = conformance.parse_decoded(changed, "mysqlbinlog")
    result = conformance.against_mysqlbinlog(
        theirs.events, theirs.rows, theirs.schemas, vector.lines()
    )
    assert result.summary.exit_status == 1


@pytest.mark.parametrize("what", ["events", "rows"])
def test_our_own_json_lines(absent: Any, what: str) -> None:
    records = getattr(absent, what)()
    lines = [json.dumps(record) for record in records] + [""]
    read = conformance.parse_decoded(lines, "binlogkit")
    given, missing = (read.events, read.rows) if what == "events" else (read.rows, read.events)
    assert list(given or ()) == records
    assert missing is None


def test_no_lines_are_no_rows() -> None:
    read = conformance.parse_decoded([], "binlogkit")
    assert (read.events, list(read.rows or ())) == (None, [])


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"pos": "4"}', "[" * 100_000])
def test_a_line_that_is_no_record_is_named(line: str) -> None:
    good = json.dumps({"pos": 4, "type": "STOP_EVENT"})
    read = conformance.parse_decoded([good, line], "binlogkit")
    with pytest.raises(UsageError, match="line 2"):
        list(read.events or ())


def test_formats_are_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conformance.formats() == ["binlogkit", "mysqlbinlog"]
    with pytest.raises(UsageError, match="there are binlogkit, mysqlbinlog"):
        conformance.parse_decoded([], "what")
    with pytest.raises(UsageError, match="already"):
        conformance.register("mysqlbinlog", lambda lines: conformance.Decoded(None, None))
    monkeypatch.setattr(decoded, "_FORMATS", dict(decoded._FORMATS))
    conformance.register("new", lambda lines: conformance.Decoded(None, [{"pos": 1}]))
    assert conformance.formats() == ["binlogkit", "mysqlbinlog", "new"]
    assert list(conformance.parse_decoded([], "new").rows or ()) == [{"pos": 1}]
