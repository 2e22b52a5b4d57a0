"""One row's life, and what two states differ in; the same on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.point_in_time import DIFFERENCE, STORY, compared, difference, state, story
from binlogkit.errors import UsageError

Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]
RowsOf = Callable[[Any], list[dict[str, Any]]]

FIELDS = {"id": pa.int32(), "name": pa.string()}


def row(number: int, name: str | None) -> dict[str, Any]:
    return {"id": number, "name": name}


LIFE = [
    ("insert", None, row(1, "a")),
    ("insert", None, row(2, "other")),
    ("update", row(1, "a"), row(1, "b")),
    ("update", row(1, "b"), row(7, "b")),
    ("insert", None, row(1, "second")),
    ("update", row(7, "b"), row(8, None)),
    ("delete", row(8, None), None),
    ("update", row(2, "other"), row(3, "other")),
]


def test_a_row_is_followed_through_its_keys(
    make_changes: Make, convert: Convert, rows_of: RowsOf
) -> None:
    changes = convert(make_changes(FIELDS, LIFE))
    result = story(changes, ["id"], 7)
    assert type(result) is type(changes)
    rows = rows_of(result)
    assert list(rows[0])[:2] == [o.name for o in STORY]
    assert [(r["life"], r["seq"], r["changed"]) for r in rows] == [
        (1, 0, ["id", "name"]),
        (1, 2, ["name"]),
        (1, 3, ["id"]),
        (1, 5, ["id", "name"]),
        (1, 6, ["id", "name"]),
    ]


def test_two_rows_with_one_key_are_two_lives(make_changes: Make, rows_of: RowsOf) -> None:
    rows = rows_of(story(make_changes(FIELDS, LIFE), ["id"], 1))
    assert [(r["life"], r["seq"]) for r in rows] == [(1, 0), (1, 2), (1, 3), (2, 4), (1, 5), (1, 6)]


def test_a_key_that_never_was_has_no_story(
    make_changes: Make, convert: Convert, rows_of: RowsOf
) -> None:
    assert rows_of(story(convert(make_changes(FIELDS, LIFE)), ["id"], 99)) == []


def test_a_story_of_a_key_of_two_columns(make_changes: Make, rows_of: RowsOf) -> None:
    changes = make_changes(FIELDS, LIFE)
    assert [r["seq"] for r in rows_of(story(changes, ["id", "name"], (1, "second")))] == [4]
    with pytest.raises(UsageError, match="a value for each"):
        story(changes, ["id", "name"], 1)


def test_difference_of_two_states(make_changes: Make, convert: Convert, rows_of: RowsOf) -> None:
    changes = make_changes(FIELDS, LIFE)
    earlier = state(convert(changes.slice(0, 3)), key=["id"])
    later = state(convert(changes), key=["id"])
    result = difference(earlier, later, ["id"])
    assert type(result) is type(earlier)
    rows = rows_of(result)
    assert list(rows[0]) == [o.name for o in DIFFERENCE]
    assert [(r["difference"], r["before"], r["after"], r["changed"]) for r in rows] == [
        ("changed", row(1, "b"), row(1, "second"), ["name"]),
        ("removed", row(2, "other"), None, []),
        ("added", None, row(3, "other"), []),
    ]
    assert rows_of(difference(later, later, ["id"])) == []
    none = state(make_changes(FIELDS, []), key=["id"], table=("shop", "orders"), columns=())
    assert rows_of(difference(none, none, ["id"])) == []


def test_differences_among_rows_that_are_alike(make_changes: Make, rows_of: RowsOf) -> None:
    """Those are left out first. Of two servers, changes with one number need not be the same."""
    name = {1: "a", 2: "b", 3: "c", 4: "d", 5: None, 6: "f"}
    others = {1: "a", 2: "B", 7: "c", 4: "d", 5: "", 6: "f"}
    states = [
        state(
            make_changes(FIELDS, [("insert", None, row(i, n)) for i, n in rows.items()]),
            key=["id"],
        )
        for rows in (name, others)
    ]
    found = rows_of(difference(states[0], states[1], ["id"]))
    assert [(r["before"], r["after"]) for r in found] == [
        (row(2, "b"), row(2, "B")), (row(3, "c"), None), (row(5, None), row(5, "")),
        (None, row(7, "c")),
    ]  # fmt: skip
    found = rows_of(difference(states[0], states[1], []))
    assert [r["before"] or r["after"] for r in found] == [
        *(row(i, name[i]) for i in (2, 3, 5)), *(row(i, others[i]) for i in (2, 5, 7))
    ]  # fmt: skip


def test_values_of_types_that_hold_no_equal_ones_differ(
    make_changes: Make, rows_of: RowsOf
) -> None:
    states = [
        state(
            make_changes({"id": pa.int32(), "v": kind}, [("insert", None, r) for r in rows]),
            key=["id"],
        )
        for kind, rows in (
            (pa.int32(), [{"id": i, "v": i} for i in range(3)]),
            (pa.string(), [{"id": i, "v": str(i)} for i in range(3)]),
        )
    ]
    found = compared(states[0], states[1], ["id"])
    assert found.kinds.tolist() == ["changed"] * 3
    assert found.changed.to_pylist() == [["v"]] * 3


def test_unknown_cells_are_uncertain_where_the_row_was_touched(
    make_changes: Make, rows_of: RowsOf
) -> None:
    fields = {**FIELDS, "note": pa.string()}
    rows = [
        ("insert", None, {"id": 1, "name": "a"}),
        ("insert", None, {"id": 2, "name": "b"}),
        ("update", {"id": 1}, {"name": "a"}),
        ("update", {"id": 2}, {"note": "n"}),
    ]
    changes = make_changes(fields, rows)
    found = rows_of(
        difference(state(changes.slice(0, 2), key=["id"]), state(changes, key=["id"]), ["id"])
    )
    assert [(r["difference"], r["changed"], r["uncertain"]) for r in found] == [
        ("uncertain", [], ["note"]),
        ("uncertain", [], ["note"]),
    ]
    same = state(changes.slice(0, 1), key=["id"])
    assert rows_of(difference(same, same, ["id"])) == []


def test_difference_without_a_key_counts_equal_rows(make_changes: Make, rows_of: RowsOf) -> None:
    changes = make_changes(
        FIELDS, [("insert", None, row(1, "x"))] * 3 + [("delete", row(1, "x"), None)], key=()
    )
    three = state(changes.slice(0, 3), key=())
    two = state(changes, key=())
    found = rows_of(difference(three, two, ()))
    assert [(r["difference"], r["before"], r["after"]) for r in found] == [
        ("removed", row(1, "x"), None)
    ]
    assert [r["difference"] for r in rows_of(difference(two, three, ()))] == ["added"]


def test_rows_that_unknown_cells_do_not_tell_apart(make_changes: Make, rows_of: RowsOf) -> None:
    """Without a key: a row with an unknown cell may be any row of the other state that is alike."""
    fields = {**FIELDS, "note": pa.string()}
    rows = [
        ("insert", None, {"id": 1, "name": "a"}),
        ("insert", None, {"id": 2, "name": "b", "note": "n"}),
        ("insert", None, {"id": 1, "name": "a", "note": "n"}),
        ("insert", None, {"id": 3, "name": "c", "note": "n"}),
    ]
    changes = make_changes(fields, rows, key=())
    first = state(changes.slice(0, 1), key=())
    found = rows_of(difference(first, state(changes.slice(1), key=()), ()))
    assert [(r["difference"], r["before"] is None, r["uncertain"]) for r in found] == [
        ("uncertain", False, ["note"]),
        ("added", True, []),
        ("uncertain", True, ["note"]),
        ("added", True, []),
    ]
    # The same change made it in both states: it is the same row, unless an ALTER lies between.
    assert rows_of(difference(first, state(changes.slice(0, 1), key=()), ())) == []
    again = compared(first, first, (), altered=True)
    assert again.kinds.tolist() == ["uncertain", "uncertain"]
