"""A table's rows as of a point: what each kind of change, image and boundary does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.point_in_time import (
    FINDINGS,
    STATE,
    AtPosition,
    AtTime,
    State,
    UpToGtids,
    replay,
    state,
)
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState

Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]
RowsOf = Callable[[Any], list[dict[str, Any]]]

FIELDS = {"id": pa.int32(), "name": pa.string(), "note": pa.string()}
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def row(number: int, name: str | None = "a", note: str | None = None) -> dict[str, Any]:
    return {"id": number, "name": name, "note": note}


def insert(number: int, name: str | None = "a", **place: Any) -> tuple[Any, ...]:
    return ("insert", None, row(number, name), place)


def update(old: dict[str, Any], new: dict[str, Any], **place: Any) -> tuple[Any, ...]:
    return ("update", old, new, place)


def delete(old: dict[str, Any], **place: Any) -> tuple[Any, ...]:
    return ("delete", old, None, place)


def values(found: State[Any]) -> list[Any]:
    """Each row's values; ``?`` for a column that is not known."""
    return [
        tuple("?" if name in r["unknown"] else value for name, value in r["values"].items())
        for r in found.rows.to_pylist()
    ]


def doubts(found: State[Any]) -> set[str]:
    return {f["finding"] for f in found.findings.to_pylist() if not f["determined"]}


CREATED = {"seq": -10, "action": "create", "statement": "CREATE TABLE orders (id int, name text)"}


# ---- rows -------------------------------------------------------------------------------


def test_the_last_image_of_every_key(make_changes: Make, convert: Convert, rows_of: RowsOf) -> None:
    changes = convert(
        make_changes(
            FIELDS,
            [
                insert(3, "c"),
                insert(1, "a"),
                update(row(3, "c"), row(3, None)),
                insert(2),
                delete(row(2)),
                insert(20, "é"),
                delete(row(1, "a")),
                insert(1, "again"),
            ],
        )
    )
    result = state(changes, key=["id"])
    assert type(result) is type(changes)
    rows = rows_of(result)
    assert list(rows[0]) == [o.name for o in STATE]
    assert [r["values"] for r in rows] == [row(1, "again"), row(3, None), row(20, "é")]
    assert [r["seq"] for r in rows] == [7, 2, 5]
    assert [(r["file"], r["pos"]) for r in rows] == [
        ("binlog.000001", 704), ("binlog.000001", 204), ("binlog.000001", 504),
    ]  # fmt: skip
    assert [(r["unknown"], r["value_state"], r["raw"]) for r in rows] == [([], None, None)] * 3


def test_a_key_of_several_columns(make_changes: Make, convert: Convert, rows_of: RowsOf) -> None:
    rows = [
        ("insert", None, {"a": 2, "b": "x", "v": 1}),
        ("insert", None, {"a": 1, "b": "y", "v": 2}),
        ("insert", None, {"a": 1, "b": "Z", "v": 3}),
        ("delete", {"a": 2, "b": "x", "v": 1}, None),
    ]
    fields = {"a": pa.int64(), "b": pa.string(), "v": pa.int8()}
    changes = convert(make_changes(fields, rows, key=["a", "b"]))
    found = rows_of(state(changes, key=["a", "b"]))
    assert [tuple(r["values"].values()) for r in found] == [(1, "Z", 3), (1, "y", 2)]


def test_only_what_was_committed_counts(
    make_changes: Make, make_transactions: Make, convert: Convert, rows_of: RowsOf
) -> None:
    """docs/traps.md, XA: a prepared XA transaction counts when, and from where, it is committed."""
    changes = convert(
        make_changes(FIELDS, [insert(1), insert(2), insert(3), insert(4), insert(5), insert(6)])
    )
    ledger = convert(
        make_transactions(
            [
                {},
                {"outcome": "prepared"},
                {"outcome": "committed", "resolved_file": "binlog.000001", "resolved_pos": 604},
                {"outcome": "rolled_back", "resolved_file": "binlog.000001", "resolved_pos": 704},
                {"outcome": "cut"},
                {},
                {"rows": 0, "tables": []},
                {"rows": 0, "tables": [], "outcome": "rolled_back"},
            ]
        )
    )

    def keys(**how: Any) -> list[int]:
        found = state(changes, key=["id"], transactions=ledger, **how)
        return [r["values"]["id"] for r in rows_of(found)]

    assert keys() == [1, 3, 6]
    assert keys(until=AtPosition("binlog.000001", 604)) == [1, 6]
    assert keys(until=AtPosition("binlog.000001", 703)) == [1, 6]
    assert keys(until=AtPosition("binlog.000001", 704)) == [1, 3, 6]
    assert keys(until=AtPosition("binlog.000001", 150)) == [1]
    assert keys(until=AtPosition("binlog.000001", 103)) == []


