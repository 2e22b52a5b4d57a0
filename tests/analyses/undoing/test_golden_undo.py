"""Undo and redo between the marks of golden logs, carried out on the rows that the server selected.

What undo's plans make of the rows at the later mark is what the server had at the earlier one, and
redo's the other way round; every plan must find its row. SQL is proved in tests/reports.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time import AtPosition
from binlogkit.analyses.point_in_time.counting import Counting
from binlogkit.analyses.undoing.undo import mappings, redo, undo
from binlogkit.errors import SchemaError
from binlogkit_fixtures import golden
from binlogkit_fixtures.expected.proofs import same_value
from binlogkit_fixtures.manifest import Table

Row = dict[str, Any]
Plan = dict[str, Any]

CASES = [
    ("5.7-row-full", "keys"),
    ("8.0-row-full", "keys"),
    ("8.0-row-full", "incident"),
    ("8.0-row-full", "transactions"),
    pytest.param("5.7-row-full", "types", marks=pytest.mark.slow),
    pytest.param("8.0-row-full", "types", marks=pytest.mark.slow),
    pytest.param("8.0-row-full", "json", marks=pytest.mark.slow),
    pytest.param("5.7-row-full", "transactions", marks=pytest.mark.slow),
]

LEFT_OUT = {
    "keyed.child",  # cascades are below the log
    "keyed.orphan",
    "docs.keyless",  # without a key, JSON and FLOAT are not compared: such plans may find more
    "keyed.nokey",  # than one row, which the script refuses (test_undo.py)
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("cell", "scenario"), CASES)
def test_back_and_forth_between_marks(cell: str, scenario: str) -> None:
    case = golden.case(cell, scenario)
    log = bk.open([str(path) for path in case.binlogs])
    transactions = log.transactions(engine="pyarrow")
    folder = {path.name: str(path) for path in case.binlogs}
    steps = [
        (mark, _ended(transactions, AtPosition(folder[mark.file], mark.pos)))
        for mark in case.manifest.marks
    ]
    touched = {
        (row["db"], row["table"]) for row in log.boundaries(engine="pyarrow").to_pylist()
        if row["action"] in ("truncate", "rename", "alter", "statement_write")
    }  # fmt: skip
    carried_out = 0
    for name in log.table_names():
        if tuple(name.split(".")) in touched or name in LEFT_OUT:
            continue
        changes = _changes(log, name)
        if changes is None:
            continue
        for (earlier, before), (later, after) in pairwise(steps):
            if name in earlier.tables and name in later.tables:
                chosen = changes.filter(pc.is_in(changes["tx"], pa.array(sorted(after - before))))
                where = f"{name} from {earlier.name} to {later.name}"
                carried_out += _back_and_forth(
                    chosen, earlier.tables[name], later.tables[name], where
                )
    assert carried_out > 20


def _ended(transactions: pa.Table, until: AtPosition) -> set[int]:
    return set(Counting(transactions, until).committed.tolist())


def _changes(log: bk.Log, name: str) -> pa.Table | None:
    try:
        return log.changes(name)
    except SchemaError:
        return None


def _back_and_forth(changes: pa.Table, earlier: Table, later: Table, where: str) -> int:
    """Undo on the later rows and redo on the earlier ones; how many plans were carried out."""
    key = earlier.primary_key
    count = 0
    for make, start, end in ((undo, later, earlier), (redo, earlier, later)):
        rows = _rows(start)
        types = {column.name: column.type for column in start.columns}
        for plan in mappings(make(changes, key=key)):
            assert plan["refused"] is None, (where, plan)
            _carry_out(plan, rows, types, where)
            count += 1
        _same_rows(rows, _rows(end), types, where)
    return count


def _rows(table: Table) -> list[Row]:
    """The rows without generated columns, which no statement writes."""
    stored = {column.name for column in table.columns if not column.generated}
    return [{c: v for c, v in row.items() if c in stored} for row in table.records()]


def _carry_out(plan: Plan, rows: list[Row], types: dict[str, str], where: str) -> None:
    written = {item["column"]: item["value"] for item in plan["set"]}
    if plan["kind"] == "insert":
        rows.append(written)
        return
    wanted = {i["column"]: i["value"] for i in plan["where"] if not i["generated"]}
    found = [r for r in rows if all(same_value(types[c], r[c], v) for c, v in wanted.items())]
    assert found and (len(found) == 1 or plan["limit_one"]), (where, plan, rows[:3])
    if plan["kind"] == "delete":
        rows.remove(found[0])
    else:
        found[0].update(written)


def _same_rows(found: list[Row], wanted: list[Row], types: dict[str, str], where: str) -> None:
    rest = list(wanted)
    for row in found:
        match = next(
            (r for r in rest if all(same_value(types[c], row[c], v) for c, v in r.items())), None
        )
        assert match is not None, (where, row, rest[:2])
        rest.remove(match)
    assert not rest, (where, rest)
