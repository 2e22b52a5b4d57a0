"""What a decoder loses, doubles, moves, invents or changes is one difference, without echoes.

Each mistake is made in the rows of a real log, in every form in which a decoder may say where rows
stand; by the expected rows and by mysqlbinlog's text.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from binlogkit.analyses.conformance import against_golden, against_mysqlbinlog
from binlogkit.analyses.conformance.aligned import AlignedStep, Features, aligned
from binlogkit.sources.expected import expected_lines

Record = dict[str, Any]
Judge = Callable[[Sequence[Record]], list[Record]]

SIX = ("pos", "db", "table", "op", "before", "after")
#: The keys that a decoder gives.
FORMS = {"places": (*SIX, "inner", "row"), "renumbered": (*SIX, "inner", "row"), "six": SIX,
         "five": SIX[1:]}  # fmt: skip
AT = 60  # of several rows that one event holds


@pytest.fixture(scope="module")
def keys(golden_case: Callable[..., Any]) -> Any:
    return golden_case("8.0-row-full", "keys")


@pytest.fixture(scope="module")
def by_golden(keys: Any) -> Judge:
    """The differences with the expected rows."""
    expected = list(expected_lines(keys.log.parent, "rows", keys.log.name))
    schemas = keys.schemas()
    return lambda rows: _failing(against_golden(None, rows, schemas, [], expected))


@pytest.fixture(scope="module")
def by_mysqlbinlog(keys: Any) -> Judge:
    """The differences with its text and the log's bytes."""
    schemas, lines, stored = keys.schemas(), list(keys.lines()), list(keys.stored())
    return lambda rows: _failing(against_mysqlbinlog(None, rows, schemas, lines, stored=stored))


def _failing(result: Any) -> list[Record]:
    assert result.summary.kinds.get("under_determined", 0) == 0
    found: list[Record] = result.differences.to_pylist()
    return [record for record in found if record["kind"] in ("ours", "unexplained")]


def _event(row: Record) -> Any:
    return row["pos"], row["inner"]


def _rows(keys: Any) -> tuple[list[Record], int]:
    """The log's rows, and a row in the middle of an event with several."""
    rows: list[Record] = copy.deepcopy(keys.rows())
    at = next(
        i for i in range(AT, len(rows) - 1)
        if _event(rows[i - 1]) == _event(rows[i]) == _event(rows[i + 1])
        and rows[i - 1]["after"] != rows[i]["after"] != rows[i + 1]["after"]
    )  # fmt: skip
    return rows, at


def _lose(rows: list[Record], at: int) -> None:
    del rows[at]


def _lose_the_first(rows: list[Record], at: int) -> None:
    del rows[next(i for i, row in enumerate(rows) if _event(row) == _event(rows[at]))]


def _lose_an_event(rows: list[Record], at: int) -> None:
    event = _event(rows[at])
    rows[:] = [row for row in rows if _event(row) != event]


def _lose_a_transaction(rows: list[Record], at: int) -> None:
    gtid = rows[at]["gtid"]
    rows[:] = [row for row in rows if row["gtid"] != gtid]


def _double(rows: list[Record], at: int) -> None:
    rows.insert(at, copy.deepcopy(rows[at]))


def _swap(rows: list[Record], at: int) -> None:
    rows[at], rows[at + 1] = rows[at + 1], rows[at]


def _move(rows: list[Record], at: int) -> None:
    rows.insert(at + 12, rows.pop(at))


def _invent(rows: list[Record], at: int) -> None:
    rows.insert(at, {**rows[at], "table": "nowhere", "op": "insert", "before": None,
                     "after": {"a": "z"}})  # fmt: skip


def _change(rows: list[Record], at: int) -> None:
    image = rows[at]["after"]
    image[next(iter(image))] = "other"


MISTAKES = (_lose, _lose_the_first, _lose_an_event, _lose_a_transaction, _double, _swap, _move,
            _invent, _change)  # fmt: skip


def _given(rows: list[Record], form: str) -> list[Record]:
    """The rows with the keys of a form; renumbered: as if those before had never been lost."""
    given: list[Record] = []
    for before, row in zip([None, *rows], rows, strict=False):
        given.append({key: row[key] for key in FORMS[form]})
        if form == "renumbered":
            again = before is not None and _event(before) == _event(row)
            given[-1]["row"] = given[-2]["row"] + 1 if again else 0
    return given


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_difference(
    keys: Any, by_golden: Judge, mistake: Callable[[list[Record], int], None], form: str
) -> None:
    rows, at = _rows(keys)
    assert by_golden(_given(rows, form)) == []
    mistake(rows, at)
    assert len(by_golden(_given(rows, form))) == 1