def test_findings_say_what_was_left_out(
    make_changes: Make, make_transactions: Make, convert: Convert, rows_of: RowsOf
) -> None:
    changes = convert(make_changes(FIELDS, [insert(1), insert(2)]))
    ledger = convert(make_transactions([{"outcome": "prepared"}, {"outcome": "cut"}]))
    found = replay(changes, key=["id"], transactions=ledger)
    assert type(found.findings) is type(changes)
    rows = rows_of(found.findings)
    assert list(rows[0]) == [o.name for o in FINDINGS]
    assert [(r["finding"], r["determined"], r["count"], r["pos"]) for r in rows] == [
        ("prepared", True, 1, 4),
        ("cut", True, 1, 104),
        ("no_beginning", False, 1, None),
    ]
    assert not found.determined


def test_a_key_that_changes_and_comes_back(make_changes: Make) -> None:
    changes = make_changes(FIELDS, [insert(1), update(row(1), row(2)), insert(1, "new")])
    assert values(replay(changes, key=["id"])) == [(1, "new", None), (2, "a", None)]


# ---- until ------------------------------------------------------------------------------


def test_until_a_time(make_changes: Make, make_transactions: Make) -> None:
    changes = make_changes(FIELDS, [insert(1), insert(2), insert(3)])
    ledger = make_transactions(
        [{"commit_timestamp": 10}, {"commit_timestamp": 30}, {"commit_timestamp": 20}]
    )
    found = replay(changes, key=["id"], transactions=ledger, until=AtTime(20))
    assert values(found) == [(1, "a", None), (3, "a", None)]
    assert "clock_went_back" in found.findings["finding"].to_pylist()
    assert [
        v[0] for v in values(replay(changes, key=["id"], transactions=ledger, until=AtTime(19)))
    ] == [1]


def test_until_a_time_without_commit_timestamps(
    make_changes: Make, make_transactions: Make
) -> None:
    changes = make_changes(FIELDS, [insert(1), insert(2)])
    ledger = make_transactions([{}, {}])
    until = AtTime(1700000000 * 1_000_000)
    found = replay(changes, key=["id"], transactions=ledger, until=until)
    assert [v[0] for v in values(found)] == [1]
    assert "coarse_time" in found.findings["finding"].to_pylist()
    assert "same_second" in doubts(found)
    later = AtTime(1700000000 * 1_000_000 + 999_999)
    found = replay(changes, key=["id"], transactions=ledger, until=later)
    assert [v[0] for v in values(found)] == [1]
    assert "same_second" not in doubts(found)


def test_until_a_gtid_set(make_changes: Make, make_transactions: Make) -> None:
    """Up to the last member of SET in log order; missing members are a finding."""
    changes = make_changes(FIELDS, [insert(1), insert(2), insert(3)])
    ledger = make_transactions([{"gtid": f"{UUID}:{n}"} for n in (1, 3, 2)])
    found = replay(changes, key=["id"], transactions=ledger, until=UpToGtids(f"{UUID}:1:3"))
    assert [v[0] for v in values(found)] == [1, 2]
    assert "missing_gtids" not in doubts(found)
    found = replay(changes, key=["id"], transactions=ledger, until=UpToGtids(f"{UUID}:1-2:9"))
    assert [v[0] for v in values(found)] == [1, 2, 3]
    assert "missing_gtids" in doubts(found)


def test_until_over_two_files(make_changes: Make, make_transactions: Make) -> None:
    changes = make_changes(FIELDS, [insert(1), insert(2, file="binlog.000002")])
    second = {"file": "binlog.000002", "end_file": "binlog.000002", "pos": 4, "end_pos": 104}
    ledger = make_transactions([{}, second])

    def keys(file: str, pos: int) -> list[int]:
        until = AtPosition(file, pos)
        return [v[0] for v in values(replay(changes, key=["id"], transactions=ledger, until=until))]

    assert keys("binlog.000001", 9999) == [1]
    assert keys("binlog.000002", 4) == [1]
    assert keys("binlog.000002", 104) == [1, 2]
    with pytest.raises(UsageError, match=r"ends in binlog\.000003"):
        keys("binlog.000003", 4)


def test_rolled_back_rows_depend_on_the_engine(make_changes: Make, make_transactions: Make) -> None:
    """docs/traps.md, ROLLBACK."""
    changes = make_changes(FIELDS, [insert(1)])
    ledger = make_transactions([{"outcome": "rolled_back"}])
    unknown = replay(changes, key=["id"], transactions=ledger)
    assert values(unknown) == [] and "rolled_back" in doubts(unknown)
    undone = replay(changes, key=["id"], transactions=ledger, transactional=True)
    assert values(undone) == [] and "rolled_back" not in doubts(undone)
    stays = replay(changes, key=["id"], transactions=ledger, transactional=False)
    assert values(stays) == [(1, "a", None)] and "rolled_back" not in doubts(stays)


# ---- images -----------------------------------------------------------------------------


