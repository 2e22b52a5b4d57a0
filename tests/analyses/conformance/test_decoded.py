"""Other decoders' outputs by their format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from binlogkit.analyses import conformance
from binlogkit.analyses.conformance import decoded
from binlogkit.errors import UsageError
from binlogkit.schemas import load

FORMATS = ["binlogkit", "canal", "debezium", "maxwell", "mysqlbinlog", "rows"]
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
    """Nothing is wrong but the rows that the text begins and gives up: it does not have them."""
    found = result.differences.to_pylist()
    wrong = [d for d in found if d["kind"] in ("ours", "unexplained")]
    given_up = result.summary.rules.get("type-not-handled", 0)
    return len(wrong) == given_up and {d["reason"] for d in wrong} <= {"ours lacks this row"}


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


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        (b"700101  0:00:00", 0),
        (b"991231 23:59:59", 946684799),
        (b"000101  0:00:00", 946684800),
        (b"380119  3:14:08", 1 << 31),
        (b"691231 23:59:59", 3155759999),
    ],
)
def test_two_digits_are_a_year_from_1970_on(vector: Any, time: bytes, seconds: int) -> None:
    text = b"".join(vector.lines())
    first = text.index(b"\n#2") + 2
    lines = (text[:first] + time + text[first + len(time) :]).splitlines(keepends=True)
    events = conformance.parse_decoded(lines, "mysqlbinlog").events
    assert events is not None
    assert next(iter(events))["timestamp"] == seconds


def test_types_are_those_that_the_text_names(vector: Any) -> None:
    """A tagged GTID's event is called GTID as others; its GTID tells."""
    events = conformance.parse_decoded(vector.lines(), "mysqlbinlog").events
    types = [e["type"] for e in events or ()]
    assert types == [e["type"] for e in vector.events()]
    assert {"GTID_TAGGED_LOG_EVENT", "GTID_LOG_EVENT"} <= set(types)


def test_a_table_map_has_its_names_and_its_number(vector: Any) -> None:
    events = conformance.parse_decoded(vector.lines(), "mysqlbinlog").events
    ours = {(e["pos"], e["inner"]): e["fields"] for e in vector.events()}
    found = [e for e in events or () if e["type"] == "TABLE_MAP_EVENT"]
    assert len(found) > 5
    for event in found:
        told = ours[event["pos"], event["inner"]]
        wanted = {name: told[name] for name in ("table_id", "db", "table")}
        assert {name: event["fields"].get(name) for name in wanted} == wanted


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
    assert conformance.formats() == FORMATS
    with pytest.raises(UsageError, match="there are binlogkit, canal, debezium, "):
        conformance.parse_decoded([], "what")
    with pytest.raises(UsageError, match="already"):
        conformance.register("mysqlbinlog", lambda lines: conformance.Decoded(None, None))
    monkeypatch.setattr(decoded, "_FORMATS", dict(decoded._FORMATS))
    conformance.register("new", lambda lines: conformance.Decoded(None, [{"pos": 1}]))
    assert conformance.formats() == sorted([*FORMATS, "new"])
    assert list(conformance.parse_decoded([], "new").rows or ()) == [{"pos": 1}]


def test_rows_of_any_decoder() -> None:
    """The least that a row must have; -0 keeps its sign, though JSON's reader has it as 0."""
    lines = [
        '{"db": "d", "table": "t", "op": "insert", "after": {"@1": -0, "@2": 9223372036854775808}}',
        "",
        '{"db": "d", "table": "t", "op": "delete", "before": {"@1": 1}, "pos": 4}',
    ]
    rows = list(decoded.parse_decoded(lines, "rows").rows or ())
    assert [repr(value) for value in rows[0]["after"].values()] == ["-0.0", "9223372036854775808"]
    assert (rows[0]["before"], rows[1]["after"], rows[1]["pos"]) == (None, None, 4)
    validator = jsonschema.Draft202012Validator(load("decoded_row"))
    for line in filter(None, lines):
        validator.validate(json.loads(line))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "line 1 is no row: not an object"),
        ("null", "line 1 is no row: not an object"),
        ("{", "line 1 is no JSON"),
        ('{"db": "d", "table": "t"}', "it has no op"),
        ('{"db": "d", "table": 1, "op": "insert"}', "it has no table"),
        ('{"db": "d", "table": "t", "op": "truncate"}', "op is none of insert, update, delete"),
        ('{"db": "d", "table": "t", "op": "insert"}', "line 1 is no insert: after"),
        ('{"db": "d", "table": "t", "op": "insert", "before": {}, "after": {}}', "before"),
    ],
)  # fmt: skip
def test_what_is_no_row_is_an_error(line: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        list(decoded.parse_decoded([line], "rows").rows or ())