@pytest.mark.parametrize("form", ["places", "renumbered", "six"])
@pytest.mark.parametrize("mistake", [m for m in MISTAKES if m not in (_swap, _move)])
def test_a_mistake_is_one_difference_with_mysqlbinlog(
    keys: Any, by_mysqlbinlog: Judge, mistake: Callable[[list[Record], int], None], form: str
) -> None:
    rows, at = _rows(keys)
    mistake(rows, at)
    assert len(by_mysqlbinlog(_given(rows, form))) == 1


@pytest.mark.parametrize("mistake", [_swap, _move])
def test_another_order_is_two_with_mysqlbinlog(
    keys: Any, by_mysqlbinlog: Judge, mistake: Callable[[list[Record], int], None]
) -> None:
    """It reads one statement after the other: the row is lacking at one place, new at another."""
    rows, at = _rows(keys)
    mistake(rows, at)
    reasons = {found["reason"] for found in by_mysqlbinlog(_given(rows, "places"))}
    assert reasons == {"ours lacks this row", "mysqlbinlog does not print this row"}


@pytest.mark.parametrize("form", ["places", "six", "five"])
def test_rows_that_are_lost_together_are_counted(keys: Any, form: str) -> None:
    rows, at = _rows(keys)
    whole = len(rows)
    _lose_an_event(rows, at)
    expected = list(expected_lines(keys.log.parent, "rows", keys.log.name))
    result = against_golden(None, _given(rows, form), keys.schemas(), [], expected)
    (found,) = result.differences.to_pylist()
    lost = whole - len(rows)
    assert lost > 2
    assert (found["reason"], result.summary.rows_lacking) == ("ours lacks these rows", lost)
    assert found["theirs"].startswith(f"{lost} rows, the first: update in keyed.")


def test_the_position_after_the_event_has_a_name(keys: Any, by_golden: Judge) -> None:
    """As clients of the replication protocol know it: each row once, and no echo."""
    rows, _ = _rows(keys)
    given = [{**row, "pos": whole["end_pos"]}
             for row, whole in zip(_given(rows, "six"), rows, strict=True)]  # fmt: skip
    found = by_golden(given)
    assert [record["rule"] for record in found] == ["end-as-position"] * len(rows)


def test_rows_in_a_payload_need_not_say_their_event(golden_case: Callable[..., Any]) -> None:
    """The six keys, where one position stands for all events of a compressed transaction."""
    case = golden_case("8.0-row-compressed", "keys")
    given = _given(case.rows(), "six")
    assert len({row["pos"] for row in given}) < len({_event(row) for row in case.rows()})
    expected = list(expected_lines(case.log.parent, "rows", case.log.name))
    assert _failing(against_golden(None, given, case.schemas(), [], expected)) == []
    judged = against_mysqlbinlog(
        None, given, case.schemas(), case.lines(), stored=list(case.stored())
    )
    assert _failing(judged) == []


# ---- the alignment itself ---------------------------------------------------------------------


class Counted:
    """Numbers as records, and how often the alignment asks about them."""

    def __init__(self) -> None:
        self.asked = 0

    def align(self, mine: Sequence[int], wanted: Sequence[int]) -> list[AlignedStep]:
        ours, expected = ([{"n": n} for n in side] for side in (mine, wanted))
        return list(aligned(ours, expected, same=self.same, features=self.features))

    def same(self, one: Any, other: Any) -> bool:
        self.asked += 1
        return bool(one["n"] == other["n"])

    def features(self, record: Any) -> Features:
        self.asked += 1
        return Features(None, "number", {record["n"]: 1})


@pytest.mark.parametrize("lost", [1, 63, 64, 65, 3000])
def test_however_many_are_lost_the_others_are_found(lost: int) -> None:
    wanted = range(8000)
    mine = [n for n in wanted if not 500 <= n < 500 + lost]
    steps = Counted().align(mine, wanted)
    assert [s.wanted for s in steps if s.mine is None] == [{"n": n} for n in wanted[500:][:lost]]
    assert all(s.mine is None or s.mine == s.wanted for s in steps)


HOSTILE: dict[str, Callable[[int], tuple[Sequence[int], Sequence[int]]]] = {
    "nothing alike": lambda n: (range(n), range(n, 2 * n)),
    "all the same, but one in three": lambda n: ([-i % 3 // 2 for i in range(n)], [0] * n),
    "the reverse": lambda n: (range(n), range(n)[::-1]),
    "every other one lost": lambda n: (range(0, n, 2), range(n)),
    "one side twice": lambda n: ([i // 2 for i in range(n)], range(n)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_asked_grows_with_the_records(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binlogkit.analyses.conformance.aligned._LARGEST", 64)
    asked = []
    for count in (500, 1000):
        counted = Counted()
        mine, wanted = HOSTILE[kind](count)
        steps = counted.align(mine, wanted)
        assert sorted(s.mine["n"] for s in steps if s.mine) == sorted(mine)
        assert sorted(s.wanted["n"] for s in steps if s.wanted) == sorted(wanted)
        asked.append(counted.asked)
    assert asked[1] < 3 * asked[0]