def test_minimal_images_are_put_together_over_a_rows_life(make_changes: Make) -> None:
    """docs/traps.md, Partial images: absent is not NULL; a column never seen is unknown."""
    rows = [
        ("insert", None, {"id": 1, "name": "a"}),
        ("update", {"id": 1}, {"note": None}),
        ("insert", None, {"id": 2, "name": "b"}),
        ("update", {"id": 2}, {"id": 5}),
        ("update", {"id": 5}, {"name": "c"}),
        ("update", {"id": 9}, {"name": "seen only here"}),
    ]
    found = replay(make_changes(FIELDS, rows), key=["id"])
    assert values(found) == [(1, "a", None), (5, "c", "?"), (9, "seen only here", "?")]
    assert found.rows["value_state"].to_pylist() == [None, [0, 0, 2], [0, 0, 2]]


def test_an_image_before_tells_what_a_row_held(make_changes: Make) -> None:
    found = replay(
        make_changes(FIELDS, [update(row(1, "x", "n"), {"id": 1, "name": "y"})]), key=["id"]
    )
    assert values(found) == [(1, "y", "n")]


def test_a_change_without_its_key_is_told(make_changes: Make) -> None:
    found = replay(make_changes(FIELDS, [("insert", None, {"name": "a"})]), key=["id"])
    assert values(found) == [] and "key_missing" in doubts(found)


def test_cells_without_an_arrow_value_are_carried(make_changes: Make, odd_cell: Any) -> None:
    zero = odd_cell(CellState.NO_ARROW_VALUE, b"\0\0\0", "0000-00-00")
    bad = odd_cell(CellState.UNDECODABLE, b"\xff", "not UTF-8")
    fields = {"id": pa.int32(), "d": pa.date32(), "t": pa.string()}
    rows = [
        ("insert", None, {"id": 1, "d": zero, "t": "x"}),
        ("insert", None, {"id": 2, "d": None, "t": bad}),
        ("update", {"id": 1, "d": zero, "t": "x"}, {"id": 1, "d": zero, "t": "y"}),
    ]
    found = replay(make_changes(fields, rows), key=["id"]).rows.to_pylist()
    assert [r["value_state"] for r in found] == [[0, 4, 0], [0, 1, 3]]
    assert [r["raw"] for r in found] == [
        [{"image": 1, "column": 1, "bytes": b"\0\0\0", "text": "0000-00-00"}],
        [{"image": 1, "column": 2, "bytes": b"\xff", "text": "not UTF-8"}],
    ]
    assert [r["unknown"] for r in found] == [[], []]


def test_a_key_without_an_arrow_value_identifies_by_its_bytes(
    make_changes: Make, odd_cell: Any
) -> None:
    zero = odd_cell(CellState.NO_ARROW_VALUE, b"\0\0\0", "0000-00-00")
    rows = [
        ("insert", None, {"d": zero, "v": 1}),
        ("insert", None, {"d": 0, "v": 2}),
        ("update", {"d": zero, "v": 1}, {"d": zero, "v": 3}),
    ]
    found = replay(make_changes({"d": pa.date32(), "v": pa.int8()}, rows), key=["d"])
    assert [r["values"]["v"] for r in found.rows.to_pylist()] == [2, 3]


def _json_steps(*diffs: str, odd_cell: Any) -> list[tuple[Any, ...]]:
    cells = [odd_cell(CellState.JSON_DIFF, b"", diff) for diff in diffs]
    return [("update", {"id": 1}, {"doc": cell}) for cell in cells]


def test_partial_json_is_applied_where_the_value_before_is_known(
    make_changes: Make, odd_cell: Any
) -> None:
    """docs/traps.md, Partial JSON."""
    steps = _json_steps(
        '[{"op": "replace", "path": "$.a", "value": "2"}]',
        '[{"op": "insert", "path": "$.bb", "value": "[1.50]"}]',
        '[{"op": "remove", "path": "$.a", "value": null}]',
        odd_cell=odd_cell,
    )
    fields = {"id": pa.int32(), "doc": pa.string()}
    known = [("insert", None, {"id": 1, "doc": '{"a": 1}'}), *steps]
    assert values(replay(make_changes(fields, known), key=["id"])) == [(1, '{"bb": [1.50]}')]
    assert values(replay(make_changes(fields, steps), key=["id"])) == [(1, "?")]


def test_a_json_diff_that_does_not_fit_makes_the_value_unknown(
    make_changes: Make, odd_cell: Any
) -> None:
    steps = _json_steps('[{"op": "remove", "path": "$.nope", "value": null}]', odd_cell=odd_cell)
    fields = {"id": pa.int32(), "doc": pa.string()}
    found = replay(
        make_changes(fields, [("insert", None, {"id": 1, "doc": "{}"}), *steps]), key=["id"]
    )
    assert values(found) == [(1, "?")]
    assert "json_diff" in found.findings["finding"].to_pylist()


