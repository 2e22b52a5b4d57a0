"""The shipped schemas are those of the code, and every record of every golden log holds to them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from jsonschema.protocols import Validator

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.schemas import NAMES, load
from binlogkit_fixtures import golden
from tools.make_schemas import generate, render

CASES = golden.cases()


def validator(name: str) -> Validator:
    """The checker of a shipped schema, itself checked."""
    kind = jsonschema.validators.validator_for(load(name))
    kind.check_schema(load(name))
    return kind(load(name))


def check(name: str, records: Iterator[Any]) -> int:
    """Validate records as JSON has them; how many."""
    checker, count = validator(name), 0
    for record in records:
        error = next(checker.iter_errors(json.loads(json.dumps(record))), None)
        assert error is None, error
        count += 1
    return count


def test_shipped_schemas_are_those_of_the_code() -> None:
    made = generate()
    assert tuple(made) == NAMES
    for name, schema in made.items():
        shipped = files("binlogkit.schemas").joinpath(f"{name}.schema.json").read_text("utf-8")
        assert shipped == render(schema), "run tools/make_schemas.py"


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match=f"there are {', '.join(NAMES)}"):
        load("rows")


@pytest.mark.sampled(0, 8)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_golden_records(case: golden.GoldenCase) -> None:
    log = bk.open([str(path) for path in case.binlogs])
    assert check("event", log.event_records()) > 10
    check("row", log.row_records())
    assert check("transaction", log.transaction_records())
    check("plan", iter(log.undo(despite_gaps=True)))
    assert check("audit", log.audit().records()) > 10


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("cell", "scenario"),
    [("8.0-row-full", "types"), ("5.7-row-minimal", "keys"), ("8.0-statement-full", "keys")],
)
def test_golden_states(cell: str, scenario: str) -> None:
    case = golden.case(cell, scenario)
    log = bk.open([str(path) for path in case.binlogs])
    held = lives = 0
    for name in list(case.manifest.marks[-1].tables)[:4]:
        db, _, table = name.partition(".")
        held += check("state", log.state(f"`{db}`.`{table}`").records())
        if log.state(f"`{db}`.`{table}`").key == ("id",):
            lives += check("life", log.life(f"`{db}`.`{table}`", 1).records())
        check("difference", log.diff(f"`{db}`.`{table}`", 4).records())
    assert (held and lives) or cell == "8.0-statement-full"


def row() -> dict[str, Any]:
    """A record of a real log."""
    log = bk.open(golden.case("8.0-row-full", "keys").binlogs[0])
    found = next(r for r in log.row_records() if r["op"] == "update")
    return copy.deepcopy(found)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "change",
    [
        {"op": "truncate"},
        {"op": "insert"},
        {"before": None},
        {"pos": "4"},
        {"pos": None},
        {"xid": -1},
        {"after": {"id": {"value": 1}}},
        {"after": {"id": {"undecodable": "0xff", "reason": "lower case"}}},
        {"after": {"id": [1]}},
        {"extra": 1},
    ],
    ids=str,
)
def test_what_is_no_row(change: dict[str, Any]) -> None:
    checker = validator("row")
    assert checker.is_valid(row())
    assert not checker.is_valid({**row(), **change})
    missing = row()
    del missing["query"]
    assert not checker.is_valid(missing)


def test_fields_belong_to_their_type() -> None:
    """A field too many, too few, or of another type of event."""
    log = bk.open(golden.case("8.0-row-full", "keys").binlogs[0])
    by_type = {r["type"]: json.loads(json.dumps(r)) for r in log.event_records()}
    checker = validator("event")
    xid, query = by_type["XID_EVENT"], by_type["QUERY_EVENT"]
    assert checker.is_valid(xid) and checker.is_valid(query)
    assert not checker.is_valid({**xid, "fields": query["fields"]})
    assert not checker.is_valid({**xid, "fields": {**xid["fields"], "more": 1}})
    assert not checker.is_valid({**xid, "fields": {"log_pos": 4}})
    assert not checker.is_valid({**xid, "type": "SOMETHING_NEW_EVENT"})
    assert checker.is_valid({**xid, "fields": {"log_pos": 4, "body": "0x00", "reason": "cut"}})
