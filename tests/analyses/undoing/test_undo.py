"""Plans that take changes back: what is set, what finds the row, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.undoing.undo import PLANS, mappings, redo, undo
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState
from binlogkit.reports.sql import statement

Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]


def field(name: str, dtype: pa.DataType, kind: str, **facts: str) -> pa.Field:
    metadata = {"binlogkit:kind": kind, **{f"binlogkit:{k}": v for k, v in facts.items()}}
    return pa.field(name, dtype, metadata=metadata)


FIELDS = [
    field("id", pa.int32(), "integer"),
    field("state", pa.string(), "text"),
    field("price", pa.decimal128(10, 2), "decimal"),
    field("ratio", pa.float64(), "double"),
    field("twice", pa.int32(), "integer", generated="stored"),
]


def items(part: list[dict[str, Any]]) -> dict[str, Any]:
    return {item["column"]: item["value"] for item in part}


def plans(changes: Any, make: Callable[..., Any] = undo, **how: Any) -> list[dict[str, Any]]:
    return list(mappings(make(changes, **how)))


def row(**cells: Any) -> Mapping[str, Any]:
    from decimal import Decimal

    return {"id": 1, "state": "new", "price": Decimal("1.50"), "ratio": 0.5, "twice": 2, **cells}


def test_undo_goes_backwards_with_the_opposite_statement(
    make_changes: Make, convert: Convert
) -> None:
    table = make_changes(
        FIELDS,
        [
            ("insert", None, row()),
            ("update", row(), row(state="paid")),
            ("delete", row(state="paid"), None),
        ],
    )
    changes = convert(table)
    result = undo(changes, key=["id"], schema=table.schema)
    assert type(result) is type(changes)
    found = list(mappings(result))
    assert list(found[0]) == [o.name for o in PLANS]
    assert [(p["kind"], p["pos"], p["refused"]) for p in found] == [
        ("insert", 204, None),
        ("update", 104, None),
        ("delete", 4, None),
    ]
    assert [p["step"] for p in found] == sorted(p["step"] for p in found)


def test_a_deleted_row_comes_back_without_its_generated_columns(make_changes: Make) -> None:
    (plan,) = plans(make_changes(FIELDS, [("delete", row(), None)]))
    assert items(plan["set"]) == {"id": 1, "state": "new", "price": "1.50", "ratio": 0.5}
    assert plan["where"] == [] and not plan["limit_one"]


def test_an_update_sets_only_what_changed_and_guards_on_it(make_changes: Make) -> None:
    """docs/traps.md, Undo: a full-column undo reverts a colleague's later edit."""
    (plan,) = plans(make_changes(FIELDS, [("update", row(), row(state="paid"))]))
    assert items(plan["set"]) == {"state": "new"}
    assert items(plan["where"]) == {"id": 1, "state": "paid"}
    assert statement(plan).startswith("UPDATE `shop`.`orders` SET `state` = 'new' WHERE `id` <=> 1")


def test_an_update_of_the_key_is_found_by_the_key_after_it(make_changes: Make) -> None:
    """docs/traps.md, Changed keys."""
    (plan,) = plans(make_changes(FIELDS, [("update", row(), row(id=7))]))
    assert items(plan["set"]) == {"id": 1}
    assert items(plan["where"]) == {"id": 7}


def test_floats_guard_nothing_and_the_plan_says_so(make_changes: Make) -> None:
    """docs/traps.md, Inexact values."""
    changes = make_changes(FIELDS, [("update", row(), row(ratio=0.75)), ("insert", None, row())])
    inserted, updated = plans(changes)
    assert items(updated["set"]) == {"ratio": 0.5}
    assert items(updated["where"]) == {"id": 1}
    assert updated["note"] == inserted["note"] == "not compared: ratio"
    assert items(inserted["where"]) == {"id": 1, "state": "new", "price": "1.50", "twice": 2}


def test_a_generated_column_is_compared_but_not_written(make_changes: Make) -> None:
    """docs/traps.md, Generated columns."""
    (plan,) = plans(make_changes(FIELDS, [("update", row(), row(id=3, twice=6))]))
    assert items(plan["set"]) == {"id": 1}
    assert items(plan["where"]) == {"id": 3, "twice": 6}
    assert [i["generated"] for i in plan["where"]] == [False, True]


def test_without_a_key_one_equal_row_is_meant(make_changes: Make) -> None:
    """docs/traps.md, No primary key."""
    changes = make_changes(FIELDS[:3], [("update", row(), row(state="paid"))], key=())
    (plan,) = plans(changes)
    assert plan["limit_one"]
    assert items(plan["where"]) == {"id": 1, "state": "paid", "price": "1.50"}
    assert statement(plan).endswith("LIMIT 1")


def test_without_a_key_what_is_not_compared_may_tell_rows_apart(make_changes: Make) -> None:
    """Of two rows that differ in a FLOAT or JSON only, the wrong one could be hit; rows where it
    is NULL, and those that come back, have a statement."""
    gone, none = ("delete", row(), None), ("insert", None, row(ratio=None))
    changes = make_changes(FIELDS, [("update", row(), row(state="paid")), gone, none], key=())
    null, back, changed = plans(changes)
    assert changed["refused"] == "no key, and not compared: ratio"
    assert null["limit_one"] and items(null["where"])["ratio"] is None
    assert back["kind"] == "insert" and back["refused"] is None