def test_a_json_diff_is_of_the_value_that_its_change_found(
    make_changes: Make, odd_cell: Any
) -> None:
    """The image before it is later than what was known, and may differ: a write without a log."""
    (op, before, after), *_ = _json_steps(
        '[{"op": "replace", "path": "$.a", "value": "2"}]', odd_cell=odd_cell
    )
    rows = [
        ("insert", None, {"id": 1, "doc": '{"a": 1}'}),
        (op, before | {"doc": '{"a": 1, "b": 7}'}, after),
    ]
    fields = {"id": pa.int32(), "doc": pa.string()}
    assert values(replay(make_changes(fields, rows), key=["id"])) == [(1, '{"a": 2, "b": 7}')]
    assert values(replay(make_changes(fields, rows[1:]), key=["id"])) == [(1, '{"a": 2, "b": 7}')]


# ---- keys -------------------------------------------------------------------------------


def test_keys_that_are_swapped_and_shifted(make_changes: Make) -> None:
    """docs/traps.md, Changed keys: an update of the key is a delete and an insert."""
    rows = [
        insert(1, "one"), insert(2, "two"),
        update(row(1, "one"), row(99, "one")),
        update(row(2, "two"), row(1, "two")),
        update(row(99, "one"), row(2, "one")),
    ]  # fmt: skip
    found = replay(make_changes(FIELDS, rows), key=["id"])
    assert values(found) == [(1, "two", None), (2, "one", None)]
    assert "duplicate" not in doubts(found)


def test_contradictions_are_told(make_changes: Make, make_boundaries: Make) -> None:
    created = make_boundaries([CREATED])
    rows = [insert(1), insert(1, "twice"), delete(row(7)), update(row(8), row(8, "x"))]
    found = replay(make_changes(FIELDS, rows), created, key=["id"])
    counts = {f["finding"]: f["count"] for f in found.findings.to_pylist()}
    assert (counts["duplicate"], counts["unseen"]) == (1, 2)
    without = replay(make_changes(FIELDS, rows[2:]), key=["id"])
    assert "unseen" not in doubts(without), "without the table's beginning that is to be expected"


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", "UTC"), pa.duration("us"), pa.date32(), pa.binary()]
)
def test_keys_of_other_types(make_changes: Make, kind: pa.DataType) -> None:
    low, high = (b"a", b"b") if kind == pa.binary() else (-5, 7)
    rows = [
        ("insert", None, {"k": high, "v": 1}),
        ("insert", None, {"k": low, "v": 2}),
        ("update", {"k": high, "v": 1}, {"k": high, "v": 3}),
    ]
    found = replay(make_changes({"k": kind, "v": pa.int8()}, rows), key=["k"])
    assert [r["values"]["v"] for r in found.rows.to_pylist()] == [2, 3]


def test_without_a_key_equal_rows_are_kept_apart(make_changes: Make) -> None:
    """docs/traps.md, No primary key."""
    rows = [
        insert(1, "x"), insert(1, "x"), insert(1, "x"), insert(2, "y"),
        delete(row(1, "x")),
        update(row(1, "x"), row(1, "z")),
    ]  # fmt: skip
    found = replay(make_changes(FIELDS, rows, key=()), key=())
    assert sorted(values(found), key=str) == [(1, "x", None), (1, "z", None), (2, "y", None)]


def test_without_a_key_partial_rows_match_what_fits(make_changes: Make) -> None:
    rows = [
        ("insert", None, {"id": 1, "name": "a"}),
        ("insert", None, {"id": 2, "name": "b"}),
        ("update", row(2, "b", "n"), {"name": "c"}),
        ("delete", row(1, "a", "whatever"), None),
    ]
    found = replay(make_changes(FIELDS, rows, key=()), key=())
    assert values(found) == [(2, "c", "n")]


# ---- boundaries -------------------------------------------------------------------------


def at(seq: int, action: str, statement: str = "", **more: Any) -> dict[str, Any]:
    return {"seq": seq, "pos": seq, "action": action, "statement": statement, **more}


def test_creation_makes_a_state_complete(make_changes: Make, make_boundaries: Make) -> None:
    changes = make_changes(FIELDS, [insert(1)])
    assert doubts(replay(changes, key=["id"])) == {"no_beginning"}
    assert replay(changes, make_boundaries([CREATED]), key=["id"]).determined


@pytest.mark.parametrize("action", ["truncate", "drop", "drop_database"])
def test_rows_do_not_rise_again(make_changes: Make, make_boundaries: Make, action: str) -> None:
    """docs/traps.md, TRUNCATE and DROP."""
    table = None if action == "drop_database" else "orders"
    changes = make_changes(FIELDS, [insert(1, seq=10), insert(2, seq=30)])
    boundaries = make_boundaries([CREATED, at(20, action, table=table)])
    found = replay(changes, boundaries, key=["id"])
    assert [v[0] for v in values(found)] == [2]
    gone = replay(changes.slice(0, 1), boundaries, key=["id"])
    assert values(gone) == [] and gone.determined


