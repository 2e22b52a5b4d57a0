"""The expected lines: the contract's records, each cell's bytes, and no number that is lost."""

from __future__ import annotations

import json
import struct

import jsonschema
import pytest

from binlogkit_fixtures import golden
from binlogkit_fixtures.expected import files
from binlogkit_fixtures.expected.archive import line_schema

CASE = golden.case("8.0-row-compressed", "types")
QUICK = ("8.0-row-compressed/transactions", "5.7-row-minimal/keys", "8.0-row-partial-json/json")


def test_every_cell_has_its_bytes() -> None:
    count = 0
    for row in CASE.rows:
        for which in ("before", "after"):
            image, raw = row[which], row["raw"][which]
            assert (image is None) == (raw is None)
            for column, value in (image or {}).items():
                assert (value is None) == (raw[column] is None)
                count += 1
    assert count == 3988


def test_bytes_are_those_of_the_value() -> None:
    """Of INT columns: the bytes read by the standard library alone."""
    rows = [row for row in CASE.rows if row["op"] == "insert"]
    ids = [(row["after"]["id"], row["raw"]["after"]["id"]) for row in rows]
    assert len(ids) > 10
    for value, raw in ids:
        assert struct.unpack("<i", bytes.fromhex(raw[2:])) == (value,)


def test_large_integers_stand_as_text_too() -> None:
    found = {}
    for row in CASE.rows:
        for pointer, digits in row["integers"].items():
            which, _, column = pointer[1:].partition("/")
            if which in ("before", "after"):
                assert str(row[which][column]) == digits
                found[digits] = row["table"]
    assert found["18446744073709551615"] in ("integers", "bits", "sets")
    assert found["-9223372036854775808"] == "integers"
    assert "9007199254740992" not in found  # 2^53 is exact


def test_events_inside_a_payload_have_their_own_bytes() -> None:
    inner = [event for event in CASE.events if event["inner"] is not None]
    assert len(inner) > 200
    for event in inner:
        raw = bytes.fromhex(event["raw"][2:])
        assert (raw[4], len(raw)) == (event["code"], event["size"])
    assert all(e["raw"] is None for e in CASE.events if e["inner"] is None)


def test_files_are_named_without_their_folder() -> None:
    assert {event["file"] for event in CASE.events} == {path.name for path in CASE.binlogs}
    assert {event["source"] for event in CASE.events} <= {None, "binlog"}


@pytest.mark.parametrize("name", QUICK)
def test_lines_fit_their_schemas(name: str) -> None:
    case = golden.case(*name.split("/"))
    for kind, records in (("event", case.events), ("row", case.rows)):
        validator = jsonschema.Draft202012Validator(line_schema(kind))
        assert records
        for record in records[:: 1 + len(records) // 40]:
            validator.validate(record)


def test_lines_are_plain_json() -> None:
    data = files.text([{"a": "line\u2028end", "b": -0.0, "c": 1e100}])
    assert data == '{"a": "line\u2028end", "b": -0.0, "c": 1e+100}\n'.encode()
    with pytest.raises(ValueError, match="JSON"):
        files.text([{"a": float("nan")}])
    assert json.loads(data)["a"] == "line\u2028end"
