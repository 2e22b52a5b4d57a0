"""Partial JSON updates: their bytes, their paths, their effect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.json_binary import InvalidJson
from binlogkit._kernel.json_diff import (
    DiffRejected,
    JsonDiff,
    apply,
    diff_text,
    parse_diffs,
    parse_path,
)

BEFORE = '{"a": [1, 2.50], "n": null, "key": {"x": "é"}}'


def diff(op: str, path: str, value: str | None = None) -> JsonDiff:
    return {"op": op, "path": path, "value": value}


def test_bytes() -> None:
    data = bytes.fromhex("00 03 242e61 03 050200  01 04 245b335d 02 0400  02 03 242e62")
    assert parse_diffs(data) == [
        diff("replace", "$.a", "2"),
        diff("insert", "$[3]", "null"),
        diff("remove", "$.b"),
    ]
    assert json.loads(diff_text(data)) == parse_diffs(data)
    assert parse_diffs(b"") == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("03", "operation 3"),
        ("00", "cut"),
        ("0003242e61", "cut"),
        ("0003242e6109050200", "9 bytes where 3"),
        ("00fb242e61", "malformed"),
        ("00fcff", "malformed"),
        ("00feffffffffffffffff24", "bytes where 1"),
        ("0201ff", "no UTF-8"),
        ("020161", "begin with"),
        ("0203242e2a", "no leg"),
        ("0203245b61", "no leg"),
        ("000124026162", "value type"),
        ("00012400", "without bytes"),
    ],
)
def test_malformed(data: str, reason: str) -> None:
    with pytest.raises(InvalidJson, match=reason):
        parse_diffs(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("path", "legs"),
    [
        ("$", ()),
        ("$.a.b[0].c", ("a", "b", 0, "c")),
        ('$."a.b[0]"."\\"q\\" \\u00e9"', ("a.b[0]", '"q" é')),
        ("$[last][last-2][ last - 3 ]", (-1, -3, -4)),
        ("$ . a [ 1 ]", ("a", 1)),
        ("$.éè_$1", ("éè_$1",)),
    ],
)
def test_paths(path: str, legs: tuple[str | int, ...]) -> None:
    assert parse_path(path) == legs


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ([], BEFORE),
        ([diff("replace", "$", "5")], "5"),
        ([diff("replace", "$.a[1]", "[]")], BEFORE.replace("2.50", "[]")),
        ([diff("replace", "$.a[last]", "7.0")], BEFORE.replace("2.50", "7.0")),
        ([diff("insert", "$.a[0]", '"s"')], BEFORE.replace("[1", '["s", 1')),
        ([diff("insert", "$.a[9]", "3")], BEFORE.replace("2.50", "2.50, 3")),
        ([diff("insert", "$.a[last-9]", "0")], BEFORE.replace("[1", "[0, 1")),
        ([diff("remove", "$.a[0]")], BEFORE.replace("1, ", "")),
        ([diff("remove", "$.n")], BEFORE.replace('"n": null, ', "")),
        # Keys stand by their length, then by their bytes, whenever they came.
        ([diff("insert", "$.ab", "1")], BEFORE.replace('"key"', '"ab": 1, "key"')),
        ([diff("insert", '$."é"', "1")], BEFORE.replace('"key"', '"é": 1, "key"')),
        ([diff("insert", "$.m", "1")], BEFORE.replace('"n"', '"m": 1, "n"')),
        (
            [diff("remove", "$.key"), diff("replace", "$.a", "1"), diff("insert", "$.b", '"x"')],
            '{"a": 1, "b": "x", "n": null}',
        ),
    ],
)
def test_effects(changes: list[JsonDiff], after: str) -> None:
    assert apply(BEFORE, changes) == after


@pytest.mark.parametrize(
    "change",
    [
        diff("insert", "$", "1"),
        diff("remove", "$"),
        diff("replace", "$.absent", "1"),
        diff("replace", "$.a[2]", "1"),
        diff("replace", "$.a[last-2]", "1"),
        diff("replace", "$.a.x", "1"),
        diff("replace", "$.key[0]", "1"),
        diff("insert", "$.n", "1"),
        diff("insert", "$.n[0]", "1"),
        diff("insert", "$.n.x", "1"),
        diff("remove", "$.absent"),
        diff("remove", "$.absent.more"),
    ],
)
def test_a_diff_of_another_document_is_rejected(change: JsonDiff) -> None:
    with pytest.raises(DiffRejected):
        apply(BEFORE, [change])


def test_a_tree_is_left_as_it_was() -> None:
    tree: Any = {"a": [True]}
    assert apply(tree, [diff("remove", "$.a[0]")]) == '{"a": []}'
    assert tree == {"a": [True]}


@pytest.mark.parametrize("text", ["{", "NaN", "[" * 100_000])
def test_before_value_that_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|deep|double quotes"):
        apply(text, [])


@given(st.binary(max_size=40))
def test_any_bytes_are_diffs_or_refused(data: bytes) -> None:
    try:
        diffs = parse_diffs(data)
    except InvalidJson:
        return
    try:
        json.loads(apply(BEFORE, diffs))
    except DiffRejected as exc:
        assert "does not fit" in str(exc)
