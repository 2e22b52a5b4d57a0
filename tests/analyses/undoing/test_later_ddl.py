"""What DDL after a change did to its table: on golden logs, compared with the server's tables."""

from __future__ import annotations

import re

import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.analyses.undoing._later_ddl import LaterDDL
from binlogkit_fixtures import golden


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-full"])
def test_statements_name_tables_and_columns_that_are_there(cell: str) -> None:
    case = golden.case(cell, "ddl")
    tables = case.manifest.marks[-1].tables
    there = {name: {c.name for c in table.columns} for name, table in tables.items()}
    plans = list(bk.open([str(path) for path in case.binlogs]).undo())
    carried_out = [plan for plan in plans if not plan["refused"]]
    for plan in carried_out:
        named = {item["column"] for part in ("set", "where") for item in plan[part]}
        assert named <= there[f"{plan['db']}.{plan['table']}"], plan
    assert len(carried_out) >= 20
    reasons = {re.sub(r"column \w+", "column", p["refused"] or "").split(" (")[0] for p in plans}
    assert reasons >= {
        "column was dropped later", "column was converted later", "the table was dropped later",
        "the table's database was dropped later",
        "rows of the table were moved later without row events",
    }  # fmt: skip


def test_redo_is_of_the_tables_as_they_were() -> None:
    plans = bk.open([str(path) for path in golden.case("8.0-row-full", "ddl").binlogs]).redo()
    assert not [plan for plan in plans if "later" in (plan["refused"] or "")]


def boundary(seq: int, name: str, action: str, new: str | None = None, **done: object) -> Boundary:
    altered = Alteration(**done) if done else None  # type: ignore[arg-type]
    new_name = None if new is None else ("d", new)
    return Boundary(
        seq, None, "log", seq, None, ("d", name), action, new_name, "", alteration=altered
    )


STORY = [
    boundary(1, "a", "rename", "spare"),
    boundary(2, "b", "rename", "a"),
    boundary(3, "spare", "rename", "b"),
    boundary(4, "b", "alter", renamed={"x": "y"}),
    boundary(5, "b", "alter", renamed={"y": "z"}, dropped={"v"}),
    boundary(6, "b", "alter", lost={"z"}),
    boundary(7, "a", "drop"),
    boundary(8, "a", "create"),
]


@pytest.mark.parametrize(
    ("name", "seq", "now", "refused"),
    [
        ("a", 0, "b", None),
        ("b", 0, "a", "the table was dropped later (log at 7)"),
        ("a", 7, "a", "the table was created again later (log at 8)"),
        ("a", 8, "a", None),
        ("other", 0, "other", None),
    ],
)
def test_names_are_followed(name: str, seq: int, now: str, refused: str | None) -> None:
    fate = LaterDDL(STORY).fate(("d", name), seq)
    assert fate.name == ("d", now) and fate.refused == refused


def test_columns_are_followed_by_their_first_names() -> None:
    later = LaterDDL(STORY)
    fate = later.fate(("d", "a"), 0)
    assert fate.renamed == {"x": "z"}
    assert fate.gone == {"v": "was dropped later (log at 5)", "x": "was converted later (log at 6)"}
    assert later.fate(("d", "b"), 5).gone == {"z": "was converted later (log at 6)"}


def test_a_name_that_went_to_another_column_is_refused() -> None:
    later = LaterDDL([boundary(1, "a", "alter", renamed={"x": "y"}, dropped={"y"})])
    fate = later.fate(("d", "a"), 0)
    fate.refuse_collisions(["x", "y"])
    assert fate.refused == "later another column was called y" and not fate.renamed
