"""What a log cannot show, and why that applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.audit import limits
from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.frames.schema import CellState

Rows = Callable[[Any], list[dict[str, Any]]]
Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]


def test_a_clean_log_has_only_what_every_log_has(
    make_transactions: Make, make_changes: Make, convert: Convert, rows_of: Rows
) -> None:
    transactions = convert(make_transactions([{"commit_timestamp": 1}]))
    changes = convert(
        make_changes({"id": pa.int32()}, [("insert", None, {"id": 1}, {"query": "INSERT"})])
    )
    result = limits(transactions, changes)
    assert type(result) is type(transactions)
    rows = rows_of(result)
    assert list(rows[0]) == [o.name for o in LIMITS]
    assert [(r["limit"], r["grade"]) for r in rows] == [
        ("reads", "applies"),
        ("person", "applies"),
        ("unlogged_sessions", "may apply"),
        ("cascades", "may apply"),
    ]


def test_each_limit_names_its_evidence(
    make_transactions: Make,
    make_changes: Make,
    make_boundaries: Make,
    convert: Convert,
    rows_of: Rows,
    odd_cell: Any,
) -> None:
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    transactions = convert(
        make_transactions(
            [
                {"gtid": f"{uuid}:1", "format": "mixed", "commit_timestamp": 1},
                {"gtid": f"{uuid}:6", "outcome": "rolled_back", "commit_timestamp": 1},
                {"outcome": "prepared", "commit_timestamp": 1},
                {"outcome": "cut", "server_id": 2},
            ]
        )
    )
    rows = [
        ("update", {"@1": 1}, {"@2": odd_cell(CellState.JSON_DIFF, b"d", "[]")}),
        ("insert", None, {"@1": 1, "@2": odd_cell(CellState.UNDECODABLE, b"x", "bad")}),
    ]
    changes = convert(make_changes({"@1": pa.int32(), "@2": pa.string()}, rows))
    boundaries = convert(
        make_boundaries(
            [
                {
                    "seq": 0,
                    "action": "create",
                    "statement": "create table c (p int,\n foreign key (p) references p (id)\n"
                    " on  delete\tcascade)",
                }
            ]
        )
    )
    found = {r["limit"]: r for r in rows_of(limits(transactions, changes, boundaries=boundaries))}
    applying = {
        "cascades": ("1 DDL statements", 4),
        "statement_format": ("1 transactions hold", 4),
        "rolled_back_rows": ("1 transactions with row changes end", 104),
        "commit_time": ("1 transactions have no commit", 304),
        "clocks": ("servers 1, 2", None),
        "prepared_xa": ("1 XA", 204),
        "cut_transaction": ("1 transactions have no end", 304),
        "missing_transactions": (f"4 transaction numbers are missing, the first is {uuid}:2", None),
        "partial_images": ("1 row changes", 4),
        "json_diffs": ("1 row changes", 4),
        "undecodable_cells": ("1 row changes", 104),
        "column_names": ("@1, @2", None),
        "original_statement": ("2 row changes", 4),
    }
    for name, (evidence, pos) in applying.items():
        assert found[name]["grade"] == "applies", name
        assert evidence in found[name]["evidence"], name
        assert found[name]["pos"] == pos, name


def test_the_first_of_several_holes_is_named(make_transactions: Make, rows_of: Rows) -> None:
    gtids = [f"{letter * 8}-71ca-11e1-9e33-c80aa9429562:{n}" for letter in "ab" for n in (1, 4)]
    gtids += [gtids[1][:-1] + "9"]
    rows = [{"gtid": gtid, "commit_timestamp": 1} for gtid in gtids]
    found = {r["limit"]: r["evidence"] for r in rows_of(limits(make_transactions(rows)))}
    assert found["missing_transactions"] == (
        f"8 transaction numbers are missing, the first is {gtids[0][:-1]}2"
    )


def test_only_numbers_behind_an_at_sign_are_positions(
    make_transactions: Make, make_changes: Make, rows_of: Rows
) -> None:
    transactions = make_transactions([{"commit_timestamp": 1}])
    names = {"@x": pa.int32(), "a1": pa.int32(), "12": pa.int32(), "@": pa.int32()}
    for fields, told in ((names, None), (names | {"@2": pa.int32()}, "by position only: @2")):
        changes = make_changes(fields, [("insert", None, dict.fromkeys(fields, 1))])
        rows = rows_of(limits(transactions, changes))
        found = [r["evidence"] for r in rows if r["limit"] == "column_names"]
        assert [text.removeprefix("columns known ") for text in found] == ([told] if told else [])


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(
    ("state", "limit"),
    [
        (CellState.NOT_IN_IMAGE, "partial_images"),
        (CellState.JSON_DIFF, "json_diffs"),
        (CellState.UNDECODABLE, "undecodable_cells"),
    ],
)
def test_a_cell_of_either_image_is_enough(
    make_transactions: Make,
    make_changes: Make,
    convert: Convert,
    rows_of: Rows,
    odd_cell: Any,
    side: str,
    state: CellState,
    limit: str,
) -> None:
    """Of an update, and of a change that has no other image."""
    plain, odd = {"id": 1, "note": "a"}, {"id": 1, "note": odd_cell(state, b"x", "[]")}
    images = (odd, plain) if side == "before" else (plain, odd)
    alone = ("delete", odd, None) if side == "before" else ("insert", None, odd)
    rows = [("insert", None, plain), ("update", *images), alone]
    changes = convert(make_changes({"id": pa.int32(), "note": pa.string()}, rows))
    transactions = convert(make_transactions([{"commit_timestamp": 1}]))
    found = {r["limit"]: r for r in rows_of(limits(transactions, changes))}
    told = {"partial_images", "json_diffs", "undecodable_cells"} & found.keys()
    assert told == {limit}
    assert (found[limit]["evidence"][:2], found[limit]["pos"]) == ("2 ", 104)


def test_a_known_engine_lifts_the_doubt_about_rollbacks(
    make_transactions: Make, rows_of: Rows
) -> None:
    transactions = make_transactions([{"outcome": "rolled_back", "commit_timestamp": 1}])
    names = [r["limit"] for r in rows_of(limits(transactions, transactional=True))]
    assert "rolled_back_rows" not in names
    assert "rolled_back_rows" in [r["limit"] for r in rows_of(limits(transactions))]
