"""What an undo should have done, by the images of its changes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.references import references
from binlogkit.analyses.undoing.expected_rows import Reversed, difference, differing, paired
from binlogkit.log.states.table_state import TableState
from binlogkit_fixtures import golden


def texts(state: TableState) -> Counter[str]:
    return Counter(text for batch in state.batches() for text in batch["values"].to_pylist())


@pytest.mark.parametrize(
    ("cell", "scenario"),
    [("5.7-row-full", "keys"), ("8.0-row-minimal", "keys"), ("8.0-row-full", "types")],
)
@pytest.mark.slow
def test_without_what_came_last_the_tables_are_what_they_were(cell: str, scenario: str) -> None:
    """Held against the states of the log, which know nothing of undo."""
    log = bk.open([str(file) for file in golden.case(cell, scenario).binlogs])
    changing = [row for row in log.transaction_records() if row["rows"]]
    last = len(changing) * 2 // 3
    point = changing[last - 1]["end_file"], changing[last - 1]["end_pos"]
    plans = log.undo(gtid=",".join(row["gtid"] for row in changing[last:]), mode="force")
    assert len(plans) > 10
    refused = {(plan["db"], plan["table"]) for plan in plans if plan["refused"]}
    reasons = [str(plan["refused"]) for plan in plans if plan["refused"]]
    assert len(refused) <= 1 and all("error value" in reason for reason in reasons)
    now = {state.table: state for state in log.states()}
    found = Reversed(
        {name: texts(state) for name, state in now.items()},
        {name: state.key for name, state in now.items()},
        references(one.definition for one in now.values() if one.definition),
    )
    found.take(plans)
    for name, state in now.items():
        if name in refused:
            continue
        then = log.state(".".join(name), at=point)
        assert list(found.wrong(name, texts(then))) == []
        assert texts(then) == texts(state) or list(found.wrong(name, texts(state)))


ROWS: list[Any] = [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}, {"id": 3, "v": None}]


@pytest.mark.parametrize(
    ("one", "other", "key", "expected"),
    [
        (ROWS, ROWS, ["id"], []),
        (ROWS[:2], ROWS[1:], ["id"], [(None, ROWS[2]), (ROWS[0], None)]),
        ([ROWS[0]], [{"id": 1, "v": "A"}], ["id"], [(ROWS[0], {"id": 1, "v": "A"})]),
        ([ROWS[0]], [{"id": 1, "v": "A"}], [], [(None, {"id": 1, "v": "A"}), (ROWS[0], None)]),
        ([ROWS[0]] * 2, [ROWS[0]], [], [(ROWS[0], None)]),
        ([{"v": 1}], [{"id": 1, "v": 1}], ["id"], [(None, {"id": 1, "v": 1}), ({"v": 1}, None)]),
    ],
)
def test_rows_are_paired_by_their_key(one: Any, other: Any, key: Any, expected: Any) -> None:
    assert list(paired(one, other, key)) == expected


def test_texts_that_say_the_same_are_no_difference() -> None:
    one, other = Counter(['{"id":1,"v":2}']), Counter(['{"v":2,"id":1}'])
    assert list(differing(one, other, ["id"])) == []
    assert list(differing(one, Counter(), ["id"])) == [({"id": 1, "v": 2}, None)]


def test_a_difference_says_what_leads_from_one_to_the_other() -> None:
    pairs: list[Any] = [(None, ROWS[0]), (ROWS[0], None), (ROWS[0], ROWS[1])]
    found = [difference("undo", ("d", "t"), ["id"], pair) for pair in pairs]
    assert [row["kind"] for row in found] == ["insert", "delete", "update"]
    assert [row["key"] for row in found] == [{"id": 1}, {"id": 1}, {"id": 1}]
    assert difference("undo", ("d", "t"), [], pairs[0])["key"] is None
