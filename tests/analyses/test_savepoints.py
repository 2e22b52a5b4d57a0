"""What ROLLBACK TO SAVEPOINT took back does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses._savepoints import Undone, savepoint_name, undone_mask, undone_ranges
from binlogkit.analyses.point_in_time import replay
from binlogkit.analyses.undoing.undo import mappings, undo

Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]
RowsOf = Callable[[Any], list[dict[str, Any]]]


def at(pos: int, query: str, inner: int | None = None, **more: Any) -> dict[str, Any]:
    words = query.split()
    kind = words[0].lower() + ("_to" if "TO" in words[1:2] else "")
    return {"pos": pos, "inner": inner, "query": query, "kind": kind, **more}


def spans(table: pa.Table) -> list[tuple[int, int]]:
    return [(r.start[0], r.end[0]) for r in undone_ranges(table)]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([(10, "SAVEPOINT `a`"), (30, "ROLLBACK TO `a`")], [(10, 30)]),
        ([(10, "SAVEPOINT a"), (30, "ROLLBACK TO SAVEPOINT A")], [(10, 30)]),
        # It stays after a ROLLBACK TO; those set after it are gone.
        (
            [(1, "SAVEPOINT a"), (2, "SAVEPOINT b"), (3, "ROLLBACK TO a"), (4, "ROLLBACK TO b"),
             (5, "ROLLBACK TO a")],
            [(1, 3), (1, 5)],
        ),
        ([(1, "SAVEPOINT a"), (5, "SAVEPOINT a"), (9, "ROLLBACK TO a")], [(5, 9)]),
        ([(1, "SAVEPOINT a"), (5, "COMMIT"), (9, "ROLLBACK TO a")], []),
        ([(1, "SAVEPOINT `a``b c`"), (9, "ROLLBACK TO `a``b c`")], [(1, 9)]),
        ([(1, "SAVEPOINT ```x`"), (9, "ROLLBACK TO ```x`")], [(1, 9)]),
    ],
)  # fmt: skip
def test_ranges(
    make_statements: Make, statements: list[tuple[int, str]], expected: list[tuple[int, int]]
) -> None:
    assert spans(make_statements([at(*s) for s in statements])) == expected


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("SAVEPOINT a", "a"),
        ("ROLLBACK TO SAVEPOINT Ab ; ", "ab"),
        ("SAVEPOINT `a b`", "a b"),
        ("ROLLBACK TO `A``b`;", "a`b"),
        ("SAVEPOINT ```x```", "`x`"),
        ("SAVEPOINT ````", "`"),
    ],
)
def test_the_name_of_a_savepoint(query: str, name: str) -> None:
    assert savepoint_name(query) == name


def test_ranges_that_overlap_are_one(make_changes: Make) -> None:
    """Each change is looked up once, however many ROLLBACK TO took it back."""
    ranges = [(10, 40), (20, 60), (100, 200), (110, 120), (300, 310), (305, 306)]
    taken_back = undone_mask(Undone("binlog.000001", (a, -1), (b, -1)) for a, b in ranges)
    assert taken_back is not None
    places = [5, 15, 45, 70, 115, 150, 250, 307, 400]
    rows = [("insert", None, {"id": pos}, {"pos": pos}) for pos in places]
    batch = make_changes({"id": pa.int32()}, rows).combine_chunks().to_batches()[0]
    assert [p for p, gone in zip(places, taken_back(batch), strict=True) if gone] == [
        15, 45, 115, 150, 307,
    ]  # fmt: skip
    assert undone_mask([]) is None


def test_ranges_in_a_payload_count_by_its_events(make_statements: Make) -> None:
    table = make_statements([at(7, "SAVEPOINT a", 2), at(7, "ROLLBACK TO a", 5)])
    assert undone_ranges(table) == [Undone("binlog.000001", (7, 2), (7, 5))]
    assert undone_ranges(None) == []


def test_what_was_taken_back_is_neither_there_nor_undone(
    make_changes: Make, make_statements: Make, convert: Convert, rows_of: RowsOf
) -> None:
    fields = [
        pa.field("id", pa.int32(), metadata={"binlogkit:kind": "integer"}),
    ]
    table = make_changes(fields, [("insert", None, {"id": n}) for n in range(4)])
    changes = convert(table)
    statements = convert(make_statements([at(100, "SAVEPOINT a"), at(300, "ROLLBACK TO a")]))
    found = replay(changes, key=["id"], statements=statements)
    assert [r["values"]["id"] for r in rows_of(found.rows)] == [0, 3]
    plans = mappings(undo(changes, key=["id"], statements=statements, schema=table.schema))
    assert [plan["where"][0]["value"] for plan in plans] == [3, 0]
