"""A wrong argument gets a sentence, from the library and on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.errors import UnmetWarning, UsageError
from binlogkit_fixtures import golden

Make = Callable[[bk.Log], object]
TABLE = "bank.account"
LIKE = "; there are rows of bank.account"


@cache
def path() -> Path:
    return golden.case("8.0-row-rows-query", "transactions").binlogs[0]


@pytest.fixture
def log() -> bk.Log:
    return bk.open(path())


def given(**filters: Any) -> dict[str, Make]:
    """Every frame and answer, with filters that are no good."""
    return {
        "rows": lambda log: log.rows(**filters),
        "events": lambda log: log.events(**filters),
        "transactions": lambda log: log.transactions(**filters),
        "statements": lambda log: log.statements(**filters),
        "boundaries": lambda log: log.boundaries(**filters),
        "undo": lambda log: log.undo(**filters),
        "redo": lambda log: log.redo(**filters),
        "audit": lambda log: log.audit(**filters),
    }


@pytest.mark.parametrize("make", given(foo=1).values(), ids=given(foo=1).keys())
def test_an_unknown_filter(make: Make, log: bk.Log) -> None:
    with pytest.raises(UsageError, match="there is no filter foo"):
        make(log)


OUTSIDE = {
    "a table": ({"table": "bank.acount"}, f"no rows of bank.acount were read{LIKE}"),
    "an excluded table": (
        {"exclude_table": "bank.acount"},
        f"there are no rows of bank.acount to leave out{LIKE}",
    ),
    "a start": ({"start_time": "2030-01-01"}, "before the start time 2030-01-01"),
    "a stop": ({"stop_time": "2000-01-01"}, "not before the stop time 2000-01-01"),
    "a position": ({"stop_position": 10**9}, "before the stop position 1000000000"),
}


@pytest.mark.parametrize("name", given())
@pytest.mark.parametrize(("filters", "told"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_the_log_does_not_have(
    name: str, filters: dict[str, Any], told: str, log: bk.Log
) -> None:
    with pytest.warns(UnmetWarning, match=re.escape(told)) as found:
        given(**filters)[name](log)
    assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("command", ["rows", "events", "transactions", "undo", "redo", "audit"])
@pytest.mark.parametrize(("filters", "told"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_the_log_does_not_have_on_the_command_line(
    command: str, filters: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ((name, value),) = filters.items()
    run([command, str(path()), f"--{name.replace('_', '-')}", str(value)])
    assert capsys.readouterr().err.count(told) == 1


WRONG: dict[str, tuple[Make, str]] = {
    "a column": (lambda log: log.rows(where={"nope": 1}), "there is no column nope"),
    "columns": (lambda log: log.rows(TABLE, columns=["nope"]), "there is no column nope"),
    "a value": (lambda log: log.rows(where={"id": "x"}), "compared with a number"),
    "a value of events": (lambda log: log.events(where={"id": 1}), "events have none"),
    "an operation": (lambda log: log.rows(op="upsert"), "op is one of insert, update, delete"),
    "a GTID": (lambda log: log.rows(gtid="x"), "not a GTID set"),
    "a time": (lambda log: log.rows(start_time="noon"), "not an ISO 8601 time"),
    "a zone": (lambda log: log.rows(start_time="2024-01-01", timezone="Mars"), "unknown time zone"),
    "a key": (lambda log: log.state(TABLE, key=["nope"]), "there is no column nope"),
    "letters of a key": (lambda log: log.state(TABLE, key="id"), "key is a list of names"),
    "an argument": (
        lambda log: log.state(TABLE, foo=1),  # type: ignore[call-arg]
        "there is no argument foo",
    ),
    "a file": (lambda log: log.state(TABLE, at="nofile:4"), "nofile is not one of the logs"),
    "no position": (lambda log: log.state(TABLE, at="x"), "not a position"),
    "half a byte": (lambda log: log.state(TABLE, at=5.5), "not a position"),  # type: ignore[arg-type]
    "two points": (lambda log: log.state(TABLE, at=4, until_time=1), "one of at"),
    "an engine": (
        lambda log: log.rows(engine="polars"),  # type: ignore[call-overload]
        "engine is pandas or pyarrow",
    ),
    "a section": (lambda log: log.audit()["rows"], "there is no section rows"),
}


@pytest.mark.parametrize(("make", "told"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument(make: Make, told: str, log: bk.Log) -> None:
    with pytest.raises(UsageError, match=told):
        make(log)


def test_a_number_is_a_position_where_there_is_one_file(log: bk.Log) -> None:
    end = int(log.transactions()["end_pos"].iloc[-1])
    for at in (end, str(end), log.transactions()["end_pos"].iloc[-1]):
        assert log.state(TABLE, at=at).rows.equals(log.state(TABLE, at=(path().name, end)).rows)
    with pytest.raises(UsageError, match="of which file"):
        bk.open([path(), path().with_name("binlog.000002")]).state(TABLE, at=end)


def test_a_value_that_no_row_has(log: bk.Log) -> None:
    """Not a mistake: an empty frame with the table's columns."""
    found = log.rows(TABLE, where={"id": 150})
    assert not len(found) and found.dtypes.equals(log.rows(TABLE).dtypes)


def test_a_table_that_the_log_does_not_name(log: bk.Log) -> None:
    with pytest.warns(UnmetWarning, match="bank.acount: The log does not name this table"):
        state = log.state("bank.acount")
    assert not state.determined and not len(state.frame())
    told = {f["finding"]: f["meaning"] for f in state.findings.to_pylist()}
    assert told["unknown_table"] == f"The log does not name this table{LIKE}."
