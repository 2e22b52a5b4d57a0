"""Records to JSON and back: what is not exactly the record is refused, and the place is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from binlogkit_fixtures.records import RecordError, from_json, json_schema, to_json


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of leaves."""

    leaves: tuple[Leaf, ...]
    by_name: Mapping[str, Leaf]
    note: str | None
    cells: tuple[tuple[str | int | float | None, ...], ...]
    ratio: float
    green: bool
    since: int = 0


TREE = Tree(
    leaves=(Leaf("a", 1), Leaf("b", 2)),
    by_name={"a": Leaf("a", 1)},
    note=None,
    cells=((1, "x", None, 0.5), (18446744073709551615, "", -0.0, 5e-324)),
    ratio=3,
    green=True,
)


def test_a_record_survives_json() -> None:
    assert from_json(Tree, json.loads(json.dumps(to_json(TREE)))) == TREE


def test_a_key_with_a_default_may_be_absent() -> None:
    written = to_json(TREE)
    del written["since"]
    assert from_json(Tree, written) == TREE
    schema = json_schema(Tree, "a tree")["$defs"]["Tree"]
    assert set(schema["properties"]) - set(schema["required"]) == {"since"}


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("$: key 'note' is missing", lambda r: r.pop("note")),
        ("$: key 'extra' is unknown", lambda r: r.update(extra=1)),
        ("$.leaves: not an array", lambda r: r.update(leaves={})),
        ("$.leaves[1].size: not of type integer", lambda r: r["leaves"][1].update(size="2")),
        ("$.leaves[0].size: not of type integer", lambda r: r["leaves"][0].update(size=True)),
        ("$.leaves[0]: not an object", lambda r: r["leaves"].__setitem__(0, None)),
        ("$.by_name: not an object", lambda r: r.update(by_name=[])),
        ("$.note: not of type string or null", lambda r: r.update(note=1)),
        (
            "$.cells[0][1]: not of type string or integer or number or null",
            lambda r: r["cells"][0].__setitem__(1, []),
        ),
        ("$.ratio: not of type number", lambda r: r.update(ratio="3")),
        ("$.green: not of type boolean", lambda r: r.update(green=1)),
    ],
)
def test_what_is_no_record_is_refused(place: str, change: object) -> None:
    record = json.loads(json.dumps(to_json(TREE)))
    change(record)  # type: ignore[operator]
    with pytest.raises(RecordError) as raised:
        from_json(Tree, record)
    assert str(raised.value) == place


def test_the_schema_says_what_the_reader_takes() -> None:
    schema = json_schema(Tree, "tree")
    assert schema["$ref"] == "#/$defs/Tree"
    tree = schema["$defs"]["Tree"]
    assert tree["description"] == "A tree of leaves."
    assert tree["required"] == ["leaves", "by_name", "note", "cells", "ratio", "green"]
    assert tree["additionalProperties"] is False
    assert tree["properties"]["note"] == {"type": ["string", "null"]}
    assert tree["properties"]["by_name"]["additionalProperties"] == {"$ref": "#/$defs/Leaf"}