def test_an_incident_leaves_every_table_in_doubt(make_changes: Make, make_boundaries: Make) -> None:
    """LOST_EVENTS: the server says that changes are missing, not of which tables."""
    changes = make_changes(FIELDS, [insert(1, seq=10), insert(2, seq=30)])
    lost = at(20, "incident", db="", table="")
    found = replay(changes, make_boundaries([CREATED, lost]), key=["id"])
    assert [v[0] for v in values(found)] == [1, 2]
    assert doubts(found) == {"incident"} and not found.determined
    emptied = make_boundaries([CREATED, lost, at(25, "truncate")])
    assert replay(changes, emptied, key=["id"]).determined


def test_a_statement_leaves_what_is_known_and_a_reason(
    make_changes: Make, make_boundaries: Make
) -> None:
    """docs/traps.md, Statements."""
    changes = make_changes(FIELDS, [insert(1, seq=10)])
    wrote = at(20, "statement_write", "DELETE FROM orders")
    found = replay(changes, make_boundaries([CREATED, wrote]), key=["id"])
    assert values(found) == [(1, "a", None)] and doubts(found) == {"statement_write"}
    emptied = [CREATED, wrote, at(30, "truncate")]
    assert replay(changes, make_boundaries(emptied), key=["id"]).determined
    elsewhere = at(20, "statement_write", "DELETE FROM other", table="other")
    found = replay(changes, make_boundaries([CREATED, elsewhere]), key=["id"])
    assert doubts(found) == {"written_elsewhere"}


def test_a_statement_of_a_rolled_back_transaction(
    make_changes: Make, make_boundaries: Make, make_transactions: Make
) -> None:
    changes = make_changes(FIELDS, [insert(1, seq=10)])
    wrote = at(20, "statement_write", "DELETE FROM orders", tx=1)
    boundaries = make_boundaries([CREATED, wrote])
    ledger = make_transactions([{}, {"outcome": "rolled_back", "rows": 0}])

    def found(transactional: bool | None) -> State[Any]:
        return replay(
            changes, boundaries, key=["id"], transactions=ledger, transactional=transactional
        )

    assert found(True).determined
    assert doubts(found(None)) == doubts(found(False)) == {"statement_write"}


def test_boundaries_of_transactions_that_do_not_count(
    make_changes: Make, make_boundaries: Make, make_transactions: Make
) -> None:
    changes = make_changes(FIELDS, [insert(1, seq=10)])
    boundaries = make_boundaries([CREATED, at(20, "truncate", tx=1)])
    ledger = make_transactions([{}, {"rows": 0}])
    until = AtPosition("binlog.000001", 104)
    found = replay(changes, boundaries, key=["id"], transactions=ledger, until=until)
    assert [v[0] for v in values(found)] == [1]


def test_create_if_not_exists_empties_nothing(make_changes: Make, make_boundaries: Make) -> None:
    again = "CREATE TABLE IF NOT EXISTS orders (id int)"
    changes = make_changes(FIELDS, [insert(1, seq=10)])
    found = replay(changes, make_boundaries([CREATED, at(20, "create", again)]), key=["id"])
    assert [v[0] for v in values(found)] == [1] and found.determined
    first = replay(changes, make_boundaries([at(0, "create", again)]), key=["id"])
    assert "if_not_exists" in doubts(first)
    after_drop = [CREATED, at(20, "drop"), at(30, "create", again)]
    assert replay(changes, make_boundaries(after_drop), key=["id"]).determined


def test_rows_follow_a_rename(make_changes: Make, make_boundaries: Make) -> None:
    """The swap of online schema changes: orders -> old, shadow -> orders."""
    rows = [
        insert(1, seq=10),
        insert(2, seq=20, table="shadow"),
        insert(3, seq=50),
        insert(4, seq=60, table="old"),
    ]
    swap = "RENAME TABLE orders TO old, shadow TO orders"
    boundaries = make_boundaries(
        [
            CREATED,
            at(-5, "create", "CREATE TABLE shadow (id int)", table="shadow"),
            at(40, "rename", swap, pos=40, new_db="shop", new_table="old"),
            at(41, "rename", swap, pos=40, table="shadow", new_db="shop", new_table="orders"),
        ]
    )
    changes = make_changes(FIELDS, rows)
    batches = [
        changes.filter(pa.compute.equal(changes["table"].cast(pa.string()), name))
        for name in ("old", "shadow", "orders")
    ]

    def ids(name: str) -> list[int]:
        found = replay(batches, boundaries, key=["id"], table=("shop", name))
        assert found.determined
        return [v[0] for v in values(found)]

    assert ids("orders") == [2, 3]
    assert ids("old") == [1, 4]
    assert ids("shadow") == []


