"""Conditions, expected errors and names of scenarios."""

from __future__ import annotations

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios.model import (
    ALWAYS,
    Condition,
    Facts,
    Failure,
    Mark,
    Scenario,
    Sql,
    Step,
    parse_version,
)

OLD = Facts((5, 7, 22), "ROW", "full", "OFF")
NEW = Facts((8, 0, 31), "STATEMENT", "minimal", "ON")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("", True, True),
        ("version>=8.0.21", False, True),
        ("version<8", True, False),
        ("version=8.0.31", False, True),
        ("version>=5.7.22 version<8.0.31", True, False),
        ("format=ROW|MIXED", True, False),
        ("format=STATEMENT image=minimal gtid=ON", False, True),
        ("gtid=OFF image=minimal", False, False),
    ],
)
def test_conditions(text: str, old: bool, new: bool) -> None:
    condition = Condition.parse(text)
    assert (condition.holds(OLD), condition.holds(NEW)) == (old, new)
    assert str(condition) == text
    assert (condition & Condition.parse("gtid=ON")).holds(NEW) is new


def test_conditions_ask_for_options() -> None:
    facts = Facts((8, 0, 31), "ROW", "full", "ON", {"binlog-checksum": "NONE"})
    assert Condition.parse("binlog-checksum=CRC32|NONE").holds(facts)
    assert not Condition.parse("binlog-checksum=CRC32").holds(facts)
    assert not Condition.parse("sql-mode=ANSI").holds(facts)  # which the cell does not set
    step = Sql("x", "main", 0, (Failure(1, Condition.parse("sql-mode=A format=ROW")),))
    mark = Mark("m", 0, Condition.parse("binlog-checksum=NONE"))
    scenario = Scenario("s", "", ("d",), (step, mark), Condition.parse("version>=8"))
    assert scenario.asked == {"sql-mode", "binlog-checksum"}


@pytest.mark.parametrize(
    "text", ["version", "version>8", "version>=eight", "format<ROW", "colour=red", "format=ROW;x"]
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError):
        Condition.parse(text)


@pytest.mark.parametrize("text", ["", "8.", "8.0.31.1", "8.0-log", "v8"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(UsageError, match="not a server version"):
        parse_version(text)


def test_the_first_failure_that_holds_is_expected() -> None:
    only_new = Failure(1786, Condition.parse("gtid=ON"))
    step = Sql("SELECT 1", "main", 0, (only_new, Failure(1064, Condition.parse("version<8"))))
    assert (step.expected_error(NEW), step.expected_error(OLD)) == (1786, 1064)
    assert Sql("SELECT 1", "main", 0).expected_error(NEW) is None


def test_steps_keep_their_numbers() -> None:
    steps: tuple[Step, ...] = (
        Sql("SELECT 1", "main", 5),
        Sql("SELECT 2", "main", 7, when=Condition.parse("version<8")),
        Mark("end", 6),
    )
    scenario = Scenario("s", "", ("d",), steps)
    assert [number for number, _ in scenario.steps_for(NEW)] == [0, 2]
    assert [number for number, _ in scenario.steps_for(OLD)] == [0, 1, 2]
    assert (scenario.begin, scenario.end) == (5, 7)


def test_a_watched_story_has_a_mark_after_each_statement() -> None:
    old = Condition.parse("version<8")
    steps: tuple[Step, ...] = (
        Sql("SELECT 1", "main", 5), Sql("SELECT 2", "main", 7, when=old), Mark("end", 8),
        Sql("SELECT 3", "main", 9),
    )  # fmt: skip
    found = Scenario("s", "", ("d",), steps).watched().steps
    assert [step for step in found if isinstance(step, Sql)] == [steps[0], steps[1], steps[3]]
    assert found[1] == Mark("after-0", 5)
    assert found[3:] == (Mark("end", 8), steps[3], Mark("after-3", 9))


@pytest.mark.parametrize("name", ["", "Upper", "../x", "a b", "9lives"])
def test_names_of_scenarios_and_marks_are_plain(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name"):
        Scenario(name, "", ("d",), ())
    with pytest.raises(UsageError, match="cannot name"):
        Scenario("fine", "", ("d",), (Mark(name, 0),))


def test_a_story_has_an_ending() -> None:
    assert Scenario("s", "", ("d",), (), ending="kill").ending == "kill"
    with pytest.raises(UsageError, match="rotate, stop, kill"):
        Scenario("s", "", ("d",), (), ending="well")


def test_a_mark_stands_once() -> None:
    with pytest.raises(UsageError, match="twice"):
        Scenario("s", "", ("d",), (Mark("a", 0), Mark("a", 1)))
    apart = (Mark("a", 0, Condition.parse("version<8")), Mark("a", 0, Condition.parse("gtid=ON")))
    assert len(Scenario("s", "", ("d",), apart, ALWAYS).steps) == 2