def test_times_that_are_not_written_are_kept(make_changes: Make) -> None:
    """ON UPDATE CURRENT_TIMESTAMP would touch a column that the statement does not name."""
    fields = [*FIELDS[:2], field("at", pa.timestamp("us"), "datetime", scale="0")]
    before = {"id": 1, "state": "new", "at": 0}
    (plan,) = plans(make_changes(fields, [("update", before, before | {"state": "paid"})]))
    assert items(plan["where"]) == {"id": 1, "state": "paid"} and plan["keep"] == ["at"]
    assert "`at` = `at`" in statement(plan)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("update", {"id": 1}, {"state": "paid"}), "the value of state before the change"),
        (("delete", {"id": 1}, None), "not in the image: state, price, ratio"),
        (("insert", None, {"state": "new"}), "the key is not in the image: id"),
    ],
)
def test_partial_images_are_refused_where_a_value_is_missing(
    make_changes: Make, change: tuple[Any, ...], reason: str
) -> None:
    (plan,) = plans(make_changes(FIELDS, [change]))
    assert plan["refused"].startswith(reason)
    assert plan["set"] == [] and plan["where"] == []


def test_partial_images_serve_where_they_hold_what_is_needed(make_changes: Make) -> None:
    noblob = ("update", {"id": 1, "state": "new"}, {"id": 1, "state": "paid"})
    minimal = ("insert", None, {"id": 5, "state": "new"})
    inserted, updated = plans(make_changes(FIELDS, [noblob, minimal]))
    assert items(updated["set"]) == {"state": "new"}
    assert items(updated["where"]) == {"id": 1, "state": "paid"}
    assert items(inserted["where"]) == {"id": 5, "state": "new"}


def test_redo_of_minimal_images_needs_no_value_before(make_changes: Make) -> None:
    (plan,) = plans(make_changes(FIELDS, [("update", {"id": 1}, {"state": "paid"})]), redo)
    assert items(plan["set"]) == {"state": "paid"} and items(plan["where"]) == {"id": 1}


def test_a_key_of_minimal_images_is_that_before(make_changes: Make) -> None:
    change = ("update", {"id": 1, "state": "new"}, {"state": "paid"})
    (plan,) = plans(make_changes(FIELDS, [change]))
    assert items(plan["where"]) == {"id": 1, "state": "paid"}


def test_cells_that_are_not_values(make_changes: Make, odd_cell: Any) -> None:
    bad = odd_cell(CellState.UNDECODABLE, b"\xff", "not UTF-8")
    diff = odd_cell(CellState.JSON_DIFF, b"", '[{"op": "remove", "path": "$.a", "value": null}]')
    zero = odd_cell(CellState.NO_ARROW_VALUE, b"\0", "0000-00-00")
    fields = [
        FIELDS[0],
        FIELDS[1],
        field("doc", pa.string(), "json"),
        field("d", pa.date32(), "date"),
    ]
    base = {"id": 1, "state": "new", "doc": "{}", "d": None}
    changes = make_changes(
        fields,
        [
            ("update", base, base | {"state": bad}),
            ("delete", base | {"state": bad}, None),
            ("update", base | {"state": bad}, base | {"state": bad, "d": zero}),
            ("update", base, base | {"doc": diff}),
        ],
    )
    by_diff, by_zero, back, left = plans(changes)
    assert items(left["set"]) == {"state": "new"} and left["note"] == "not compared: state"
    assert back["refused"] == "a value of state is not decodable"
    assert items(by_zero["set"]) == {"d": None} and items(by_zero["where"])["d"] == "0000-00-00"
    assert items(by_diff["set"]) == {"doc": "{}"} and by_diff["note"] == "not compared: doc"
    forward = plans(changes, redo)
    assert forward[3]["refused"] == "a value of doc is known only as a JSON diff"


def test_uncommitted_changes_are_refused(make_changes: Make, make_transactions: Make) -> None:
    ledger = make_transactions([{}, {"outcome": "prepared"}])
    changes = make_changes(FIELDS, [("insert", None, row()), ("insert", None, row(id=2))])
    second, first = plans(changes, transactions=ledger)
    assert first["refused"] is None
    assert second["refused"] == "its transaction was not committed: prepared"


def test_unknown_names_are_refused(make_changes: Make) -> None:
    changes = make_changes(
        [field("@1", pa.int32(), "integer")], [("insert", None, {"@1": 1})], key=()
    )
    (plan,) = plans(changes)
    assert plan["refused"] == "the name of column @1 is not known"


def test_a_table_with_nothing_to_compare_is_refused(make_changes: Make) -> None:
    changes = make_changes(
        [field("r", pa.float32(), "float")], [("insert", None, {"r": 1.5})], key=()
    )
    (plan,) = plans(changes)
    assert plan["refused"] == "no key, and not compared: r"


def test_a_float_key_is_refused(make_changes: Make) -> None:
    changes = make_changes(FIELDS, [("insert", None, row())])
    (plan,) = plans(changes, key=["ratio"])
    assert plan["refused"] == "the key cannot be compared: ratio"


def test_what_the_planner_must_know(make_changes: Make) -> None:
    bare = make_changes({"id": pa.int32()}, [("insert", None, {"id": 1})])
    with pytest.raises(UsageError, match="type of column id is not known"):
        undo(bare)
    typed = make_changes(FIELDS, [("insert", None, row())])
    with pytest.raises(UsageError, match="key is not known"):
        undo(typed.replace_schema_metadata(None))
    with pytest.raises(UsageError, match="no column nope"):
        undo(typed, key=["nope"])