def test_a_rename_from_a_table_that_is_not_known(make_changes: Make, make_boundaries: Make) -> None:
    boundary = at(5, "rename", table="draft", new_db="shop", new_table="orders")
    found = replay(
        make_changes(FIELDS, [insert(1, seq=10)]),
        make_boundaries([boundary]),
        key=["id"],
        table=("shop", "orders"),
    )
    assert doubts(found) == {"renamed_from", "no_beginning"}


def altered(
    make: Make, bounds: Make, create: str, alter: str, before: Sequence[Any], after: Sequence[Any]
) -> State[Any]:
    """Rows with the fields before, an ALTER at 50, rows with the fields after, in two batches."""
    batches = [make(*part) for part in (before, after)]
    boundaries = bounds([at(-1, "create", create), at(50, "alter", alter)])
    return replay(batches, boundaries, key=["id"], table=("shop", "orders"))


OLD = (
    {"id": pa.int32(), "name": pa.string()},
    [("insert", None, {"id": 1, "name": "a"}, {"seq": 1})],
)


@pytest.mark.parametrize(
    ("alter", "field", "kind", "expected"),
    [
        ("ADD COLUMN v INT", "v", pa.int32(), None),
        ("ADD COLUMN v INT NOT NULL", "v", pa.int32(), 0),
        ("ADD COLUMN v INT DEFAULT '-7'", "v", pa.int32(), -7),
        ("ADD COLUMN (v VARCHAR(9) DEFAULT 'x,y')", "v", pa.string(), "x,y"),
        ("ADD v DECIMAL(6,2) DEFAULT 1.5", "v", pa.decimal128(6, 2), "1.50"),
        ("ADD COLUMN v ENUM('Red','Blue') DEFAULT 'red'", "v", pa.string(), "Red"),
        ("ADD COLUMN v DATETIME DEFAULT CURRENT_TIMESTAMP", "v", pa.timestamp("us"), "?"),
        ("ADD COLUMN v INT AS (id + 1)", "v", pa.int32(), "?"),
        ("RENAME COLUMN name TO v", "v", pa.string(), "a"),
        ("CHANGE name v VARCHAR(50)", "v", pa.string(), "a"),
        ("MODIFY name VARCHAR(50)", "name", pa.string(), "a"),
        ("MODIFY name VARCHAR(5)", "name", pa.string(), "a"),
        ("MODIFY name INT", "name", pa.int32(), "?"),
        ("DROP name, ADD name INT NOT NULL", "name", pa.int32(), 0),
    ],
)
def test_what_an_alter_leaves_of_a_value(
    make_changes: Make,
    make_boundaries: Make,
    alter: str,
    field: str,
    kind: pa.DataType,
    expected: Any,
) -> None:
    new = {"id": 2, field: None}
    after = ({"id": pa.int32(), field: kind}, [("insert", None, new, {"seq": 90})])
    create = "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20))"
    found = altered(
        make_changes, make_boundaries, create, f"ALTER TABLE orders {alter}", OLD, after
    )
    first = found.rows.to_pylist()[0]
    value = "?" if field in first["unknown"] else first["values"][field]
    assert (str(value) if kind == pa.decimal128(6, 2) else value) == expected
    assert found.determined


def test_an_alter_of_rows_without_a_key(make_changes: Make, make_boundaries: Make) -> None:
    create = "CREATE TABLE orders (id INT, name VARCHAR(20))"
    changes = [
        make_changes(*OLD, key=()),
        make_changes(
            {"id": pa.int32(), "title": pa.string(), "v": pa.int32()},
            [("delete", {"id": 1, "title": "a", "v": 4}, None, {"seq": 90})],
            key=(),
        ),
    ]
    alter = "ALTER TABLE orders CHANGE name title VARCHAR(20), ADD v INT DEFAULT 4"
    boundaries = make_boundaries([at(-1, "create", create), at(50, "alter", alter)])
    found = replay(changes, boundaries, key=(), table=("shop", "orders"))
    assert values(found) == [] and found.determined


def test_a_renamed_key_is_followed(make_changes: Make, make_boundaries: Make) -> None:
    create = "CREATE TABLE orders (nr INT PRIMARY KEY, name VARCHAR(20))"
    old = {"nr": pa.int32(), "name": pa.string()}
    before = (old, [("insert", None, {"nr": n, "name": "a"}, {"seq": n}) for n in (1, 2)])
    after = (OLD[0], [("delete", {"id": 1, "name": "a"}, None, {"seq": 90})])
    found = altered(
        make_changes,
        make_boundaries,
        create,
        "ALTER TABLE orders RENAME COLUMN nr TO id",
        before,
        after,
    )
    assert values(found) == [(2, "a")] and found.determined


