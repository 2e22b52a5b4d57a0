"""A table's rows as of a point, backwards from later rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time import AtPosition, State, read_boundaries, replay, rewind
from binlogkit.analyses.point_in_time.rewind import Span
from binlogkit.analyses.point_in_time.state import ReplayLedger, ReplayTable
from binlogkit.constants import TableId
from binlogkit_fixtures import golden

Make = Callable[..., pa.Table]
Convert = Callable[[pa.Table], Any]
RowsOf = Callable[[Any], list[dict[str, Any]]]

FIELDS = {"id": pa.int32(), "name": pa.string(), "note": pa.string()}
FIRST = AtPosition("binlog.000001", 104)


def row(number: int, name: str | None = "a", note: str | None = None) -> dict[str, Any]:
    return {"id": number, "name": name, "note": note}


def live(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(FIELDS.items())))


def back_to(
    changes: Any,
    boundaries: Any = None,
    *,
    key: list[str],
    base: Any,
    table: TableId = ("shop", "orders"),
    **span: Any,
) -> State[Any]:
    wanted = ReplayTable(table, tuple(key), None, (), {}, {table: base})
    ledger = ReplayLedger(read_boundaries(boundaries), (), None, cascades_logged=False)
    return rewind(changes, wanted, ledger, Span(**span))


def values(found: State[Any]) -> list[Any]:
    return [
        tuple("?" if name in r["unknown"] else value for name, value in r["values"].items())
        for r in found.rows.to_pylist()
    ]


def doubts(found: State[Any]) -> set[str]:
    return {f["finding"] for f in found.findings.to_pylist() if not f["determined"]}


def test_changes_are_taken_back(
    make_changes: Make, make_transactions: Make, convert: Convert, rows_of: RowsOf
) -> None:
    changes = make_changes(
        FIELDS,
        [
            ("insert", None, row(1)),
            ("update", row(1), row(1, "b")),
            ("insert", None, row(2)),
            ("update", row(1, "b"), row(5, "b")),
            ("delete", row(9, "old", "kept"), None),
            ("update", row(5, "b"), row(5, "c")),
        ],
    )
    ledger = make_transactions([{}] * 6)
    found = back_to(
        convert(changes),
        key=["id"],
        base=convert(live(row(5, "c"), row(2), row(7, "untouched"))),
        transactions=convert(ledger),
        until=FIRST,
    )
    rows = rows_of(found.rows)
    assert [r["values"] for r in rows] == [row(1), row(7, "untouched"), row(9, "old", "kept")]
    assert [(r["seq"], r["file"], r["pos"]) for r in rows] == [(None, None, None)] * 3
    assert found.determined


def test_only_what_lies_between_the_points(make_changes: Make, make_transactions: Make) -> None:
    changes = make_changes(FIELDS, [("insert", None, row(n)) for n in range(4)])
    found = back_to(
        changes,
        key=["id"],
        base=live(row(0), row(1), row(2)),
        transactions=make_transactions([{}] * 4),
        until=FIRST,
        taken=AtPosition("binlog.000001", 304),
    )
    assert values(found) == [(0, "a", None)] and found.determined


def test_what_a_minimal_image_overwrote_is_unknown(
    make_changes: Make, make_transactions: Make
) -> None:
    rows = [
        ("insert", None, row(0)),
        ("update", {"id": 1}, {"name": "new"}),
        ("delete", {"id": 2}, None),
        ("update", {"id": 3}, {"id": 4}),
    ]
    found = back_to(
        make_changes(FIELDS, rows),
        key=["id"],
        base=live(row(0), row(1, "new", "n"), row(4, "x", "y")),
        transactions=make_transactions([{}] * 4),
        until=FIRST,
    )
    assert values(found) == [(0, "a", None), (1, "?", "n"), (2, "?", "?"), (3, "x", "y")]


def test_a_live_table_that_does_not_fit_the_log(
    make_changes: Make, make_transactions: Make
) -> None:
    changes = make_changes(FIELDS, [("insert", None, row(n)) for n in range(3)])
    found = back_to(
        changes,
        key=["id"],
        base=live(row(0)),
        transactions=make_transactions([{}] * 3),
        until=FIRST,
    )
    assert "unseen" in doubts(found)


@pytest.mark.parametrize(
    ("last", "known"),
    [
        (row(1, "b", "n"), True),
        (row(1, "x", "n"), False),
        (row(1, None, "n"), False),
        (row(1, "b", "other"), True),  # of which the log says nothing
    ],
)
def test_a_row_that_is_not_what_its_last_change_left(
    make_changes: Make, make_transactions: Make, last: dict[str, Any], known: bool
) -> None:
    rows = [
        ("update", {"id": 1, "name": "0"}, {"id": 1, "name": "a"}),
        ("update", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}),
        ("insert", None, row(2)),
    ]
    found = back_to(
        make_changes(FIELDS, rows),
        key=["id"],
        base=live(last, row(2), row(3)),
        transactions=make_transactions([{}] * 3),
        until=AtPosition("binlog.000001", 0),
    )
    assert doubts(found) == (set() if known else {"contradicted"})
    assert found.determined == known
    told = [f for f in found.findings.to_pylist() if f["finding"] == "contradicted"]
    assert [f["count"] for f in told] == [1] * (not known)
    if known:
        assert values(found) == [(1, "0", last["note"]), (3, "a", None)]


@pytest.mark.parametrize(
    ("action", "statement", "finding", "rows"),
    [
        ("create", "CREATE TABLE orders (id INT)", None, []),
        ("truncate", "TRUNCATE orders", "emptied", []),
        ("drop", "DROP TABLE orders", "emptied", []),
        ("alter", "ALTER TABLE orders ADD x INT", None, []),
        ("alter", "ALTER TABLE orders ADD INDEX (name)", None, [(1, "b", None)]),
        ("alter", "ALTER TABLE orders DROP note", "stopped", []),
        ("alter", "ALTER TABLE orders RENAME COLUMN note TO remark", None, []),
        ("alter", "ALTER TABLE orders CONVERT TO CHARACTER SET latin1", "stopped", []),
        ("alter", "ALTER TABLE orders DROP FOREIGN KEY fk", "stopped", []),
        ("alter", "ALTER IGNORE TABLE orders ADD UNIQUE (name)", "stopped", []),
        ("statement_write", "DELETE FROM orders", "stopped", []),
        ("create", "CREATE TABLE IF NOT EXISTS orders (id INT)", "if_not_exists", []),
    ],
)
def test_what_stands_in_the_way(
    make_changes: Make,
    make_transactions: Make,
    make_boundaries: Make,
    action: str,
    statement: str,
    finding: str | None,
    rows: list[Any],
) -> None:
    changes = make_changes(
        FIELDS,
        [
            ("insert", None, row(0), {"seq": 1}),
            ("update", row(1, "b"), row(1, "a"), {"seq": 10}),
            ("delete", row(1, "a"), None, {"seq": 15}),
            ("insert", None, row(2), {"seq": 30}),
        ],
    )
    boundary = {"seq": 20, "tx": 2, "action": action, "statement": statement}
    found = back_to(
        changes if finding is None and rows else changes.slice(3),
        make_boundaries([boundary]),
        key=["id"],
        base=live(row(2)),
        transactions=make_transactions([{}] * 4),
        until=FIRST,
    )
    assert values(found) == rows
    assert doubts(found) == ({finding} if finding else set())


@pytest.mark.parametrize(
    ("alter", "stops"),
    [("MODIFY name VARCHAR(5)", True), ("MODIFY name INT", True), ("MODIFY name TEXT", False),
     ("MODIFY name VARCHAR(50)", False)],
)  # fmt: skip
def test_an_alter_that_converts_values_ends_the_way_back(
    make_changes: Make, make_transactions: Make, make_boundaries: Make, alter: str, stops: bool
) -> None:
    """What stood there before does not follow from what the server made of it."""
    changes = make_changes(
        FIELDS,
        [
            ("insert", None, row(0), {"seq": 1}),
            ("update", row(1, "b"), row(1, "a"), {"seq": 10}),
            ("insert", None, row(2), {"seq": 30}),
        ],
    )
    create = "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20), note TEXT)"
    boundaries = make_boundaries(
        [
            {"seq": -1, "tx": 0, "pos": 4, "action": "create", "statement": create},
            {
                "seq": 20,
                "tx": 2,
                "pos": 204,
                "action": "alter",
                "statement": f"ALTER TABLE orders {alter}",
            },
        ]
    )
    found = back_to(
        changes,
        boundaries,
        key=["id"],
        base=live(row(1), row(2)),
        transactions=make_transactions([{}] * 4),
        until=FIRST,
    )
    assert values(found) == [(1, "a" if stops else "b", None)]
    assert doubts(found) == ({"stopped"} if stops else set())


def test_rows_from_before_their_key_was_added(
    make_changes: Make, make_transactions: Make, make_boundaries: Make
) -> None:
    """``ADD id … AUTO_INCREMENT PRIMARY KEY``: what changed before it is found by its values."""
    older = {"name": pa.string(), "note": pa.string()}
    early = [
        ("insert", None, {"name": "new", "note": None}, {"seq": 1}),
        ("delete", {"name": "old", "note": "x"}, None, {"seq": 2}),
    ]
    later = [("update", row(7, "kept"), row(7, "now"), {"seq": 30})]
    alter = "ALTER TABLE orders ADD id INT AUTO_INCREMENT PRIMARY KEY FIRST"
    batches = [make_changes(older, early, key=()), make_changes(FIELDS, later)]
    found = back_to(
        [batch for table in batches for batch in table.to_batches()],
        make_boundaries([{"seq": 20, "pos": 20, "action": "alter", "statement": alter}]),
        key=["id"],
        base=live(row(3, "new"), row(7, "now")),
        table=("shop", "orders"),
        transactions=make_transactions([{}] * 3),
        until=AtPosition("binlog.000001", 0),
    )
    assert sorted(values(found)) == [("kept", None), ("old", "x")]
    assert found.determined


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "8.0-row-full/keys",
        pytest.param("5.7-row-full/transactions", marks=pytest.mark.campaign),
        pytest.param("8.0-row-minimal/keys", marks=pytest.mark.slow),
        pytest.param("8.0-row-noblob/keys", marks=pytest.mark.campaign),
        pytest.param("8.0-row-partial-json/json", marks=pytest.mark.slow),
        pytest.param("8.0-row-full/types", marks=pytest.mark.slow),
    ],
)
def test_back_from_the_later_mark_is_forth_to_the_earlier(name: str) -> None:
    """Over golden logs: where both ways determine the rows, they are the same."""
    case = golden.case(*name.split("/"))
    count = 0
    for forth, back, where in _both_ways(case):
        assert len(back) == len(forth), where
        for one in back:
            assert any(all(one.get(c, v) == v for c, v in other.items()) for other in forth), (
                where,
                one,
                forth[:3],
            )
        count += len(back)
    assert count > 20


def _both_ways(case: golden.GoldenCase) -> Iterator[tuple[list[Any], list[Any], str]]:
    folder = {path.name: str(path) for path in case.binlogs}
    log = bk.open(list(folder.values()))
    transactions = log.transactions(engine="pyarrow")
    boundaries = read_boundaries(log.boundaries(engine="pyarrow"))
    batches = list(log.batches())
    for earlier, later in pairwise(case.manifest.marks):
        first, second = (AtPosition(folder[m.file], m.pos) for m in (earlier, later))
        for name in earlier.tables.keys() & later.tables.keys():
            db, _, table = name.partition(".")
            how: dict[str, Any] = {
                "key": later.tables[name].primary_key,
                "transactions": transactions,
                "table": (db, table),
            }
            base = replay(batches, boundaries, until=second, **how)
            forth = replay(batches, boundaries, until=first, **how)
            back = back_to(batches, boundaries, base=base.rows, until=first, taken=second, **how)
            where = f"{name} from {later.name} to {earlier.name}"
            assert not base.determined or "contradicted" not in doubts(back), where
            if base.determined and forth.determined and back.determined:
                yield _known(forth), _known(back), where


def _known(found: State[Any]) -> list[dict[str, Any]]:
    """The rows without the cells that are not known, as text; raw cells by their text."""
    result = []
    for r in found.rows.to_pylist():
        cells = {n: repr(v) for n, v in r["values"].items() if n not in r["unknown"]}
        names = list(r["values"])
        cells |= {names[c["column"]]: c["text"] for c in r["raw"] or ()}
        result.append(cells)
    return result
