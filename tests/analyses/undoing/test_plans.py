"""Plans of a whole log: of many tables in one order, made where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.analyses.undoing.plans import Plans, size_of
from binlogkit.analyses.undoing.undo import mappings, pieces, redo, undo
from tests.analyses.undoing.plan_cases import batch_of, changes

ID = pa.field("id", pa.int64(), metadata={"binlogkit:kind": "integer"})
BODY = pa.field("body", pa.binary(), metadata={"binlogkit:kind": "binary"})
REFUSED = {
    "source": None, "file": "binlog.000001", "pos": 9, "inner": None, "row": 0, "gtid": None,
    "timestamp": 1, "db": "shop", "table": "other", "seq": 5, "refused": "a reason",
}  # fmt: skip


def inserts(numbers: range, *, first: int = 0, size: int = 0) -> pa.RecordBatch:
    """Inserts of these numbers, which are taken back by DELETE."""
    rows = [("insert", None, {"id": number, "body": bytes(size)}) for number in numbers]
    return batch_of([ID, BODY], rows, first=first)


def plans(*parts: Any, backwards: bool, statements: pa.Table | None = None) -> Plans:
    made = pieces(*parts, statements=statements, backwards=backwards)
    return Plans(made, backwards=backwards)


@settings(deadline=None, max_examples=40)
@given(st.lists(changes(names=("id", "name", "at")), max_size=4), st.booleans())
def test_all_tables_in_one_order(batches: list[pa.RecordBatch], backwards: bool) -> None:
    make = undo if backwards else redo
    one_by_one = [
        plan for batch in batches for plan in mappings(make(pa.Table.from_batches([batch])))
    ]
    found = plans(batches, backwards=backwards)
    assert [p["step"] for p in found] == sorted(p["step"] for p in one_by_one)
    assert sorted(map(repr, found)) == sorted(map(repr, one_by_one))
    assert len(found) == len(one_by_one)


def test_a_sequence_of_mappings() -> None:
    found = plans([inserts(range(4))], backwards=True)
    every = list(found)
    assert [plan["where"][0]["value"] for plan in every] == [3, 2, 1, 0]
    assert (found[0], found[-1], found[1:3]) == (every[0], every[-1], every[1:3])
    assert list(found) == every and every[2] in found
    assert repr(found) == "<4 plans>"
    with pytest.raises(IndexError):
        found[4]
    assert list(plans([], backwards=True)) == []


@pytest.mark.parametrize("backwards", [True, False])
def test_what_has_no_plan_stands_at_its_place(backwards: bool) -> None:
    found = list(plans([inserts(range(5))], [REFUSED], backwards=backwards))
    steps = [plan["step"] for plan in found]
    assert steps == sorted(steps)
    (refused,) = (plan for plan in found if plan["refused"])
    assert refused["step"] == (-5 if backwards else 5)
    assert {name: refused[name] for name in ("pos", "table", "refused")} == {
        "pos": 9, "table": "other", "refused": "a reason",
    }  # fmt: skip
    assert refused["set"] == refused["where"] == []


def test_what_was_rolled_back_to_a_savepoint_has_no_plan(
    make_statements: Callable[..., pa.Table],
) -> None:
    batch = inserts(range(6))  # two each at the positions 4, 5 and 6
    statements = make_statements([
        {"pos": 3, "kind": "begin", "query": "BEGIN"},
        {"pos": 5, "kind": "savepoint", "query": "SAVEPOINT a", "inner": -1},
        {"pos": 6, "kind": "rollback_to", "query": "ROLLBACK TO a", "inner": -1},
    ])  # fmt: skip
    found = plans([batch], statements=statements, backwards=False)
    assert [plan["set"][0]["value"] for plan in found] == [0, 1, 4, 5]


def test_chunks_follow_each_other() -> None:
    halves = [inserts(range(5000), first=0), inserts(range(5000), first=1)]
    found = plans(halves, backwards=True)
    chunks = list(found.chunks())
    assert [sum(len(places) for places, _ in chunk) for chunk in chunks] == [8192, 1808]
    steps = [plan["step"] for plan in found]
    assert steps == list(range(-9999, 1))


@pytest.mark.slow
def test_large_rows_are_taken_apart() -> None:
    """The mean says nothing of one row: its chunk is halved until it stands alone."""
    small, large = inserts(range(300)), inserts(range(1), first=701, size=40 << 20)
    batch = pa.concat_batches([small, large])
    sizes: list[Any] = []
    for chunk in plans([batch], backwards=True).chunks():
        sizes.append((sum(len(p) for p, _ in chunk), sum(size_of(c.changes) for _, c in chunk)))
    assert sizes[0][0] == 1 and sizes[0][1] > 40 << 20
    assert max(size for _, size in sizes[1:]) < 1 << 20
    assert sum(rows for rows, _ in sizes) == 301