@pytest.mark.parametrize(
    ("create", "alter", "finding"),
    [
        ("id VARCHAR(20) PRIMARY KEY", "MODIFY id VARCHAR(5)", set()),
        ("id VARCHAR(20) PRIMARY KEY", "MODIFY id VARBINARY(20)", {"key_converted"}),
        ("id VARCHAR(20) PRIMARY KEY", "MODIFY id VARCHAR(50)", set()),
        ("id VARCHAR(20) PRIMARY KEY", "MODIFY name VARCHAR(5)", set()),
        ("id VARCHAR(20), PRIMARY KEY (id)", "CHANGE id id INT", {"key_converted"}),
    ],
)
def test_a_converted_key_may_mean_another_row(
    make_changes: Make, make_boundaries: Make, create: str, alter: str, finding: set[str]
) -> None:
    """What the server made of its values is not in the log: later changes may miss their rows."""
    fields = {"id": pa.string(), "name": pa.string()}
    rows = [("insert", None, {"id": "1", "name": "a"}, {"seq": 1})]
    found = altered(
        make_changes,
        make_boundaries,
        f"CREATE TABLE orders ({create}, name VARCHAR(20))",
        f"ALTER TABLE orders {alter}",
        (fields, rows),
        (fields, []),
    )
    assert doubts(found) == finding
    assert found.determined is not bool(finding)


def test_a_rename_to_a_column_that_images_had_before(
    make_changes: Make, make_boundaries: Make
) -> None:
    """Nothing told that it was dropped: its values are not those of the renamed column."""
    create = "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20))"
    old = {"id": pa.int32(), "name": pa.string(), "title": pa.string()}
    before = (old, [("insert", None, {"id": 1, "name": "a", "title": "b"}, {"seq": 1})])
    fields = {"id": pa.int32(), "title": pa.string()}
    after = (fields, [("insert", None, {"id": 2, "title": "c"}, {"seq": 90})])
    alter = "ALTER TABLE orders RENAME COLUMN name TO title"
    found = altered(make_changes, make_boundaries, create, alter, before, after)
    assert values(found) == [(1, "a"), (2, "c")]


def test_an_alter_that_moves_rows_and_one_that_is_not_understood(
    make_changes: Make, make_boundaries: Make
) -> None:
    changes = make_changes(FIELDS, [insert(1, seq=10)])
    drop = at(20, "statement_write", "ALTER TABLE orders DROP PARTITION p0")
    assert doubts(replay(changes, make_boundaries([CREATED, drop]), key=["id"])) == {"rows_moved"}
    odd = at(20, "alter", "ALTER TABLE orders FROBNICATE")
    assert doubts(replay(changes, make_boundaries([CREATED, odd]), key=["id"])) == {"unknown_ddl"}
    index = at(20, "alter", "CREATE INDEX i ON orders (name)")
    assert replay(changes, make_boundaries([CREATED, index]), key=["id"]).determined


def test_an_engine_that_keeps_no_rows(make_changes: Make, make_boundaries: Make) -> None:
    create = at(-1, "create", "CREATE TABLE orders (id INT PRIMARY KEY) ENGINE=BLACKHOLE")
    found = replay(make_changes(FIELDS, [insert(1)]), make_boundaries([create]), key=["id"])
    assert values(found) == [] and found.determined


def test_cascades_make_doubt_when_the_parent_was_changed(
    make_changes: Make, make_boundaries: Make, make_transactions: Make
) -> None:
    """docs/traps.md, Cascades: up to 9.5 they are below the log, over several tables."""
    child = (
        "CREATE TABLE orders (id INT PRIMARY KEY, p INT,"
        " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)"
    )
    parent = (
        "CREATE TABLE parent (id INT PRIMARY KEY, g INT,"
        " FOREIGN KEY (g) REFERENCES grand (id) ON UPDATE SET NULL)"
    )
    boundaries = make_boundaries(
        [at(-2, "create", parent, table="parent"), at(-1, "create", child)]
    )
    changes = make_changes(FIELDS, [insert(1)])

    def found(ledger: Sequence[dict[str, Any]], **how: Any) -> set[str]:
        transactions = make_transactions([{}, *ledger])
        return doubts(replay(changes, boundaries, key=["id"], transactions=transactions, **how))

    assert found([{"tables": ["shop.parent"], "inserts": 1}]) == set()
    assert found([{"tables": ["shop.parent"], "deletes": 1}]) == {"cascades"}
    assert found([{"tables": ["shop.grand"], "updates": 1}]) == {"cascades"}
    assert found([{"tables": ["shop.grand"], "updates": 1}], cascades_logged=True) == set()
    assert found([{"tables": ["shop.x"], "updates": 1}], cascades=["shop.x"]) == {"cascades"}


@pytest.mark.parametrize(
    ("renamed", "followed"), [(None, True), ("other", True), ("parent", False)]
)
def test_cascades_are_carried_out_where_the_parents_are_known(
    make_changes: Make,
    make_boundaries: Make,
    make_transactions: Make,
    renamed: str | None,
    followed: bool,
) -> None:
    """A RENAME of a parent ends that; of any other table it does not matter."""
    child = (
        "CREATE TABLE orders (id INT PRIMARY KEY, p INT,"
        " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)"
    )
    parents = "CREATE TABLE parent (id INT PRIMARY KEY)"
    happened = [at(-2, "create", parents, table="parent"), at(-1, "create", child)]
    if renamed is not None:
        happened.append(at(50, "rename", table=renamed, new_db="shop", new_table="later"))
    parent, rows = ("shop", "parent"), {"id": pa.int32(), "p": pa.int32()}
    batches = [
        make_changes({"id": pa.int32()}, [("insert", None, {"id": n}, {"seq": n, "tx": 0})
                                          for n in (1, 2)], table=parent),
        make_changes(rows, [("insert", None, {"id": n, "p": n}, {"seq": 10 + n, "tx": 1})
                            for n in (1, 2)]),
        make_changes({"id": pa.int32()}, [("delete", {"id": 1}, None, {"seq": 20, "tx": 2})],
                     table=parent),
    ]  # fmt: skip
    ledger = make_transactions(
        [{"tables": ["shop.parent"]}, {}, {"tables": ["shop.parent"], "deletes": 1}]
    )
    found = replay(
        [batch for table in batches for batch in table.to_batches()],
        make_boundaries(happened),
        key=["id"],
        table=("shop", "orders"),
        transactions=ledger,
        unchecked=lambda seqs: seqs < 0,
    )
    assert doubts(found) == (set() if followed else {"cascades"})
    assert values(found) == ([(2, 2)] if followed else [(1, 1), (2, 2)])


# ---- base, columns, streams -------------------------------------------------------------


def test_a_base_is_a_state_or_a_plain_table(make_changes: Make, odd_cell: Any) -> None:
    zero = odd_cell(CellState.NO_ARROW_VALUE, b"\0", "0000-00-00")
    fields = {"id": pa.int32(), "d": pa.date32()}
    first = make_changes(fields, [("insert", None, {"id": n, "d": zero}) for n in (1, 2)])
    second = make_changes(
        fields, [("delete", {"id": 1, "d": zero}, None), ("insert", None, {"id": 3, "d": None})]
    )
    base = replay(first, key=["id"]).rows
    found = replay(second, key=["id"], base=base)
    assert found.determined
    assert [(r["values"]["id"], r["seq"], r["value_state"]) for r in found.rows.to_pylist()] == [
        (2, None, [0, 4]),
        (3, 1, None),
    ]
    plain = pa.table({"id": pa.array([1, 7], pa.int32()), "d": pa.nulls(2, pa.date32())})
    found = replay(second, key=["id"], base=plain)
    assert values(found) == [(3, None), (7, None)]


def test_columns_choose_and_order(make_changes: Make) -> None:
    found = replay(make_changes(FIELDS, [insert(1)]), key=["id"], columns=["note", "id"])
    assert [list(r["values"]) for r in found.rows.to_pylist()] == [["note", "id"]]
    with pytest.raises(UsageError, match="no image of the table has a column nope"):
        replay(make_changes(FIELDS, [insert(1)]), key=["id"], columns=["nope"])


def test_batches_stream_and_old_images_are_let_go(
    make_changes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is for live rows: the same state, with and without compaction on the way."""
    rows: list[Any] = [("insert", None, {"id": n, "name": "a"}) for n in range(40)]
    rows += [("update", {"id": n % 40}, {"note": str(n)}) for n in range(400)]
    rows += [("delete", {"id": n}, None) for n in range(0, 40, 2)]
    table = make_changes(FIELDS, rows)
    whole = replay(table, key=["id"]).rows
    monkeypatch.setattr("binlogkit.analyses.point_in_time.fold._CHUNK", 600)
    batches = iter(table.to_batches(max_chunksize=16))
    assert replay(batches, key=["id"], table=("shop", "orders")).rows.equals(whole)
    keyless = iter(table.to_batches(max_chunksize=16))
    assert replay(keyless, key=(), table=("shop", "orders")).rows.num_rows == 20


def test_arguments_that_contradict_each_other(make_changes: Make, make_transactions: Make) -> None:
    changes = make_changes(FIELDS, [insert(1)])
    with pytest.raises(UsageError, match="needs the transactions"):
        replay(changes, key=["id"], until=AtTime(1))
    with pytest.raises(UsageError, match="no column tx"):
        replay(changes.drop(["tx"]), key=["id"], transactions=make_transactions([{}]))
    with pytest.raises(UsageError, match="batches need the table's name"):
        replay(changes.to_batches(), key=["id"])
    with pytest.raises(UsageError, match="has no column nope"):
        replay(changes, key=["nope"])
    two = pa.concat_tables([changes, make_changes(FIELDS, [insert(1, table="other")])])
    with pytest.raises(UsageError, match="of 2 tables"):
        replay(two, key=["id"])
